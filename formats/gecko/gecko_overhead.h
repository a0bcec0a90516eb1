/* SPDX-License-Identifier: MIT */
/* What the recorder cost, for the viewer's table "Profiler overhead": the recorder's CPU time by tick, and the
 * distances of ticks. The viewer wants numbers in all rows; rows for work that no recorder of ours does are 0. */
#ifndef PYREEL_FORMATS_GECKO_GECKO_OVERHEAD_H
#define PYREEL_FORMATS_GECKO_GECKO_OVERHEAD_H

#include "formats/model/event.h"

#include <stdbool.h>
#include <stddef.h>

struct gecko;

/* Smallest, largest and summed values. `= {0}`: no value yet. */
struct gecko_spread {
    double least, most, sum;
    uint64_t count;
};

/* The recorder of one process. */
struct gecko_recorder {
    bool measured;
    uint64_t cpu_ns, ticks;       /* at the latest measure: the recorder's CPU time; ticks so far */
    uint64_t first_ns, latest_ns; /* times of the first and the latest measure */
    struct gecko_spread tick_us;  /* CPU time by tick, one value for each measure, weighted by its ticks */
    double used_us;               /* CPU time between the first and the latest measure */
};

/* `= {0}` is empty. */
struct gecko_overhead {
    struct gecko_recorder *recorders; /* by process */
    size_t room;
    uint64_t ticks;     /* so far */
    uint64_t *ticks_ns; /* time of the latest tick of each process, in row 0 of those of all processes; 0: none yet */
    size_t ticks_room;
    struct gecko_spread interval_us; /* distances of the ticks of one process, or of all */
};

/* Take the events. */
void gecko_overhead_take_tick(struct gecko_overhead *overhead, uint32_t process, uint64_t time_ns);
void gecko_overhead_take_measure(struct gecko_overhead *overhead, const struct measure *measure);

/* Writes the member "profilerOverhead": an entry for each process whose recorder was measured twice. */
void gecko_overhead_emit(struct gecko *gecko);

void gecko_overhead_free(struct gecko_overhead *overhead);

#endif
