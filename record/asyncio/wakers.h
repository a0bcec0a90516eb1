/* SPDX-License-Identifier: MIT */
/* Part of asyncio_tasks.c: who waits for a task, in versions of CPython that do not note it (before 3.14). A task that
 * waits is woken by a callback of what it waits for:
 *
 *     task ─ callbacks ─▶ function task_wakeup ─ self ─▶ the task that awaits it
 *                      ─▶ function of gather(), wait(), shield() ─ closure ─▶ future ─ callbacks ─▶ ...
 *                      ─▶ partial of wait_for()'s function ─ argument ─▶ future ─ callbacks ─▶ ...
 *                      ─▶ method of a TaskGroup ─ object ─ _parent_task ─▶ the task that has the group
 *
 * A function is known by the name and the file of its code object; whatever else is called when a task is done tells
 * nothing. So a task that is waited for in another way has no waiting task here, and none has a wrong one.
 *
 * Many tasks may have one callback. So each callback is a row of its own among the tasks (asyncio_tasks.h), whose
 * waiters are the tasks, or further callbacks, that it wakes: a tick looks at it once. */
#ifndef PYREEL_RECORD_ASYNCIO_WAKERS_H
#define PYREEL_RECORD_ASYNCIO_WAKERS_H

#include "record/asyncio/await_chain.h"

/* Adds the callbacks of a future or task to task->waiters: the first one, and those of a list; 0: there is none. False
 * when they cannot be read, or make no sense. */
bool wakers_look_at_callbacks(struct looking *looking, uint64_t first, uint64_t list);

/* Looks at an object of this kind as at a callback: adds whom it wakes to task->waiters. False as above. */
bool wakers_look_at(struct looking *looking, uint64_t object, enum object_kind kind);

/* Whether objects of this kind may be callbacks that wake somebody. */
bool wakers_may_be(enum object_kind kind);

#endif
