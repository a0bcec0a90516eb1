/* SPDX-License-Identifier: MIT */
/* Merges several recordings into one profile, or selects a part of one recording. The merge takes events after the
 * tables of the input have checked them, and gives the wanted events to the tables of the output, with new numbers and
 * times:
 *
 *     a.pyreel   process 1, thread 1, frames 1 to 90, 0 s      ->   process 1, thread 1, frames 1 to 90, 0 s
 *     b.pyreel   process 1, thread 1, frames 1 to 50, 0 s      ->   process 2, thread 2, frames 91 to 97, 2.5 s
 *
 * A definition is emitted once, when a sample needs it; a definition that no sample needs is left out. Two processes or
 * threads stay distinct even when the system gave them the same number. Times count from the start of the recording
 * that began first. The recordings are read one after the other, so times jump back between recordings, but not within
 * a thread. */
#ifndef PYREEL_CONVERT_FILTERS_MERGE_H
#define PYREEL_CONVERT_FILTERS_MERGE_H

#include "convert/filters/alike.h"
#include "convert/filters/selection.h"
#include "formats/intern/intern.h"
#include "formats/model/sink.h"

struct merged_thread {
    uint32_t number; /* number in the output; 0: not emitted yet */
    uint32_t stack;  /* stack of the latest emitted sample, in the recording; 0: it has no frames, or there is none */
    bool wanted;     /* the selection has the thread, by its number or by a name that it has or had */
};

/* Set `to`, `selection` and, to compare, `alike.before`; the rest starts as zeros. */
struct merge {
    /* ---- the output: the merged recording ---- */
    struct sink to;
    const struct selection *selection;
    struct alike alike; /* when comparing, functions become those of earlier recordings that are alike */
    struct intern strings, functions, frames;      /* index = number in the output; the bytes are the definition */
    uint32_t last_process, last_thread, last_task; /* highest numbers so far */
    struct end end;   /* the latest end event of the recordings so far; .reason 0: none yet */
    uint64_t last_ns; /* the latest time of the recordings that are finished */
    bool cut;         /* a recording had no end event */
    bool opened;      /* merge_open() was called */
    bool found;       /* there is a wanted thread */

    /* ---- the recording that is being read ---- */
    const struct tables *from;
    struct text name;   /* distinguishes the recording from the others; empty when there is only one */
    uint64_t offset_ns; /* start of the recording minus start of the output */
    uint32_t *process_numbers, *task_numbers, *frame_numbers; /* number → number in the output; 0: not emitted yet */
    size_t process_numbers_room, task_numbers_room, frame_numbers_room;
    uint32_t *ancestors; /* of the process that is being emitted */
    size_t ancestors_room;
    uint32_t *task_waiters; /* task → the task, in the recording, that was emitted as its waiter; 0: none */
    size_t task_waiters_room;
    struct merged_thread *threads; /* by number */
    size_t threads_room;
    uint32_t *stack; /* pushed frames of the sample that is being emitted, as numbers in the output */
    size_t stack_room;
};

/* Starts the output; `recording` describes it. Call this once. False with the reason when `to` refused. */
bool merge_open(struct merge *merge, const struct recording *recording, struct fault *why);

/* Starts the next recording. `from` are its tables, which accept each event before merge_take(). `offset_ns` is how
 * much later than the output the recording began. */
void merge_next(struct merge *merge, const struct tables *from, struct text name, uint64_t offset_ns);

/* Marks a thread of this recording as wanted, because the thread gets a wanted name later. */
void merge_want(struct merge *merge, uint32_t thread);

/* Takes an event of the recording. False with the reason when `to` refused an event. */
bool merge_take(struct merge *merge, struct event *event, struct fault *why);

/* Ends the recording that is being read. */
void merge_end_recording(struct merge *merge);

/* Ends the output: emits its end event. False with the reason when `to` refused. */
bool merge_finish(struct merge *merge, struct fault *why);

/* Frees the memory. */
void merge_free(struct merge *merge);

#endif
