/* SPDX-License-Identifier: MIT */
#include "formats/model/outline.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

uint32_t outline_child(struct outline *outline, uint32_t parent, uint32_t label)
{
    const uint32_t known = stack_index_find(&outline->index, outline->nodes, parent, label);
    if (known)
        return known;
    const uint32_t node = ++outline->count;
    stack_index_add(&outline->index, &outline->nodes, &outline->nodes_room, node, (struct stack){ parent, label });
    return node;
}

/* The node of a frame with this label below `node`, which is `root` or below it. */
static uint32_t go_down(struct outline *outline, uint32_t root, uint32_t node, uint32_t label)
{
    const uint32_t shown = label & ~OUTLINE_FLAGS;
    const bool one = label & OUTLINE_FOLDS && node != root && outline->nodes[node].frame == shown;
    return label == OUTLINE_DROPPED || one ? node : outline_child(outline, node, shown);
}

/* Places the frames at the end of a stack that are shown only there: its leaf, and what that is inlined into. */
static uint32_t place_leaf(struct outline *outline, const struct tables *tables, const uint32_t *labels, uint32_t root,
                           uint32_t node, uint32_t stack)
{
    const uint32_t frame = tables->stacks[stack].frame, caller = tables->stacks[stack].caller, label = labels[frame];
    if (label != OUTLINE_DROPPED && !(label & OUTLINE_AT_LEAF))
        return node;
    if (caller && tables->frames[frame].inlined)
        node = place_leaf(outline, tables, labels, root, node, caller);
    return go_down(outline, root, node, label);
}

/* Climbs from the stack to the nearest placed caller, then goes down again and places each stack on the way. */
uint32_t outline_node(struct outline *outline, const struct tables *tables, const uint32_t *labels, uint32_t root,
                      uint32_t stack)
{
    if (stack == 0)
        return go_down(outline, root, root, labels[0]);
    outline->stacks = alloc_grow(outline->stacks, &outline->stacks_room, tables->stacks_count,
                                 sizeof(*outline->stacks));
    struct outline_stack *stacks = outline->stacks;
    const uint32_t leaf = stack;
    size_t depth = 0;
    while (stack && (stacks[stack].place == 0 || stacks[stack].root != root)) {
        outline->climb = alloc_grow(outline->climb, &outline->climb_room, depth + 1, sizeof(*outline->climb));
        outline->climb[depth++] = stack;
        stack = tables->stacks[stack].caller;
    }
    uint32_t node = stack ? stacks[stack].place - 1 : root;
    while (depth--) {
        const uint32_t on_the_way = outline->climb[depth], label = labels[tables->stacks[on_the_way].frame];
        if (label == OUTLINE_DROPPED || !(label & OUTLINE_AT_LEAF))
            node = go_down(outline, root, node, label);
        stacks[on_the_way] = (struct outline_stack){ root, node + 1 };
    }
    return place_leaf(outline, tables, labels, root, node, leaf);
}

uint32_t outline_top(const struct outline *outline, uint32_t node, size_t *depth)
{
    for (*depth = 0; outline->nodes[node].caller; ++*depth)
        node = outline->nodes[node].caller;
    return node;
}

uint32_t outline_shorten(struct outline *outline, uint32_t root, uint32_t node, size_t most, uint32_t label)
{
    size_t depth = 0;
    for (uint32_t at = node; at != root; at = outline->nodes[at].caller)
        depth++;
    if (depth <= most)
        return node;
    const size_t leaf_part = most / 2, root_part = most - 1 - leaf_part;
    uint32_t *labels = alloc_zeroed(leaf_part, sizeof(*labels));
    for (size_t i = 0; i < leaf_part; i++, node = outline->nodes[node].caller)
        labels[i] = outline->nodes[node].frame;
    for (size_t i = leaf_part + root_part; i < depth; i++)
        node = outline->nodes[node].caller;
    node = outline_child(outline, node, label);
    for (size_t i = leaf_part; i-- > 0;)
        node = outline_child(outline, node, labels[i]);
    free(labels);
    return node;
}

void outline_end_placing(struct outline *outline)
{
    id_index_free(&outline->index);
    free(outline->stacks);
    free(outline->climb);
    outline->stacks = NULL;
    outline->climb = NULL;
    outline->stacks_room = outline->climb_room = 0;
}

void outline_free(struct outline *outline)
{
    outline_end_placing(outline);
    free(outline->nodes);
    *outline = (struct outline){ 0 };
}
