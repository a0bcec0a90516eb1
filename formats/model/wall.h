/* SPDX-License-Identifier: MIT */
/* The wall-clock time that a look at a thread stands for: the time between looks, so that the times of a thread's
 * looks add up to the thread's life, also where ticks were missed.
 *
 *     ticks          1    2    3    4    5    6    7        an interval is 1 ms
 *     looks at A     x    x    x              x    x        ticks 4 and 5 were missed, or reading A failed
 *     wall, in ms    1    1    1              3    1
 *
 * A tick stands somewhere in its interval (jitter, the budget's random moments), so two looks are a little more or less
 * than an interval apart. Weights that follow each distance would only add noise. So a look stands for its interval,
 * and the sum is held beside the clock: the time that is accounted for ends between the look and an interval behind the
 * look. A gap moves that end by more than an interval, and the look behind the gap gets the gap.
 *
 * A run is held beside the clock at its ends, so its time may differ from that of its single looks by less than an
 * interval.
 *
 * A gap needs no limit: between two looks, the thread lived. Where the recorder did not look at a thread in the tick
 * before (run.fresh), and at the first look, the look counts one interval.
 *
 * A thread that runs in several interpreters has looks in each of them, and one life. A look at the thread elsewhere
 * counts nothing here, because the look there counts.
 *
 *     ticks           1      2      3      4
 *     interpreter 0   1 ms   0      0      1 ms
 *     interpreter 1   0      1 ms   1 ms   0            the sum is the thread's life */
#ifndef PYREEL_FORMATS_MODEL_WALL_H
#define PYREEL_FORMATS_MODEL_WALL_H

#include "formats/model/attribute.h"

/* The time of one life that the looks so far account for. `= {0}`: no look yet. */
struct wall {
    bool begun;
    bool shared;       /* the life has looks in several interpreters */
    uint64_t until_ns; /* the end of the time that is accounted for */
};

/* Accounts for a run of looks, the first of them at `first_ns`. Returns the time that the run stands for, in
 * nanoseconds. run->stands_ns is set. `first`: the first look in this interpreter. The thread may have lived in another
 * interpreter until then, so the look counts a gap although the look is fresh. */
static inline uint64_t wall_take(struct wall *wall, const struct run *run, uint64_t first_ns, bool first)
{
    const uint64_t each_ns = run->stands_ns, least_ns = run->time_ns;
    const uint64_t begin_ns = first_ns > each_ns / 2 ? first_ns - each_ns / 2 : 0;
    const bool anew = !wall->begun || (run->fresh && !(wall->shared && first));
    if (attribute_is(run->status, ATTRIBUTE_ELSEWHERE)) {
        /* Nobody looks there: this recording, or the selected part of it, has no look at the thread there. */
        if (!wall->shared)
            *wall = (struct wall){ .begun = true, .until_ns = least_ns + each_ns / 2 };
        return 0;
    }
    if (anew && wall->until_ns < begin_ns)
        wall->until_ns = begin_ns;
    wall->begun = true;
    const uint64_t from_ns = wall->until_ns;
    uint64_t until_ns = from_ns + each_ns * run->count;
    if (until_ns < least_ns)
        until_ns = least_ns;
    if (until_ns > least_ns + each_ns)
        until_ns = least_ns + each_ns;
    if (until_ns < from_ns)
        until_ns = from_ns;
    wall->until_ns = until_ns;
    return until_ns - from_ns;
}

#endif
