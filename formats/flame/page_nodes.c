/* SPDX-License-Identifier: MIT */
#include "formats/flame/page_nodes.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* ---- shares ---- */

/* The largest share that each node has of the whole of a known sum. A child never has more than its parent. Nodes of
 * groups, and the root, are never pruned. */
static float *shares_of(const struct call_tree *tree, const bool known[SUMS])
{
    float *shares = alloc_zeroed(tree->count, sizeof(*shares));
    const uint64_t *whole = tree->nodes[0].total;
    for (size_t i = 0; i < tree->count; i++) {
        const struct call_node *node = &tree->nodes[i];
        for (size_t sum = 0; sum < SUMS; sum++) {
            const float share = known[sum] && whole[sum] ? (float)((double)node->total[sum] / (double)whole[sum]) : 0;
            shares[i] = share > shares[i] ? share : shares[i];
        }
        if (node->entry == 0)
            shares[i] = 2;
    }
    return shares;
}

static size_t count_from(const float *shares, size_t count, double share)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        kept += (double)shares[i] >= share;
    return kept;
}

/* The smallest share of the series 0, 1e-8, 1.2e-8, 1.5e-8, ... that leaves few enough nodes: the page says the share,
 * so the share has few digits. */
static double fitting_share(const float *shares, size_t count)
{
    static const double steps[] = { 1, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2 };
    double share = 0, power = 1e-8;
    for (size_t i = 0; power < 1 && count_from(shares, count, share) > PAGE_NODES_MOST; i++) {
        share = power * steps[i % countof(steps)];
        power *= i % countof(steps) == countof(steps) - 1 ? 10 : 1;
    }
    return share;
}

/* ---- rows ---- */

static uint32_t page_nodes_add_row(struct page_nodes *nodes, struct page_node row)
{
    nodes->rows = alloc_grow(nodes->rows, &nodes->room, nodes->count + 1, sizeof(*nodes->rows));
    nodes->rows[nodes->count++] = row;
    return (uint32_t)nodes->count;
}

/* Adds what the pruned children of a node have. `parent` is the row of the node, index + 1. */
static void add_rest(struct page_nodes *nodes, const struct call_tree *tree, const float *shares, uint32_t node,
                     uint32_t parent)
{
    uint64_t rest[SUMS] = { 0 };
    bool any = false;
    for (uint32_t child = tree->nodes[node].child; child; child = tree->nodes[child].next) {
        if ((double)shares[child] >= nodes->share)
            continue;
        any = true;
        for (size_t sum = 0; sum < SUMS; sum++)
            rest[sum] += tree->nodes[child].total[sum];
    }
    if (!any)
        return;
    nodes->rests = alloc_grow(nodes->rests, &nodes->rests_room, nodes->rests_count + 1, sizeof(*nodes->rests));
    for (size_t sum = 0; sum < SUMS; sum++)
        nodes->rests[nodes->rests_count][sum] = rest[sum];
    nodes->rests_count++;
    page_nodes_add_row(nodes, (struct page_node){ node, parent, (uint32_t)nodes->rests_count });
}

void page_nodes_find(struct page_nodes *nodes, const struct call_tree *tree, const bool known[SUMS], double share)
{
    float *shares = shares_of(tree, known);
    uint32_t *rows = alloc_zeroed(tree->count, sizeof(*rows)); /* by node of the tree: index + 1 */
    size_t depth = 0;
    *nodes = (struct page_nodes){ .share = share < 0 ? fitting_share(shares, tree->count) : share };
    for (uint32_t node = call_tree_next(tree, 0, &depth); node; node = call_tree_next(tree, node, &depth)) {
        if ((double)shares[node] < nodes->share) {
            nodes->pruned++;
            continue;
        }
        const uint32_t parent = rows[tree->nodes[node].parent];
        if (tree->nodes[node].entry)
            rows[node] = page_nodes_add_row(nodes, (struct page_node){ .node = node, .parent = parent });
        add_rest(nodes, tree, shares, node, rows[node]);
    }
    free(rows);
    free(shares);
}

uint64_t page_nodes_self(const struct page_nodes *nodes, const struct call_tree *tree, size_t index,
                         enum aggregate_sum sum)
{
    const struct page_node *row = &nodes->rows[index];
    return row->rest ? nodes->rests[row->rest - 1][sum] : tree->nodes[row->node].self[sum];
}

void page_nodes_free(struct page_nodes *nodes)
{
    free(nodes->rows);
    free(nodes->rests);
    *nodes = (struct page_nodes){ 0 };
}
