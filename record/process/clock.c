/* SPDX-License-Identifier: MIT */
#include "record/process/clock.h"

#include <poll.h>
#include <sys/prctl.h>
#include <time.h>

#define NS 1000000000u

static uint64_t clock_read(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_ns(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

uint64_t clock_unix_ns(void)
{
    return clock_read(CLOCK_REALTIME);
}

/* The clock of boot time goes on while the machine is suspended. It is read between two readings of the other, so that
 * a wait for the processor in between is no suspension. */
uint64_t clock_suspended_ns(void)
{
    const uint64_t before_ns = clock_now_ns(), boot_ns = clock_read(CLOCK_BOOTTIME), after_ns = clock_now_ns();
    return boot_ns > before_ns + (after_ns - before_ns) / 2 ? boot_ns - before_ns - (after_ns - before_ns) / 2 : 0;
}

void clock_sleep_until(uint64_t deadline_ns)
{
    const struct timespec deadline = { (time_t)(deadline_ns / NS), (long)(deadline_ns % NS) };
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
}

bool clock_sleep_or_readable(uint64_t deadline_ns, int fd, int other)
{
    struct pollfd ready[] = { { .fd = fd, .events = POLLIN }, { .fd = other, .events = POLLIN } };
    const uint64_t now_ns = clock_now_ns();
    if (deadline_ns <= now_ns)
        return false;
    if (fd < 0 && other < 0) {
        clock_sleep_until(deadline_ns);
        return false;
    }
    const struct timespec rest = { (time_t)((deadline_ns - now_ns) / NS), (long)((deadline_ns - now_ns) % NS) };
    return ppoll(ready, 2, &rest, NULL) > 0 && ready[0].revents != 0;
}

void clock_be_punctual(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL);
}
