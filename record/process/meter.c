/* SPDX-License-Identifier: MIT */
#include "record/process/meter.h"

#include "record/process/procfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int open_statm(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void meter_open(struct meter *meter, pid_t pid)
{
    *meter = (struct meter){ .opened = true, .pid = pid, .statm = open_statm(pid) };
    meter->has_clock = clock_getcpuclockid(pid, &meter->clock) == 0;
}

void meter_close(struct meter *meter)
{
    if (meter->opened && meter->statm >= 0)
        close(meter->statm);
    *meter = (struct meter){ 0 };
}

/* Returns the resident pages; 0: not known. */
static unsigned long long read_pages(int statm, unsigned long long *all)
{
    char text[128];
    unsigned long long pages = 0;
    const ssize_t size = statm >= 0 ? pread(statm, text, sizeof(text) - 1, 0) : -1;
    text[size > 0 ? size : 0] = '\0';
    return sscanf(text, "%llu %llu", all, &pages) == 2 ? pages : 0;
}

/* A thread that has ended has no memory any more: the kernel says 0 pages. It may be the first thread, or the one
 * through which the memory was measured, while others go on. */
static uint64_t read_resident(struct meter *meter, uint64_t *all)
{
    unsigned long long mapped = 0, pages = read_pages(meter->statm, &mapped);
    if (pages == 0) {
        if (meter->statm >= 0)
            close(meter->statm);
        meter->statm = open_statm(procfs_reader(meter->pid));
        pages = read_pages(meter->statm, &mapped);
    }
    *all = pages ? mapped : 0;
    return pages ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : METER_UNKNOWN;
}

static uint64_t meter_read_clock(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        return METER_UNKNOWN;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

struct metered meter_read(struct meter *meter)
{
    struct metered metered = { .cpu_ns = meter->has_clock ? meter_read_clock(meter->clock) : METER_UNKNOWN };
    metered.resident_bytes = read_resident(meter, &metered.pages);
    return metered;
}

uint64_t meter_own_cpu_ns(void)
{
    return meter_read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
