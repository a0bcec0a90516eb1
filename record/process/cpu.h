/* SPDX-License-Identifier: MIT */
/* Which threads of a process have a processor, and how much time they used, as the kernel says.
 *
 * The process's own clock tells at once when nobody ran. Else each thread's note is read (/proc/PID/task/TID/schedstat:
 * time on a processor, time spent waiting for one, how often it got one). A thread that slept and whose note is the
 * same sleeps still, or was woken and waits for a processor: that is looked for while it had to wait lately, as asking
 * about a thread that sleeps costs four times as much as its note. Of any other the kernel is asked for its state.
 * While a thread runs, its note is some milliseconds behind: what it used since is taken to be the time that passed. */
#ifndef PYREEL_RECORD_PROCESS_CPU_H
#define PYREEL_RECORD_PROCESS_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Of a thread. `= {0}` is one that is not watched. */
struct cpu {
    bool watched;
    int note, state; /* files that are kept open; -1: not there */
    bool state_is_stat;
    uint64_t ran_ns;      /* as its note said, ... */
    uint64_t waited_ns;   /* ... and how long it was ready and had no processor */
    uint32_t crowded;     /* not 0: it had to wait lately, before one of the last times that it ran */
    uint64_t changed_ns;  /* when that was last seen to be another */
    uint64_t reported_ns; /* so much of it was told to be used */
    bool running;         /* at the last look */
};

/* Of a process. */
struct cpu_process {
    clockid_t clock;
    bool known;       /* it has a clock that we may read */
    uint64_t used_ns; /* by all its threads, at the last look */
};

/* What a look tells of a thread. */
struct cpu_look {
    bool known, running; /* running: or ready to run */
    uint64_t used_ns;    /* since the look before */
};

void cpu_process_open(struct cpu_process *process, pid_t pid);
/* Whether any thread may have run since the last look at the process. */
bool cpu_process_ran(struct cpu_process *process);

/* A thread, by the recorder's own numbers; what it used before is not told. */
void cpu_open(struct cpu *cpu, pid_t pid, pid_t tid);
/* Looks at a thread. `ran`: what cpu_process_ran() said. */
struct cpu_look cpu_look(struct cpu *cpu, bool ran, uint64_t now_ns);
void cpu_close(struct cpu *cpu);

/* Whether the text of /proc/PID/stat says "running". The name in it may have any characters. */
bool cpu_stat_runs(const char *stat);

#endif
