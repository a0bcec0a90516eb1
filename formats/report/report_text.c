/* SPDX-License-Identifier: MIT */
#include "formats/report/report_text.h"

#include "formats/base/alloc.h"
#include "formats/terminal/printable.h"
#include "formats/terminal/width.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_COLUMNS 10 /* of the head */
#define GAP           2  /* blanks between columns */
#define LEFT_LEAST    10 /* for a text behind numbers */
#define PLACE_LEAST   12 /* of a tree: a place that gets fewer columns is left out */
#define INDENT_MOST   3  /* a tree takes at most the columns of the screen divided by this for its branches */

enum colour { PLAIN, BOLD, DIM };

/* The writing of one report. */
struct report_text_writing {
    struct output *to;
    const struct report *report;
    struct screen screen;
    struct bytes line;
    struct bytes text; /* a text that is being made printable */
    bool *more;        /* in a tree: by depth, whether calls follow beside the present one */
    size_t more_room;
};

/* ---- lines ---- */

static void report_put_colour(struct report_text_writing *writing, enum colour colour)
{
    static const char *const codes[] = { [PLAIN] = "\033[0m", [BOLD] = "\033[1m", [DIM] = "\033[2m" };
    if (writing->screen.colours)
        put_string(&writing->line, codes[colour]);
}

static void report_end_line(struct report_text_writing *writing)
{
    struct bytes *line = &writing->line;
    while (line->size > 0 && line->at[line->size - 1] == ' ')
        line->size--;
    put_bytes(line, "\n", 1);
    output_bytes(writing->to, line->at, line->size);
    line->size = 0;
}

/* The text as it is printed; valid until the next call. */
static struct text printable(struct report_text_writing *writing, struct text text)
{
    writing->text.size = 0;
    put_printable(&writing->text, text, writing->screen.ascii);
    return bytes_text(&writing->text);
}

/* Puts a printable text at the left or at the right of a column. */
static void put_cell(struct report_text_writing *writing, struct text text, size_t columns, bool right)
{
    const size_t width = width_of(text);
    if (!right || width >= columns) {
        width_put_cell(&writing->line, text, columns, writing->screen.ascii);
        return;
    }
    width_put_blanks(&writing->line, columns - width);
    put_bytes(&writing->line, text.bytes, text.size);
}

static void report_put_place(struct report_text_writing *writing, struct text place, size_t columns)
{
    width_put_path_cell(&writing->line, place, columns, writing->screen.ascii);
}

/* The columns of the screen that are left, or a few. */
static size_t left_of(const struct report_text_writing *writing, size_t used)
{
    return writing->screen.columns > used + LEFT_LEAST ? writing->screen.columns - used : LEFT_LEAST;
}

/* Writes words that are printable, wrapped; further lines are indented as the first one begins. */
static void write_wrapped(struct report_text_writing *writing, struct text words, size_t indent)
{
    size_t at = indent;
    bool first = true;
    while (words.size > 0) {
        const char *blank = memchr(words.bytes, ' ', words.size);
        const struct text word = { words.bytes, blank ? (size_t)(blank - words.bytes) : words.size };
        const size_t width = width_of(word), taken = word.size + (blank != NULL);
        if (!first && at + 1 + width > writing->screen.columns) {
            report_end_line(writing);
            width_put_blanks(&writing->line, indent);
            at = indent;
            first = true;
        }
        if (!first)
            put_string(&writing->line, " ");
        const size_t room = writing->screen.columns - indent;
        at += (first ? 0 : 1) + width_put_shortened(&writing->line, word, room, writing->screen.ascii);
        first = false;
        words = (struct text){ words.bytes + taken, words.size - taken };
    }
    report_end_line(writing);
}

static void report_write_head(struct report_text_writing *writing)
{
    for (size_t i = 0; i < writing->report->facts_count; i++) {
        const struct report_fact *fact = &writing->report->facts[i];
        report_put_colour(writing, DIM);
        put_cell(writing, text_of(fact->label), LABEL_COLUMNS, false);
        report_put_colour(writing, PLAIN);
        width_put_blanks(&writing->line, 1);
        write_wrapped(writing, printable(writing, fact->text), LABEL_COLUMNS + 1);
    }
}

/* ---- tables ---- */

/* A column of numbers. */
struct report_text_column {
    const char *title;
    size_t columns;
    void (*put)(struct bytes *to, const struct report_text_writing *writing, const struct report_section *section,
                const struct report_row *row);
};

#define COLUMNS_MOST   5
#define COLUMNS_ROOMY  72 /* a screen with fewer shows the second amount without its share, ... */
#define COLUMNS_NARROW 56 /* ... or one amount only */

struct report_text_layout {
    struct report_text_column numbers[COLUMNS_MOST];
    size_t numbers_count;
    size_t name, place; /* columns of the texts; place 0: no column */
};

static void put_self(struct bytes *to, const struct report_text_writing *writing, const struct report_section *section,
                     const struct report_row *row)
{
    (void)section;
    report_put_amount(to, writing->report, row->self);
}

static void put_self_percent(struct bytes *to, const struct report_text_writing *writing,
                             const struct report_section *section, const struct report_row *row)
{
    (void)writing;
    report_put_percent(to, row->self, section->whole);
}

static void put_total(struct bytes *to, const struct report_text_writing *writing, const struct report_section *section,
                      const struct report_row *row)
{
    (void)section;
    report_put_amount(to, writing->report, row->total);
}

static void put_total_percent(struct bytes *to, const struct report_text_writing *writing,
                              const struct report_section *section, const struct report_row *row)
{
    (void)writing;
    report_put_percent(to, row->total, section->whole);
}

static void put_waits(struct bytes *to, const struct report_text_writing *writing, const struct report_section *section,
                      const struct report_row *row)
{
    (void)section;
    if (row->waits)
        report_put_amount(to, writing->report, row->waits);
}

static void add_column(struct report_text_layout *layout, const struct report_text_column *column)
{
    layout->numbers[layout->numbers_count++] = *column;
}

static void add_self(struct report_text_layout *layout, bool seconds, bool percent)
{
    add_column(layout, &(struct report_text_column){ seconds ? "self s" : "self", 0, put_self });
    if (percent)
        add_column(layout, &(struct report_text_column){ "%", 0, put_self_percent });
}

static void add_total(struct report_text_layout *layout, bool seconds, bool percent)
{
    add_column(layout, &(struct report_text_column){ seconds ? "total s" : "total", 0, put_total });
    if (percent)
        add_column(layout, &(struct report_text_column){ "%", 0, put_total_percent });
}

/* The columns of numbers; what the rows are sorted by comes first. A narrow screen has no room for all of them. */
static void choose_columns(const struct report_text_writing *writing, const struct report_section *section,
                           struct report_text_layout *layout)
{
    const bool seconds = writing->report->weight != SUM_SAMPLES, total_first = section->sort == SORT_TOTAL;
    const bool waits = section->columns & COLUMN_WAITS, narrow = writing->screen.columns < COLUMNS_NARROW;
    const bool roomy = !waits && writing->screen.columns >= COLUMNS_ROOMY;
    if (total_first && section->columns & COLUMN_TOTAL)
        add_total(layout, seconds, true);
    if (section->columns & COLUMN_SELF && !(narrow && total_first))
        add_self(layout, seconds, roomy || !total_first);
    if (waits && !narrow)
        add_column(layout, &(struct report_text_column){ "waited", 0, put_waits });
    if (!total_first && section->columns & COLUMN_TOTAL && !(narrow && section->columns & COLUMN_SELF))
        add_total(layout, seconds, roomy);
}

static void measure_numbers(struct report_text_writing *writing, const struct report_section *section,
                            struct report_text_layout *layout)
{
    for (size_t i = 0; i < layout->numbers_count; i++) {
        struct report_text_column *column = &layout->numbers[i];
        column->columns = strlen(column->title);
        for (size_t j = 0; j < section->count; j++) {
            writing->text.size = 0;
            column->put(&writing->text, writing, section, &section->rows[j]);
            if (writing->text.size > column->columns)
                column->columns = writing->text.size;
        }
    }
}

/* Where a row's code is: app.py:12. Valid until the next call that makes a text printable. */
static struct text report_text_place_of(struct report_text_writing *writing, const struct report_row *row)
{
    char line[16];
    struct text place = printable(writing, row->file);
    if (row->line && row->file.size) {
        snprintf(line, sizeof(line), ":%u", row->line);
        put_string(&writing->text, line);
        place = bytes_text(&writing->text);
    }
    return place;
}

/* Gives the columns that are left to names and places: each gets what it needs, or its part. */
static void measure_texts(struct report_text_writing *writing, const struct report_section *section,
                          struct report_text_layout *layout)
{
    size_t used = 0, name = strlen(section->rows_are), place = 0;
    for (size_t i = 0; i < layout->numbers_count; i++)
        used += GAP + layout->numbers[i].columns;
    for (size_t i = 0; i < section->count; i++) {
        const size_t name_width = width_of(printable(writing, section->rows[i].name));
        const size_t place_width = width_of(report_text_place_of(writing, &section->rows[i]));
        name = name_width > name ? name_width : name;
        place = place_width > place ? place_width : place;
    }
    const size_t gaps = place ? 2 * (size_t)GAP : GAP;
    const size_t left = left_of(writing, used + gaps);
    if (name + place > left) { /* a place says less than a name */
        const size_t least = place < left * 2 / 5 ? place : left * 2 / 5;
        name = name < left - least ? name : left - least;
        place = left - name;
    }
    layout->name = name;
    layout->place = place;
}

static void report_write_titles(struct report_text_writing *writing, const struct report_section *section,
                                const struct report_text_layout *layout)
{
    report_put_colour(writing, DIM);
    for (size_t i = 0; i < layout->numbers_count; i++) {
        width_put_blanks(&writing->line, GAP);
        put_cell(writing, text_of(layout->numbers[i].title), layout->numbers[i].columns, true);
    }
    width_put_blanks(&writing->line, GAP);
    put_cell(writing, text_of(section->rows_are), layout->place ? layout->name : strlen(section->rows_are), false);
    if (layout->place) {
        width_put_blanks(&writing->line, GAP);
        put_string(&writing->line, "where");
    }
    report_put_colour(writing, PLAIN);
    report_end_line(writing);
}

static void report_put_numbers(struct report_text_writing *writing, const struct report_section *section,
                               const struct report_row *row, const struct report_text_layout *layout)
{
    for (size_t i = 0; i < layout->numbers_count; i++) {
        width_put_blanks(&writing->line, GAP);
        writing->text.size = 0;
        layout->numbers[i].put(&writing->text, writing, section, row);
        put_cell(writing, bytes_text(&writing->text), layout->numbers[i].columns, true);
    }
    width_put_blanks(&writing->line, GAP);
}

static void report_write_row(struct report_text_writing *writing, const struct report_section *section,
                             const struct report_row *row, const struct report_text_layout *layout)
{
    report_put_numbers(writing, section, row, layout);
    put_cell(writing, printable(writing, row->name), layout->name, false);
    if (layout->place) {
        width_put_blanks(&writing->line, GAP);
        report_put_colour(writing, DIM);
        report_put_place(writing, report_text_place_of(writing, row), layout->place);
        report_put_colour(writing, PLAIN);
    }
    report_end_line(writing);
}

static void write_left_out(struct report_text_writing *writing, const struct report_section *section)
{
    if (!section->left_out)
        return;
    char words[120];
    writing->text.size = 0;
    report_put_amount(&writing->text, writing->report, section->left_out_sum);
    put_bytes(&writing->text, "", 1);
    if (section->columns & COLUMN_SELF && section->sort != SORT_TOTAL)
        snprintf(words, sizeof(words), "  and %zu more with %s%s (--top)", section->left_out,
                 (const char *)writing->text.at, report_unit(writing->report));
    else
        snprintf(words, sizeof(words), "  and %zu more (--top)", section->left_out);
    report_put_colour(writing, DIM);
    put_string(&writing->line, words);
    report_put_colour(writing, PLAIN);
    report_end_line(writing);
}

static void report_write_table(struct report_text_writing *writing, const struct report_section *section)
{
    struct report_text_layout layout = { 0 };
    choose_columns(writing, section, &layout);
    measure_numbers(writing, section, &layout);
    measure_texts(writing, section, &layout);
    report_write_titles(writing, section, &layout);
    for (size_t i = 0; i < section->count; i++)
        report_write_row(writing, section, &section->rows[i], &layout);
    write_left_out(writing, section);
}

/* ---- the tree ---- */

/* Puts the lines that lead to a call. Returns the columns that they take. */
static size_t put_branches(struct report_text_writing *writing, const struct report_row *row)
{
    static const char *const drawn[2][4] = { { "   ", "\u2502  ", "\u251c\u2500 ", "\u2514\u2500 " },
                                             { "   ", "|  ", "|- ", "`- " } };
    const char *const *pieces = drawn[writing->screen.ascii];
    const size_t most = writing->screen.columns / INDENT_MOST / 3;
    writing->more = alloc_grow(writing->more, &writing->more_room, (size_t)row->depth + 2, sizeof(*writing->more));
    if (row->branches)
        writing->more[row->depth] = !row->last;
    const size_t first = row->depth > most ? row->depth - most + 1 : 1;
    size_t columns = 0;
    if (first > 1) {
        put_string(&writing->line, writing->screen.ascii ? ".. " : "\u2026  ");
        columns += 3;
    }
    for (size_t depth = first; depth <= row->depth; depth++, columns += 3)
        put_string(&writing->line,
                   row->branches && depth == row->depth ? pieces[row->last ? 3 : 2] : pieces[writing->more[depth]]);
    return columns;
}

static void write_skipped(struct report_text_writing *writing, const struct report_row *row,
                          const struct report_text_layout *layout)
{
    char words[64];
    size_t used = GAP;
    for (size_t i = 0; i < layout->numbers_count; i++)
        used += GAP + layout->numbers[i].columns;
    width_put_blanks(&writing->line, used);
    used += put_branches(writing, row);
    const char *mark = writing->screen.ascii ? "..." : "\u2026";
    snprintf(words, sizeof(words), "%s %u calls without a branch", mark, row->skipped);
    report_put_colour(writing, DIM);
    width_put_beginning(&writing->line, text_of(words), left_of(writing, used));
    report_put_colour(writing, PLAIN);
    report_end_line(writing);
}

static void write_call(struct report_text_writing *writing, const struct report_section *section,
                       const struct report_row *row, const struct report_text_layout *layout)
{
    size_t used = GAP;
    for (size_t i = 0; i < layout->numbers_count; i++)
        used += GAP + layout->numbers[i].columns;
    report_put_numbers(writing, section, row, layout);
    used += put_branches(writing, row);
    const size_t left = left_of(writing, used);
    const size_t name = width_of(printable(writing, row->name)), place = width_of(report_text_place_of(writing, row));
    const size_t name_room = name < left ? name : left;
    put_cell(writing, printable(writing, row->name), name_room, false);
    const size_t place_room = left > name_room + GAP ? left - name_room - GAP : 0;
    if (place && (place <= place_room || place_room >= PLACE_LEAST)) {
        width_put_blanks(&writing->line, GAP);
        report_put_colour(writing, DIM);
        report_put_place(writing, report_text_place_of(writing, row), place < place_room ? place : place_room);
        report_put_colour(writing, PLAIN);
    }
    report_end_line(writing);
}

static void write_tree(struct report_text_writing *writing, const struct report_section *section)
{
    struct report_text_layout layout = { 0 };
    const bool seconds = writing->report->weight != SUM_SAMPLES;
    add_total(&layout, seconds, true);
    if (writing->screen.columns >= COLUMNS_NARROW)
        add_self(&layout, seconds, false);
    measure_numbers(writing, section, &layout);
    report_write_titles(writing, section, &layout);
    for (size_t i = 0; i < section->count; i++) {
        if (section->rows[i].skipped)
            write_skipped(writing, &section->rows[i], &layout);
        else
            write_call(writing, section, &section->rows[i], &layout);
    }
}

/* ---- source ---- */

#define TAB 4 /* columns of a tab in source */

/* A line of source with blanks for tabs, printable. Valid until the next call. */
static struct text source_line(struct report_text_writing *writing, struct text line)
{
    struct bytes *to = &writing->text;
    to->size = 0;
    while (line.size > 0) {
        const char *tab = memchr(line.bytes, '\t', line.size);
        const struct text part = { line.bytes, tab ? (size_t)(tab - line.bytes) : line.size };
        put_printable(to, part, writing->screen.ascii);
        if (tab)
            width_put_blanks(to, TAB - to->size % TAB);
        line = (struct text){ line.bytes + part.size + (tab != NULL), line.size - part.size - (tab != NULL) };
    }
    return bytes_text(to);
}

static void put_self_or_blank(struct bytes *to, const struct report_text_writing *writing,
                              const struct report_section *section, const struct report_row *row)
{
    if (row->self)
        put_self(to, writing, section, row);
}

static void put_total_or_blank(struct bytes *to, const struct report_text_writing *writing,
                               const struct report_section *section, const struct report_row *row)
{
    if (row->total)
        put_total(to, writing, section, row);
}

static void put_number_of_line(struct bytes *to, const struct report_text_writing *writing,
                               const struct report_section *section, const struct report_row *row)
{
    char number[16];
    (void)writing;
    (void)section;
    snprintf(number, sizeof(number), row->line ? "%u" : "?", row->line);
    put_string(to, number);
}

static void choose_source_columns(const struct report_text_writing *writing, const struct report_section *section,
                                  struct report_text_layout *layout)
{
    const bool seconds = writing->report->weight != SUM_SAMPLES;
    add_column(layout, &(struct report_text_column){ seconds ? "self s" : "self", 0, put_self_or_blank });
    if (section->columns & COLUMN_WAITS)
        add_column(layout, &(struct report_text_column){ "waited", 0, put_waits });
    add_column(layout, &(struct report_text_column){ seconds ? "total s" : "total", 0, put_total_or_blank });
    add_column(layout, &(struct report_text_column){ "line", 0, put_number_of_line });
}

static void write_source(struct report_text_writing *writing, const struct report_section *section)
{
    struct report_text_layout layout = { 0 };
    choose_source_columns(writing, section, &layout);
    measure_numbers(writing, section, &layout);
    size_t used = GAP;
    for (size_t i = 0; i < layout.numbers_count; i++)
        used += GAP + layout.numbers[i].columns;
    const size_t left = left_of(writing, used);
    report_write_titles(writing, section, &layout);
    for (size_t i = 0; i < section->count; i++) {
        const struct report_row *row = &section->rows[i];
        report_put_numbers(writing, section, row, &layout);
        width_put_beginning(&writing->line, source_line(writing, row->name), left);
        report_end_line(writing);
        if (row->last && i + 1 < section->count) {
            width_put_blanks(&writing->line, used - GAP - 3);
            put_string(&writing->line, "...");
            report_end_line(writing);
        }
    }
}

/* ---- all ---- */

static void report_write_rows(struct report_text_writing *writing, const struct report_section *section)
{
    switch (section->kind) {
    case SECTION_TABLE:
        report_write_table(writing, section);
        return;
    case SECTION_TREE:
        write_tree(writing, section);
        return;
    case SECTION_SOURCE:
        write_source(writing, section);
        return;
    }
}

static void report_write_section(struct report_text_writing *writing, const struct report_section *section)
{
    report_end_line(writing);
    report_put_colour(writing, BOLD);
    write_wrapped(writing, printable(writing, section->title), 0);
    writing->line.size = 0;
    report_put_colour(writing, PLAIN);
    report_write_rows(writing, section);
    if (section->note.size)
        write_wrapped(writing, printable(writing, section->note), 0);
}

/* The groups that have no section, one line each. */
static void report_write_quiet(struct report_text_writing *writing)
{
    const struct report *report = writing->report;
    size_t shown = 0;
    const size_t count = report_count_quiet(report);
    if (count)
        report_end_line(writing);
    for (size_t i = 0; shown < count && shown < REPORT_QUIET_MOST; i++) {
        if (!report->groups[i].quiet)
            continue;
        writing->text.size = 0;
        report_put_quiet(&writing->text, report, &report->groups[i], writing->screen.ascii);
        write_wrapped(writing, bytes_text(&writing->text), 0);
        shown++;
    }
    if (count > shown) {
        char words[80];
        snprintf(words, sizeof(words), "and %zu more that waited or did little (--by thread)", count - shown);
        put_string(&writing->line, words);
        report_end_line(writing);
    }
}

static void writing_end(struct report_text_writing *writing)
{
    bytes_free(&writing->line);
    bytes_free(&writing->text);
    free(writing->more);
}

void report_text(struct output *to, const struct report *report, const struct screen *screen)
{
    struct report_text_writing writing = { .to = to, .report = report, .screen = *screen };
    report_write_head(&writing);
    for (size_t i = 0; i < report->sections_count; i++)
        report_write_section(&writing, &report->sections[i]);
    report_write_quiet(&writing);
    writing_end(&writing);
}

void report_text_rows(struct output *to, const struct report *report, const struct report_section *section,
                      const struct screen *screen)
{
    struct report_text_writing writing = { .to = to, .report = report, .screen = *screen };
    report_write_rows(&writing, section);
    writing_end(&writing);
}
