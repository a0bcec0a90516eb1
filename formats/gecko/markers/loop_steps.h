/* SPDX-License-Identifier: MIT */
/* Event loops that were blocked: one callback, or one step of a task, that took BLOCKED_LEAST_NS and more.
 *
 * The recording says since when a loop is proved to run one callback (sample.callback_ns), at whatever rate of looks. A
 * marker lasts from then to the last look that proves it: the callback lasted at least so long. Where nothing is
 * proved, as of a loop in C, there is no marker.
 *
 * Where looks are rare, less than BLOCKED_LEAST_NS may be proved of a block of twice that time. So a callback that was
 * proved for BLOCKED_SURE_NS by two looks after it was seen first has a marker, too, if it may have taken so long. */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_LOOP_STEPS_H
#define PYREEL_FORMATS_GECKO_MARKERS_LOOP_STEPS_H

#include "formats/gecko/markers/look.h"

#define BLOCKED_LEAST_NS 50000000 /* from here on the viewer speaks of jank */
#define BLOCKED_SURE_NS  20000000

/* The callback that the loop of a thread runs. `= {0}`: none is known. */
struct loop_step {
    uint64_t since_ns; /* 0: none */
    uint64_t last_ns;  /* the latest look that found it */
    uint64_t width_ns; /* how long this look stands for */
    uint64_t next_ns;  /* the first look behind that did not prove it; 0: none yet */
    uint64_t looks;    /* at least so many found it behind `since_ns` */
    uint32_t task, function, stack;
};

/* Takes a look at a thread. */
void loop_steps_take(struct loop_step *step, const struct look *look, struct marker_store *store);

/* Ends the step at a time. */
void loop_steps_close(struct loop_step *step, uint32_t thread, uint64_t ns, struct marker_store *store);

#endif
