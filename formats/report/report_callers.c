/* SPDX-License-Identifier: MIT */
/* Who calls a function, and whom it calls. Each sample counts once, so the rows add up to the total of the function:
 * at the caller of the outermost call, and at the callee of the innermost one.
 *
 *     main > walk > walk > read      caller of walk: main        callee of walk: read */
#include "formats/report/report_internal.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

#define ROWS_USUAL 20

/* Rows of `sums` that no entry has. */
enum { OUTSIDE = 0 };

/* The entry at which the samples of each node count; OUTSIDE: the function is not in the stack. `itself`: at none. */
static uint32_t *find_callers(const struct call_tree *tree, uint32_t function, uint32_t itself)
{
    uint32_t *at = alloc_zeroed(tree->count, sizeof(*at));
    for (size_t i = 1; i < tree->count; i++) {
        const struct call_node *node = &tree->nodes[i];
        at[i] = at[node->parent];
        if (at[i] == OUTSIDE && node->entry == function)
            at[i] = tree->nodes[node->parent].entry ? tree->nodes[node->parent].entry : itself;
    }
    return at;
}

static uint32_t *report_callers_find_callees(const struct call_tree *tree, uint32_t function, uint32_t itself)
{
    uint32_t *at = alloc_zeroed(tree->count, sizeof(*at));
    for (size_t i = 1; i < tree->count; i++) {
        const struct call_node *node = &tree->nodes[i];
        if (node->entry == function)
            at[i] = itself;
        else
            at[i] = at[node->parent] == itself ? node->entry : at[node->parent];
    }
    return at;
}

/* Adds the table. `nobody` is the row of samples that count at no entry. */
static void callers_add_table(struct report *report, const struct section_calls *calls, uint32_t function,
                              const uint32_t *at, bool callers)
{
    const struct entries *entries = &calls->entries;
    const struct call_tree *tree = &calls->tree;
    uint64_t *sums = alloc_zeroed(entries->count + 1, sizeof(*sums));
    for (size_t i = 1; i < tree->count; i++)
        sums[at[i]] += at[i] == OUTSIDE ? 0 : report_sum(report, tree->nodes[i].self);
    const struct text name = entries_code(entries, function)->name;
    struct report_section *section = report_add_section(report, SECTION_TABLE, callers ? "callers" : "callees");
    section->title = report_say(report, "%s %.*s, by %s", callers ? "Callers of" : "Called by", (int)name.size,
                                name.bytes, report_weight_label(report));
    section->rows_are = callers ? "caller" : "callee";
    section->columns = COLUMN_TOTAL | COLUMN_PLACE;
    for (uint32_t i = 1; i <= entries->count; i++) {
        if (!sums[i])
            continue;
        struct report_row *row = report_add_row(section);
        if (i < entries->count)
            report_describe(report, row, entries, i);
        else
            row->name = callers ? TEXT("[no caller]") : report_say(report, "[%.*s itself]", (int)name.size, name.bytes);
        row->total = sums[i];
        section->whole += sums[i];
    }
    free(sums);
    report_sort_rows(section, SORT_TOTAL,
                     report->style.top || report->style.every_row ? report->style.top : ROWS_USUAL);
}

static bool callers_add(struct report *report, const char *option, const char *wanted, bool callers, struct fault *why)
{
    struct section_calls calls;
    uint32_t function = 0;
    const bool any = section_calls_make(&calls, report, &(struct section_style){ 0 });
    const bool found = any && report_find_entry(&calls.entries, option, wanted, &function, why);
    if (found) {
        const uint32_t itself = (uint32_t)calls.entries.count;
        uint32_t *at = (callers ? find_callers : report_callers_find_callees)(&calls.tree, function, itself);
        callers_add_table(report, &calls, function, at, callers);
        free(at);
    }
    section_calls_free(&calls);
    return found;
}

bool report_add_callers(struct report *report, struct fault *why)
{
    return callers_add(report, "--callers", report->style.callers, true, why);
}

bool report_add_callees(struct report *report, struct fault *why)
{
    return callers_add(report, "--callees", report->style.callees, false, why);
}
