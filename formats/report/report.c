/* SPDX-License-Identifier: MIT */
#include "formats/report/report.h"

#include "formats/base/alloc.h"
#include "formats/frames/weight_choice.h"
#include "formats/report/report_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

const char *report_weight_label(const struct report *report)
{
    return weight_choice_label(
        &(struct weight_choice){ .weight = report->weight, .without_waits = report->without_waits });
}

/* ---- texts and rows ---- */

struct text report_keep(struct report *report, struct text text)
{
    return intern_text(&report->texts, text);
}

struct text report_say(struct report *report, const char *format, ...)
{
    char *string;
    va_list values;
    va_start(values, format);
    const int size = vasprintf(&string, format, values);
    va_end(values);
    if (size < 0)
        return (struct text){ "", 0 };
    const struct text kept = report_keep(report, (struct text){ string, (size_t)size });
    free(string);
    return kept;
}

struct report_section *report_add_section(struct report *report, enum report_section_kind kind, const char *what)
{
    report->sections = alloc_grow(report->sections, &report->sections_room, report->sections_count + 1,
                                  sizeof(*report->sections));
    struct report_section *section = &report->sections[report->sections_count++];
    *section = (struct report_section){ .kind = kind, .what = what };
    return section;
}

struct report_row *report_add_row(struct report_section *section)
{
    section->rows = alloc_grow(section->rows, &section->room, section->count + 1, sizeof(*section->rows));
    section->rows[section->count] = (struct report_row){ 0 };
    return &section->rows[section->count++];
}

void report_describe(struct report *report, struct report_row *row, const struct entries *entries, uint32_t entry)
{
    const struct shown_code *code = entries_code(entries, entry);
    row->name = report_keep(report, code->name);
    row->file = report_keep(report, code->file);
    row->path = report_keep(report, code->path);
    row->line = entries_line(entries, entry);
    row->kind = code_kind_name(code->kind);
}

/* ---- order ---- */

static int compare_places(const struct report_row *a, const struct report_row *b)
{
    int order = text_compare(a->name, b->name);
    if (!order)
        order = text_compare(a->path, b->path);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

static int by_self(const void *left, const void *right)
{
    const struct report_row *a = left, *b = right;
    int order = compare_numbers(a->self, b->self);
    if (!order)
        order = compare_numbers(a->total, b->total);
    return order ? order : compare_places(a, b);
}

static int by_total(const void *left, const void *right)
{
    const struct report_row *a = left, *b = right;
    int order = compare_numbers(a->total, b->total);
    if (!order)
        order = compare_numbers(a->self, b->self);
    return order ? order : compare_places(a, b);
}

void report_sort_rows(struct report_section *section, enum report_sort sort, size_t top)
{
    section->sort = sort;
    if (section->count)
        qsort(section->rows, section->count, sizeof(*section->rows), sort == SORT_TOTAL ? by_total : by_self);
    if (!top || section->count <= top)
        return;
    section->left_out = section->count - top;
    for (size_t i = top; i < section->count; i++)
        section->left_out_sum += section->columns & COLUMN_SELF ? section->rows[i].self : section->rows[i].total;
    section->count = top;
}

/* ---- the tree behind a section ---- */

struct aggregate report_counted(const struct report *report)
{
    struct aggregate aggregate = *report->all;
    if (report->busy) {
        aggregate.rows = report->busy;
        aggregate.count = report->busy_count;
    }
    return aggregate;
}

bool report_is_wait(const struct entries *entries, uint32_t entry)
{
    for (size_t i = 0; i < WAITINGS; i++)
        if (entries->waits[i] && entries->waits[i] == entry)
            return true;
    return false;
}

/* Leaves the rows of groups that are not quiet. Returns them; the caller frees them. */
static struct aggregate_row *leave_out_quiet(const struct report *report, struct aggregate *aggregate)
{
    bool *quiet = alloc_zeroed(report->groups_count + 1, sizeof(*quiet));
    struct aggregate_row *rows = alloc_zeroed(aggregate->count + 1, sizeof(*rows));
    size_t count = 0;
    for (size_t i = 0; i < report->groups_count; i++)
        quiet[report->groups[i].from - report->found.rows] = report->groups[i].quiet;
    for (size_t i = 0; i < aggregate->count; i++)
        if (!quiet[report->found.by_thread[aggregate->rows[i].thread] - 1])
            rows[count++] = aggregate->rows[i];
    free(quiet);
    aggregate->rows = rows;
    aggregate->count = count;
    return rows;
}

bool section_calls_make(struct section_calls *calls, const struct report *report, const struct section_style *style)
{
    const struct entries_style entries = {
        .kind = style->kind,
        .full_paths = report->style.full_paths,
        .ids = report->style.ids,
        .opcodes = style->opcodes,
        .waits = report->weight == SUM_WALL_NS && !report->without_waits && !style->opcodes,
        .filter = report->style.filter,
    };
    struct aggregate aggregate = report_counted(report);
    struct aggregate_row *rows = style->without_quiet ? leave_out_quiet(report, &aggregate) : NULL;
    *calls = (struct section_calls){ 0 };
    entries_find(&calls->entries, report->tables, &entries);
    for (size_t i = 0; style->folds_recursion && i < report->tables->frames_count; i++)
        if (calls->entries.labels[i] != OUTLINE_DROPPED)
            calls->entries.labels[i] |= OUTLINE_FOLDS;
    const bool any = call_tree_make(&calls->tree, &calls->entries, &report->found, &aggregate);
    free(rows);
    return any;
}

void section_calls_free(struct section_calls *calls)
{
    call_tree_free(&calls->tree);
    entries_free(&calls->entries);
}

/* ---- the report ---- */

static void report_choose_weight(struct report *report)
{
    const struct weight_choice choice = weight_choose(report->all);
    report->weight = choice.weight;
    report->without_waits = choice.without_waits;
    report->why_not_cpu = choice.reason;
}

static bool check_weight(const struct report *report, struct fault *why)
{
    const enum aggregate_sum weight = report->weight;
    return report->all->samples == 0 || aggregate_knows(report->all, weight) ||
           fault(why, "--weight %s cannot be applied: %s", sum_rows[weight].name, sum_rows[weight].reason);
}

static void leave_out_waits(struct report *report)
{
    report->busy = alloc_zeroed(report->all->count + 1, sizeof(*report->busy));
    report->busy_count = weight_take_busy(report->all, report->busy);
}

bool report_begin(struct report *report, const struct tables *tables, const struct aggregate *aggregate,
                  const struct report_style *style, struct fault *why)
{
    *report = (struct report){ .style = *style, .tables = tables, .all = aggregate, .weight = style->weight };
    if (!style->weighted)
        report_choose_weight(report);
    if (!check_weight(report, why))
        return false;
    const struct groups_style groups = { .ids = style->ids };
    groups_find(&report->found, tables, aggregate, &groups);
    report->account = account_of_aggregate(aggregate, tables);
    if (report->without_waits)
        leave_out_waits(report);
    return report_find_groups(report);
}

/* Says why a table has no rows. */
static void explain_empty(struct report *report)
{
    for (size_t i = 0; i < report->sections_count; i++) {
        struct report_section *section = &report->sections[i];
        if (section->count == 0 && section->note.size == 0 && report->all->samples > 0)
            section->note = report_say(report, "No sample here has %s; choose another --weight.",
                                       report_weight_label(report));
    }
}

bool report_make(struct report *report, struct fault *why)
{
    const struct report_style *style = &report->style;
    bool good = true;
    if (!style->callers && !style->callees && !style->annotate && !style->tree)
        good = report_add_tables(report);
    if (style->callers)
        good = report_add_callers(report, why);
    if (good && style->callees)
        good = report_add_callees(report, why);
    if (good && style->annotate)
        good = report_add_source(report, why);
    if (good && style->tree)
        good = report_add_tree(report);
    explain_empty(report);
    return good;
}

void report_free(struct report *report)
{
    for (size_t i = 0; i < report->sections_count; i++)
        free(report->sections[i].rows);
    free(report->sections);
    free(report->facts);
    free(report->groups);
    free(report->busy);
    groups_free(&report->found);
    intern_free(&report->texts);
    *report = (struct report){ 0 };
}
