/* SPDX-License-Identifier: MIT */
/* Where asyncio keeps its tasks. From CPython 3.14 on, the module _asyncio says so in a section of its own,
 * .AsyncioDebug (struct Py_AsyncioModuleDebugOffsets in Modules/_asynciomodule.c): it is a library that a program loads
 * when it imports asyncio, or part of the interpreter. Not trusted: asyncio_layout_find() bounds each value. */
#ifndef PYREEL_RECORD_PYTHON_ASYNCIO_LAYOUT_H
#define PYREEL_RECORD_PYTHON_ASYNCIO_LAYOUT_H

#include "formats/intern/intern.h"
#include "record/process/remote.h"
#include "record/python/layout.h"

struct asyncio_layout {
    uint32_t task_size;
    uint32_t task_name, task_coroutine;
    uint32_t task_waiter, task_waiter_is_set; /* the task that waits for it, or a set of them; a byte says which */
    uint32_t task_is_task;                    /* a byte */
    uint32_t task_node;                       /* its neighbours in the list of tasks: the next, the one before */
    uint32_t interpreter_tasks;               /* head of the list of tasks whose thread has ended */
    uint32_t thread_tasks;                    /* of a thread's own */
    uint32_t thread_task;                     /* address of the task that the thread runs; 0: none */
};

/* What was looked for already. `= {0}` is nothing. */
struct asyncio_searched {
    struct intern_pairs seen; /* files that don't have it */
};

/* Looks for it in the process's files that were not looked at yet. False when it is not there, or damaged. */
bool asyncio_layout_find(struct asyncio_layout *offsets, struct asyncio_searched *searched, struct remote *remote);

void asyncio_layout_free_searched(struct asyncio_searched *searched);

#endif
