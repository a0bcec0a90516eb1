/* SPDX-License-Identifier: MIT */
/* Looks at processes again and again: at each tick, takes the stack of every wanted thread of each, and gives the
 * stacks to the sink.
 *
 * When to look is the caller's business (budget.h). A tick has the time at which it was made; ticks that were slept
 * over are counted as missed, never made up for in a burst. Ticks that fell into a look which had to wait for the
 * process are another matter: what the look found is what the process did meanwhile, see sampler_ticks_again(). */
#ifndef PYREEL_RECORD_SAMPLER_H
#define PYREEL_RECORD_SAMPLER_H

#include "record/watched.h"

struct sampler {
    /* set by the caller, before sampler_open() */
    struct watch_options options;
    struct synthetic_frames synthetic; /* .native, .gc, .depth (0: as deep as stacks are); the rest is ours */

    struct emitter emitter;
    struct watched **watched; /* every process that sampler_watch() was called for */
    size_t count, room;
    uint64_t moment_ns; /* of the last tick, monotonic */
    uint64_t missed;    /* ticks */
    uint64_t blocked;   /* ticks that fell into a look which waited */
};

void sampler_open(struct sampler *sampler, struct sink sink);

/* Watches one more process, see watched_open(). What is returned is the sampler's, and lives until sampler_close(). */
struct watched *sampler_watch(struct sampler *sampler, pid_t pid, struct command *command);

enum sampler_state {
    SAMPLER_GOING,
    SAMPLER_LOST,  /* a process is lost, see watched->lost: it is to be detached */
    SAMPLER_STUCK, /* the sink refused; the reason says why */
};

/* Appoints the look of the next tick at the first attached process, if the look can be one moment. The others are
 * looked at right after. True: sampler_tick() is due STAND_LATE_NS behind moments->due_ns, else at that moment. Need
 * not be called. */
bool sampler_appoint(struct sampler *sampler, const struct moments *moments);

/* Calls off the look that was appointed: the next sampler_tick() is live. */
void sampler_cancel(struct sampler *sampler);

/* One tick of all attached processes: now, or the one that was appointed. `now_ns` is the clock's time. `missed` ticks
 * before it were not looked at. Stays a function of its own, so that tests/bench can count what it takes. */
__attribute__((noinline)) enum sampler_state sampler_tick(struct sampler *sampler, uint64_t now_ns, uint64_t missed,
                                                          struct fault *why);

/* Whether each look of the last tick had to wait for the lock of its process's memory. When only some had to, the ticks
 * that fell into the wait are missed ticks: nobody knows what the other processes did. */
bool sampler_waited(const struct sampler *sampler);

/* `count` more ticks that show what the last tick showed, at even distances from that tick to now: every look waited,
 * and each process stood where its look found it. False when the sink refused. */
bool sampler_ticks_again(struct sampler *sampler, uint64_t count, struct fault *why);

/* Lets go of threads that had not stopped before the end of a freeze, see freeze_settle(). Whether any are left. */
bool sampler_settle(struct sampler *sampler);

/* The time that looks have taken from all processes so far. */
uint64_t sampler_taken_ns(const struct sampler *sampler);

/* What was done in all processes, together. */
struct watched_counters sampler_counters(const struct sampler *sampler);

/* Detaches every process, and frees everything. */
void sampler_close(struct sampler *sampler);

#endif
