/* SPDX-License-Identifier: MIT */
/* Counting instead of keeping. An aggregate holds one row for each distinct thread, asyncio task that it ran, and
 * stack, and how many samples that had, how long they stand for, doing what, so what it takes grows with distinct
 * stacks and not with samples.
 *
 * An outline tells stacks once more, as an output shows them. To the tables two frames on one line are two frames when
 * their columns differ; to an output they may be the same. So the output gives each frame a mark, frames that look
 * alike the same one, and the outline is the tree of the marks: stacks that look alike are one node.
 *
 *     stack 7:  <module>:20 -> main:12, column 4 -> f:7      marks  1 2 3      node 3
 *     stack 9:  <module>:20 -> main:12, column 8 -> f:7      marks  1 2 3      node 3
 *
 * A tree may hang under another node than 0, its root: a thread's, an interpreter's. `= {0}` is an empty one of each.
 * Nothing here recurses, and placing all stacks of a root costs the distinct ones only, however deep they are. */
#ifndef PYREEL_FORMATS_MODEL_AGGREGATE_H
#define PYREEL_FORMATS_MODEL_AGGREGATE_H

#include "formats/intern/stack_index.h"
#include "formats/model/tables.h"

enum aggregate_sum {
    SUM_SAMPLES,
    SUM_WALL_NS,     /* time that they stand for */
    SUM_CPU_NS,      /* CPU time, as far as it is known */
    SUM_GIL_NS,      /* time that those stand for which held the interpreter's lock */
    SUM_GIL_WAIT_NS, /* and those which waited for it */
    SUMS
};

struct aggregate_row {
    uint32_t thread;
    uint32_t task;  /* 0: none */
    uint32_t stack; /* 0: no Python frames */
    uint64_t sums[SUMS];
};

/* Neighbouring samples have rows that lie far apart in memory. What samples add waits until there is something for so
 * many rows, which are then fetched at the same time instead of one after the other. */
#define AGGREGATE_WAITING 64
#define AGGREGATE_THREADS 64 /* whose latest row that waits is remembered, by the low bits of their numbers */

struct aggregate {
    struct id_index index; /* of rows, whose numbers are their places + 1 */
    struct aggregate_row *rows;
    size_t count, room;
    struct aggregate_row waiting[AGGREGATE_WAITING]; /* what samples add, that is in no row yet */
    uint32_t waiting_count;
    uint32_t
        latest[AGGREGATE_THREADS];  /* the place in `waiting` that a thread had last; look whether it still has it */
    uint64_t samples;               /* all */
    uint64_t with_status, with_cpu; /* of them: their status is known, their CPU time is */
};

/* Counts a sample. Rows have all of them, and may be looked at, once they are sorted. */
void aggregate_sample(struct aggregate *aggregate, const struct sample *sample);

/* Adds to all sums of the row that has the thread, task and stack of `given`, at once, and to nothing else. Rows stand
 * in the order of first sight. */
void aggregate_add(struct aggregate *aggregate, const struct aggregate_row *given);

/* Whether something is known of a sum: of some samples at least. */
bool aggregate_knows(const struct aggregate *aggregate, enum aggregate_sum sum);

/* Ends the counting: rows are sorted by thread, task, then stack, and nothing can be added any more. */
void aggregate_sort(struct aggregate *aggregate);

void aggregate_free(struct aggregate *aggregate);

/* Where a stack is: its node under the root it was last placed under. Node 0: nowhere yet. */
struct outline_place {
    uint32_t root, node;
};

struct outline {
    struct stack *nodes; /* by number; each is a stack of marks. Entry 0 is the root of all; NULL while there is none */
    size_t nodes_room;
    uint32_t count; /* of nodes but that one */
    struct id_index index;
    struct outline_place *places; /* by stack */
    size_t places_room;
    uint32_t *climb; /* stacks on the way up to one that is placed */
    size_t climb_room;
};

/* The node with this mark under `parent`. */
uint32_t outline_child(struct outline *outline, uint32_t parent, uint32_t mark);

/* The node of a stack of `tables` under `root`. `marks` has the mark of each frame by its number, and in entry 0 the
 * one that stands for a stack without frames; always the same `marks` for one outline. Callers that are placed already
 * cost nothing while the root stays the same, so give all stacks of a root together. */
uint32_t outline_place(struct outline *outline, const struct tables *tables, const uint32_t *marks, uint32_t root,
                       uint32_t stack);

void outline_free(struct outline *outline);

#endif
