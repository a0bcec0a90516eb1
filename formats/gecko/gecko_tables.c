/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"
#include "formats/model/task_frame.h"

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

/* The number of rows. The profile's tables have a row 0 even when the recording has no definition. */
static size_t with_entry_0(size_t count)
{
    return count ? count : 1;
}

static int64_t or_nothing(uint32_t number)
{
    return number ? (int64_t)number : NOTHING;
}

/* The rows of instructions follow the rows of a table. Returns whether `row` is one of them; *index is its index among
 * them. */
static bool behind(size_t count, size_t row, size_t *index)
{
    *index = row - with_entry_0(count);
    return row >= with_entry_0(count);
}

static size_t stack_rows(const struct gecko *gecko)
{
    return with_entry_0(gecko->tables->stacks_count) + gecko->opcodes.leaves_count;
}

static int64_t stack_frame(const struct gecko *gecko, size_t row)
{
    size_t leaf;
    if (behind(gecko->tables->stacks_count, row, &leaf))
        return (int64_t)(with_entry_0(gecko->tables->frames_count) + gecko->opcodes.leaves[leaf].opcode);
    return row ? gecko->tables->stacks[row].frame : 0;
}

static int64_t stack_prefix(const struct gecko *gecko, size_t row)
{
    size_t leaf;
    if (behind(gecko->tables->stacks_count, row, &leaf))
        return gecko->opcodes.leaves[leaf].stack;
    return row ? or_nothing(gecko->tables->stacks[row].caller) : NOTHING;
}

static size_t frame_rows(const struct gecko *gecko)
{
    return with_entry_0(gecko->tables->frames_count) + gecko->opcodes.numbers.count;
}

/* The instruction of a row; NULL for a row of a real frame. */
static const struct gecko_opcode *opcode_at(const struct gecko *gecko, size_t count, size_t row)
{
    size_t index;
    return behind(count, row, &index) ? &gecko->opcodes.rows[index] : NULL;
}

/* The frame of a row; an unknown frame for row 0, for an instruction, and for a lost definition. */
static const struct frame *frame_at(const struct gecko *gecko, size_t row)
{
    static const struct frame unknown = { .column = -1 };
    const bool known = row && row < gecko->tables->frames_count && gecko->tables->frames[row].number;
    return known ? &gecko->tables->frames[row] : &unknown;
}

static int64_t frame_function(const struct gecko *gecko, size_t row)
{
    size_t opcode;
    if (behind(gecko->tables->frames_count, row, &opcode))
        return (int64_t)(with_entry_0(gecko->tables->functions_count) + opcode);
    return frame_at(gecko, row)->function;
}

static int64_t frame_line(const struct gecko *gecko, size_t row)
{
    return or_nothing(frame_at(gecko, row)->line);
}

/* The viewer counts columns from 1. */
static int64_t frame_column(const struct gecko *gecko, size_t row)
{
    const int32_t column = frame_at(gecko, row)->column;
    return column < 0 ? NOTHING : (int64_t)column + 1;
}

static size_t function_rows(const struct gecko *gecko)
{
    return with_entry_0(gecko->tables->functions_count) + gecko->opcodes.numbers.count;
}

/* The index of a function's file in the sources + 1; 0: the function has no file. */
static uint32_t source_of(const struct gecko *gecko, size_t function)
{
    const bool known = function && function < gecko->tables->functions_count;
    const uint32_t file = known ? gecko->tables->functions[function].file : 0;
    return file ? gecko->sources.by_file[file] : 0;
}

static int64_t function_name(const struct gecko *gecko, size_t row)
{
    const struct gecko_opcode *opcode = opcode_at(gecko, gecko->tables->functions_count, row);
    if (opcode)
        return (int64_t)opcode->name;
    return row ? gecko->tables->functions[row].name : 0;
}

static int64_t function_source(const struct gecko *gecko, size_t row)
{
    const uint32_t source = source_of(gecko, row);
    return source ? (int64_t)source - 1 : NOTHING;
}

/* The resource (package) of a function. The viewer prints a function with a resource as "package!function". Functions
 * of the program itself have none. */
static int64_t function_resource(const struct gecko *gecko, size_t row)
{
    const uint32_t source = source_of(gecko, row);
    return source ? (int64_t)gecko->sources.rows[source - 1].package - 1 : -1;
}

static int64_t function_line(const struct gecko *gecko, size_t row)
{
    const bool known = row && row < gecko->tables->functions_count;
    return known ? or_nothing(gecko->tables->functions[row].first_line) : NOTHING;
}

/* Synthetic frames of the recorder, and their categories. */
static const struct synthetic {
    struct text name;
    enum gecko_category category;
} synthetic_frames[] = {
    { { "<native>", 8 }, CATEGORY_NATIVE },
    { { "<GC>", 4 }, CATEGORY_GC },
};

/* The category of a frame. A sample counts for the category of its leaf. A stack without frames has the grey category
 * "Other": the thread may have waited or run C code. */
static int64_t frame_category(const struct gecko *gecko, size_t row)
{
    if (opcode_at(gecko, gecko->tables->frames_count, row))
        return CATEGORY_INSTRUCTION;
    const size_t function = (size_t)frame_function(gecko, row);
    if (function == 0)
        return CATEGORY_OTHER;
    const struct text name = tables_function_name(gecko->tables, (uint32_t)function);
    for (size_t i = 0; i < countof(synthetic_frames); i++)
        if (text_equal(name, synthetic_frames[i].name))
            return synthetic_frames[i].category;
    if (gecko->tables->functions[function].file == 0 && task_frame_is_name(name))
        return CATEGORY_TASK;
    return CATEGORY_PYTHON;
}

static int64_t frame_subcategory(const struct gecko *gecko, size_t row)
{
    const struct gecko_opcode *opcode = opcode_at(gecko, gecko->tables->frames_count, row);
    if (opcode)
        return opcode->subcategory;
    const uint32_t source = source_of(gecko, (size_t)frame_function(gecko, row));
    const bool python = frame_category(gecko, row) == CATEGORY_PYTHON;
    return source && python ? (int64_t)gecko->sources.rows[source - 1].origin : 0;
}

static size_t package_rows(const struct gecko *gecko)
{
    return gecko->sources.package_numbers.count;
}

static size_t string_rows(const struct gecko *gecko)
{
    return with_entry_0(gecko->tables->strings_count);
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
