/* SPDX-License-Identifier: MIT */
/* What a block has told of a thread's status, the same for who writes it and who reads it: schemas/stream.md,
 * "Status". Only changes are told, so both work out the CPU time between them in the same way. */
#ifndef PYREEL_FORMATS_STREAM_STREAM_STATUS_H
#define PYREEL_FORMATS_STREAM_STREAM_STATUS_H

#include "formats/model/event.h"

/* Of a thread. `= {0}`: no block has told it yet. */
struct stream_status {
    uint64_t block;      /* that told it last */
    uint32_t bits;       /* of enum status, without STATUS_RECORDED */
    uint64_t cpu_units;  /* CPU time then, ... */
    uint64_t told_units; /* ... at this tick */
};

/* The CPU time at a tick that is not before the one that told it. */
static inline uint64_t stream_status_cpu(const struct stream_status *status, uint64_t now_units)
{
    return status->cpu_units + (status->bits & STATUS_CPU ? now_units - status->told_units : 0);
}

#endif
