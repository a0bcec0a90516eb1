/* SPDX-License-Identifier: MIT */
/* Samples processes: at each tick, reads the stacks of all wanted threads of each process, and gives the stacks to the
 * sink.
 *
 * The caller chooses the moments of ticks (budget.h). Each tick has the time at which it was made. A tick that could
 * not be made in time counts as missed; later ticks do not make up for it. One exception: while a look waits for the
 * lock of the process's memory, the process does what the look then finds. So the ticks of this time repeat what the
 * look found, see sampler_ticks_again(). */
#ifndef PYREEL_RECORD_WATCH_SAMPLER_H
#define PYREEL_RECORD_WATCH_SAMPLER_H

#include "record/watch/watched.h"

struct sampler {
    /* set by the caller, before sampler_open() */
    struct watch_options options;
    struct synthetic_frames synthetic; /* the caller sets .native, .gc and .depth (0: no limit) only */

    struct emitter emitter;
    struct watch_shared shared;
    struct watched **watched; /* every process that sampler_watch() was called for, and sampler_forget() was not */
    size_t count, room;
    struct watched_counters forgotten; /* sums of the processes that sampler_forget() was called for */
    uint64_t moment_ns;                /* moment of the last tick (monotonic) */
    uint64_t measure_due_ns;           /* when sampler_measure() is due (monotonic); 0: no tick was made yet */
    uint64_t missed;                   /* number of missed ticks */
    uint64_t blocked;                  /* number of ticks whose moment was while a look waited */
};

/* Starts without processes. The sink must live as long. */
void sampler_open(struct sampler *sampler, struct sink sink);

/* Watches one more process, see watched_open(). The sampler owns the returned struct, until sampler_close(). */
struct watched *sampler_watch(struct sampler *sampler, pid_t pid, struct command *command);

/* Detaches a process, and frees everything of it but its counters. `watched` becomes invalid. Call this between ticks,
 * while no look is appointed. */
void sampler_forget(struct sampler *sampler, struct watched *watched);

enum sampler_state {
    SAMPLER_GOING,
    SAMPLER_LOST,  /* a process is lost (watched->lost): the caller detaches it */
    SAMPLER_STUCK, /* the sink refused an event, with the reason */
};

/* Appoints the look of the next tick at the first attached process, if a look can be one moment; the other processes
 * are looked at right after it. True: the caller calls sampler_tick() STAND_LATE_NS after moments->due_ns. False: at
 * that moment. Without a call, the next tick is live. */
bool sampler_appoint(struct sampler *sampler, const struct moments *moments);

/* Calls off the appointed look. The next sampler_tick() is live. */
void sampler_cancel(struct sampler *sampler);

/* Makes one tick of all attached processes: now, or the appointed one. `now_ns` is the monotonic clock. `missed` is the
 * number of ticks missed before this tick. Not inlined, so that tests/bench can measure its cost. */
__attribute__((noinline)) enum sampler_state sampler_tick(struct sampler *sampler, uint64_t now_ns, uint64_t missed,
                                                          struct fault *why);

/* Whether each look of the last tick had to wait for the lock of its process's memory. When only some had to, the ticks
 * that fell into the wait are missed ticks: nobody knows what the other processes did. */
bool sampler_waited(const struct sampler *sampler);

/* Emits `count` more ticks, evenly spaced from the last tick to now. They repeat the samples of the last tick: every
 * look waited, and each process stood where its look found it. False when the sink refused. */
bool sampler_ticks_again(struct sampler *sampler, uint64_t count, struct fault *why);

/* How often sampler_measure() is due: so often that a curve shows what a program does, and so rarely that the cost does
 * not count, in system calls (one, and two for each process) and in bytes of the file. */
#define SAMPLER_MEASURE_NS 100000000u

/* When measures are due (monotonic); UINT64_MAX before the first tick. */
uint64_t sampler_measure_due_ns(const struct sampler *sampler);

/* Emits a measure of each attached process. Call this between ticks, while no look is appointed. */
void sampler_measure(struct sampler *sampler, uint64_t now_ns);

/* Calls freeze_settle() for each process. Returns whether threads are left that still have to stop. */
bool sampler_settle(struct sampler *sampler);

/* The time that looks have taken from all processes so far. */
uint64_t sampler_taken_ns(const struct sampler *sampler);

/* The sums of the counters of all processes. */
struct watched_counters sampler_counters(const struct sampler *sampler);

/* Detaches every process, and frees everything. */
void sampler_close(struct sampler *sampler);

#endif
