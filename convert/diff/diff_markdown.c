/* SPDX-License-Identifier: MIT */
#include "convert/diff/diff_output.h"
#include "convert/diff/diff_words.h"

#include <string.h>

/* Writes a text in which no character of Markdown or HTML has a meaning. */
static void diff_markdown_put_escaped(struct output *to, const struct bytes *text)
{
    for (size_t i = 0; i < text->size; i++) {
        if (strchr("\\`*_{}[]<>|#~&!", text->at[i]))
            output_string(to, "\\");
        output_bytes(to, &text->at[i], 1);
    }
}

static void diff_markdown_put_sentence(struct output *to, const struct difference *difference,
                                       void (*put)(struct bytes *, const struct difference *))
{
    struct bytes text = { 0 };
    put(&text, difference);
    diff_markdown_put_escaped(to, &text);
    output_string(to, text.size ? "\n\n" : "");
    bytes_free(&text);
}

static void diff_markdown_put_side(struct output *to, const struct difference *difference, const char *label,
                                   enum compare_side side)
{
    struct bytes text = { 0 };
    diff_put_side(&text, difference, side);
    output_format(to, "- **%s** ", label);
    diff_markdown_put_escaped(to, &text);
    output_string(to, "\n");
    bytes_free(&text);
}

static void diff_markdown_put_whole(struct output *to, const struct difference *difference)
{
    const struct judged *whole = &difference->items.judgement.whole;
    char growth[DIFF_NUMBER], interval[DIFF_NUMBER];
    if (whole->tested)
        output_format(to, "- **the whole** %s (%s)%s\n", diff_growth_text(growth, whole),
                      diff_interval_text(interval, whole),
                      whole->verdict == VERDICT_SAME ? ": not distinguishable from noise" : "");
}

static void diff_markdown_put_row(struct output *to, const struct difference *difference, const struct diff_row *row,
                                  bool total)
{
    const struct judged *judged = diff_judged(row, total);
    char before[DIFF_NUMBER], after[DIFF_NUMBER], growth[DIFF_NUMBER], interval[DIFF_NUMBER];
    struct bytes name = { 0 };
    diff_put_name(&name, difference, row, 0, false);
    output_format(to, "| %s | %s | %s | %s | %.1f | %.1f | %s | %s | ",
                  judged->verdict == VERDICT_SAME ? "" : diff_verdict_text(judged->verdict), total ? "total" : "self",
                  diff_amount_text(before, difference, COMPARE_BEFORE, judged->before),
                  diff_amount_text(after, difference, COMPARE_AFTER, judged->after),
                  difference_share(difference, COMPARE_BEFORE, judged->before) * 100,
                  difference_share(difference, COMPARE_AFTER, judged->after) * 100, diff_growth_text(growth, judged),
                  diff_interval_text(interval, judged));
    diff_markdown_put_escaped(to, &name);
    output_string(to, " |\n");
    bytes_free(&name);
}

/* Writes the rows that changed, or those that are not distinguishable. */
static void put_rows(struct output *to, const struct difference *difference, const struct diff_table *table,
                     bool changed, const char *rows_are)
{
    const size_t top = difference->style.top;
    size_t shown = 0;
    for (size_t i = 0; i < 2 * table->count && !(top && shown >= top); i++) {
        const struct diff_row *row = &table->rows[i / 2];
        const bool total = i % 2;
        const bool wanted = (diff_judged(row, total)->verdict != VERDICT_SAME) == changed;
        if (!wanted || !diff_shows(row, total))
            continue;
        if (shown++ == 0)
            output_format(to,
                          "| | | before, %s | after, %s | %% before | %% after | change | surely | %s |\n"
                          "|---|---|---:|---:|---:|---:|---:|---:|---|\n",
                          diff_amount_unit(difference), diff_amount_unit(difference), rows_are);
        diff_markdown_put_row(to, difference, row, total);
    }
    output_string(to, shown ? "\n" : "");
}

static void diff_markdown_put_table(struct output *to, const struct difference *difference,
                                    const struct diff_table *table, const char *rows_are)
{
    struct bytes text = { 0 };
    diff_put_counts(&text, difference, table, rows_are);
    diff_markdown_put_escaped(to, &text);
    output_string(to, "\n\n");
    put_rows(to, difference, table, true, rows_are);
    output_string(to, "<details><summary>Not distinguishable from noise</summary>\n\n");
    put_rows(to, difference, table, false, rows_are);
    output_string(to, "</details>\n\n");
    bytes_free(&text);
}

void diff_markdown(struct output *to, const struct difference *difference)
{
    diff_markdown_put_side(to, difference, "before", COMPARE_BEFORE);
    diff_markdown_put_side(to, difference, "after", COMPARE_AFTER);
    diff_markdown_put_whole(to, difference);
    output_string(to, "\n");
    diff_markdown_put_sentence(to, difference, diff_put_scripts);
    if (difference->style.fails)
        diff_markdown_put_sentence(to, difference, diff_put_failure);
    diff_markdown_put_table(to, difference, &difference->items, by_name(difference->style.by));
    if (difference->style.paths)
        diff_markdown_put_table(to, difference, &difference->paths, "call path");
    diff_markdown_put_sentence(to, difference, diff_put_sureness);
    diff_markdown_put_sentence(to, difference, diff_put_how);
    diff_markdown_put_sentence(to, difference, diff_put_weakness);
    diff_markdown_put_sentence(to, difference, diff_put_runs);
}
