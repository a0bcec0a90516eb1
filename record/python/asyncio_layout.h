/* SPDX-License-Identifier: MIT */
/* The offsets at which asyncio keeps its tasks. From CPython 3.14 on, the module _asyncio publishes them in a section
 * of its own, .AsyncioDebug (struct Py_AsyncioModuleDebugOffsets in Modules/_asynciomodule.c). The module is a library
 * that a program loads when it imports asyncio, or part of the interpreter. The offsets are not trusted:
 * asyncio_layout_find() bounds each. Those of earlier versions are known (layout.h), and record/asyncio/
 * asyncio_module.h proves that a process has them. */
#ifndef PYREEL_RECORD_PYTHON_ASYNCIO_LAYOUT_H
#define PYREEL_RECORD_PYTHON_ASYNCIO_LAYOUT_H

#include "formats/intern/intern.h"
#include "record/process/remote.h"
#include "record/python/layout.h"

#define ASYNCIO_LAYOUT_TASK_MAX 4104 /* the most bytes of a task up to the end of its last field */

/* Offsets in bytes; 0: the version has no such member. */
struct asyncio_layout {
    uint32_t task_size;
    uint32_t task_name, task_coroutine;

    /* ---- from 3.14 on ---- */
    uint32_t task_waiter,
        task_waiter_is_set; /* the task that waits for this one, or a set of such tasks; a byte that is 1 for a set */
    uint32_t task_is_task;  /* a byte that is 1 in a task, and 0 in another future */
    uint32_t task_node;     /* neighbours in the list of tasks: the next one, the previous one */
    uint32_t interpreter_tasks; /* head of the list of tasks whose thread has ended */
    uint32_t thread_tasks;      /* head of the list of a thread's tasks */
    uint32_t thread_task;       /* address of the task that the thread runs; 0: none */

    /* ---- before 3.14 ---- */
    uint32_t future_callback;  /* of a task or another future: what is called when the future is done, ... */
    uint32_t future_callbacks; /* ... and a list of tuples whose first item is called, too */
    uint32_t future_loop;      /* address of its event loop */
    uint32_t future_state;     /* int: FUTURE_PENDING, or another number when the future is done */
};

#define FUTURE_PENDING 0 /* fut_state of Modules/_asynciomodule.c */

/* The offsets of a version that does not publish them. */
struct asyncio_layout asyncio_layout_known(const struct layout *layout);

/* The files that were searched already. `= {0}`: none. */
struct asyncio_searched {
    struct intern_pairs seen; /* files without the section */
};

/* Searches the process's mapped files that were not searched yet for the section, and fills in *offsets. Returns false
 * when no file has the section, or when it is damaged. */
bool asyncio_layout_find(struct asyncio_layout *offsets, struct asyncio_searched *searched, struct remote *remote);

/* Frees the memory of *searched. */
void asyncio_layout_free_searched(struct asyncio_searched *searched);

#endif
