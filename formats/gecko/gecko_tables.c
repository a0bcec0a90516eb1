/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING INT64_MIN /* value of a cell that is null */

/* A column of a table: a function that gives the cell of each row, or a constant for all rows. */
struct column {
    const char *name;
    const char *always;
    int64_t (*cell)(const struct gecko *gecko, size_t row);
};

struct table {
    const char *name;
    const struct column *columns; /* the last column has no name */
    size_t (*rows)(const struct gecko *gecko);
};

static int64_t or_nothing(uint32_t number)
{
    return number ? (int64_t)number : NOTHING;
}

/* The number of rows of a table: entry 0 has none. Row 0 is the entry with number 1. */
static size_t rows_of(size_t count)
{
    return count ? count - 1 : 0;
}

static size_t stack_rows(const struct gecko *gecko)
{
    return rows_of(gecko->tables->stacks_count) + gecko_leaves_rows(gecko);
}

static size_t frame_rows(const struct gecko *gecko)
{
    return rows_of(gecko->tables->frames_count) + gecko->leaves.labels_count;
}

static size_t function_rows(const struct gecko *gecko)
{
    return rows_of(gecko->tables->functions_count) + gecko->leaves.labels_count;
}

static int64_t stack_frame(const struct gecko *gecko, size_t row)
{
    const struct tables *tables = gecko->tables;
    const size_t count = rows_of(tables->stacks_count);
    if (row >= count)
        return (int64_t)(rows_of(tables->frames_count) + gecko_leaves_label(gecko, row - count));
    return (int64_t)tables->stacks[row + 1].frame - 1;
}

static int64_t stack_prefix(const struct gecko *gecko, size_t row)
{
    const size_t count = rows_of(gecko->tables->stacks_count);
    const int64_t caller = row >= count ? gecko_leaves_caller(gecko, row - count)
                                        : (int64_t)gecko->tables->stacks[row + 1].caller - 1;
    return caller < 0 ? NOTHING : caller;
}

/* The frame of a row; an unknown frame for a label. */
static const struct frame *frame_at(const struct gecko *gecko, size_t row)
{
    static const struct frame label = { .column = -1 };
    return row < rows_of(gecko->tables->frames_count) ? &gecko->tables->frames[row + 1] : &label;
}

/* Returns the function. A lost definition has the function of the first label, "<no Python frames>". */
static int64_t frame_function(const struct gecko *gecko, size_t row)
{
    const size_t frames = rows_of(gecko->tables->frames_count), functions = rows_of(gecko->tables->functions_count);
    if (row >= frames)
        return (int64_t)(functions + row - frames);
    const uint32_t function = frame_at(gecko, row)->function;
    return function ? (int64_t)function - 1 : (int64_t)functions;
}

static int64_t frame_line(const struct gecko *gecko, size_t row)
{
    return or_nothing(frame_at(gecko, row)->line);
}

/* The viewer counts columns from 1. */
static int64_t frame_column(const struct gecko *gecko, size_t row)
{
    const struct frame *frame = frame_at(gecko, row);
    return frame->number && frame->column >= 0 ? (int64_t)frame->column + 1 : NOTHING;
}

/* The label of a row of functions; NULL for a function of the tables. */
static const struct gecko_label *label_at(const struct gecko *gecko, size_t row)
{
    const size_t count = rows_of(gecko->tables->functions_count);
    return row >= count ? &gecko->leaves.labels[row - count] : NULL;
}

/* The category of a frame. A sample counts for the category of its leaf. */
static int64_t frame_category(const struct gecko *gecko, size_t row)
{
    const size_t function = (size_t)frame_function(gecko, row);
    const struct gecko_label *label = label_at(gecko, function);
    return label ? label->category : gecko_categories_of(gecko, (uint32_t)function + 1);
}

static int64_t frame_subcategory(const struct gecko *gecko, size_t row)
{
    const struct gecko_label *label = label_at(gecko, (size_t)frame_function(gecko, row));
    return label ? label->subcategory : 0;
}

static int64_t function_name(const struct gecko *gecko, size_t row)
{
    const struct gecko_label *label = label_at(gecko, row);
    return label ? (int64_t)label->name : gecko->tables->functions[row + 1].name;
}

/* The source of a function; NULL when the function has no file. */
static const struct gecko_source *source_of(const struct gecko *gecko, size_t row)
{
    const uint32_t file = label_at(gecko, row) ? 0 : gecko->tables->functions[row + 1].file;
    return file ? &gecko->sources.rows[gecko->sources.by_file[file] - 1] : NULL;
}

static int64_t function_source(const struct gecko *gecko, size_t row)
{
    const struct gecko_source *source = source_of(gecko, row);
    return source ? source - gecko->sources.rows : NOTHING;
}

/* The resource (package) of a function. The viewer prints a function with a resource as "package!function". Functions
 * of the program itself have none. */
static int64_t function_resource(const struct gecko *gecko, size_t row)
{
    const struct gecko_source *source = source_of(gecko, row);
    return source ? (int64_t)source->package - 1 : -1;
}

static int64_t function_line(const struct gecko *gecko, size_t row)
{
    return label_at(gecko, row) ? NOTHING : or_nothing(gecko->tables->functions[row + 1].first_line);
}

static size_t package_rows(const struct gecko *gecko)
{
    return gecko->sources.package_numbers.count;
}

/* Row 0 is "<no Python frames>", so other strings have the numbers of the tables. */
static size_t string_rows(const struct gecko *gecko)
{
    return gecko->tables->strings_count ? gecko->tables->strings_count : 1;
}

/* The packages' names follow the strings of the tables. */
static int64_t package_name(const struct gecko *gecko, size_t row)
{
    return (int64_t)(string_rows(gecko) + row);
}

/* Further strings follow the packages' names. */
size_t gecko_tables_string(struct gecko *gecko, struct text text)
{
    bool added;
    const char *bytes = text.size ? text.bytes : "";
    return string_rows(gecko) + package_rows(gecko) + intern_number(&gecko->strings, bytes, text.size, &added) - 1;
}

static size_t source_rows(const struct gecko *gecko)
{
    return gecko->sources.count;
}

static int64_t source_file(const struct gecko *gecko, size_t row)
{
    return gecko->sources.rows[row].file;
}

static size_t no_rows(const struct gecko *gecko)
{
    (void)gecko;
    return 0;
}

static const struct column stack_columns[] = {
    { "frame", .cell = stack_frame },
    { "prefix", .cell = stack_prefix },
    { 0 },
};

static const struct column frame_columns[] = {
    { "address", .always = "-1" },
    { "inlineDepth", .always = "0" },
    { "category", .cell = frame_category },
    { "subcategory", .cell = frame_subcategory },
    { "func", .cell = frame_function },
    { "nativeSymbol", .always = "null" },
    { "innerWindowID", .always = "null" },
    { "line", .cell = frame_line },
    { "column", .cell = frame_column },
    { "originalLocation", .always = "null" },
    { 0 },
};

static const struct column function_columns[] = {
    { "name", .cell = function_name },
    { "isJS", .always = "false" },
    { "relevantForJS", .always = "false" },
    { "resource", .cell = function_resource },
    { "source", .cell = function_source },
    { "lineNumber", .cell = function_line },
    { "columnNumber", .always = "null" },
    { "originalLocation", .always = "null" },
    { 0 },
};

/* Resources. Type 1 is a library. */
static const struct column resource_columns[] = {
    { "name", .cell = package_name },
    { "type", .always = "1" },
    { "lib", .always = "null" },
    { "host", .always = "null" },
    { 0 },
};

static const struct column source_columns[] = {
    { "id", .always = "null" },
    { "filename", .cell = source_file },
    { "startLine", .always = "1" },
    { "startColumn", .always = "1" },
    { "sourceMapURL", .always = "null" },
    { "content", .always = "null" },
    { 0 },
};

static const struct column native_symbol_columns[] = {
    { "libIndex", .always = "0" },
    { "address", .always = "0" },
    { "name", .always = "0" },
    { "functionSize", .always = "null" },
    { 0 },
};

static const struct column location_columns[] = {
    { "source", .always = "0" },
    { "line", .always = "0" },
    { "column", .always = "0" },
    { 0 },
};

static const struct table tables_shared[] = {
    { "stackTable", stack_columns, stack_rows },          { "frameTable", frame_columns, frame_rows },
    { "funcTable", function_columns, function_rows },     { "resourceTable", resource_columns, package_rows },
    { "sources", source_columns, source_rows },           { "nativeSymbols", native_symbol_columns, no_rows },
    { "sourceLocationTable", location_columns, no_rows },
};

static void emit_column(struct gecko *gecko, const struct column *column, size_t rows)
{
    struct json_emitter *json = &gecko->json;
    emit_open(json, column->name, '[');
    for (size_t row = 0; row < rows; row++) {
        const int64_t cell = column->cell ? column->cell(gecko, row) : NOTHING;
        if (cell == NOTHING)
            emit_literal(json, NULL, column->always ? column->always : "null");
        else
            emit_integer(json, NULL, cell);
    }
    emit_close(json, ']');
}

static void emit_table(struct gecko *gecko, const struct table *table)
{
    const size_t rows = table->rows(gecko);
    emit_open(&gecko->json, table->name, '{');
    for (const struct column *column = table->columns; column->name; column++)
        emit_column(gecko, column, rows);
    emit_integer(&gecko->json, "length", (int64_t)rows);
    emit_close(&gecko->json, '}');
}

/* Writes the further strings, by number. */
static void emit_own_strings(struct gecko *gecko)
{
    const struct intern *strings = &gecko->strings;
    for (uint32_t i = 1; i <= strings->count; i++)
        emit_text(&gecko->json, NULL, strings->texts[i]);
}

static void emit_strings(struct gecko *gecko)
{
    struct json_emitter *json = &gecko->json;
    emit_open(json, "stringArray", '[');
    emit_text(json, NULL, TEXT(NO_PYTHON_FRAMES));
    for (uint32_t i = 1; i < string_rows(gecko); i++)
        emit_text(json, NULL, tables_string(gecko->tables, i));
    for (size_t i = 1; i <= package_rows(gecko); i++)
        emit_text(json, NULL, gecko->sources.packages[i]);
    emit_own_strings(gecko);
    emit_close(json, ']');
}

void gecko_tables_emit(struct gecko *gecko)
{
    emit_open(&gecko->json, "shared", '{');
    for (size_t i = 0; i < countof(tables_shared); i++)
        emit_table(gecko, &tables_shared[i]);
    emit_strings(gecko);
    emit_close(&gecko->json, '}');
}
