/* SPDX-License-Identifier: MIT */
/* Part of watched.c: the names of threads, which may change. Each lookup takes some ten system calls, and the next tick
 * must not wait. So a tick looks up a few names only. Threads whose name was never looked up come first. */
#ifndef PYREEL_RECORD_WATCH_WATCHED_NAMES_H
#define PYREEL_RECORD_WATCH_WATCHED_NAMES_H

#include "record/watch/watched.h"

void watched_names_open(struct watched *watched);
void watched_names_close(struct watched *watched);

/* Sets the name of a new thread, which has the state `member`: that of Python, or for now that of the kernel. NULL: the
 * state says nothing of the thread's name. */
void watched_names_begin(struct watched *watched, const struct member *member, struct emitted_thread *thread,
                         uint64_t time_ns);

/* Looks up the name of a thread that has no row. False when this tick has no lookups left. The caller frees *name. */
bool watched_names_find(struct watched *watched, const struct member *member, uint32_t native_id, uint64_t time_ns,
                        struct text *name);

/* Looks up the name of a thread again if that is due, and emits a new name. */
void watched_names_refresh(struct watched *watched, struct emitted_thread *thread, const struct member *member,
                           uint64_t time_ns);

/* A thread has no state now: nobody asks for its name until it has one. */
void watched_names_rest(struct watched *watched, struct emitted_thread *thread);

/* Frees the name of a thread that has ended. */
void watched_names_end(struct watched *watched, struct emitted_thread *thread);

#endif
