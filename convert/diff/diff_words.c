/* SPDX-License-Identifier: MIT */
#include "convert/diff/diff_words.h"

#include "formats/model/event.h"
#include "formats/terminal/printable.h"
#include "formats/terminal/width.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define OPEN_HIGH   9.995 /* a growth above this is as good as any */
#define PATH_FRAMES 8     /* the last frames of a call path that are shown */

/* ---- numbers ---- */

const char *diff_verdict_text(enum verdict verdict)
{
    static const char *const texts[VERDICTS] = { "~", "grew", "shrank" };
    return texts[verdict];
}

/* Writes +20.3 or, from 100 on, +120. */
static void growth_put_percent(char *room, size_t size, double growth, bool sign)
{
    const double percent = growth * 100;
    snprintf(room, size, fabs(percent) < 99.95 ? (sign ? "%+.1f" : "%.1f") : (sign ? "%+.0f" : "%.0f"), percent);
}

const char *diff_growth_text(char room[DIFF_NUMBER], const struct judged *judged)
{
    char percent[DIFF_NUMBER - 2];
    if (judged->before <= 0 && judged->after > 0)
        return strcpy(room, "new");
    if (judged->after <= 0 && judged->before > 0)
        return strcpy(room, "gone");
    growth_put_percent(percent, sizeof(percent), judged->growth, true);
    snprintf(room, DIFF_NUMBER, "%s%%", percent);
    return room;
}

const char *diff_interval_text(char room[DIFF_NUMBER], const struct judged *judged)
{
    if (!judged->tested)
        return strcpy(room, "");
    const bool open = judged->high >= OPEN_HIGH;
    if (open && judged->low <= -1)
        return strcpy(room, "unknown");
    if (open)
        snprintf(room, DIFF_NUMBER, "over %+.0f%%", judged->low * 100);
    else
        snprintf(room, DIFF_NUMBER, "%+.0f..%+.0f%%", judged->low * 100, judged->high * 100);
    return room;
}

static bool by_time(const struct difference *difference)
{
    return difference->items.judgement.by_time;
}

const char *diff_amount_unit(const struct difference *difference)
{
    const bool counts = difference->style.weight == SUM_SAMPLES;
    if (by_time(difference))
        return counts ? "samples" : "s";
    return counts ? "samples/s" : "ms/s";
}

const char *diff_amount_text(char room[DIFF_NUMBER], const struct difference *difference, enum compare_side side,
                             double amount)
{
    const bool counts = difference->style.weight == SUM_SAMPLES;
    const double seconds = difference_duration_ns(difference, side) / 1e9;
    if (by_time(difference))
        snprintf(room, DIFF_NUMBER, counts ? "%.0f" : "%.3f", counts ? amount : amount / 1e9);
    else
        snprintf(room, DIFF_NUMBER, "%.1f", seconds > 0 ? (counts ? amount : amount / 1e6) / seconds : 0);
    return room;
}

/* ---- names ---- */

static void diff_row_put_name(struct bytes *to, const struct diff_row *row, bool ascii)
{
    put_printable(to, row->name, ascii);
    if (row->file.size == 0)
        return;
    put_bytes(to, " (", 2);
    put_printable(to, row->file, ascii);
    if (row->line)
        put_format(to, ":%u", row->line);
    put_bytes(to, ")", 1);
}

/* Puts the frames of a path, the root first; of a long path only the last ones. */
static void diff_row_put_path(struct bytes *to, const struct difference *difference, const struct diff_row *row,
                              bool ascii)
{
    const struct call_tree *tree = &difference->tree;
    uint32_t nodes[PATH_FRAMES];
    size_t count = 0;
    uint32_t node = row->node;
    for (; tree->nodes[node].entry && count < PATH_FRAMES; node = tree->nodes[node].parent)
        nodes[count++] = node;
    if (tree->nodes[node].entry)
        put_format(to, "... > ");
    for (size_t i = count; i-- > 0;) {
        put_printable(to, entries_code(&difference->entries, tree->nodes[nodes[i]].entry)->name, ascii);
        put_bytes(to, " > ", i ? 3 : 0);
    }
}

void diff_put_name(struct bytes *to, const struct difference *difference, const struct diff_row *row, size_t columns,
                   bool ascii)
{
    struct bytes name = { 0 };
    if (row->node)
        diff_row_put_path(&name, difference, row, ascii);
    else
        diff_row_put_name(&name, row, ascii);
    const struct text text = { (const char *)name.at, name.size };
    if (columns)
        width_put_shortened(to, text, columns, ascii);
    else
        put_bytes(to, text.bytes, text.size);
    bytes_free(&name);
}

bool diff_shows(const struct diff_row *row, bool total)
{
    const struct judged *judged = diff_judged(row, total);
    const struct judged *self = &row->judged.self;
    const bool again = total && judged->before <= self->before * (1 + 1e-9) &&
                       judged->after <= self->after * (1 + 1e-9);
    return judged->tested && !again;
}

/* ---- sentences ---- */

#define NAMES_MOST 3 /* names of recordings in a line */

static const char *weight_words(const struct difference *difference)
{
    static const char *const words[] = {
        [SUM_SAMPLES] = "samples", [SUM_WALL_NS] = "wall-clock time", [SUM_CPU_NS] = "CPU time"
    };
    return words[difference->style.weight];
}

static void put_names(struct bytes *to, const struct difference *difference, enum compare_side side)
{
    const struct compare *compare = difference->compare;
    size_t count = 0;
    for (size_t i = 0; i < compare->read; i++) {
        if (compare->runs[i].side != side || ++count > NAMES_MOST)
            continue;
        put_bytes(to, ", ", count > 1 ? 2 : 0);
        put_printable(to, compare->runs[i].name, false);
    }
    if (count > NAMES_MOST)
        put_format(to, " and %zu more", count - NAMES_MOST);
}

static const struct compare_run *first_run(const struct difference *difference, enum compare_side side)
{
    const struct compare_run *run = difference->compare->runs;
    while (run->side != side)
        run++;
    return run;
}

void diff_put_side(struct bytes *to, const struct difference *difference, enum compare_side side)
{
    const struct judgement *judgement = &difference->items.judgement;
    const double whole = side == COMPARE_BEFORE ? judgement->whole_before : judgement->whole_after;
    const uint32_t version = first_run(difference, side)->python_version;
    char python[32], amount[DIFF_NUMBER];
    put_names(to, difference, side);
    if (difference->style.weight == SUM_SAMPLES)
        snprintf(amount, sizeof(amount), "%.0f", whole);
    else
        snprintf(amount, sizeof(amount), "%.3f s of", whole / 1e9);
    put_format(to, ": %s %s in %.3f s", amount, weight_words(difference),
               difference_duration_ns(difference, side) / 1e9);
    if (version)
        put_format(to, ", Python %s", event_python_version_text(python, version));
}

void diff_put_scripts(struct bytes *to, const struct difference *difference)
{
    const struct compare *compare = difference->compare;
    if (!compare->one_script)
        return;
    put_printable(to, paths_last_part(compare->scripts[COMPARE_BEFORE]), false);
    put_format(to, " and ");
    put_printable(to, paths_last_part(compare->scripts[COMPARE_AFTER]), false);
    put_format(to, " are compared as one file: each is the main script of its side.");
}

void diff_put_how(struct bytes *to, const struct difference *difference)
{
    const double more = (difference->items.judgement.scale - 1) * 100;
    if (by_time(difference))
        put_format(
            to,
            "Compared by time: %s of a run from its start to its end. A change is what goes beyond the change of "
            "all others, in the median %+.1f%%.",
            weight_words(difference), more);
    else
        put_format(to,
                   "Compared by work: the recordings are parts of runs, so a change is how much more than all others.");
}

static const char *count_plural(size_t count)
{
    return count == 1 ? "" : "s";
}

void diff_put_counts(struct bytes *to, const struct difference *difference, const struct diff_table *table,
                     const char *rows_are)
{
    const size_t grew = table->verdicts[VERDICT_GREW], shrank = table->verdicts[VERDICT_SHRANK];
    if (grew + shrank == 0)
        put_format(to, "No %s surely changed.", rows_are);
    else
        put_format(to, "%zu %s%s surely grew, %zu surely shrank.", grew, rows_are, count_plural(grew), shrank);
    put_format(
        to, " %zu differ%s no more than two runs of one program might (~); %zu below %.4g%% of the time %s not judged.",
        table->verdicts[VERDICT_SAME], table->verdicts[VERDICT_SAME] == 1 ? "s" : "", table->small,
        difference->style.least_share * 100, table->small == 1 ? "is" : "are");
}

void diff_put_sureness(struct bytes *to, const struct difference *difference)
{
    put_format(
        to,
        "\"surely\" is the range in which the true change lies: all %zu ranges hold at once with %.4g%% confidence.",
        difference->items.judgement.tests, difference->style.confidence * 100);
}

void diff_put_weakness(struct bytes *to, const struct difference *difference)
{
    const struct judgement *judgement = &difference->items.judgement;
    if (judgement->busy > 0.1)
        put_format(to,
                   "The machine did something else in %.0f%% of the time in which the program could run, so only large "
                   "differences stand out.",
                   judgement->busy * 100);
    if (difference->compare->read > COMPARE_SIDES)
        return;
    if (judgement->busy > 0.1)
        put_bytes(to, " ", 1);
    put_format(to, "With several runs of each side, recorded in turn, smaller differences can be told from noise: "
                   "--before A1 A2 --after B1 B2.");
}

#define HOPES_MOST 3 /* rows of which the sentence says how many recordings would tell */

/* Whether a row has a part that is shown, is not distinguishable, and would be with more runs; sets which part. */
static bool row_hopes(const struct diff_row *row, bool *total)
{
    for (int part = 0; part < 2; part++) {
        *total = part;
        if (diff_shows(row, *total) && diff_judged(row, *total)->runs)
            return true;
    }
    return false;
}

static bool has_one_run(const struct compare *compare)
{
    size_t runs[COMPARE_SIDES] = { 0 };
    for (size_t i = 0; i < compare->read; i++)
        runs[compare->runs[i].side] += compare->runs[i].samples > 0;
    return runs[COMPARE_BEFORE] < 2 || runs[COMPARE_AFTER] < 2;
}

static void put_hope(struct bytes *to, const struct difference *difference, const struct diff_row *row, bool total)
{
    const struct judged *judged = diff_judged(row, total);
    char growth[DIFF_NUMBER];
    diff_put_name(to, difference, row, 0, false);
    put_format(to, " %s%s by %u", total ? "total " : "", diff_growth_text(growth, judged), judged->runs);
}

void diff_put_runs(struct bytes *to, const struct difference *difference)
{
    const struct diff_table *table = &difference->items;
    size_t count = 0, same = 0;
    for (size_t i = 0; i < table->count && same < DIFF_TOP_SAME && count < HOPES_MOST; i++) {
        const struct diff_row *row = &table->rows[i];
        bool total;
        same += diff_row_verdict(row) == VERDICT_SAME;
        if (!row_hopes(row, &total))
            continue;
        put_format(to, count++ ? ", "
                               : "In four of five tries, these changes, if they are as large as shown, would be "
                                 "told from noise by so many recordings of each side: ");
        put_hope(to, difference, row, total);
    }
    if (count)
        put_format(to, has_one_run(difference->compare) ? ". How much runs differ is assumed, as one recording of a "
                                                          "side does not say it."
                                                        : ".");
}

#define FAILURES_MOST 5 /* rows that a message names */

/* Puts the row, and how much it grew for sure: f (app.py:9) total +20.3% (surely +9..+33%). */
static void put_failed_row(struct bytes *to, const struct difference *difference, const struct diff_row *row)
{
    const bool total = row->judged.self.verdict != VERDICT_GREW || row->judged.self.low <= difference->style.fail_over;
    const struct judged *judged = diff_judged(row, total);
    char growth[DIFF_NUMBER], interval[DIFF_NUMBER];
    diff_put_name(to, difference, row, 0, false);
    put_format(to, " %s %s (surely %s)", total ? "total" : "self", diff_growth_text(growth, judged),
               diff_interval_text(interval, judged));
}

void diff_put_failure(struct bytes *to, const struct difference *difference)
{
    const struct diff_style *style = &difference->style;
    const struct judged *whole = &difference->items.judgement.whole;
    char growth[DIFF_NUMBER], interval[DIFF_NUMBER];
    size_t count = 0;
    if (!difference->failed) {
        put_format(to, "Nothing surely grew by more than %.4g%%.", style->fail_over * 100);
        return;
    }
    put_format(to, "Grew by more than %.4g%%: ", style->fail_over * 100);
    if (difference->whole_fails)
        put_format(to, "the whole %s (surely %s)", diff_growth_text(growth, whole),
                   diff_interval_text(interval, whole));
    count += difference->whole_fails;
    for (size_t i = 0; i < difference->items.count; i++) {
        if (!difference->items.rows[i].fails || ++count > FAILURES_MOST)
            continue;
        put_bytes(to, ", ", count > 1 ? 2 : 0);
        put_failed_row(to, difference, &difference->items.rows[i]);
    }
    if (count > FAILURES_MOST)
        put_format(to, " and %zu more", count - FAILURES_MOST);
    put_bytes(to, ".", 1);
}
