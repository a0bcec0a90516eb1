/* SPDX-License-Identifier: MIT */
/* When to look: moments drawn at random, no more of them than the program can spare.
 *
 * Time is cut into intervals, one behind the other, and each has one tick. The moments of up to BUDGET_GROUP intervals
 * are drawn together, anywhere in the time of the group, so that nearly nothing tells when the next tick is due:
 *
 *     │    .     │ .        │       . .│          │         a group of 4 intervals of 1 ms, as asked for
 *     │       .       │       ·       │ ·    .    │         longer ones, when a tick takes more than is allowed
 *
 * A program that keeps time is seen in all that it does. And a program that a tick changes is seen as it is: on a busy
 * machine the kernel often gives the processor to somebody else right after a tick. If the next tick were always due
 * about an interval later, it would find the program waiting too often, and running too seldom. All ticks together are
 * still even: a group has as many ticks as intervals.
 *
 * What ticks take from the program is measured. When it is more than the limit, intervals get longer; each sample then
 * stands for a longer time, so that totals stay right. The length follows from the mean of what ticks took lately, and
 * never from what the program does at the moment: no tick is left out for what it would show. */
#ifndef PYREEL_RECORD_EXACT_BUDGET_H
#define PYREEL_RECORD_EXACT_BUDGET_H

#include "record/process/clock.h"

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_GROUP 8

struct interval {
    uint64_t begins_ns, length_ns; /* monotonic */
    uint64_t moment_ns;            /* of its tick: in the time of the interval's group */
};

/* Intervals whose moments are drawn together. */
struct group {
    uint64_t begins_ns, length_ns; /* of each interval */
    uint64_t moments_ns[BUDGET_GROUP];
    uint32_t count, used; /* intervals; so many of them are over, present, or next */
};

/* `= {0}`, and set these before budget_open(): */
struct budget {
    uint64_t asked_ns; /* the interval that was asked for */
    double limit;      /* the part of time that may be taken; 0: ticks take nothing; 1: there is no limit */
    bool even;         /* ticks at fixed distances */

    struct interval present, next[MOMENTS_AHEAD];
    struct group group;
    uint64_t drawn;                   /* intervals so far */
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

/* Notes that the tick of the present interval took `took_ns` from the program, and goes on to the next interval. An
 * interval whose moment lies at least its length in the past is skipped. `waited`: the tick waited until now; every
 * interval whose moment lies in the past is skipped, because that moment fell into the wait. Returns the number of
 * skipped intervals. */
uint64_t budget_pass(struct budget *budget, uint64_t took_ns, uint64_t now_ns, bool waited);

#endif
