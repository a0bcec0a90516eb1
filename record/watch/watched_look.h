/* SPDX-License-Identifier: MIT */
/* The look of a tick: watched->look. Its steps:
 *
 *     before the moment   watched_look_ahead()   learns what is new in the threads, if much is; proves nothing
 *                         watched_appoint()      sends posts to the processors of the threads (exact.h)
 *     at the moment       look_now()             in a post: reads the threads and tasks, and asks the kernel what the
 *                                                threads do. The posts prove that these stood still (exact.h, crowd.h)
 *     behind it           watched_look()         waits for the post, and takes what it found: a thread is proved, or
 *                                                may have moved (watched_moved()). Reads the threads that wait and so
 *                                                could wait (thread_list_rest())
 *     then                watched_emit()         makes samples of it
 *
 * Without posts (--disturb 0, or where there can be none), watched_look() calls look_now() itself, once, and nothing is
 * proved. With --blocking, it stops the process meanwhile. */
#ifndef PYREEL_RECORD_WATCH_WATCHED_LOOK_H
#define PYREEL_RECORD_WATCH_WATCHED_LOOK_H

#include "record/watch/watched.h"

/* Looks at the process once without emitting anything. This first look reads all threads, stacks and code objects, and
 * would take too long while the process stands still. */
void watched_warm_up(struct watched *watched);

/* How long before the moment of the next tick watched_look_ahead() is due; 0: it is of no use. */
uint64_t watched_ahead_ns(const struct watched *watched);

/* Learns what is new in the threads of the process, so that the look at `due_ns` need not do so while the process
 * stands still. Which moments are looked at, and what is seen, does not depend on this. */
void watched_look_ahead(struct watched *watched, uint64_t due_ns);

/* Appoints the look of the next tick, if the look can be one moment of the process. True: the caller calls
 * watched_look() STAND_LATE_NS after moments->due_ns. False: at that moment. Without a call, the next look is unproved.
 */
bool watched_appoint(struct watched *watched, const struct moments *moments);

/* Calls off the appointed look. The next watched_look() is unproved. */
void watched_cancel(struct watched *watched);

/* Whether the process has slept since the last look, which saw it asleep. Takes a system call. */
bool watched_sleeps_on(struct watched *watched);

/* Makes the look of a tick: now, or the appointed one. `now_ns` is the monotonic clock. */
void watched_look(struct watched *watched, uint64_t now_ns);

/* How many threads may have moved in the last look, where that was one moment otherwise. */
uint64_t watched_moved(const struct watched *watched);

#endif
