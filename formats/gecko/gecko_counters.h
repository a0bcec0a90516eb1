/* SPDX-License-Identifier: MIT */
/* Counters: curves of a process below its name. The GIL held, the threads that wait for it, the CPU time and the
 * resident memory of the process.
 *
 * The first two come from the looks of each tick: what a tick shows holds for the time since the tick before, so the
 * shares of one lock never add up to more than the time. Where no look follows another one, as behind a pause of the
 * recorder, the time before is not known, and the tick holds for as long as a look stands for. Memory and CPU time come
 * from the measures of the process. A recording without measures has the CPU time of its threads. */
#ifndef PYREEL_FORMATS_GECKO_GECKO_COUNTERS_H
#define PYREEL_FORMATS_GECKO_GECKO_COUNTERS_H

#include "formats/gecko/columns/series.h"
#include "formats/model/event.h"

struct gecko;

/* The curves of a process. */
struct gecko_curves {
    struct series held, waiting;       /* time that threads held the lock, or waited for it, in ns */
    struct series cpu, resident;       /* CPU time in ns, by the measures; memory in bytes */
    struct series threads_cpu;         /* CPU time of the threads */
    uint64_t measured_ns, cpu_ns;      /* time and CPU time of the latest measure; MEASURE_UNKNOWN: none */
    uint64_t ticks_held, ticks_shared; /* ticks in which a thread, or several threads, had the lock */
    uint32_t holders, waiters;         /* in the open tick */
    bool active;                       /* the process has looks in the open tick */
    bool begun;                        /* the process had looks in an earlier tick, ... */
    bool goes_on;      /* ... and one of its threads has a look that follows another one in the open tick */
    uint64_t tick_ns;  /* time of the latest tick of the process, if it has its own ticks */
    bool interpreters; /* the process has more than one interpreter, so it may have several locks */
};

/* `= {0}` is empty. */
struct gecko_counters {
    struct gecko_curves **processes; /* by number; NULL: no looks */
    size_t processes_room;
    size_t processes_count; /* of those that are not NULL */
    uint32_t *active;       /* processes with looks in the open tick */
    size_t active_count, active_room;
    uint64_t tick_ns;   /* time of the latest tick of all processes */
    uint64_t stands_ns; /* how long the latest look stands for */
    bool blind;         /* no thread could be read in the open tick */
};

/* Takes EVENT_RUN, EVENT_TICK, EVENT_FAILED and EVENT_MEASURE. */
void gecko_counters_take(struct gecko *gecko, const struct event *event);
/* Takes the CPU time of a sample. */
void gecko_counters_take_cpu(struct gecko *gecko, const struct run *run);

/* Writes the list of counters. Call it when the lines are made. */
void gecko_counters_emit(struct gecko *gecko);

void gecko_counters_free(struct gecko_counters *counters);

#endif
