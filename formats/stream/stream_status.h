/* SPDX-License-Identifier: MIT */
/* The status of a thread as the block has it so far, kept the same way by writer and reader: schemas/stream.md,
 * "Status". A block has only changes of the status, so both compute the CPU time between changes in the same way. */
#ifndef PYREEL_FORMATS_STREAM_STREAM_STATUS_H
#define PYREEL_FORMATS_STREAM_STREAM_STATUS_H

#include "formats/model/event.h"

/* `= {0}`: no block has the thread's status yet. */
struct stream_status {
    uint64_t block;      /* the block that has the latest status */
    uint32_t bits;       /* bits of enum status, without STATUS_RECORDED */
    uint64_t cpu_units;  /* CPU time at the latest status, ... */
    uint64_t tick_units; /* ... and the time of its tick */
};

/* The CPU time at a tick that is not before the latest status. */
static inline uint64_t stream_status_cpu(const struct stream_status *status, uint64_t now_units)
{
    return status->cpu_units + (status->bits & STATUS_CPU ? now_units - status->tick_units : 0);
}

#endif
