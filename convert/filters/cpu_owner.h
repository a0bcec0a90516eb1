/* SPDX-License-Identifier: MIT */
/* Gives CPU time to the looks to which it belongs. The kernel's count of a thread's CPU time lags while the thread
 * runs, and is right when the thread sleeps. So what the thread used often shows in the look behind the look that used
 * it:
 *
 *     look               f, running    f, running    sleep         g, running    sleep
 *     count grew by, ms  0             0             2.0           0             0.6
 *     CPU time, in ms    1.0           1.0           0             0.6           0
 *
 * The looks of a thread that had a processor wait here until the thread sleeps, or for a while. Then the CPU time that
 * was counted meanwhile goes to these looks in proportion to their wall-clock time, and no look gets more than its
 * wall-clock time. CPU time for which these looks have no room (nobody looked while the thread ran) is kept for the
 * next looks that had a processor. CPU time of ticks that a mode left out is kept in the same way. So over a time, each
 * function gets CPU time as often as it was seen on a processor, and a sleeping function gets none, unless a thread
 * is seen on a processor far too rarely: then the sleeping looks get what is more than a while's CPU time.
 *
 * What is left at a thread's end goes to the thread's latest looks (in runs of count 0): to those that had a
 * processor, in proportion to their wall-clock time, even if it is more than that. By chance, a thread is seen on a
 * processor in fewer looks than its CPU time is worth; the functions in which it sleeps have no part in that. A thread
 * that was never seen on a processor gives the rest to its latest looks, each up to its wall-clock time, and what is
 * still left to the very latest. The CPU time of a thread without any look has no stack to go to: `unplaced_ns`.
 */
#ifndef PYREEL_CONVERT_FILTERS_CPU_OWNER_H
#define PYREEL_CONVERT_FILTERS_CPU_OWNER_H

#include "formats/model/sink.h"

#define CPU_OWNER_LATEST 64 /* looks that may get CPU time at the thread's end; equal ones in a row count as one */

/* A look that was given to the output, and may get CPU time at the thread's end. */
struct cpu_given {
    uint32_t stack, task, status;
    uint64_t weight_ns; /* its wall-clock time; of a look that had no processor: the part without CPU time */
};

struct cpu_thread {
    uint64_t *waiting; /* numbers of the events that are looks which had a processor */
    size_t count, room;
    uint64_t wall_ns;        /* of the waiting looks */
    uint64_t counted_ns;     /* CPU time that no look has yet */
    struct cpu_given latest; /* the last look that was given, ... */
    uint64_t latest_ns;      /* ... and its time */
    bool has_latest;
    bool ran;                /* a look that was given had a processor; then only such looks stand in the ring */
    struct cpu_given *given; /* the latest looks that were given, in a ring; NULL: none yet */
    uint32_t given_count;    /* all that ever stood in the ring */
};

/* An event behind a look that waits, or that look. */
struct cpu_event {
    struct event event;
    bool waits; /* a look whose CPU time is not known yet */
};

/* `= {0}` is empty. */
struct cpu_owner {
    struct cpu_thread *threads; /* by number */
    size_t room;
    struct cpu_event *events; /* a ring: event n is at n % events_room, which is a power of 2 */
    size_t events_room;
    uint64_t first, next; /* numbers of the first event that waits, and of the next one that comes */
    uint64_t unplaced_ns; /* CPU time of threads without a look */
};

/* Takes an event, and gives the events that are due to the output. A look gets its CPU time, and has no frames any
 * more. False with the reason when the output refused. */
bool cpu_owner_take(struct cpu_owner *owner, struct event *event, const struct sink *output, struct fault *why);

/* Gives all that waits. Call this at the end, also of a recording that was cut. */
bool cpu_owner_finish(struct cpu_owner *owner, const struct sink *output, struct fault *why);

/* Frees the memory. */
void cpu_owner_free(struct cpu_owner *owner);

#endif
