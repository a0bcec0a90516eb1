/* SPDX-License-Identifier: MIT */
#include "convert/diff/diff_output.h"
#include "convert/diff/diff_words.h"
#include "formats/terminal/width.h"

#include <string.h>

#define NAME_COLUMNS_LEAST 16
#define ROW_COLUMNS        60 /* in front of the name */

struct diff_text_writing {
    struct output *to;
    const struct difference *difference;
    const struct screen *screen;
    bool fits; /* names are shortened to the screen */
};

enum colour { COLOUR_NONE, COLOUR_BOLD, COLOUR_DIM, COLOUR_RED, COLOUR_GREEN };

static void diff_text_put_colour(const struct diff_text_writing *writing, enum colour colour)
{
    static const char *const codes[] = { "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m" };
    if (writing->screen->colours)
        output_string(writing->to, codes[colour]);
}

/* Writes a paragraph that is broken at blanks. */
static void put_wrapped(const struct diff_text_writing *writing, const struct bytes *text)
{
    const char *at = (const char *)text->at, *end = at + text->size;
    size_t column = 0;
    while (at < end) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        const struct text word = { at, (size_t)((blank ? blank : end) - at) };
        const size_t width = width_of(word);
        if (column && column + 1 + width > writing->screen->columns) {
            output_string(writing->to, "\n");
            column = 0;
        }
        output_string(writing->to, column ? " " : "");
        output_text(writing->to, word);
        column += width + (column > 0);
        at = word.bytes + word.size + (blank != NULL);
    }
    if (text->size)
        output_string(writing->to, "\n");
}

/* Writes one of the sentences of diff_words.h. */
static void diff_text_put_sentence(const struct diff_text_writing *writing,
                                   void (*put)(struct bytes *, const struct difference *))
{
    struct bytes text = { 0 };
    put(&text, writing->difference);
    put_wrapped(writing, &text);
    bytes_free(&text);
}

/* ---- head ---- */

static void diff_text_put_side(const struct diff_text_writing *writing, const char *label, enum compare_side side)
{
    struct bytes line = { 0 };
    put_format(&line, "%-7s ", label);
    diff_put_side(&line, writing->difference, side);
    put_wrapped(writing, &line);
    bytes_free(&line);
}

static void diff_text_put_whole(const struct diff_text_writing *writing)
{
    const struct difference *difference = writing->difference;
    const struct judged *whole = &difference->items.judgement.whole;
    char before[DIFF_NUMBER], after[DIFF_NUMBER], growth[DIFF_NUMBER], interval[DIFF_NUMBER];
    if (!whole->tested)
        return;
    output_format(writing->to, "whole   %s -> %s %s, %s (%s)%s\n",
                  diff_amount_text(before, difference, COMPARE_BEFORE, whole->before),
                  diff_amount_text(after, difference, COMPARE_AFTER, whole->after), diff_amount_unit(difference),
                  diff_growth_text(growth, whole), diff_interval_text(interval, whole),
                  whole->verdict == VERDICT_SAME ? ": not distinguishable from noise" : "");
}

/* ---- tables ---- */

static enum colour colour_of(enum verdict verdict)
{
    static const enum colour colours[VERDICTS] = { COLOUR_DIM, COLOUR_RED, COLOUR_GREEN };
    return colours[verdict];
}

static void diff_text_put_row_name(const struct diff_text_writing *writing, const struct diff_row *row)
{
    struct bytes name = { 0 };
    const size_t columns = writing->screen->columns > ROW_COLUMNS + NAME_COLUMNS_LEAST
                               ? writing->screen->columns - ROW_COLUMNS
                               : NAME_COLUMNS_LEAST;
    diff_put_name(&name, writing->difference, row, writing->fits ? columns : 0, writing->screen->ascii);
    output_bytes(writing->to, name.at, name.size);
    bytes_free(&name);
}

static void diff_text_put_row(const struct diff_text_writing *writing, const struct diff_row *row, bool total)
{
    const struct difference *difference = writing->difference;
    const struct judged *judged = diff_judged(row, total);
    char before[DIFF_NUMBER], after[DIFF_NUMBER], growth[DIFF_NUMBER], interval[DIFF_NUMBER];
    diff_text_put_colour(writing, colour_of(judged->verdict));
    output_format(writing->to, "%-6s %8s %8s %6.1f %6.1f %7s %11s  ", diff_verdict_text(judged->verdict),
                  diff_amount_text(before, difference, COMPARE_BEFORE, judged->before),
                  diff_amount_text(after, difference, COMPARE_AFTER, judged->after),
                  difference_share(difference, COMPARE_BEFORE, judged->before) * 100,
                  difference_share(difference, COMPARE_AFTER, judged->after) * 100, diff_growth_text(growth, judged),
                  diff_interval_text(interval, judged));
    diff_text_put_row_name(writing, row);
    diff_text_put_colour(writing, COLOUR_NONE);
    output_string(writing->to, "\n");
}

static void put_titles(const struct diff_text_writing *writing, const char *title, const char *rows_are)
{
    const char *const unit = diff_amount_unit(writing->difference);
    diff_text_put_colour(writing, COLOUR_BOLD);
    output_format(writing->to, "\n%-6s %8s %8s %13s %7s %11s  %s\n", title, "before", "after", "% of all", "change",
                  "surely", rows_are);
    diff_text_put_colour(writing, COLOUR_NONE);
    output_format(writing->to, "%-6s %8s %8s %6s %6s\n", "", unit, unit, "before", "after");
}

/* The rows of a table of selves, or of totals. Those that changed stand first. */
struct diff_text_shown {
    size_t rows, same; /* so many were written; so many of these did not change */
    size_t left_out;
};

/* Unless --top is given, only the largest of those that did not change are written. */
static bool diff_table_has_room(const struct diff_style *style, const struct diff_text_shown *shown, bool same)
{
    if (!style->top_given && same && shown->same >= DIFF_TOP_SAME)
        return false;
    return !style->top || shown->rows < style->top;
}

static void diff_text_put_table(const struct diff_text_writing *writing, const struct diff_table *table, bool total,
                                const char *rows_are)
{
    struct diff_text_shown shown = { 0 };
    for (size_t i = 0; i < table->count; i++) {
        const struct diff_row *row = &table->rows[i];
        const bool same = diff_judged(row, total)->verdict == VERDICT_SAME;
        if (!diff_shows(row, total))
            continue;
        if (!diff_table_has_room(&writing->difference->style, &shown, same)) {
            shown.left_out++;
            continue;
        }
        if (shown.rows++ == 0)
            put_titles(writing, total ? "total" : "self", rows_are);
        shown.same += same;
        diff_text_put_row(writing, row, total);
    }
    if (shown.left_out)
        output_format(writing->to, "... and %zu more (--top 0 shows all)\n", shown.left_out);
}

static void put_counts(const struct diff_text_writing *writing, const struct diff_table *table, const char *rows_are)
{
    struct bytes text = { 0 };
    diff_put_counts(&text, writing->difference, table, rows_are);
    put_wrapped(writing, &text);
    bytes_free(&text);
}

static void put_tables(const struct diff_text_writing *writing, const struct diff_table *table, const char *rows_are)
{
    output_string(writing->to, "\n");
    put_counts(writing, table, rows_are);
    diff_text_put_table(writing, table, false, rows_are);
    diff_text_put_table(writing, table, true, rows_are);
}

void diff_text(struct output *to, const struct difference *difference, const struct screen *screen, bool fits)
{
    const struct diff_text_writing writing = { to, difference, screen, fits };
    diff_text_put_side(&writing, "before", COMPARE_BEFORE);
    diff_text_put_side(&writing, "after", COMPARE_AFTER);
    diff_text_put_whole(&writing);
    diff_text_put_sentence(&writing, diff_put_scripts);
    put_tables(&writing, &difference->items, by_name(difference->style.by));
    if (difference->style.paths)
        put_tables(&writing, &difference->paths, "call path");
    output_string(to, "\n");
    diff_text_put_sentence(&writing, diff_put_sureness);
    diff_text_put_sentence(&writing, diff_put_how);
    diff_text_put_sentence(&writing, diff_put_weakness);
    diff_text_put_sentence(&writing, diff_put_runs);
    if (difference->style.fails)
        diff_text_put_sentence(&writing, diff_put_failure);
}
