/* SPDX-License-Identifier: MIT */
#include "convert/diff/difference.h"

#include "formats/base/alloc.h"

#include <math.h>
#include <stdlib.h>

static struct text difference_keep(struct difference *difference, const struct bytes *bytes)
{
    return intern_text(&difference->texts, bytes_text(bytes));
}

/* ---- amounts ---- */

double difference_share(const struct difference *difference, enum compare_side side, double amount)
{
    const struct judgement *judgement = &difference->items.judgement;
    const double whole = side == COMPARE_BEFORE ? judgement->whole_before : judgement->whole_after;
    return whole > 0 ? amount / whole : 0;
}

double difference_duration_ns(const struct difference *difference, enum compare_side side)
{
    const struct compare *compare = difference->compare;
    double all_ns = 0, runs = 0;
    for (size_t i = 0; i < compare->read; i++) {
        all_ns += compare->runs[i].side == side ? (double)compare->runs[i].duration_ns : 0;
        runs += compare->runs[i].side == side;
    }
    return runs > 0 ? all_ns / runs : 0;
}

/* ---- what is compared ---- */

static bool difference_choose_weight(struct difference *difference, struct fault *why)
{
    struct diff_style *style = &difference->style;
    const bool cpu_known = compare_knows(difference->compare, SUM_CPU_NS);
    if (!style->weighted)
        style->weight = compare_usual_weight(difference->compare);
    else if (style->weight == SUM_CPU_NS && !cpu_known)
        return fault(why, "--weight cpu cannot be applied to all recordings: %s", sum_rows[SUM_CPU_NS].reason);
    return true;
}

static bool difference_make_tree(struct difference *difference)
{
    const struct compare *compare = difference->compare;
    const struct entries_style style = { .kind = by_entry_kind(difference->style.by),
                                         .full_paths = difference->style.full_paths,
                                         .one = compare->one_script ? compare->scripts : NULL,
                                         .filter = difference->style.filter };
    const struct groups_style groups = { .one = difference->style.by != BY_THREAD, .runs = true };
    entries_find(&difference->entries, compare->tables, &style);
    groups_find(&difference->groups, compare->tables, &compare->aggregate, &groups);
    return call_tree_make(&difference->tree, &difference->entries, &difference->groups, &compare->aggregate);
}

static struct compare_items items_of(const struct difference *difference)
{
    const enum by by = difference->style.by;
    return by == BY_THREAD ? compare_items_of_groups(&difference->tree)
           : by == BY_LINE ? compare_items_of_entries(&difference->tree)
                           : compare_items_of_codes(&difference->tree);
}

/* ---- rows ---- */

static void describe_code(struct diff_row *row, const struct shown_code *code, uint32_t line)
{
    row->name = code->name;
    row->file = code->file;
    row->path = code->path;
    row->line = line;
    row->kind = code_kind_name(code->kind);
}

static void describe_group(struct difference *difference, struct diff_row *row, const struct group *group)
{
    const struct text parts[] = { group->process, group->thread, group->task };
    struct bytes name = { 0 };
    for (size_t i = 0; i < countof(parts); i++) {
        if (parts[i].size && name.size)
            put_bytes(&name, " ", 1);
        put_bytes(&name, parts[i].bytes, parts[i].size);
    }
    row->name = difference_keep(difference, &name);
    bytes_free(&name);
}

/* The row of a call path says the function at its end. */
static void diff_row_describe(struct difference *difference, struct diff_row *row, size_t item, bool path)
{
    const struct entries *entries = &difference->entries;
    const uint32_t entry = path ? difference->tree.nodes[item].entry : (uint32_t)item;
    if (path)
        row->node = (uint32_t)item;
    if (difference->style.by == BY_THREAD && !path)
        describe_group(difference, row, &difference->groups.rows[item - 1]);
    else if (path || difference->style.by == BY_LINE)
        describe_code(row, entries_code(entries, entry), entries_line(entries, entry));
    else
        describe_code(row, &entries->codes[item], entries->codes[item].line);
}

enum verdict diff_row_verdict(const struct diff_row *row)
{
    return row->judged.self.verdict != VERDICT_SAME ? row->judged.self.verdict : row->judged.total.verdict;
}

static double size_of(const struct judged *judged)
{
    return fabs(judged->after - judged->before);
}

static int by_size(const void *left, const void *right)
{
    const struct diff_row *a = left, *b = right;
    const bool a_changed = diff_row_verdict(a) != VERDICT_SAME, b_changed = diff_row_verdict(b) != VERDICT_SAME;
    const double a_size = size_of(&a->judged.self) + size_of(&a->judged.total);
    const double b_size = size_of(&b->judged.self) + size_of(&b->judged.total);
    if (a_changed != b_changed)
        return a_changed ? -1 : 1;
    if (a_size != b_size)
        return a_size < b_size ? 1 : -1;
    return text_compare(a->name, b->name);
}

/* A new function does not fail: one that got another name is new, too, and what it costs is in the totals of its
 * callers. */
static bool grew_over(const struct judged *judged, double limit)
{
    return judged->tested && judged->before > 0 && judged->low > limit;
}

static bool fails(const struct difference *difference, const struct judged_item *judged)
{
    const struct diff_style *style = &difference->style;
    return style->fails && (grew_over(&judged->self, style->fail_over) || grew_over(&judged->total, style->fail_over));
}

static void diff_table_add_row(struct difference *difference, struct diff_table *table, size_t item, bool path)
{
    const struct judged_item *judged = &table->judgement.items[item];
    const bool seen = judged->total.before > 0 || judged->total.after > 0;
    const bool is_entry = !path || difference->tree.nodes[item].entry != 0;
    if (!seen || !is_entry)
        return;
    if (!judged->self.tested && !judged->total.tested) {
        table->small++;
        return;
    }
    struct diff_row *row = &table->rows[table->count++];
    row->judged = *judged;
    row->fails = !path && fails(difference, judged);
    difference->failed |= row->fails;
    diff_row_describe(difference, row, item, path);
    table->verdicts[diff_row_verdict(row)]++;
}

static void make_table(struct difference *difference, struct diff_table *table, const struct compare_items *items,
                       bool path)
{
    const struct diff_style *style = &difference->style;
    const struct compare_style compare_style = { .weight = style->weight,
                                                 .confidence = style->confidence,
                                                 .least_share = style->least_share,
                                                 .by_time = style->by_time,
                                                 .by_work = style->by_work };
    compare_judge(difference->compare, &difference->tree, items, &compare_style, &table->judgement);
    table->rows = alloc_zeroed(items->count, sizeof(*table->rows));
    for (size_t item = 1; item < items->count; item++)
        diff_table_add_row(difference, table, item, path);
    qsort(table->rows, table->count, sizeof(*table->rows), by_size);
}

/* ---- all ---- */

/* Whether the sides have a function of a file in common. */
static bool have_common(const struct difference *difference)
{
    const struct judgement *judgement = &difference->items.judgement;
    for (size_t item = 1; item < judgement->count; item++)
        if (judgement->items[item].total.before > 0 && judgement->items[item].total.after > 0)
            return true;
    return false;
}

static bool check(const struct difference *difference, struct fault *why)
{
    const struct judgement *judgement = &difference->items.judgement;
    if (judgement->whole_before <= 0 || judgement->whole_after <= 0)
        return fault(why, "the side %s has no %s to compare; choose another --weight",
                     judgement->whole_before <= 0 ? "before" : "after",
                     difference->style.weight == SUM_SAMPLES ? "samples" : "time");
    return have_common(difference) ||
           fault(why, "before and after have no %s in common; are they recordings of one program?",
                 by_name(difference->style.by));
}

bool difference_make(struct difference *difference, const struct compare *compare, const struct diff_style *style,
                     struct fault *why)
{
    *difference = (struct difference){ .compare = compare, .style = *style };
    if (!difference_choose_weight(difference, why) || !difference_make_tree(difference))
        return false;
    struct compare_items items = items_of(difference);
    make_table(difference, &difference->items, &items, false);
    compare_items_free(&items);
    if (!check(difference, why))
        return false;
    difference->whole_fails = style->fails && grew_over(&difference->items.judgement.whole, style->fail_over);
    difference->failed |= difference->whole_fails;
    if (style->paths) {
        items = compare_items_of_nodes(&difference->tree);
        make_table(difference, &difference->paths, &items, true);
        compare_items_free(&items);
    }
    return true;
}

static void free_table(struct diff_table *table)
{
    free(table->rows);
    judgement_free(&table->judgement);
}

void difference_free(struct difference *difference)
{
    free_table(&difference->items);
    free_table(&difference->paths);
    call_tree_free(&difference->tree);
    groups_free(&difference->groups);
    entries_free(&difference->entries);
    intern_free(&difference->texts);
    *difference = (struct difference){ 0 };
}
