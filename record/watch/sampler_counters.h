/* SPDX-License-Identifier: MIT */
/* Writes the counters of the sampler into the recording, and prints them for --stats. Their labels are in
 * formats/model/counters.c. A table in sampler_counters.c maps each label to a value. */
#ifndef PYREEL_RECORD_WATCH_SAMPLER_COUNTERS_H
#define PYREEL_RECORD_WATCH_SAMPLER_COUNTERS_H

#include "formats/stream/block_write.h"
#include "record/watch/sampler.h"

/* Values that the sampler does not have: the limit on the time that ticks may take, and what limits the program. */
struct limits {
    uint64_t ticks_left_out, limit_ppm;    /* see struct budget */
    uint64_t quota_periods, quota_used_up; /* see struct quota_counts */
    uint64_t suspended_ns;                 /* see clock_suspended_ns() */
    uint64_t command_cpu_ns;               /* see struct command, all_cpu_ns; 0: it has not ended, or there is none */
    uint64_t processes_passed;             /* those that ended before the first look at them */
};

/* Emits the counters as events; none when the sampler never had a process. False when the sink refused. */
bool sampler_counters_emit(const struct sampler *sampler, const struct limits *limits, const struct sink *to,
                           struct fault *why);

/* Emits the few counters that say how exact the recording is so far, and what it took from the program. */
bool sampler_counters_emit_early(const struct sampler *sampler, const struct limits *limits, const struct sink *to,
                                 struct fault *why);

/* Prints the same counters on standard error, as text, with the sizes of the blocks that were written. */
void sampler_counters_print(const struct sampler *sampler, const struct limits *limits,
                            const struct block_writer *written);

#endif
