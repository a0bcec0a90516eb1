/* SPDX-License-Identifier: MIT */
/* Sums over samples. An aggregate has one row for each distinct combination of thread, asyncio task and stack. A row
 * holds the number of its samples and sums of their times, so memory grows with distinct stacks and not with samples.
 *
 * An outline is a second tree of stacks, as an output shows them. The tables have two frames for two columns of one
 * line, while an output may show only the line. So the output gives each frame a label; frames that look the same get
 * the same label. The outline is the tree of labels, and stacks that look the same are one node.
 *
 *     stack 7:  <module>:20 -> main:12, column 4 -> f:7      labels 1 2 3      node 3
 *     stack 9:  <module>:20 -> main:12, column 8 -> f:7      labels 1 2 3      node 3
 *
 * Stacks may also hang under a node other than the root, node 0: for example under the node of a thread or of an
 * interpreter. `= {0}` is an empty aggregate, and an empty outline. No function here recurses. The time to place all
 * stacks under one node grows with distinct stacks, however deep the stacks are. */
#ifndef PYREEL_FORMATS_MODEL_AGGREGATE_H
#define PYREEL_FORMATS_MODEL_AGGREGATE_H

#include "formats/intern/stack_index.h"
#include "formats/model/tables.h"

enum aggregate_sum {
    SUM_SAMPLES,
    SUM_WALL_NS,     /* time that the samples stand for */
    SUM_CPU_NS,      /* CPU time, as far as it is known */
    SUM_GIL_NS,      /* time of the samples whose thread held the interpreter's lock */
    SUM_GIL_WAIT_NS, /* time of the samples whose thread waited for the interpreter's lock */
    SUMS
};

struct aggregate_row {
    uint32_t thread;
    uint32_t task;  /* 0: none */
    uint32_t stack; /* 0: no Python frames */
    uint64_t sums[SUMS];
};

/* Consecutive samples have rows that lie far apart in memory. So sums wait in a batch until the batch has sums for
 * AGGREGATE_WAITING rows. Then all rows of the batch are prefetched at once, instead of one cache miss after the other.
 */
#define AGGREGATE_WAITING 64
/* threads whose latest waiting row is remembered, by the low bits of the thread's number. */
#define AGGREGATE_THREADS 64

struct aggregate {
    struct id_index index; /* finds a row; its number is its index in `rows` + 1 */
    struct aggregate_row *rows;
    size_t count, room;
    struct aggregate_row waiting[AGGREGATE_WAITING]; /* sums that are not added to `rows` yet */
    uint32_t waiting_count;
    uint32_t latest[AGGREGATE_THREADS]; /* index in `waiting` of the thread's latest row; another thread's row may be
                                         * there by now */
    uint64_t samples;                   /* all samples */
    uint64_t with_status, with_cpu;     /* samples whose status is known; samples whose CPU time is known */
};

/* Adds a sample. The rows are complete, and may be read, only after aggregate_sort(). */
void aggregate_sample(struct aggregate *aggregate, const struct sample *sample);

/* Adds the sums of `given` to the row of the same thread, task and stack, without the batch. Rows stand in the order of
 * first sight. */
void aggregate_add(struct aggregate *aggregate, const struct aggregate_row *given);

/* Whether the sum is known for at least some samples. */
bool aggregate_knows(const struct aggregate *aggregate, enum aggregate_sum sum);

/* Ends the counting and sorts the rows by thread, task, then stack. Nothing can be added afterwards. */
void aggregate_sort(struct aggregate *aggregate);

void aggregate_free(struct aggregate *aggregate);

/* The node of a stack under the root under which the stack was last placed. Node 0: not placed yet. */
struct outline_stack {
    uint32_t root, node;
};

struct outline {
    struct stack *nodes; /* by number; a node is a label (.frame) under a parent (.caller). Entry 0 is the root. NULL
                          * while the outline is empty */
    size_t nodes_room;
    uint32_t count; /* number of nodes without the root */
    struct id_index index;
    struct outline_stack *stacks; /* by number of the stack */
    size_t stacks_room;
    uint32_t *climb; /* scratch: stacks between the wanted stack and the nearest placed caller */
    size_t climb_room;
};

/* The node with this label under `parent`; made if absent. */
uint32_t outline_child(struct outline *outline, uint32_t parent, uint32_t label);

/* The node of a stack of `tables` under the node `root`. `labels` has the label of each frame by the frame's number;
 * labels[0] stands for a stack without frames. One outline always gets the same `labels`. Callers that are already
 * placed under `root` cost nothing, so place all stacks of one root before those of the next. */
uint32_t outline_node(struct outline *outline, const struct tables *tables, const uint32_t *labels, uint32_t root,
                      uint32_t stack);

void outline_free(struct outline *outline);

#endif
