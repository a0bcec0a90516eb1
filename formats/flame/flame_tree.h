/* SPDX-License-Identifier: MIT */
/* The call tree that a flame graph draws, with the frames and the threads of its nodes. */
#ifndef PYREEL_FORMATS_FLAME_FLAME_TREE_H
#define PYREEL_FORMATS_FLAME_FLAME_TREE_H

#include "formats/calls/call_tree.h"
#include "formats/flame/flame.h"

/* `= {0}` is empty. */
struct flame_tree {
    struct entries entries;
    struct groups groups;
    struct call_tree tree;
};

/* Makes the tree, with a node for each function or each line of a function (`kind`). False when the style leaves out
 * all stacks. The tables must outlive the tree. */
bool flame_tree_make(struct flame_tree *shown, enum entry_kind kind, const struct tables *tables,
                     const struct flame_samples *samples, const struct flame_style *style);

void flame_tree_free(struct flame_tree *shown);

#endif
