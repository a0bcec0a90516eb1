/* SPDX-License-Identifier: MIT */
#include "formats/calls/totals.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* A walk from the root down keeps how often each number is above the present node. The total of the outermost node
 * counts. */
struct entry_totals *totals_by(const struct call_tree *tree, uint32_t top, const uint32_t *numbers, size_t count)
{
    struct entry_totals *totals = alloc_zeroed(count + 1, sizeof(*totals));
    uint32_t *above = alloc_zeroed(count + 1, sizeof(*above));
    uint32_t node = top;
    for (bool down = true;;) {
        const struct call_node *row = &tree->nodes[node];
        const uint32_t number = row->entry ? numbers[row->entry] : 0;
        if (down && number) {
            aggregate_add_sums(totals[number].self, row->self);
            if (above[number]++ == 0)
                aggregate_add_sums(totals[number].total, row->total);
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
    const size_t count = tree->entries->count;
    uint32_t *numbers = alloc_zeroed(count + 1, sizeof(*numbers));
    for (size_t i = 0; i < count; i++)
        numbers[i] = (uint32_t)i;
    struct entry_totals *totals = totals_by(tree, node, numbers, count);
    free(numbers);
    return totals;
}

struct entry_totals *totals_of_codes(const struct call_tree *tree, uint32_t node)
{
    const struct entries *entries = tree->entries;
    uint32_t *numbers = alloc_zeroed(entries->count + 1, sizeof(*numbers));
    for (size_t i = 1; i < entries->count; i++)
        numbers[i] = entries->rows[i].code;
    struct entry_totals *totals = totals_by(tree, node, numbers, entries->codes_count);
    free(numbers);
    return totals;
}
