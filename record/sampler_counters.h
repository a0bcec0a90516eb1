/* SPDX-License-Identifier: MIT */
/* The counters of the sampler, by the names of formats/model/counters.h: written into the recording and printed for
 * --stats. One table says where each counter is kept. */
#ifndef PYREEL_RECORD_SAMPLER_COUNTERS_H
#define PYREEL_RECORD_SAMPLER_COUNTERS_H

#include "formats/stream/block_write.h"
#include "record/sampler.h"

/* What the sampler does not know: how much it was allowed to take. */
struct limits {
    uint64_t ticks_left_out, limit_ppm; /* see struct budget */
};

/* Emits the sampler's counters; none when it never had a process. False when the sink refused. */
bool sampler_counters_emit(const struct sampler *sampler, const struct limits *limits, const struct sink *to,
                           struct fault *why);

/* Prints the same for people on standard error, and what the recording takes. */
void sampler_counters_print(const struct sampler *sampler, const struct limits *limits,
                            const struct block_writer *written);

#endif
