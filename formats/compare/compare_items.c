/* SPDX-License-Identifier: MIT */
#include "formats/compare/compare.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* Which item a node is. */
typedef uint32_t item_of_node(const struct call_tree *tree, uint32_t node);

static uint32_t code_of(const struct call_tree *tree, uint32_t node)
{
    const uint32_t entry = tree->nodes[node].entry;
    return entry ? tree->entries->rows[entry].code : 0;
}

static uint32_t entry_of(const struct call_tree *tree, uint32_t node)
{
    return tree->nodes[node].entry;
}

static uint32_t itself(const struct call_tree *tree, uint32_t node)
{
    (void)tree;
    return node;
}

/* Node 0, the root, has no group. */
static uint32_t node_group(const struct call_tree *tree, uint32_t node)
{
    return tree->nodes[node].group + 1;
}

/* A walk from the root down keeps how often each item is above the present node. */
static void find_outermost(struct compare_items *items, const struct call_tree *tree)
{
    uint32_t *above = alloc_zeroed(items->count, sizeof(*above));
    uint32_t node = 0;
    for (bool down = true;;) {
        const uint32_t item = items->of_node[node];
        if (down)
            items->outermost[node] = item && above[item]++ == 0;
        if (down && tree->nodes[node].child) {
            node = tree->nodes[node].child;
            continue;
        }
        if (item)
            above[item]--;
        if (node == 0)
            break;
        down = tree->nodes[node].next != 0;
        node = down ? tree->nodes[node].next : tree->nodes[node].parent;
    }
    free(above);
}

static struct compare_items compare_items_find(const struct call_tree *tree, size_t count, item_of_node *item_of)
{
    struct compare_items items = {
        .count = count ? count : 1,
        .of_node = alloc_zeroed(tree->count, sizeof(*items.of_node)),
        .outermost = alloc_zeroed(tree->count, sizeof(*items.outermost)),
    };
    for (size_t i = 0; i < tree->count; i++)
        items.of_node[i] = item_of(tree, (uint32_t)i);
    find_outermost(&items, tree);
    return items;
}

struct compare_items compare_items_of_codes(const struct call_tree *tree)
{
    return compare_items_find(tree, tree->entries->codes_count, code_of);
}

struct compare_items compare_items_of_entries(const struct call_tree *tree)
{
    return compare_items_find(tree, tree->entries->count, entry_of);
}

struct compare_items compare_items_of_nodes(const struct call_tree *tree)
{
    return compare_items_find(tree, tree->count, itself);
}

struct compare_items compare_items_of_groups(const struct call_tree *tree)
{
    size_t count = 1;
    for (size_t i = 1; i < tree->count; i++)
        count = tree->nodes[i].group + 2 > count ? tree->nodes[i].group + 2 : count;
    return compare_items_find(tree, count, node_group);
}

void compare_items_free(struct compare_items *items)
{
    free(items->of_node);
    free(items->outermost);
    *items = (struct compare_items){ 0 };
}
