/* SPDX-License-Identifier: MIT */
/* When to look: moments drawn at random, no more of them than the program can spare.
 *
 * Time is cut into intervals, one behind the other, and each has one tick, at a moment drawn in it. So a program that
 * keeps time is seen in all that it does, and ticks are still even:
 *
 *     │    .     │ .        │       .  │  .       │         intervals of 1 ms, as asked for
 *     │       .       │  .            │     .     │         longer ones, when a tick takes more than is allowed
 *
 * What ticks take from the program is measured. When it is more than the limit, intervals get longer; each sample then
 * stands for a longer time, so that totals stay right. The length follows from the mean of what ticks took lately, and
 * never from what the program does at the moment: no tick is left out for what it would show. */
#ifndef PYREEL_RECORD_BUDGET_H
#define PYREEL_RECORD_BUDGET_H

#include "record/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct interval {
    uint64_t begins_ns, length_ns; /* monotonic */
    uint64_t moment_ns;            /* of its tick */
};

/* `= {0}`, and set these before budget_open(): */
struct budget {
    uint64_t asked_ns; /* the interval that was asked for */
    double limit;      /* the part of time that may be taken; 0: ticks take nothing; 1: there is no limit */
    bool even;         /* ticks at fixed distances */

    struct interval present, next[MOMENTS_AHEAD];
    uint64_t interval_ns;             /* the length of the intervals that are not drawn yet */
    uint64_t start_ns;                /* when it was opened */
    uint64_t random;                  /* the state of the generator */
    double cost_ns;                   /* of a tick, the mean of late */
    uint64_t taken_ns;                /* in all */
    uint64_t recent_ns, recent_ticks; /* since the cost was last worked out */
    uint64_t fitted_ns;               /* when the interval was last fitted */
    double left_out;                  /* ticks that were asked for, and that there was no interval for */
    uint64_t skipped_ns;              /* the intervals that the last budget_pass() returned, in all */
};

void budget_open(struct budget *budget, uint64_t now_ns);

/* Intervals begin anew, now. */
void budget_begin(struct budget *budget, uint64_t now_ns);

/* The moment of the present interval's tick, and the moments of the next intervals. */
struct moments budget_moments(const struct budget *budget);

/* How long a sample of the present interval stands for; 0: as long as asked for. */
uint64_t budget_stands_ns(const struct budget *budget);

/* Ticks that were asked for, and that there was no interval for. */
uint64_t budget_left_out(const struct budget *budget);

/* The tick of the present interval was made, and took so much: goes on to the next interval that has not ended. Returns
 * how many have ended without a tick. `waited`: the tick waited until now, and intervals whose moment has passed count
 * as ended too: their moments fell into the wait. */
uint64_t budget_pass(struct budget *budget, uint64_t took_ns, uint64_t now_ns, bool waited);

#endif
