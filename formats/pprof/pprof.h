/* SPDX-License-Identifier: MIT */
/* An aggregate as a pprof profile (schemas/profile.proto): each row a sample with a count and times, the stack as
 * locations, and labels that name the thread and what it ran.
 *
 *     samples/count, wall/nanoseconds (shown first: the time that they stand for)
 *     cpu/nanoseconds, if it is known of some samples
 *     gil/nanoseconds, gil_wait/nanoseconds (of those that held or wanted the lock), if the status is known of some
 *     thread "MainThread", thread_id 4313, pid 4313, interpreter 0; more in formats/pprof/pprof_labels.h
 *
 * The message is never in memory as a whole. Samples are packed a few hundred at a time, each packet a small Profile of
 * its own: profiles one after the other are one profile. What they refer to is numbered at first use and follows at the
 * end, with the single values, which may be said only once.
 *
 * A location is a function and a line (columns are merged) in an interpreter. The interpreter's executable is the
 * mapping; there is one for each distinct executable. Ids count from 1 without gaps, texts occur once, and nothing is
 * written that nothing refers to, but for the first process's mapping, which pprof takes for the main program. A stack
 * without Python frames is a function of that name, so that each sample has a row. A function's system name is left
 * out, since pprof would read it as C++ and swallow names like <module>. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_H
#define PYREEL_FORMATS_PPROF_PPROF_H

#include "formats/base/output.h"
#include "formats/model/aggregate.h"

struct pprof_style {
    bool functions; /* a location is a whole function, on its first line */
    bool cpu_first; /* show CPU time first, not wall-clock time, if it is known */
    bool opcodes;   /* samples say the instruction of the leaf */
};

/* Writes the profile; returns how many samples (distinct stacks with their labels) it has. The aggregate has been
 * sorted. Failures of writing stay in `to`. */
size_t pprof_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                   const struct pprof_style *style);

#endif
