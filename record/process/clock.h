/* SPDX-License-Identifier: MIT */
/* Time in nanoseconds, and sleeping until a moment. */
#ifndef PYREEL_RECORD_PROCESS_CLOCK_H
#define PYREEL_RECORD_PROCESS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

uint64_t clock_now_ns(void);  /* the monotonic clock */
uint64_t clock_unix_ns(void); /* since 1970 */

/* For how long the machine has been suspended since it started. The monotonic clock stands still in that time. */
uint64_t clock_suspended_ns(void);

/* Sleeps until `deadline_ns` of the monotonic clock, or until the next signal. */
void clock_sleep_until(uint64_t deadline_ns);

/* The CPU time of getrusage() or wait4(): that of the program and that of the kernel for it. */
static inline uint64_t clock_of_usage(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000u;
}

/* The same, and until one of these descriptors is readable; negative ones are none. Returns whether the first one is.
 */
bool clock_sleep_or_readable(uint64_t deadline_ns, int fd, int other);

#define MOMENTS_AHEAD 2

/* When something is due, and when the next ones are probably due, on the monotonic clock; 0: not known. */
struct moments {
    uint64_t due_ns;
    uint64_t next_ns[MOMENTS_AHEAD];
};

/* Asks the kernel to wake the calling thread on time. By default the kernel may be 50 µs late to save power. */
void clock_be_punctual(void);

#endif
