/* SPDX-License-Identifier: MIT */
/* Parts of asyncio.c: plans what a round reads, and makes stacks from the copies of the round. */
#ifndef PYREEL_RECORD_ASYNCIO_ASYNCIO_INTERNAL_H
#define PYREEL_RECORD_ASYNCIO_ASYNCIO_INTERNAL_H

#include "record/asyncio/asyncio.h"

/* ---- asyncio_plan.c ---- */

/* Plans the first round of a tick: the tasks that the last ticks used. */
void asyncio_plan_tick(struct asyncio *asyncio);

/* Plans COPY_BUSY again: the words of interpreters and threads, and the used tasks that are not calm. */
void asyncio_plan_busy(struct asyncio *asyncio);

/* Plans a further round: the tasks in asyncio->again, and all tasks that wait for them. Finds these waiters first. */
void asyncio_plan_again(struct asyncio *asyncio);

/* Adds a task, by its row, to the tasks that the next round looks at again. */
void asyncio_plan_look_again(struct asyncio *asyncio, uint32_t row);

/* Makes the first or the second copy of a round. False when the process is gone. */
bool asyncio_plan_copy(struct asyncio *asyncio, bool second);

/* ---- asyncio_all.c ---- */

/* Makes the stacks of all tasks (`first`), or of the tasks in asyncio->again. Afterwards asyncio->again has the tasks
 * that changed between the copies. */
void asyncio_all_take(struct asyncio *asyncio, bool first);

/* Finds the task that each thread runs in this tick: of several tasks on a thread's stack, the one nearest the leaf. */
void asyncio_all_place(struct asyncio *asyncio);

/* ---- asyncio_running.c ---- */

/* Finds the task that each thread runs. Returns the number of threads that failed. If there is one, the caller makes
 * another round for all threads. */
size_t asyncio_running_take(struct asyncio *asyncio);

/* Whether the copies of this round have each task that runs in the first copy. If not, the next round has to look at
 * these tasks; asyncio->again has them in any case. */
bool asyncio_running_known(struct asyncio *asyncio);

#endif
