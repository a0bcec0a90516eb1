/* SPDX-License-Identifier: MIT */
/* Part of watched.c: emits the threads of a process. A thread state that is new in the thread list gives a new thread.
 * A thread state that left the list gives the end of a thread. Each thread state that was read gives a sample. */
#ifndef PYREEL_RECORD_WATCH_WATCHED_THREADS_H
#define PYREEL_RECORD_WATCH_WATCHED_THREADS_H

#include "record/watch/watched.h"

/* Asks what the threads do, at the moment of the look of a tick, or before the process is stopped for the look. The
 * next watched_threads_emit() emits that. `posted`: the caller is a post, and the program waits. `now_ns` is the
 * monotonic clock. */
void watched_threads_ask_ahead(struct watched *watched, bool posted, uint64_t now_ns);

/* The same in a look that has read the threads, if the answer could be another one a moment later. */
void watched_threads_ask_in_look(struct watched *watched, bool posted, uint64_t now_ns);

/* Whether the thread of a state has slept since the last look, and its mark (thread_list.sleeps_on). */
bool watched_threads_sleep_on(void *self, uint32_t state, struct cpu_mark *mark);

/* The CPU time of all threads that are or were watched, as far as known. */
uint64_t watched_threads_known_cpu_ns(const struct watched *watched);

/* The row of a thread that lives; NULL: it has none. */
struct emitted_thread *watched_threads_row(const struct watched *watched, uint32_t native_id);

/* Begins a thread that has no state of Python, and ends a thread. `name`: the row's, which takes the text; empty: the
 * kernel is asked for the name. */
struct emitted_thread *watched_threads_begin_native(struct watched *watched, uint32_t native_id, pid_t tid,
                                                    struct text name, uint64_t time_ns);
void watched_threads_end_one(struct watched *watched, struct emitted_thread *thread, uint64_t time_ns);

/* Emits the samples of all threads that were asked for, and the ends of threads that have ended. With --async all, a
 * thread that runs a task has no sample of its own: the sample is that of the task. All other tasks wait, and have a
 * sample, too. False when the sink refused. */
bool watched_threads_emit(struct watched *watched, uint64_t time_ns, struct fault *why);

/* Like watched_threads_emit(), for a tick in which the thread list could not be read to its end. The threads that were
 * not reached give failed samples. */
bool watched_threads_emit_unread(struct watched *watched, uint64_t time_ns, struct fault *why);

/* Emits what is kept back of the threads, and the CPU time that they used since their last look, before the stream ends
 * and another one takes what is emitted. */
void watched_threads_flush(struct watched *watched, uint64_t time_ns);

/* Emits all threads anew, in the order in which they were emitted first. The next sample of each has its whole stack.
 */
void watched_threads_restart(struct watched *watched, uint64_t time_ns);
/* Forgets what the threads were doing: the CPU time that they have used since the last look does not count. */
void watched_threads_pause(struct watched *watched);

/* Emits the ends of all threads, and frees their rows. */
void watched_threads_end(struct watched *watched, uint64_t time_ns);

/* Of the thread with this index in the thread list: the value for sample.collection. */
uint32_t watched_threads_collection(const struct watched *watched, uint32_t index);

#endif
