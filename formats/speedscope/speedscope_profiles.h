/* SPDX-License-Identifier: MIT */
/* The profiles of a speedscope file: one for each thread of which something is shown, and for each entry of a task.
 *
 *     MainThread (4242)                    a thread, with its number
 *     MainThread, task fetch               an entry of a task, with the thread whose event loop has the task
 *     app.py 4242: MainThread (4242)       when there are several processes
 *     interpreter 1: Thread (4242)
 *
 * They stand process by process, the main thread first, tasks last. */
#ifndef PYREEL_FORMATS_SPEEDSCOPE_SPEEDSCOPE_PROFILES_H
#define PYREEL_FORMATS_SPEEDSCOPE_SPEEDSCOPE_PROFILES_H

#include "formats/speedscope/speedscope_times.h"

/* What the file says of one thread. */
struct speedscope_thread {
    struct speedscope_times times;
    uint64_t cpu_ns;    /* CPU time, as far as it is known */
    uint64_t worked_ns; /* time in which the thread did not wait, as far as that is known */
};

/* What all profiles of a file have in common. */
struct speedscope_shared {
    const struct tables *tables;
    struct json_emitter *json;
    struct speedscope_frames frames;
    struct spool spool;
    struct speedscope_thread *threads; /* by thread of the tables */
    size_t threads_room;
    uint64_t unit_ns;
    const char *unit; /* its name in the format */
    uint64_t start;   /* when the recording begins, or the part of it that is shown */
    bool processes;   /* there are several */
    uint32_t *climb;  /* scratch: nodes from the leaf to the root */
    size_t climb_room;
};

/* How large a profile is in each of the two types. */
struct speedscope_sizes {
    uint64_t evented, sampled; /* bytes */
    uint64_t shown;            /* time of the episodes that have frames; 0: nothing is shown */
};

/* Reads the episodes of a thread once, and returns the sizes. */
struct speedscope_sizes speedscope_profiles_measure(struct speedscope_shared *shared, uint32_t thread);

/* The profiles in their order. `= {0}` is empty. */
struct speedscope_profiles {
    struct speedscope_profile {
        uint32_t thread;
        bool evented; /* the smaller type */
    } *rows;
    size_t count;
    size_t active; /* index of the thread that works most */
};

/* Finds out which threads have a profile. */
void speedscope_profiles_find(struct speedscope_profiles *profiles, struct speedscope_shared *shared);

/* Writes the member "profiles". */
void speedscope_profiles_emit(const struct speedscope_profiles *profiles, struct speedscope_shared *shared);

void speedscope_profiles_free(struct speedscope_profiles *profiles);

#endif
