/* SPDX-License-Identifier: MIT */
/* Makes one profile of several recordings, or of a part of one. It stands between the tables of the recording that is
 * being read, which check its events, and those of the output: what is wanted is told on with numbers and times of the
 * whole.
 *
 *     a.pyreel   process 1, thread 1, frames 1 to 90, 0 s      ->   process 1, thread 1, frames 1 to 90, 0 s
 *     b.pyreel   process 1, thread 1, frames 1 to 50, 0 s      ->   process 2, thread 2, frames 91 to 97, 2.5 s
 *
 * A definition is told when a sample needs it, and once: what no sample has is not there. Processes and threads stay
 * apart even when the system gave them the same number. Times count from the start of the recording that began first.
 * Recordings come one after the other, so times go back from one to the next; within a thread they never do. */
#ifndef PYREEL_CONVERT_FILTERS_MERGE_H
#define PYREEL_CONVERT_FILTERS_MERGE_H

#include "convert/filters/selection.h"
#include "formats/intern/intern.h"
#include "formats/model/sink.h"

struct merged_thread {
    uint32_t number; /* in the whole; 0: not told yet */
    uint32_t common; /* frames from the root that are as they were in the last sample told */
    bool wanted;     /* it has, or once had, a name that is */
};

/* Set `to` and `selection`; the rest starts as zeros. */
struct merge {
    struct sink to;
    const struct selection *selection;
    struct intern strings, functions, frames; /* of the whole; their bytes are what defines them */
    uint32_t last_process, last_thread, last_task;
    struct end end;   /* of the whole so far; .reason 0: none yet */
    uint64_t last_ns; /* the latest time of the recordings that are over */
    bool cut;         /* a recording had no end */
    bool opened;      /* the whole was described */
    bool found;       /* a thread that is wanted */

    /* Of the recording that is being read. */
    const struct tables *from;
    struct text name; /* what tells it from the others; empty when there are none */
    uint64_t offset_ns;
    uint32_t *process_numbers, *task_numbers, *frame_numbers; /* in the whole, by number; 0: not told yet */
    size_t process_numbers_room, task_numbers_room, frame_numbers_room;
    struct merged_thread *threads; /* by number */
    size_t threads_room;
    uint32_t *stack; /* of the sample being told */
    size_t stack_room;
};

/* Begins with the whole: `recording` describes it. Once. */
bool merge_open(struct merge *merge, const struct recording *recording, struct fault *why);

/* Goes on to the next recording, whose events `from` will have accepted; it began so long after the whole. */
void merge_next(struct merge *merge, const struct tables *from, struct text name, uint64_t offset_ns);

/* The thread is wanted whatever it is called when it is told of: it gets the name later. */
void merge_want(struct merge *merge, uint32_t thread);

/* Takes an event of the recording. False when `to` refused what became of it. */
bool merge_take(struct merge *merge, struct event *event, struct fault *why);

/* Ends the recording, and the whole. */
void merge_end_recording(struct merge *merge);
bool merge_finish(struct merge *merge, struct fault *why);

void merge_free(struct merge *merge);

#endif
