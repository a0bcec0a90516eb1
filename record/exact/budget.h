/* SPDX-License-Identifier: MIT */
/* Chooses the moments of ticks: at random, and no more of them than the limit on the program's lost time allows.
 *
 * Time is divided into consecutive intervals with one tick each. The moments of up to BUDGET_GROUP intervals are drawn
 * together, anywhere in the time of the group, so that the next moment is nearly unpredictable:
 *
 *     │    .     │ .        │       . .│          │         a group of 4 intervals of 1 ms, as asked for
 *     │       .       │       ·       │ ·    .    │         longer ones, when a tick takes more than is allowed
 *
 * Random moments avoid two errors. A program that works in a fixed rhythm is sampled in all phases of its rhythm. And a
 * tick does not influence the next sample: on a busy machine the kernel often gives the processor to another process
 * right after a tick. If the next tick always came about an interval later, it would find the program waiting too
 * often. The rate stays even: a group has as many ticks as intervals.
 *
 * The recorder measures the time that ticks take from the program. When this time exceeds the limit, the intervals get
 * longer, and each sample stands for a longer time, so that totals stay right. The length follows from the cost of
 * recent ticks, never from what the program does at the moment. So no tick is left out for what it would show. What is
 * paid once, as for each new thread, is no cost of the ticks to come: the median of the recent ticks counts, and what
 * was more is made up later. */
#ifndef PYREEL_RECORD_EXACT_BUDGET_H
#define PYREEL_RECORD_EXACT_BUDGET_H

#include "record/process/clock.h"

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_GROUP 8
#define BUDGET_COSTS 9 /* recent ticks */

struct interval {
    uint64_t begins_ns, length_ns; /* monotonic */
    uint64_t moment_ns;            /* moment of the interval's tick: anywhere in the time of the group */
};

/* Intervals whose moments are drawn together. */
struct interval_group {
    uint64_t begins_ns, length_ns;     /* start of the group (monotonic); length of each interval */
    uint64_t moments_ns[BUDGET_GROUP]; /* in rising order */
    uint32_t count;                    /* intervals of the group */
    uint32_t used;                     /* intervals that next_interval() has handed out */
};

/* Start with `= {0}`, and set the first three fields before budget_open(). */
struct budget {
    uint64_t asked_ns; /* the interval that the user asked for */
    double limit;      /* the part of the program's time that ticks may take; 0: ticks take nothing; 1: no limit.
                        * budget_share() may change it later */
    bool even;         /* ticks at equal distances */

    struct interval present, next[MOMENTS_AHEAD];
    struct interval_group group;
    uint64_t drawn;       /* number of intervals so far */
    uint64_t interval_ns; /* the length of the intervals of the next group */
    uint64_t random;      /* state of the random generator */
    double cost_ns;       /* median of the costs of recent ticks: time that one tick takes from the program */
    uint64_t costs_ns[BUDGET_COSTS];  /* of the recent ticks: cost n is at n % BUDGET_COSTS */
    uint64_t costs;                   /* so many ticks were made */
    uint64_t taken_ns;                /* cost of all ticks */
    double allowed_ns;                /* what all ticks up to `fitted_ns` might cost */
    uint64_t recent_ns, recent_ticks; /* cost and number of the ticks since `cost_ns` was last computed */
    uint64_t fitted_ns;               /* when `interval_ns` was last computed (monotonic) */
    double left_out;                  /* see budget_left_out() */
    uint64_t skipped_ns;              /* total length of the intervals that the last budget_pass() skipped */
};

/* Starts the first interval. */
void budget_open(struct budget *budget, uint64_t now_ns);

/* Starts a new interval now, after a time without ticks. */
void budget_begin(struct budget *budget, uint64_t now_ns);

/* Starts with the cost of ticks that other processes have, instead of none. 0: not known. Call this right after
 * budget_open(). */
void budget_expect(struct budget *budget, double cost_ns);

/* A random number from 0 to 1. */
double budget_draw(struct budget *budget);

/* The part of a processor's time that ticks would take at the rate that the user asked for. */
double budget_load(const struct budget *budget);

/* Sets the limit from now on, where other processes share a processor with this one. A lower limit makes the intervals
 * longer at once, from the next group on. Does nothing to a limit of 0 or 1. */
void budget_share(struct budget *budget, double limit);

/* The moment of the present interval's tick, and the moments of the next intervals. */
struct moments budget_moments(const struct budget *budget);

/* How long a sample of the present interval stands for; 0: the interval that the user asked for. */
uint64_t budget_stands_ns(const struct budget *budget);

/* Number of ticks that were left out because intervals were longer than the user asked for. An interval of three times
 * the length leaves out two ticks. */
uint64_t budget_left_out(const struct budget *budget);

/* Ends the present interval, whose tick took `took_ns` from the program, and goes on to the next interval. Skips each
 * interval whose moment lies at least the interval's length in the past. `waited`: the tick waited until now. Then each
 * interval whose moment lies in the past is skipped, because that moment was during the wait. Returns the number of
 * skipped intervals. */
uint64_t budget_pass(struct budget *budget, uint64_t took_ns, uint64_t now_ns, bool waited);

#endif
