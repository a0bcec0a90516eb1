/* SPDX-License-Identifier: MIT */
/* Part of watched.c: what is emitted of the threads of a process. A thread state that is new in the list is a new
 * thread, one that left the list has ended, and each that was read is a sample. */
#ifndef PYREEL_RECORD_WATCHED_THREADS_H
#define PYREEL_RECORD_WATCHED_THREADS_H

#include "record/watched.h"

/* The samples of all threads that were asked for, and the ends of threads that are no more; with --async all the ends
 * alone. False when the sink refused. */
bool watched_threads_emit(struct watched *watched, uint64_t time_ns, struct fault *why);

/* The same when the lists could not be read to their end: the threads that were not reached are failed samples. */
bool watched_threads_emit_unread(struct watched *watched, uint64_t time_ns, struct fault *why);

/* All threads have ended for the sink; frees what was known of them. */
void watched_threads_end(struct watched *watched, uint64_t time_ns);

#endif
