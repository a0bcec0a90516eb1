/* SPDX-License-Identifier: MIT */
/* Part of watched.c: what is emitted of asyncio tasks. */
#ifndef PYREEL_RECORD_WATCHED_TASKS_H
#define PYREEL_RECORD_WATCHED_TASKS_H

#include "record/watched.h"

/* The stack of a member of the thread list with the task that it runs, as this tick's sample. False when that could not
 * be found out. */
bool watched_tasks_running_stack(struct watched *w, struct emitted_thread *thread, uint32_t member,
                                 struct sample *sample);

/* The samples of all tasks, and the ends of those that are no more. */
bool watched_tasks_emit(struct watched *w, uint64_t time_ns, struct fault *why);

/* All tasks have ended for the sink. */
void watched_tasks_end(struct watched *w, uint64_t time_ns);

#endif
