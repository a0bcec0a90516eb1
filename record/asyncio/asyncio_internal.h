/* SPDX-License-Identifier: MIT */
/* Parts of asyncio.c: plans what a tick reads, and makes stacks from that. */
#ifndef PYREEL_RECORD_ASYNCIO_ASYNCIO_INTERNAL_H
#define PYREEL_RECORD_ASYNCIO_ASYNCIO_INTERNAL_H

#include "record/asyncio/asyncio.h"

#define CALLBACKS_DEEP 32 /* most callbacks that wake each other before one wakes a task */

/* ---- asyncio_plan.c ---- */

/* Reads a few words of each interpreter and thread: the interpreter's count of freed code objects; the thread's current
 * task (ASYNC_RUNNING), or the first task of the lists of threads and interpreters (ASYNC_ALL). Before CPython 3.14:
 * nothing (ASYNC_RUNNING), or the event loops of threads and the sets of tasks (ASYNC_ALL). False when the process is
 * gone. */
bool asyncio_plan_read_words(struct asyncio *asyncio);

/* Plans all tasks that the last tick used, unless the present plan is still good. May take long: not for a look. */
void asyncio_plan_all(struct asyncio *asyncio);

/* Plans the tasks that the threads name, and the tasks that waited for them when they ran last. */
void asyncio_plan_running(struct asyncio *asyncio);

/* Reads the planned tasks. False when the process is gone. */
bool asyncio_plan_read_tasks(struct asyncio *asyncio);

/* ---- asyncio_all.c ---- */

/* Makes the stacks of all tasks, and finds the task that each thread runs: of several tasks on a thread's stack, the
 * one nearest the leaf. Returns the number of tasks that failed, and 1 more when tasks may lack. */
size_t asyncio_all_take(struct asyncio *asyncio);

/* ---- asyncio_running.c ---- */

/* Finds the task that a thread, asyncio->owners[index], says it runs: 0: none. Before CPython 3.14 no thread says so:
 * it is the known task whose coroutine the thread's stack shows. False when this could not be read. */
bool asyncio_running_named(struct asyncio *asyncio, size_t index, uint64_t *task);

/* Finds the task that each thread runs. Returns the number of threads that failed. */
size_t asyncio_running_take(struct asyncio *asyncio);

#endif
