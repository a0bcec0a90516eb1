/* SPDX-License-Identifier: MIT */
/* Time: the monotonic clock in nanoseconds, and sleeping until a moment of it. */
#ifndef PYREEL_RECORD_PROCESS_CLOCK_H
#define PYREEL_RECORD_PROCESS_CLOCK_H

#include <stdint.h>

uint64_t clock_now_ns(void);
uint64_t clock_unix_ns(void);

/* Sleeps until `deadline_ns` or the next signal. */
void clock_sleep_until(uint64_t deadline_ns);

#define MOMENTS_AHEAD 2

/* When something is due, and when it is most likely due next, and next again; 0: not known. */
struct moments {
    uint64_t due_ns;
    uint64_t next_ns[MOMENTS_AHEAD];
};

/* Asks the kernel to wake us on time: by default it may be 50 µs late to save power. */
void clock_be_punctual(void);

#endif
