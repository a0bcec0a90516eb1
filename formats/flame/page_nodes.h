/* SPDX-License-Identifier: MIT */
/* The nodes of a call tree that the page gets, parents before their children. The page stays quick with so many nodes
 * only, and of very many nodes most are too narrow to be seen. Then nodes are pruned: a node whose total is less than a
 * share of the whole, in all known sums, is left out with all nodes below it. What the pruned children of one node have
 * is one node, the rest, so that sums stay whole:
 *
 *     main 10 s                     main 10 s
 *     ├─ work 9.9999 s              ├─ <rest> 0.0001 s
 *     ├─ log 0.00004 s              └─ work 9.9999 s
 *     └─ tick 0.00006 s */
#ifndef PYREEL_FORMATS_FLAME_PAGE_NODES_H
#define PYREEL_FORMATS_FLAME_PAGE_NODES_H

#include "formats/calls/call_tree.h"

/* The most nodes, without rests, when the user names no share. */
#define PAGE_NODES_MOST 150000

struct page_node {
    uint32_t node;   /* of the call tree */
    uint32_t parent; /* index + 1; 0: the node hangs under its group */
    uint32_t rest;   /* index in `rests` + 1: this is the rest below `node`; 0: this is the node itself */
};

/* `= {0}` is empty. */
struct page_nodes {
    struct page_node *rows;
    size_t count, room;
    uint64_t (*rests)[SUMS];
    size_t rests_count, rests_room;
    double share;    /* nodes with less of the whole were left out; 0: none was */
    uint64_t pruned; /* number of nodes that were left out */
};

/* Finds the nodes. `known` tells which sums count. `share` below 0: the smallest one that leaves few enough nodes. */
void page_nodes_find(struct page_nodes *nodes, const struct call_tree *tree, const bool known[SUMS], double share);

/* What the node has itself of a sum, without its children. */
uint64_t page_nodes_self(const struct page_nodes *nodes, const struct call_tree *tree, size_t index,
                         enum aggregate_sum sum);

void page_nodes_free(struct page_nodes *nodes);

#endif
