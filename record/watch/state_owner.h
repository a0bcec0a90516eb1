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
 * After the end of the thread, the memory may be that of another one. So this counts in the first look only.
 *
 * A process that has one thread needs no more evidence. A state whose thread cannot be found has no samples.
 *
 * A number that the process has may be wrong, too: in CPython 3.12, a thread that works in another interpreter uses the
 * state of the thread which made that interpreter, and C code may make a state in one thread for another. The frames
 * tell: the C code that runs them keeps a part of them on the C stack of its thread. The thread's struct pthread is at
 * the upper end of the stack, and has the bounds of the stack:
 *
 *     guard │ C stack: ... entry shim ... │ struct pthread { ... tid, lower end, size ... } │ guard │ another stack ...
 */
#ifndef PYREEL_RECORD_WATCH_STATE_OWNER_H
#define PYREEL_RECORD_WATCH_STATE_OWNER_H

#include "record/watch/watched.h"

/* The number of the thread that has a state, in the pid namespace of the process; 0: none is known. `checked`: the
 * number in the state is not believed until the kernel confirms it. For the thread that calls watched_emit(). */
uint32_t state_owner_find(struct watched *watched, const struct member *member, bool checked);

/* The thread on whose C stack the frames of a state are. */
struct stack_owner {
    uint32_t number;      /* in the pid namespace of the process; 0: none that lives, or not known */
    bool ended;           /* it has ended: the state was left behind, and its frames are those of nobody */
    struct mapping stack; /* the bounds of the stack, if one of these two is told */
};

/* May read the list of mappings, which takes a while. */
struct stack_owner state_owner_by_stack(struct watched *watched, const struct member *member);

/* Whether the process has a thread of this number, in the pid namespace of the process. The kernel is asked once in a
 * tick. A process that is no process (a core file) has all threads. */
bool state_owner_lives(struct watched *watched, uint32_t number);

#endif
