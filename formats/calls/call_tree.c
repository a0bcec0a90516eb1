/* SPDX-License-Identifier: MIT */
#include "formats/calls/call_tree.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- placing ---- */

/* What the making of a tree works with. Labels of the outline are entries, and behind them groups. */
struct call_tree_making {
    const struct entries *entries;
    const struct groups *groups;
    struct outline outline;
};

static uint32_t group_label(const struct call_tree_making *making, uint32_t group)
{
    return (uint32_t)making->entries->count + group;
}

/* The node of a row of the aggregate. */
static uint32_t node_of(struct call_tree_making *making, const struct aggregate_row *row)
{
    const uint32_t group = making->groups->by_thread[row->thread] - 1;
    const uint32_t root = outline_child(&making->outline, 0, group_label(making, group));
    return entries_place(making->entries, &making->outline, root, row->stack, waiting_of_group(row->group));
}

/* Nodes of the outline become nodes of the tree. A parent comes before its children. */
static void call_tree_make_nodes(struct call_tree *tree, const struct call_tree_making *making)
{
    const struct stack *placed = making->outline.nodes;
    tree->count = (size_t)making->outline.count + 1;
    tree->nodes = alloc_zeroed(tree->count, sizeof(*tree->nodes));
    tree->nodes[0].group = UINT32_MAX;
    for (size_t i = 1; i < tree->count; i++) {
        struct call_node *node = &tree->nodes[i];
        const uint32_t label = placed[i].frame;
        node->parent = placed[i].caller;
        if (label >= making->entries->count) {
            node->group = label - (uint32_t)making->entries->count;
        } else {
            node->entry = label;
            node->group = tree->nodes[node->parent].group;
        }
    }
}

static void call_tree_add_up_totals(struct call_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        memcpy(tree->nodes[i].total, tree->nodes[i].self, sizeof(tree->nodes[i].total));
    for (size_t i = tree->count; i-- > 1;)
        aggregate_add_sums(tree->nodes[tree->nodes[i].parent].total, tree->nodes[i].total);
}

/* From the last node to the first, so that children stand in the order of their numbers. */
static void link_children(struct call_tree *tree)
{
    for (size_t i = tree->count; i-- > 1;) {
        struct call_node *parent = &tree->nodes[tree->nodes[i].parent];
        tree->nodes[i].next = parent->child;
        parent->child = (uint32_t)i;
    }
}

bool call_tree_make(struct call_tree *tree, const struct entries *entries, const struct groups *groups,
                    const struct aggregate *aggregate)
{
    struct call_tree_making making = { .entries = entries, .groups = groups };
    *tree = (struct call_tree){ .entries = entries,
                                .by_row = alloc_zeroed(aggregate->count + 1, sizeof(*tree->by_row)) };
    for (size_t i = 0; i < aggregate->count; i++) {
        const struct aggregate_row *row = &aggregate->rows[i];
        if (!entries_leave_out(entries, row->stack))
            tree->by_row[i] = node_of(&making, row);
    }
    call_tree_make_nodes(tree, &making);
    outline_free(&making.outline);
    for (size_t i = 0; i < aggregate->count; i++)
        if (tree->by_row[i])
            aggregate_add_sums(tree->nodes[tree->by_row[i]].self, aggregate->rows[i].sums);
    call_tree_add_up_totals(tree);
    link_children(tree);
    return tree->count > 1 || aggregate->count == 0;
}

/* ---- order ---- */

struct call_tree_sorted {
    const struct call_tree *tree;
    uint64_t total;
    uint32_t node;
};

static int call_tree_compare_names(const struct call_tree *tree, uint32_t a, uint32_t b)
{
    const struct entries *entries = tree->entries;
    const uint32_t left = tree->nodes[a].entry, right = tree->nodes[b].entry;
    if (!left || !right)
        return (a > b) - (a < b);
    int order = text_compare(entries_code(entries, left)->name, entries_code(entries, right)->name);
    if (!order)
        order = text_compare(entries_code(entries, left)->file, entries_code(entries, right)->file);
    const uint32_t line = entries_line(entries, left), other = entries_line(entries, right);
    return order ? order : (line > other) - (line < other);
}

static int call_tree_compare(const void *a, const void *b)
{
    const struct call_tree_sorted *left = a, *right = b;
    if (left->total != right->total)
        return left->total < right->total ? 1 : -1;
    return call_tree_compare_names(left->tree, left->node, right->node);
}

/* Sorts all nodes, then puts each before its siblings so far, the last one first: no list is sorted by itself. */
void call_tree_sort(struct call_tree *tree, enum aggregate_sum sum)
{
    struct call_tree_sorted *sorted = alloc_zeroed(tree->count, sizeof(*sorted));
    for (size_t i = 1; i < tree->count; i++)
        sorted[i] = (struct call_tree_sorted){ tree, tree->nodes[i].total[sum], (uint32_t)i };
    qsort(sorted + 1, tree->count - 1, sizeof(*sorted), call_tree_compare);
    for (size_t i = 0; i < tree->count; i++)
        tree->nodes[i].child = 0;
    for (size_t i = tree->count; i-- > 1;) {
        struct call_node *node = &tree->nodes[sorted[i].node], *parent = &tree->nodes[node->parent];
        node->next = parent->child;
        parent->child = sorted[i].node;
    }
    free(sorted);
}

uint32_t call_tree_next(const struct call_tree *tree, uint32_t node, size_t *depth)
{
    if (tree->nodes[node].child) {
        ++*depth;
        return tree->nodes[node].child;
    }
    while (node && !tree->nodes[node].next) {
        node = tree->nodes[node].parent;
        --*depth;
    }
    return node ? tree->nodes[node].next : 0;
}

void call_tree_free(struct call_tree *tree)
{
    free(tree->nodes);
    free(tree->by_row);
    *tree = (struct call_tree){ 0 };
}
