/* SPDX-License-Identifier: MIT */
/* Tells a thread that waits while native threads work for it from one that sleeps. A recording has looks at native
 * threads (record/watch/watched_natives.h), which tell when these used how much CPU time. A wait is for native threads
 * when they use more CPU time while the thread waits than while it runs:
 *
 *     native threads         #######   ######   ########
 *     main thread        run wwwwwww run wwwww run wwwwww    they work when it waits, and rest when it runs
 *     a server's worker  run wait run run wait run run wait  they work whatever it does
 *     idle               wait.............................   it hardly ever runs: nobody knows
 *
 *     w: waits for native threads
 *
 * While a thread waits so, it gets the CPU time of the native threads, too: for people, beside its own. */
#ifndef PYREEL_CONVERT_FILTERS_NATIVE_WAITS_H
#define PYREEL_CONVERT_FILTERS_NATIVE_WAITS_H

#include "formats/model/event.h"

#define NATIVE_SLOT_NS UINT64_C(4000000)
#define NATIVE_SLOTS   1024 /* of the latest 4 s: no wait comes in longer pieces, for blocks of a stream are shorter */

#define NATIVE_PLACES 4

/* The CPU time of native threads in a part of the time. */
struct native_slot {
    uint64_t number; /* begins at number * NATIVE_SLOT_NS */
    uint64_t cpu_ns;
    uint64_t given_ns; /* of it: to waits */
};

/* The native threads of a process. `= {0}`: none has run. */
struct native_process {
    struct native_slot slots[NATIVE_SLOTS]; /* slot n is at n % NATIVE_SLOTS */
};

/* How long something lasted lately, and the native threads' CPU time in it. */
struct native_lately {
    uint64_t time_ns, cpu_ns;
};

/* A thread that may wait for them. `= {0}`: no look yet. A single wait is often shorter than the time between two
 * looks, so the waits at one place are judged together. */
struct native_waiter {
    struct native_lately ran; /* in which the thread ran */
    struct {
        uint32_t stack;
        struct native_lately waits;
    } places[NATIVE_PLACES]; /* at which the thread waited; a new one replaces that with the least time */
};

/* Adds a look that saw a native thread run. */
void native_process_ran(struct native_process *process, const struct run *look);

/* Adds a look that saw the thread run, or wait for something else than the lock, when the native threads' looks until
 * then are known. A wait for native threads gets STATUS_NATIVE_WAIT and their CPU time, native_ns. `process` NULL: no
 * native thread has run. */
void native_waiter_ran(struct native_waiter *waiter, struct native_process *process, const struct run *look);
void native_waiter_waits(struct native_waiter *waiter, struct native_process *process, struct run *look);

#endif
