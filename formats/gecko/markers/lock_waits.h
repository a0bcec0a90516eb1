/* SPDX-License-Identifier: MIT */
/* Waits for the interpreter's lock, and who held the lock meanwhile. The looks of a tick come one after the other, and
 * the holder may come after the waiters; so the holder of a tick is noted at the tick's end.
 *
 *     ticks     1      2      3      4
 *     A         waits  waits  waits  runs          A waited from tick 1 to tick 4, and B held the lock
 *     B         holds  holds  -      waits         in two of three looks. B's leaf at these looks is
 *     C         -      -      holds  holds         what B did */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_LOCK_WAITS_H
#define PYREEL_FORMATS_GECKO_MARKERS_LOCK_WAITS_H

#include "formats/gecko/markers/look.h"

#define LOCK_HOLDERS 4 /* of one wait; further threads are not counted */

struct lock_holder {
    uint32_t thread, looks;
    uint32_t function, lead; /* the function that most looks found at the leaf, and by how many looks it leads */
};

/* The open wait of a thread. `= {0}`: the thread does not wait. */
struct lock_wait {
    bool open;
    uint64_t start_ns;
    uint32_t stack;
    struct lock_holder holders[LOCK_HOLDERS];
};

/* A thread that held a lock at a tick, and its stack. */
struct lock_held {
    uint32_t thread, stack;
};

/* The waiters and holders of the open tick. `= {0}` is empty. */
struct lock_tick {
    uint32_t *waiters; /* threads */
    size_t waiters_count, waiters_room;
    struct lock_held *held;
    size_t held_count, held_room;
};

/* Notes in the open tick that a thread waits, or that it holds the lock. */
void lock_waits_add_waiter(struct lock_tick *tick, uint32_t thread);
void lock_waits_add_holder(struct lock_tick *tick, uint32_t thread, uint32_t stack);

/* Takes a look at a thread. Waits shorter than `least_ns` are left out. */
void lock_waits_take(struct lock_tick *tick, struct lock_wait *wait, const struct look *look,
                     struct marker_store *store, uint64_t least_ns);

/* Ends the wait of a thread at a time. */
void lock_waits_close(struct lock_wait *wait, uint32_t thread, uint64_t ns, struct marker_store *store,
                      uint64_t least_ns);

/* Finds the thread that held the lock in the open tick for which `waiter` waited; NULL: no look found one. */
const struct lock_held *lock_waits_holder(const struct lock_tick *tick, const struct tables *tables, uint32_t waiter);

/* Notes that a thread held the lock during a look at the waiter. */
void lock_waits_note(struct lock_wait *wait, const struct lock_held *held, const struct tables *tables);

/* Frees the lists of a tick. */
void lock_waits_free(struct lock_tick *tick);

#endif
