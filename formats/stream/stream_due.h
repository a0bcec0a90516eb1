/* SPDX-License-Identifier: MIT */
/* The time at which the next tick is due, computed the same way by writer and reader: schemas/stream.md, "Ticks". A
 * recorder looks at start + k x interval, so a late tick does not delay the next one. */
#ifndef PYREEL_FORMATS_STREAM_STREAM_DUE_H
#define PYREEL_FORMATS_STREAM_STREAM_DUE_H

#include <stdint.h>

/* The first multiple of the interval after a tick at `units`, in units and rounded down; UINT64_MAX when there is none.
 * `units` x `unit_ns` must fit 64 bits. */
static inline uint64_t stream_due(uint64_t units, uint64_t interval_ns, uint64_t unit_ns)
{
    const uint64_t intervals = units * unit_ns / interval_ns;
    for (uint64_t next = intervals + 1; next <= intervals + 2 && next <= UINT64_MAX / interval_ns; next++)
        if (next * interval_ns / unit_ns > units)
            return next * interval_ns / unit_ns;
    return UINT64_MAX;
}

#endif
