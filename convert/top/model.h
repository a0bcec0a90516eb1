/* SPDX-License-Identifier: MIT */
/* The model of the live view: a sink that takes events and keeps sums by function, by call and by owner, in the last
 * seconds and in all (window.h). The samples of a second with one owner and one stack are added up first, and then
 * their stack is walked once:
 *
 *     source -> tables -> CPU owner -> model_take -> (owner, stack) of this second -> window of functions, calls,
 * owners
 *
 * An owner is a group of one process: a thread by its name, and the task that the thread ran, where tasks are recorded.
 * A hostile program may have names without end: MODEL_OWNERS_MOST bounds the owners.
 *
 * The figures are those of pyreel-report: a sample counts once in the total of a function, and CPU time belongs to the
 * looks that the CPU owner gives it to. */
#ifndef PYREEL_CONVERT_TOP_MODEL_H
#define PYREEL_CONVERT_TOP_MODEL_H

#include "convert/filters/cpu_owner.h"
#include "convert/top/window.h"
#include "formats/calls/entries.h"
#include "formats/calls/groups.h"

#define MODEL_OWNERS_MOST 20000

struct model_pair {
    uint32_t a, b;
};

/* Rows that have two numbers, such as (owner, function). */
struct model_pairs {
    struct intern_pairs numbers; /* pair -> row + 1 */
    struct model_pair *pairs;    /* by row */
    size_t room;
    uint64_t *seen; /* by row: the walk that has counted the row's total */
    size_t seen_room;
    struct recent_window window;
};

enum model_kind {
    MODEL_FUNCTIONS,    /* (owner, code of an entry) */
    MODEL_LINES,        /* (owner, entry) */
    MODEL_INSTRUCTIONS, /* (owner, entry of the instruction at which the thread stands) */
    MODEL_CALLS,        /* (code of the caller, code of the callee), of all owners */
    MODEL_KINDS
};

/* `= {0}` with `seconds` and `ids` set is empty. */
struct model {
    unsigned seconds;
    bool ids; /* each thread is an owner */
    struct tables tables;
    struct cpu_owner cpu_owner;
    struct groups owners;   /* numbers of owners are indexes in its rows */
    struct entries entries; /* lines of functions */
    struct model_pairs pairs[MODEL_KINDS];
    struct recent_window by_owner;
    struct aggregate batch; /* of one second; threads are owners here */
    uint64_t batch_second;
    uint64_t walk;                 /* number of the walk that is being made */
    uint64_t samples, known[SUMS]; /* as in an aggregate, of all batches that were added up */
    bool retitled;                 /* processes have other titles than their owners */
    uint64_t counted_ns;           /* the time at which the recorder counted (EVENT_COUNTER) */
};

/* Takes an event: as a sink whose state is the model. */
bool model_take(void *self, struct event *event, struct fault *why);

/* Adds what is being added up to the windows. Call this before the windows are read. */
void model_settle(struct model *model);

/* Gives the CPU time that waits for its look. Call this at the end of the events. */
void model_finish(struct model *model);

/* Frees the memory. */
void model_free(struct model *model);

#endif
