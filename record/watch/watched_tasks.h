/* SPDX-License-Identifier: MIT */
/* Part of watched.c: emits asyncio tasks. */
#ifndef PYREEL_RECORD_WATCH_WATCHED_TASKS_H
#define PYREEL_RECORD_WATCH_WATCHED_TASKS_H

#include "record/watch/watched.h"

/* Adds the stack of a state, with the task that its thread runs, to a stack. `member` is the index of the state in the
 * thread list. False when the task could not be determined. */
bool watched_tasks_running_stack(struct watched *w, uint32_t member, struct frames *stack);

/* Puts the difference between the last emitted stack and `stack` into the sample. Leaves out the middle of a stack that
 * is deeper than --depth. Then `stack` becomes the last emitted stack: the two structs are swapped. */
void watched_tasks_take_stack(struct watched *w, struct frames *stack, struct frames *emitted, struct sample *sample);

/* The number of the task that a thread runs; 0: none, or not known. */
uint32_t watched_tasks_running(const struct watched *w, uint32_t member);

/* The span on which the thread of a state works: as the thread publishes it, else as the name of its task or its label
 * has it. `label`: NULL: the thread has none. All 0: none is known. */
struct span_ids watched_tasks_span(const struct watched *w, uint32_t member, const struct label *label);

/* Since when the event loop of a thread runs one callback, for its sample at a time; 0: none, not known, or not long.
 */
uint64_t watched_tasks_callback(struct watched *w, uint32_t member, uint64_t time_ns);

/* With --async all: gives the CPU time of a thread to the sample of this tick, or keeps the time for the next sample of
 * the thread or its tasks on a processor. Sets thread->status and thread->cpu_ns. Returns whether the sample is that of
 * the thread itself; if not, watched_tasks_emit() emits the sample as that of the task that the thread runs. */
bool watched_tasks_owns_sample(struct watched *w, struct emitted_thread *thread, uint32_t member, uint32_t status);

/* Emits a sample for each task, and the ends of tasks that have ended. False when the sink refused. */
bool watched_tasks_emit(struct watched *w, uint64_t time_ns, struct fault *why);

/* Emits all tasks anew, in the order of their numbers so far. Their entries follow with their samples. */
void watched_tasks_restart(struct watched *w);

/* Emits the ends of all tasks. */
void watched_tasks_end(struct watched *w, uint64_t time_ns);

#endif
