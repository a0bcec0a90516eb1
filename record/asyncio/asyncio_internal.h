/* SPDX-License-Identifier: MIT */
/* Part of asyncio.c: what is read in a round, and what is taken from it. */
#ifndef PYREEL_RECORD_ASYNCIO_ASYNCIO_INTERNAL_H
#define PYREEL_RECORD_ASYNCIO_ASYNCIO_INTERNAL_H

#include "record/asyncio/asyncio.h"

/* asyncio_plan.c: the first round of a tick, by what was used in the last ticks. */
void asyncio_plan_tick(struct asyncio *asyncio);
/* A round for other threads than were known before; the calm tasks stay planned. */
void asyncio_plan_busy(struct asyncio *asyncio);
/* A round for what has to be looked at again, with those that wait for it, which are learned of here. */
void asyncio_plan_again(struct asyncio *asyncio);
void asyncio_plan_look_again(struct asyncio *asyncio, uint32_t place);
/* The first copy of a round, or the second one. False when the process is gone. */
bool asyncio_plan_copy(struct asyncio *asyncio, bool second);

/* asyncio_all.c: takes the stacks of all tasks, or, after the first round, of those that had to be looked at again.
 * Those that changed are to be looked at again now. */
void asyncio_all_take(struct asyncio *asyncio, bool first);

/* asyncio_running.c: takes what threads run. Returns how many could not be taken: then all are to be taken again. */
size_t asyncio_running_take(struct asyncio *asyncio);
/* Whether all tasks that run by the first copy are planned; else they are to be looked at again. */
bool asyncio_running_known(struct asyncio *asyncio);

#endif
