/* SPDX-License-Identifier: MIT */
#include "formats/calls/totals.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* Which number a node has: its entry, or the code of its entry. */
typedef uint32_t number_of_node(const struct call_tree *tree, uint32_t node);

static uint32_t entry_of(const struct call_tree *tree, uint32_t node)
{
    return tree->nodes[node].entry;
}

static uint32_t code_of(const struct call_tree *tree, uint32_t node)
{
    const uint32_t entry = tree->nodes[node].entry;
    return entry ? tree->entries->rows[entry].code : 0;
}

static void add(uint64_t *to, const uint64_t *sums)
{
    for (size_t i = 0; i < SUMS; i++)
        to[i] += sums[i];
}

/* A walk from the root down keeps how often each number is above the present node. The total of the outermost node
 * counts. */
static struct entry_totals *sum_up(const struct call_tree *tree, uint32_t top, size_t count, number_of_node *number_of)
{
    struct entry_totals *totals = alloc_zeroed(count + 1, sizeof(*totals));
    uint32_t *above = alloc_zeroed(count + 1, sizeof(*above));
    uint32_t node = top;
    for (bool down = true;;) {
        const uint32_t number = number_of(tree, node);
        const struct call_node *row = &tree->nodes[node];
        if (down && number) {
            add(totals[number].self, row->self);
            if (above[number]++ == 0)
                add(totals[number].total, row->total);
        }
        if (down && row->child) {
            node = row->child;
            continue;
        }
        if (number)
            above[number]--;
        if (node == top)
            break;
        down = row->next != 0;
        node = down ? row->next : row->parent;
    }
    free(above);
    return totals;
}

struct entry_totals *totals_of(const struct call_tree *tree, uint32_t node)
{
    return sum_up(tree, node, tree->entries->count, entry_of);
}

struct entry_totals *totals_of_codes(const struct call_tree *tree, uint32_t node)
{
    return sum_up(tree, node, tree->entries->codes_count, code_of);
}
