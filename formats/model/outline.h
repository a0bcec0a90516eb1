/* SPDX-License-Identifier: MIT */
/* An outline is a second tree of stacks, as an output shows them. The tables have two frames for two columns of one
 * line, while an output may show only the line. So the output gives each frame a label; frames that look the same get
 * the same label. The outline is the tree of labels, and stacks that look the same are one node.
 *
 *     stack 7:  <module>:20 -> main:12, column 4 -> f:7      labels 1 2 3      node 3
 *     stack 9:  <module>:20 -> main:12, column 8 -> f:7      labels 1 2 3      node 3
 *
 * A frame may also be dropped, or be one node with its caller:
 *
 *     stack 4:  <module>:20 -> <GC>      labels 1, OUTLINE_DROPPED                               the node of stack 3
 *     stack 6:  load:3 -> find:9         labels 5 | OUTLINE_FOLDS, 5 | OUTLINE_FOLDS      one node with label 5
 *     stack 8:  <module>:20 -> call      labels 1, 6 | OUTLINE_AT_LEAF                    node 6 under that of stack 3
 *     stack 9:  ... -> call -> f:7       labels 1, 6 | OUTLINE_AT_LEAF, 3                 the node of f:7 under that of
 * stack 3
 *
 * Stacks may also hang under a node other than the root, node 0: for example under the node of a thread or of an
 * interpreter. `= {0}` is empty. No function here recurses, but over functions that are inlined into one another. The time to place all stacks under one node grows with
 * distinct stacks, however deep the stacks are. */
#ifndef PYREEL_FORMATS_MODEL_OUTLINE_H
#define PYREEL_FORMATS_MODEL_OUTLINE_H

#include "formats/intern/stack_index.h"
#include "formats/model/tables.h"

/* How much of a frame an output shows. Frames that differ in nothing else have one label. */
enum frame_detail {
    DETAIL_LINES,     /* the function and the line */
    DETAIL_FUNCTIONS, /* the function only */
    DETAIL_COLUMNS,   /* the function, the line and the column */
};

#define OUTLINE_DROPPED UINT32_MAX /* the label of a frame that is dropped */
#define OUTLINE_FOLDS   (1u << 31) /* added to a label: the frame is one node with a caller that has the same label */
#define OUTLINE_AT_LEAF (1u << 30) /* added to a label: the frame is shown only as the leaf of a stack */
#define OUTLINE_FLAGS   (OUTLINE_FOLDS | OUTLINE_AT_LEAF)

/* The node of a stack under the root under which the stack was last placed. */
struct outline_stack {
    uint32_t root;
    uint32_t place; /* the node + 1; 0: not placed yet */
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
 * labels[0] stands for a stack without frames. Returns `root` when all frames are dropped. One outline always gets the
 * same `labels`. Callers that are already placed under `root` cost nothing, so place all stacks of one root before
 * those of the next. */
uint32_t outline_node(struct outline *outline, const struct tables *tables, const uint32_t *labels, uint32_t root,
                      uint32_t stack);

/* The node under the root, node 0, below which a node is. *depth is the depth of the node below that one. */
uint32_t outline_top(const struct outline *outline, uint32_t node, size_t *depth);

#define OUTLINE_LEAST_DEPTH 3 /* a root, <truncated> and a leaf */

/* The node of the same stack with `most` frames at most, OUTLINE_LEAST_DEPTH or more. A deeper stack keeps half of the
 * frames next to `root` and half at its leaf, the leaf's half being the larger one, with a frame `label` between:
 *
 *     5 frames of a b c d e f g       ->   a b <truncated> f g */
uint32_t outline_shorten(struct outline *outline, uint32_t root, uint32_t node, size_t most, uint32_t label);

/* Frees all but the nodes: the indexes by which the functions above find nodes. No stack may be placed afterwards. */
void outline_end_placing(struct outline *outline);

/* Frees the nodes and makes the outline empty. */
void outline_free(struct outline *outline);

#endif
