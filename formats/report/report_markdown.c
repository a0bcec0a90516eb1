/* SPDX-License-Identifier: MIT */
#include "formats/report/report_markdown.h"

#include "formats/report/report_text.h"
#include "formats/terminal/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 100 /* of trees and sources */

/* The writing of one report. */
struct report_markdown_writing {
    struct output *to;
    const struct report *report;
    struct bytes line;
};

static void markdown_end_line(struct report_markdown_writing *writing)
{
    put_bytes(&writing->line, "\n", 1);
    output_bytes(writing->to, writing->line.at, writing->line.size);
    writing->line.size = 0;
}

/* ---- escapes ---- */

/* Characters that mean something to Markdown or HTML, in a cell or outside of it. A pair of $ encloses a formula. */
static bool is_marked(char c)
{
    return strchr("|`<>&*_[]\\~#@!$", c) != NULL;
}

/* Appends a printable text with an entity for each character in `marked`. */
static void put_entities(struct bytes *to, struct text text, bool (*marked)(char c))
{
    char entity[8];
    for (size_t i = 0; i < text.size; i++) {
        if (!marked(text.bytes[i])) {
            put_bytes(to, &text.bytes[i], 1);
            continue;
        }
        const int size = snprintf(entity, sizeof(entity), "&#%d;", text.bytes[i]);
        put_bytes(to, entity, (size_t)size);
    }
}

static bool ends_code(char c)
{
    return strchr("|`\\", c) != NULL;
}

void report_put_code(struct bytes *to, struct text text)
{
    struct bytes printable = { 0 };
    bool plain = text.size > 0 && text.bytes[0] != ' ' && text.bytes[text.size - 1] != ' ';
    put_printable(&printable, text, false);
    const struct text shown = { (const char *)printable.at, printable.size };
    for (size_t i = 0; i < shown.size; i++)
        plain &= !ends_code(shown.bytes[i]);
    put_bytes(to, plain ? "`" : "<code>", plain ? 1 : 6);
    if (plain)
        put_bytes(to, shown.bytes, shown.size);
    else
        put_entities(to, shown, is_marked);
    put_bytes(to, plain ? "`" : "</code>", plain ? 1 : 7);
    bytes_free(&printable);
}

/* Puts words that may hold names. */
static void put_words(struct report_markdown_writing *writing, struct text text)
{
    struct bytes printable = { 0 };
    put_printable(&printable, text, false);
    put_entities(&writing->line, bytes_text(&printable), is_marked);
    bytes_free(&printable);
}

/* ---- parts ---- */

static void markdown_write_head(struct report_markdown_writing *writing)
{
    for (size_t i = 0; i < writing->report->facts_count; i++) {
        const struct report_fact *fact = &writing->report->facts[i];
        put_string(&writing->line, "- ");
        put_string(&writing->line, fact->label);
        put_string(&writing->line, ": ");
        put_words(writing, fact->text);
        markdown_end_line(writing);
    }
}

static void markdown_put_numbers(struct report_markdown_writing *writing, uint64_t amount, uint64_t whole)
{
    put_string(&writing->line, " ");
    report_put_amount(&writing->line, writing->report, amount);
    put_string(&writing->line, " | ");
    report_put_percent(&writing->line, amount, whole);
    put_string(&writing->line, " |");
}

static void markdown_write_titles(struct report_markdown_writing *writing, const struct report_section *section)
{
    const char *unit = report_unit(writing->report);
    const bool self = section->columns & COLUMN_SELF, total = section->columns & COLUMN_TOTAL;
    const bool waits = section->columns & COLUMN_WAITS;
    char titles[160];
    snprintf(titles, sizeof(titles), "|%s%s%s%s%s%s%s%s %s |%s", self ? " self" : "", self ? unit : "",
             self ? " | % |" : "", waits ? " waited" : "", waits ? " |" : "", total ? " total" : "", total ? unit : "",
             total ? " | % |" : "", section->rows_are, section->columns & COLUMN_PLACE ? " where |" : "");
    put_string(&writing->line, titles);
    markdown_end_line(writing);
    put_string(&writing->line, "|");
    put_string(&writing->line, self ? "---:|---:|" : "");
    put_string(&writing->line, waits ? "---:|" : "");
    put_string(&writing->line, total ? "---:|---:|" : "");
    put_string(&writing->line, section->columns & COLUMN_PLACE ? "---|---|" : "---|");
    markdown_end_line(writing);
}

static void markdown_put_place(struct report_markdown_writing *writing, const struct report_row *row)
{
    struct bytes place = { 0 };
    char line[16];
    put_bytes(&place, row->file.bytes, row->file.size);
    if (row->line) {
        snprintf(line, sizeof(line), ":%" PRIu32, row->line);
        put_string(&place, line);
    }
    if (row->file.size)
        report_put_code(&writing->line, bytes_text(&place));
    bytes_free(&place);
}

static void markdown_write_row(struct report_markdown_writing *writing, const struct report_section *section,
                               const struct report_row *row)
{
    put_string(&writing->line, "|");
    if (section->columns & COLUMN_SELF)
        markdown_put_numbers(writing, row->self, section->whole);
    if (section->columns & COLUMN_WAITS) {
        put_string(&writing->line, " ");
        report_put_amount(&writing->line, writing->report, row->waits);
        put_string(&writing->line, " |");
    }
    if (section->columns & COLUMN_TOTAL)
        markdown_put_numbers(writing, row->total, section->whole);
    put_string(&writing->line, " ");
    report_put_code(&writing->line, row->name);
    put_string(&writing->line, " |");
    if (section->columns & COLUMN_PLACE) {
        put_string(&writing->line, " ");
        markdown_put_place(writing, row);
        put_string(&writing->line, " |");
    }
    markdown_end_line(writing);
}

static void markdown_write_table(struct report_markdown_writing *writing, const struct report_section *section)
{
    char words[60];
    markdown_write_titles(writing, section);
    for (size_t i = 0; i < section->count; i++)
        markdown_write_row(writing, section, &section->rows[i]);
    if (!section->left_out)
        return;
    markdown_end_line(writing);
    snprintf(words, sizeof(words), "and %zu more", section->left_out);
    put_string(&writing->line, words);
    markdown_end_line(writing);
}

/* Trees and sources are as in text. No line of them begins with a fence, because numbers or blanks come first. */
static void write_as_text(struct report_markdown_writing *writing, const struct report_section *section)
{
    const struct screen screen = { .columns = COLUMNS };
    put_string(&writing->line, "```text");
    markdown_end_line(writing);
    report_text_rows(writing->to, writing->report, section, &screen);
    put_string(&writing->line, "```");
    markdown_end_line(writing);
}

static void markdown_write_section(struct report_markdown_writing *writing, const struct report_section *section)
{
    markdown_end_line(writing);
    put_string(&writing->line, "### ");
    put_words(writing, section->title);
    markdown_end_line(writing);
    markdown_end_line(writing);
    if (section->kind == SECTION_TABLE)
        markdown_write_table(writing, section);
    else
        write_as_text(writing, section);
    if (section->note.size) {
        markdown_end_line(writing);
        put_words(writing, section->note);
        markdown_end_line(writing);
    }
}

static void markdown_write_quiet(struct report_markdown_writing *writing)
{
    const struct report *report = writing->report;
    size_t shown = 0;
    const size_t count = report_count_quiet(report);
    if (count)
        markdown_end_line(writing);
    for (size_t i = 0; shown < count && shown < REPORT_QUIET_MOST; i++) {
        struct bytes words = { 0 };
        if (!report->groups[i].quiet)
            continue;
        report_put_quiet(&words, report, &report->groups[i], false);
        put_string(&writing->line, "- ");
        put_words(writing, bytes_text(&words));
        markdown_end_line(writing);
        bytes_free(&words);
        shown++;
    }
    if (count > shown) {
        char words[60];
        snprintf(words, sizeof(words), "- and %zu more that waited or did little", count - shown);
        put_string(&writing->line, words);
        markdown_end_line(writing);
    }
}

void report_markdown(struct output *to, const struct report *report)
{
    struct report_markdown_writing writing = { .to = to, .report = report };
    markdown_write_head(&writing);
    for (size_t i = 0; i < report->sections_count; i++)
        markdown_write_section(&writing, &report->sections[i]);
    markdown_write_quiet(&writing);
    bytes_free(&writing.line);
}
