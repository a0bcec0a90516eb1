/* SPDX-License-Identifier: MIT */
/* Part of watched.c: emits asyncio tasks. */
#ifndef PYREEL_RECORD_WATCHED_TASKS_H
#define PYREEL_RECORD_WATCHED_TASKS_H

#include "record/watched.h"

/* Puts the stack of a thread, with the task that the thread runs, into the sample of this tick. `member` is the index
 * of the thread in the thread list. False when the task could not be determined. */
bool watched_tasks_running_stack(struct watched *w, struct emitted_thread *thread, uint32_t member,
                                 struct sample *sample);

/* Emits a sample for each task, and the ends of tasks that have ended. False when the sink refused. */
bool watched_tasks_emit(struct watched *w, uint64_t time_ns, struct fault *why);

/* Emits the ends of all tasks. */
void watched_tasks_end(struct watched *w, uint64_t time_ns);

#endif
