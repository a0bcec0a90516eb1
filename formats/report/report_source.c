/* SPDX-License-Identifier: MIT */
/* The source of a function or a file, with the time of each line. Without the text, the lines that have a time. */
#include "formats/report/report_internal.h"

#include "formats/base/alloc.h"
#include "formats/sources/embedding.h"

#include <stdlib.h>
#include <string.h>

#define CONTEXT      3  /* lines that are shown before and behind a line that has time */
#define CONTEXT_HEAD 60 /* of a function, its first lines are shown up to so many lines before the first with time */

/* What is annotated: a file, or one function of the file. */
struct report_source_subject {
    struct text path;
    struct text function; /* empty: all functions of the file */
    uint32_t first_line;  /* of the function */
};

/* A line with its times. */
struct timed {
    uint32_t line;
    uint64_t self, total, waits;
};

/* The lines of the subject that the recording names, in order. */
struct lines {
    struct timed *rows;
    size_t count;
};

/* ---- which file ---- */

static bool is_named_file(struct text path, struct text wanted)
{
    return path.size == wanted.size
               ? text_equal(path, wanted)
               : path.size > wanted.size && wanted.size && path.bytes[path.size - wanted.size - 1] == '/' &&
                     memcmp(path.bytes + path.size - wanted.size, wanted.bytes, wanted.size) == 0;
}

/* Finds the file that is named. Returns how many files fit; the first of them is *path. */
static size_t find_file(const struct entries *entries, struct text wanted, struct text *path)
{
    size_t count = 0;
    *path = (struct text){ "", 0 };
    for (uint32_t i = 1; i < entries->codes_count; i++) {
        const struct shown_code *code = &entries->codes[i];
        if (text_equal(code->path, *path) || !(is_named_file(code->path, wanted) || text_equal(code->file, wanted)))
            continue;
        if (count++ == 0)
            *path = code->path;
    }
    return count;
}

static bool find_subject(const struct entries *entries, const char *wanted, struct report_source_subject *subject,
                         struct fault *why)
{
    uint32_t entry;
    *subject = (struct report_source_subject){ 0 };
    const size_t files = find_file(entries, text_of(wanted), &subject->path);
    if (files == 1)
        return true;
    if (files > 1)
        return fault(why, "--annotate %s: several files of the recording have this name; name one by more of its path",
                     wanted);
    if (!report_find_entry(entries, "--annotate", wanted, &entry, why))
        return false;
    const struct shown_code *code = entries_code(entries, entry);
    if (!code->path.size)
        return fault(why, "--annotate %s: this is no function of a source file", wanted);
    *subject = (struct report_source_subject){ code->path, code->name, code->line };
    return true;
}

/* ---- times ---- */

static bool is_part(const struct report_source_subject *subject, const struct shown_code *code)
{
    if (!text_equal(code->path, subject->path))
        return false;
    return !subject->function.size || (text_equal(code->name, subject->function) && code->line == subject->first_line);
}

static int by_line(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;
    return (a->line > b->line) - (a->line < b->line);
}

/* The number of a line: index + 1. */
static uint32_t line_number(const struct lines *lines, uint32_t line)
{
    const struct timed wanted = { .line = line };
    const struct timed *found = bsearch(&wanted, lines->rows, lines->count, sizeof(wanted), by_line);
    return found ? (uint32_t)(found - lines->rows) + 1 : 0;
}

static void subject_find_lines(const struct entries *entries, const struct report_source_subject *subject,
                               struct lines *lines)
{
    size_t kept = 0;
    lines->rows = alloc_zeroed(entries->count + 1, sizeof(*lines->rows));
    for (uint32_t i = 1; i < entries->count; i++)
        if (is_part(subject, entries_code(entries, i)))
            lines->rows[lines->count++].line = entries->rows[i].line;
    if (lines->count)
        qsort(lines->rows, lines->count, sizeof(*lines->rows), by_line);
    for (size_t i = 0; i < lines->count; i++)
        if (kept == 0 || lines->rows[kept - 1].line != lines->rows[i].line)
            lines->rows[kept++] = lines->rows[i];
    lines->count = kept;
}

static void add_times(const struct report *report, const struct section_calls *calls,
                      const struct report_source_subject *subject, struct lines *lines)
{
    const struct entries *entries = &calls->entries;
    const struct call_tree *tree = &calls->tree;
    uint32_t *numbers = alloc_zeroed(entries->count + 1, sizeof(*numbers));
    for (uint32_t i = 1; i < entries->count; i++)
        if (is_part(subject, entries_code(entries, i)))
            numbers[i] = line_number(lines, entries->rows[i].line);
    struct entry_totals *totals = totals_by(tree, 0, numbers, lines->count + 1);
    for (size_t i = 0; i < lines->count; i++) {
        lines->rows[i].self = report_sum(report, totals[i + 1].self);
        lines->rows[i].total = report_sum(report, totals[i + 1].total);
    }
    for (size_t i = 1; i < tree->count; i++) {
        const uint32_t caller = tree->nodes[tree->nodes[i].parent].entry;
        if (!numbers[caller] || !report_is_wait(entries, tree->nodes[i].entry))
            continue;
        lines->rows[numbers[caller] - 1].self += report_sum(report, tree->nodes[i].self);
        lines->rows[numbers[caller] - 1].waits += report_sum(report, tree->nodes[i].self);
    }
    free(totals);
    free(numbers);
}

/* ---- the text ---- */

static enum source_outcome report_read_text(const struct report *report, struct text file, struct bytes *text)
{
    static const struct source_folders nowhere;
    const struct tables *tables = report->tables;
    const struct source_folders *maps = report->style.maps ? report->style.maps : &nowhere;
    struct embedding embedding = { 0 };
    for (uint32_t i = 1; i < tables->functions_count; i++)
        if (text_equal(tables_function_file(tables, i), file))
            embedding_add_function(&embedding, 0, tables, i);
    for (size_t i = 1; i < tables->frames_count; i++)
        if (text_equal(tables_function_file(tables, tables->frames[i].function), file))
            embedding_add_line(&embedding, 0, tables->frames[i].line);
    const enum source_outcome outcome = embedding_read(&embedding, 0, file, EMBEDDED_PROGRAM, tables, maps, text);
    embedding_free(&embedding);
    return outcome;
}

static const char *outcome_reason(enum source_outcome outcome, struct text path)
{
    static const char *const reasons[SOURCE_OUTCOMES] = {
        [SOURCE_ABSENT] = "the file is not found here: --path-map FROM=TO says where it is",
        [SOURCE_FOREIGN] = "this is no regular file of Python source that can be read",
        [SOURCE_LARGE] = "the file is too large",
        [SOURCE_CHANGED] = "the file has changed since the recording",
    };
    if (outcome == SOURCE_FOREIGN && text_begins(path, TEXT("<")))
        return "the program made this code itself: --path-map 'NAME=FILE.py' says which file has its text, NAME being "
               "the name above with its angle brackets";
    return reasons[outcome];
}

/* ---- rows ---- */

static struct report_row *section_add_line(struct report_section *section, const struct report_source_subject *subject,
                                           uint32_t line, const struct timed *timed)
{
    struct report_row *row = report_add_row(section);
    row->line = line;
    row->path = subject->path;
    if (timed) {
        row->self = timed->self;
        row->total = timed->total;
        row->waits = timed->waits;
    }
    return row;
}

static void add_without_text(struct report_section *section, const struct report_source_subject *subject,
                             const struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        if (lines->rows[i].total)
            section_add_line(section, subject, lines->rows[i].line, &lines->rows[i]);
}

/* Whether a line is near one that has time. *next is the first line that is not passed. */
static bool is_near(const struct lines *lines, const struct report_source_subject *subject, uint32_t line, size_t *next)
{
    while (*next < lines->count && (!lines->rows[*next].total || (uint64_t)lines->rows[*next].line + CONTEXT < line))
        ++*next;
    if (*next == lines->count)
        return false;
    const uint32_t first = lines->rows[*next].line;
    const uint32_t before = subject->function.size && line >= subject->first_line ? CONTEXT_HEAD : CONTEXT;
    if (subject->function.size && line < subject->first_line)
        return false;
    return first <= line || first - line <= before;
}

/* Adds the lines of the text that are near a line with time. */
static void add_with_text(struct report *report, struct report_section *section,
                          const struct report_source_subject *subject, const struct lines *lines, struct text text)
{
    size_t next = 0;
    for (uint32_t line = 1; text.size > 0; line++) {
        const char *end = memchr(text.bytes, '\n', text.size);
        struct text content = { text.bytes, end ? (size_t)(end - text.bytes) : text.size };
        const size_t taken = content.size + (end != NULL);
        text = (struct text){ text.bytes + taken, text.size - taken };
        if (content.size && content.bytes[content.size - 1] == '\r')
            content.size--;
        if (!is_near(lines, subject, line, &next)) {
            if (section->count)
                section->rows[section->count - 1].last = true;
            continue;
        }
        const uint32_t number = line_number(lines, line);
        section_add_line(section, subject, line, number ? &lines->rows[number - 1] : NULL)->name = report_keep(report,
                                                                                                               content);
    }
}

static void add_section(struct report *report, const struct section_calls *calls,
                        const struct report_source_subject *subject)
{
    struct lines lines = { 0 };
    struct bytes text = { 0 };
    subject_find_lines(&calls->entries, subject, &lines);
    add_times(report, calls, subject, &lines);
    const enum source_outcome outcome = report_read_text(report, subject->path, &text);
    struct report_section *section = report_add_section(report, SECTION_SOURCE, "source");
    section->title = report_say(report, "%.*s%s%.*s, by %s", (int)subject->function.size, subject->function.bytes,
                                subject->function.size ? " in " : "", (int)subject->path.size, subject->path.bytes,
                                report_weight_label(report));
    section->rows_are = "source";
    section->whole = report_sum(report, calls->tree.nodes[0].total);
    section->columns = COLUMN_SELF | COLUMN_TOTAL;
    if (outcome == SOURCE_READ) {
        add_with_text(report, section, subject, &lines, bytes_text(&text));
    } else {
        section->note = report_say(report, "No source: %s.", outcome_reason(outcome, subject->path));
        add_without_text(section, subject, &lines);
    }
    for (size_t i = 0; i < section->count; i++)
        section->columns |= section->rows[i].waits ? COLUMN_WAITS : 0u;
    bytes_free(&text);
    free(lines.rows);
}

bool report_add_source(struct report *report, struct fault *why)
{
    struct section_calls functions, calls;
    struct report_source_subject subject;
    bool any = section_calls_make(&functions, report, &(struct section_style){ 0 });
    const bool found = any && find_subject(&functions.entries, report->style.annotate, &subject, why);
    if (found) {
        any = section_calls_make(&calls, report, &(struct section_style){ .kind = ENTRY_LINE });
        add_section(report, &calls, &subject);
        section_calls_free(&calls);
    }
    section_calls_free(&functions);
    return found && any;
}
