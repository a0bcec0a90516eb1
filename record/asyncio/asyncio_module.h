/* SPDX-License-Identifier: MIT */
/* The module _asyncio of CPython 3.11 to 3.13, which publishes nothing. Its dict names the type of tasks, and where
 * tasks are kept:
 *
 *     interpreter ─ modules ─▶ dict ─ "_asyncio" ─▶ module ─▶ dict ─ "Task", "Future" ─▶ types
 *                                                                   ─ "_current_tasks" ─▶ dict: event loop ─▶ task
 *     "_all_tasks" (3.11), "_scheduled_tasks" ─▶ WeakSet ─ data ─▶ set of weak references ─▶ tasks
 *     "_eager_tasks" (since 3.12) ─▶ set of tasks
 *
 * The offsets of a task are those of the sources (layout.h). A process has them if both types have the names and the
 * sizes that the sources give, one is the base of the other, and tasks keep their weak references at the same place.
 *
 * All of these objects live as long as the module. */
#ifndef PYREEL_RECORD_ASYNCIO_ASYNCIO_MODULE_H
#define PYREEL_RECORD_ASYNCIO_ASYNCIO_MODULE_H

#include "record/names/dict.h"
#include "record/python/target.h"

/* Addresses; `= {0}`: not found, or the version publishes. */
struct asyncio_module {
    uint64_t interpreter; /* that has the module */
    uint64_t task_type, future_type;
    uint64_t current; /* dict of the tasks that run, by event loop */
    uint64_t tasks;   /* set of weak references to all tasks that have started */
    uint64_t eager;   /* set of tasks that run before they were scheduled (3.12 and later); 0: none */
};

/* Searches the interpreters for the module, and proves it. The program may run meanwhile. False when no interpreter has
 * imported it yet, or when the module is another one; then `why` says so. `why` stays empty else. */
bool asyncio_module_find(struct asyncio_module *module, struct target *target, struct fault *why);

#endif
