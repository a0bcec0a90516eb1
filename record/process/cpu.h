/* SPDX-License-Identifier: MIT */
/* Finds which threads of a process have a processor, and how much CPU time they used. The steps, cheapest first:
 *   1. The process's CPU clock. If it has not moved, no thread ran.
 *   2. A thread's "note", the file /proc/PID/task/TID/schedstat: time on a processor, time spent waiting for a
 *      processor, number of times that the thread got one. If the thread slept and its note is the same, the thread
 *      still sleeps, or was woken and waits for a processor.
 *   3. The thread's state, from the kernel. This costs four times as much as the note. It is read if the note has
 *      changed or the thread ran at the last look; after an unchanged note, only if the thread had to wait for a
 *      processor lately.
 * While a thread runs, its note is some milliseconds behind. So the time since the note changed counts as CPU time.
 *
 * A recorder that stops the threads (--blocking) looks before each stop: a thread that is stopped in its sleep wakes up
 * to stop, and seems to run. The stop takes CPU time from that thread, which is left out. */
#ifndef PYREEL_RECORD_PROCESS_CPU_H
#define PYREEL_RECORD_PROCESS_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* The state for one thread. `= {0}` is a thread that is not watched. */
struct cpu {
    bool watched;
    int note, state; /* open files; -1: the file does not exist */
    bool state_is_stat;
    uint64_t ran_ns;      /* time on a processor, by the last note */
    uint64_t waited_ns;   /* time that the thread waited for a processor, by the last note */
    uint64_t runs;        /* how often the thread got a processor, by the last note */
    uint32_t crowded;     /* not 0: the thread had to wait for a processor before one of its last runs */
    uint64_t changed_ns;  /* the time of the look that last saw ran_ns change */
    uint64_t reported_ns; /* CPU time that cpu_look() has reported */
    bool running;         /* the thread ran at the last look */
    bool stops;           /* set by the caller: the thread is stopped after each look */
    uint64_t stop_ns;     /* CPU time of the last stop in the thread's sleep */
    uint64_t stops_ns;    /* CPU time of all stops in the thread's sleep, which is in ran_ns */
};

/* The state for one process. */
struct cpu_process {
    clockid_t clock;
    bool known;       /* the process has a clock that the recorder may read */
    uint64_t used_ns; /* by all threads, at the last look */
};

/* What a look shows of a thread. */
struct cpu_look {
    bool known, running; /* running: on a processor, or ready to run */
    uint64_t used_ns;    /* CPU time since the last look */
};

/* Begins to watch the CPU clock of a process. */
void cpu_process_open(struct cpu_process *process, pid_t pid);
/* Whether any thread may have run since the last call. */
bool cpu_process_ran(struct cpu_process *process);

/* Begins to watch a thread; `pid` and `tid` are the recorder's own numbers. CPU time from before counts if the thread
 * is `young`: if the first look at the thread is the first one since the thread began. */
void cpu_open(struct cpu *cpu, pid_t pid, pid_t tid, bool young);
/* Looks at a thread. `ran`: the result of cpu_process_ran() for this look. */
struct cpu_look cpu_look(struct cpu *cpu, bool ran, uint64_t now_ns);
/* Closes the thread's files. Safe on a zeroed struct. */
void cpu_close(struct cpu *cpu);

/* Whether the text of a /proc/PID/stat has the state "R", running. The name in the text may have any characters. */
bool cpu_stat_runs(const char *stat);

#endif
