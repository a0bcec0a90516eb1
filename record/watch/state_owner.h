/* SPDX-License-Identifier: MIT */
/* Which thread of the kernel has a thread state. CPython notes the number of the thread in the state (native_thread_id)
 * when the state begins to run. After that nobody keeps the note true:
 *   - fork() in C does not tell CPython of the new process: its only thread has the number that the thread had in the
 *     parent, and the states of the parent's other threads are there, too.
 *   - os.fork() brings the note up to date a moment later.
 *   - A thread of C may end without freeing its state.
 * So a number that the process does not have is resolved by what else is known. The C library keeps the number of each
 * thread in the thread's own memory, and fork() changes that. The state has the address of this memory:
 *
 *     state ─ thread_id ─▶ struct pthread { ... tid ... }           glibc and musl, each at an offset of its own
 *
 * A process that has one thread needs no more evidence. A state whose thread cannot be found has no samples. */
#ifndef PYREEL_RECORD_WATCH_STATE_OWNER_H
#define PYREEL_RECORD_WATCH_STATE_OWNER_H

#include "record/watch/watched.h"

/* The number of the thread that has a state, in the pid namespace of the process; 0: none is known. `checked`: the
 * number in the state is not believed until the kernel confirms it. For the thread that calls watched_emit(). */
uint32_t state_owner_find(struct watched *watched, const struct member *member, bool checked);

/* Whether the process has a thread of this number, in the pid namespace of the process. The kernel is asked once in a
 * tick. A process that is no process (a core file) has all threads. */
bool state_owner_lives(struct watched *watched, uint32_t number);

#endif
