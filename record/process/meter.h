/* SPDX-License-Identifier: MIT */
/* Measures what a process uses: memory and CPU time of the whole process, from the kernel. Neither file needs a
 * permission beyond those of any user. A measure takes two system calls, and nothing from the process. */
#ifndef PYREEL_RECORD_PROCESS_METER_H
#define PYREEL_RECORD_PROCESS_METER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define METER_UNKNOWN UINT64_MAX

/* `= {0}` is closed. */
struct meter {
    bool opened;
    pid_t pid;
    int statm;       /* /proc/PID/statm, of a thread that lives; -1: cannot be read */
    clockid_t clock; /* CPU clock of the process, ... */
    bool has_clock;  /* ... if it can be read */
};

/* What a process uses; METER_UNKNOWN: not known. */
struct metered {
    uint64_t resident_bytes; /* memory in RAM; not known of a process that has ended */
    uint64_t pages;          /* size of its memory, with what is only reserved; 0: not known */
    uint64_t cpu_ns;         /* CPU time of all its threads since it began */
};

/* Opens the meter of a process. Cannot fail: what cannot be read is not known. */
void meter_open(struct meter *meter, pid_t pid);
struct metered meter_read(struct meter *meter);
void meter_close(struct meter *meter);

/* CPU time of all threads of the recorder itself. Takes one system call. */
uint64_t meter_own_cpu_ns(void);

#endif
