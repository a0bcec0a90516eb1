/* SPDX-License-Identifier: MIT */
/* The call tree: the calls that have at least a share of the whole. A call that is the only one of its caller stands
 * below its caller without an indentation, so a deep stack stays readable. */
#include "formats/report/report_internal.h"

#include "formats/base/alloc.h"
#include "formats/frames/code_kind.h"

#include <stdlib.h>
#include <string.h>

#define CHAIN_MOST 5 /* calls in a row without a branch; of a longer chain, the middle is left out */
#define CHAIN_ENDS 2 /* calls that stay at both ends */

/* The tree while its rows are made. */
struct report_tree_making {
    struct report *report;
    const struct call_tree *tree;
    uint64_t least;
    uint32_t *rows; /* by node: index of its row + 1 */
};

static bool tree_node_is_shown(const struct report_tree_making *making, uint32_t node)
{
    return node && report_sum(making->report, making->tree->nodes[node].total) >= making->least;
}

/* The next node that is shown, parents first; 0: there is none. Siblings stand in the order of their totals, so the
 * first one that is not shown is the end. */
static uint32_t next_shown(const struct report_tree_making *making, uint32_t node)
{
    const struct call_node *nodes = making->tree->nodes;
    if (tree_node_is_shown(making, nodes[node].child))
        return nodes[node].child;
    while (node && !tree_node_is_shown(making, nodes[node].next))
        node = nodes[node].parent;
    return node ? nodes[node].next : 0;
}

static void add_node(struct report_tree_making *making, struct report_section *section, const struct entries *entries,
                     uint32_t node)
{
    struct report *report = making->report;
    const struct call_node *nodes = making->tree->nodes, *from = &nodes[node];
    struct report_row *row = report_add_row(section);
    if (from->entry) {
        report_describe(report, row, entries, from->entry);
    } else {
        for (size_t i = 0; i < report->groups_count; i++)
            if (report->groups[i].from == &report->found.rows[from->group])
                row->name = report->groups[i].name;
    }
    row->self = report_sum(report, from->self);
    row->total = report_sum(report, from->total);
    row->parent = making->rows[from->parent];
    row->last = !tree_node_is_shown(making, from->next);
    row->branches = from->parent && tree_node_is_shown(making, nodes[nodes[from->parent].child].next);
    row->depth = (row->parent ? section->rows[row->parent - 1].depth : 0) + row->branches;
    making->rows[node] = (uint32_t)section->count;
}

/* The number of rows from `first` on that are one chain: each is the only call of the one before. */
static size_t chain_length(const struct report_section *section, size_t first)
{
    size_t length = 1;
    while (first + length < section->count && !section->rows[first + length].branches &&
           section->rows[first + length].parent == first + length)
        length++;
    return length;
}

/* Whether a call in the middle of a chain stays: a task, or a place where the user's code and other code call each
 * other.
 *
 *     run (asyncio), <task>, answer (app.py), fetch (app.py), urlopen (urllib)     all but run and urlopen stay */
static bool stays(const struct report_row *row)
{
    const char *own = code_kind_name(CODE_PROGRAM);
    const bool task = row->kind == code_kind_name(CODE_ASYNCIO) && row->file.size == 0;
    return task || (row->kind == own && (row[-1].kind != own || row[1].kind != own));
}

/* How many calls of a chain are left out from row `first` of the chain on. A single call needs no more room than the
 * words that it is left out, so it stays. */
static size_t chain_count_left_out(const struct report_row *chain, size_t length, size_t first)
{
    size_t count = 0;
    while (length > CHAIN_MOST && first >= CHAIN_ENDS && first + count < length - CHAIN_ENDS &&
           !stays(&chain[first + count]))
        count++;
    return count > 1 ? count : 0;
}

/* Leaves out the middle of long chains. */
static void shorten_chains(struct report_section *section)
{
    size_t kept = 0, length;
    for (size_t i = 0; i < section->count; i += length) {
        size_t left_out;
        length = chain_length(section, i);
        for (size_t j = 0; j < length; j += left_out ? left_out : 1) {
            struct report_row row = section->rows[i + j];
            left_out = chain_count_left_out(&section->rows[i], length, j);
            if (left_out)
                row = (struct report_row){ .depth = row.depth, .skipped = (uint32_t)left_out };
            section->rows[kept++] = row;
        }
    }
    section->count = kept;
}

bool report_add_tree(struct report *report)
{
    struct section_calls calls;
    const bool any = section_calls_make(&calls, report, &(struct section_style){ .folds_recursion = true });
    const uint64_t whole = report_sum(report, calls.tree.nodes[0].total);
    const double least = (double)whole * report->style.tree_least;
    struct report_tree_making making = { .report = report,
                                         .tree = &calls.tree,
                                         .least = least > 1 ? (uint64_t)least : 1 };
    making.rows = alloc_zeroed(calls.tree.count, sizeof(*making.rows));
    call_tree_sort(&calls.tree, report->weight);
    struct report_section *section = report_add_section(report, SECTION_TREE, "tree");
    section->title = report_say(report, "Calls by total %s", report_weight_label(report));
    section->rows_are = "function";
    section->whole = whole;
    section->columns = COLUMN_SELF | COLUMN_TOTAL | COLUMN_PLACE;
    for (uint32_t node = next_shown(&making, 0); node; node = next_shown(&making, node))
        add_node(&making, section, &calls.entries, node);
    if (making.least > 1)
        section->note = report_say(report, "Calls below %g %% are not shown (--min).", report->style.tree_least * 100);
    if (!report->style.every_row)
        shorten_chains(section);
    free(making.rows);
    section_calls_free(&calls);
    return any;
}
