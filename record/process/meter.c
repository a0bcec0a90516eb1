/* SPDX-License-Identifier: MIT */
#include "record/process/meter.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void meter_open(struct meter *meter, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    *meter = (struct meter){ .opened = true, .statm = open(path, O_RDONLY | O_CLOEXEC) };
    meter->has_clock = clock_getcpuclockid(pid, &meter->clock) == 0;
}

void meter_close(struct meter *meter)
{
    if (meter->opened && meter->statm >= 0)
        close(meter->statm);
    *meter = (struct meter){ 0 };
}

/* A process that has ended has no memory any more: the kernel says 0 pages. */
static uint64_t read_resident(const struct meter *meter)
{
    char text[128];
    unsigned long long pages = 0;
    const ssize_t size = meter->statm >= 0 ? pread(meter->statm, text, sizeof(text) - 1, 0) : -1;
    text[size > 0 ? size : 0] = '\0';
    if (sscanf(text, "%*u %llu", &pages) != 1 || pages == 0)
        return METER_UNKNOWN;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t meter_read_clock(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        return METER_UNKNOWN;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

struct metered meter_read(const struct meter *meter)
{
    return (struct metered){ .resident_bytes = read_resident(meter),
                             .cpu_ns = meter->has_clock ? meter_read_clock(meter->clock) : METER_UNKNOWN };
}

uint64_t meter_own_cpu_ns(void)
{
    return meter_read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
