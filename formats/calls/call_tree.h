/* SPDX-License-Identifier: MIT */
/* The call tree that outputs for people show: a tree of entries, with the sums of the samples at each node. Stacks that
 * look the same are one node. Nodes that have no caller hang under the node of their group, and the nodes of groups
 * under the root, node 0:
 *
 *     0                              all samples
 *     └─ 1  group MainThread
 *        └─ 2  <module> (app.py)     self 0 s       total 3 s
 *           ├─ 3  work (app.py)      self 2 s       total 2 s
 *           └─ 4  [idle]             self 1 s       total 1 s
 *
 * A parent has a smaller number than its children, so sums run through the array and never recurse. */
#ifndef PYREEL_FORMATS_CALLS_CALL_TREE_H
#define PYREEL_FORMATS_CALLS_CALL_TREE_H

#include "formats/calls/entries.h"
#include "formats/calls/groups.h"

struct call_node {
    uint32_t parent;
    uint32_t entry; /* 0: the node of a group, or the root */
    uint32_t group; /* index in groups->rows; UINT32_MAX at the root */
    uint32_t child; /* first child; 0: none */
    uint32_t next;  /* next sibling; 0: none */
    uint64_t self[SUMS], total[SUMS];
};

/* `= {0}` is empty. */
struct call_tree {
    const struct entries *entries;
    struct call_node *nodes; /* by number */
    size_t count;            /* node 0 counts */
    uint32_t *by_row;        /* by row of the aggregate: its node; 0: --focus leaves the row out */
};

/* Makes the tree of all rows of a sorted aggregate. With style.waits, the rows have the groups of waiting_group().
 * Children stand in the order of their numbers. False, and the tree has no samples, when there are rows and --focus
 * leaves all of them out. The entries must outlive the tree. */
bool call_tree_make(struct call_tree *tree, const struct entries *entries, const struct groups *groups,
                    const struct aggregate *aggregate);

/* Sorts the children of each node by the total of a sum, the largest first; equal ones by name, file and line. */
void call_tree_sort(struct call_tree *tree, enum aggregate_sum sum);

/* The next node of a walk that visits a parent before its children, in the order of siblings; 0: there is none.
 * Starts at node 0. `depth` is that of the node, and changes with it. */
uint32_t call_tree_next(const struct call_tree *tree, uint32_t node, size_t *depth);

void call_tree_free(struct call_tree *tree);

#endif
