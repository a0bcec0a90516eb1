/* SPDX-License-Identifier: MIT */
/* The clock for waits and progress of programs that read recordings. The recorder's clocks are in record/process. */
#ifndef PYREEL_FORMATS_BASE_MONOTONIC_H
#define PYREEL_FORMATS_BASE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

/* The monotonic clock, in nanoseconds. */
static inline int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
