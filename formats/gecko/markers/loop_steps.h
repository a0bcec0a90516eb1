/* SPDX-License-Identifier: MIT */
/* Event loops that were blocked: one callback, or one step of a task, that took BLOCKED_LEAST_NS and more.
 *
 * Looks see the same callback again and again, and never the loop between. One long callback looks so, and so do many
 * short ones of the same function, when no look falls between two of them. Other callbacks of the loop between two
 * looks of the same kind are seen as such. What tells the rest apart:
 *
 *  - CPU time. A turn of the loop takes some. A callback that used almost none slept, and was not called many times.
 *  - The looks between two callbacks of the same function, over the whole recording. Where the loop takes so many turns
 *    that looks find it there, its callbacks are short.
 *
 * So a marker says what looks have seen. A function whose looks say that it is called often and shortly has no markers.
 * A series of short callbacks in one turn of the loop counts as one: whoever waits for the loop waits for all of them.
 */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_LOOP_STEPS_H
#define PYREEL_FORMATS_GECKO_MARKERS_LOOP_STEPS_H

#include "formats/gecko/markers/look.h"

#define BLOCKED_LEAST_NS 50000000 /* from here on the viewer speaks of jank */

/* What the loop of a thread runs. `= {0}`: nothing. */
struct loop_step {
    bool open;
    uint64_t start_ns, last_ns; /* the first and the latest look */
    uint64_t cpu_ns;            /* between these looks */
    bool cpu_known;
    uint32_t task, function, stack;
    uint64_t looks;
    uint32_t before, before_task; /* the function and the task of the step before this moment; 0: none */
    uint32_t between;             /* looks since then that found the loop itself at work */
};

/* How often looks found the callbacks of a function. */
struct loop_count {
    uint64_t looks;   /* in a callback of the function */
    uint64_t between; /* between two of its callbacks */
    uint64_t series;  /* series of looks in a callback, ... */
    uint64_t seen_ns; /* ... from the first to the last look of each, ... */
    uint64_t cpu_ns;  /* ... and the CPU time of its thread meanwhile */
};

/* `= {0}` is empty. */
struct loop_counts {
    struct loop_count *by_function;
    size_t room;
    uint64_t cpu_unit_ns; /* set by the owner: CPU times are multiples of this */
};

/* Takes a look at a thread. */
void loop_steps_take(struct loop_step *step, struct loop_counts *counts, const struct look *look,
                     struct marker_store *store);

/* Ends the step at a time. */
void loop_steps_close(struct loop_step *step, struct loop_counts *counts, uint32_t thread, uint64_t ns,
                      struct marker_store *store);

/* Whether a marker of the kind MARKER_BLOCKED stands. Call it after the last look. */
bool loop_steps_stands(const struct loop_counts *counts, const struct marker *marker);

/* Frees the counts. */
void loop_steps_free(struct loop_counts *counts);

#endif
