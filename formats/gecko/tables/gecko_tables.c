/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING INT64_MIN /* value of a cell that is null */

/* A column of a table: a constant for all rows, or a function that gives the cell of a row or writes the cell. */
struct gecko_tables_column {
    const char *name;
    const char *always;
    int64_t (*cell)(const struct gecko *gecko, size_t row);
    void (*emit)(struct gecko *gecko, size_t row);
};

struct gecko_tables_table {
    const char *name;
    const struct gecko_tables_column *columns; /* the last column has no name */
    size_t (*rows)(const struct gecko *gecko);
};

static int64_t or_nothing(uint32_t number)
{
    return number ? (int64_t)number : NOTHING;
}

static int64_t or_no_index(int64_t index)
{
    return index < 0 ? NOTHING : index;
}

static size_t stack_rows(const struct gecko *gecko)
{
    return gecko->rows.stacks.count + gecko_leaves_rows(gecko);
}

static size_t frame_rows(const struct gecko *gecko)
{
    return gecko->rows.frames.count + gecko->leaves.labels_count;
}

static size_t function_rows(const struct gecko *gecko)
{
    return gecko->rows.functions.count + gecko->leaves.labels_count;
}

/* The stack of a row; NULL for a row of the leaves. */
static const struct stack *stack_at(const struct gecko *gecko, size_t row)
{
    const struct gecko_rows *stacks = &gecko->rows.stacks;
    return row < stacks->count ? &gecko->tables->stacks[stacks->number[row]] : NULL;
}

static int64_t stack_frame(const struct gecko *gecko, size_t row)
{
    const struct gecko_rows *frames = &gecko->rows.frames;
    const struct stack *stack = stack_at(gecko, row);
    return stack ? (int64_t)frames->of[stack->frame] - 1
                 : (int64_t)(frames->count + gecko_leaves_label(gecko, row - gecko->rows.stacks.count));
}

static int64_t stack_prefix(const struct gecko *gecko, size_t row)
{
    const struct gecko_rows *stacks = &gecko->rows.stacks;
    const struct stack *stack = stack_at(gecko, row);
    const int64_t caller = stack ? (int64_t)stacks->of[stack->caller] - 1
                                 : gecko_leaves_caller(gecko, row - stacks->count);
    return or_no_index(caller);
}

/* How many rows in front of a row its caller has; 0: the row has no caller. */
static int64_t stack_prefix_offset(const struct gecko *gecko, size_t row)
{
    const int64_t caller = stack_prefix(gecko, row);
    return caller == NOTHING ? 0 : (int64_t)row - caller;
}

/* The number of a row's frame; 0 for a label. */
static uint32_t frame_number(const struct gecko *gecko, size_t row)
{
    const struct gecko_rows *frames = &gecko->rows.frames;
    return row < frames->count ? frames->number[row] : 0;
}

/* The frame of a row; an unknown frame for a label. */
static const struct frame *frame_at(const struct gecko *gecko, size_t row)
{
    static const struct frame label = { .column = -1 };
    const uint32_t number = frame_number(gecko, row);
    return number ? &gecko->tables->frames[number] : &label;
}

static int64_t frame_function(const struct gecko *gecko, size_t row)
{
    const struct gecko_rows *frames = &gecko->rows.frames, *functions = &gecko->rows.functions;
    return row < frames->count ? (int64_t)functions->of[frame_at(gecko, row)->function] - 1
                               : (int64_t)(functions->count + row - frames->count);
}

static int64_t frame_address(const struct gecko *gecko, size_t row)
{
    const struct frame *frame = frame_at(gecko, row);
    return or_no_index(gecko_libs_address(gecko, frame->function, frame->address));
}

static int64_t frame_native_symbol(const struct gecko *gecko, size_t row)
{
    const struct frame *frame = frame_at(gecko, row);
    return or_no_index(gecko_libs_symbol(gecko, frame->inlined ? frame->symbol : frame->function));
}

static int64_t frame_inline_depth(const struct gecko *gecko, size_t row)
{
    return frame_at(gecko, row)->inlined;
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

/* The number of a row's function; 0 for a label. */
static uint32_t function_number(const struct gecko *gecko, size_t row)
{
    const struct gecko_rows *functions = &gecko->rows.functions;
    return row < functions->count ? functions->number[row] : 0;
}

/* The label of a row of frames or functions, which is so many rows behind those of the tables. */
static const struct gecko_label *label_at(const struct gecko *gecko, size_t index)
{
    return &gecko->leaves.labels[index];
}

/* The category of a frame. A sample counts for the category of its leaf. */
static int64_t frame_category(const struct gecko *gecko, size_t row)
{
    const size_t frames = gecko->rows.frames.count;
    return row < frames ? gecko_categories_of(gecko, frame_at(gecko, row)->function)
                        : label_at(gecko, row - frames)->category;
}

static int64_t frame_subcategory(const struct gecko *gecko, size_t row)
{
    const size_t frames = gecko->rows.frames.count;
    if (row >= frames)
        return label_at(gecko, row - frames)->subcategory;
    const uint32_t instruction = gecko_opcodes_subcategory(gecko, frame_number(gecko, row));
    const struct gecko_source *source = gecko_sources_of(gecko, frame_at(gecko, row)->function);
    const bool same = source && frame_category(gecko, row) == (int64_t)source->category;
    return instruction || !same ? instruction : source->subcategory;
}

static int64_t gecko_tables_function_name(const struct gecko *gecko, size_t row)
{
    const size_t functions = gecko->rows.functions.count;
    return (int64_t)(row < functions ? gecko_sources_function_name(gecko, function_number(gecko, row))
                                     : label_at(gecko, row - functions)->name);
}

/* The source of a row of functions; NULL when the function has no file. */
static const struct gecko_source *source_of(const struct gecko *gecko, size_t row)
{
    const uint32_t function = function_number(gecko, row);
    return function ? gecko_sources_of(gecko, function) : NULL;
}

static int64_t function_source(const struct gecko *gecko, size_t row)
{
    const struct gecko_source *source = source_of(gecko, row);
    return source ? source - gecko->sources.rows : NOTHING;
}

static int64_t function_resource(const struct gecko *gecko, size_t row)
{
    const uint32_t function = function_number(gecko, row);
    return function ? gecko_sources_resource(gecko, function) : -1;
}

static int64_t function_line(const struct gecko *gecko, size_t row)
{
    const uint32_t function = function_number(gecko, row);
    return function ? or_nothing(gecko->tables->functions[function].first_line) : NOTHING;
}

static size_t resource_rows(const struct gecko *gecko)
{
    return gecko->sources.resources.count;
}

static int64_t gecko_tables_resource_name(const struct gecko *gecko, size_t row)
{
    return (int64_t)gecko->sources.resource_names[row];
}

/* Row 0 is "<no Python frames>", so the other strings of the tables have their numbers. */
static size_t string_rows(const struct gecko *gecko)
{
    return gecko->tables->strings_count ? gecko->tables->strings_count : 1;
}

/* Further strings follow those of the tables. */
size_t gecko_tables_string(struct gecko *gecko, struct text text)
{
    bool added;
    const char *bytes = text.size ? text.bytes : "";
    return string_rows(gecko) + intern_number(&gecko->strings, bytes, text.size, &added) - 1;
}

static size_t source_rows(const struct gecko *gecko)
{
    return gecko->sources.count;
}

static int64_t gecko_tables_source_name(const struct gecko *gecko, size_t row)
{
    return (int64_t)gecko->sources.rows[row].name;
}

static int64_t resource_lib(const struct gecko *gecko, size_t row)
{
    return or_no_index(gecko_libs_of_resource(gecko, row));
}

static size_t native_symbol_rows(const struct gecko *gecko)
{
    return gecko->libs.symbols_count;
}

static int64_t native_symbol_lib(const struct gecko *gecko, size_t row)
{
    const uint32_t module = gecko->tables->functions[gecko->libs.functions[row]].module;
    return (int64_t)gecko->libs.by_module[module] - 1;
}

static int64_t native_symbol_address(const struct gecko *gecko, size_t row)
{
    const uint32_t function = gecko->libs.functions[row];
    return gecko_libs_address(gecko, function, gecko->tables->functions[function].address);
}

static int64_t native_symbol_name(const struct gecko *gecko, size_t row)
{
    return (int64_t)gecko_sources_function_name(gecko, gecko->libs.functions[row]);
}

static size_t no_rows(const struct gecko *gecko)
{
    (void)gecko;
    return 0;
}

static const struct gecko_tables_column stack_columns[] = {
    { "frame", .cell = stack_frame },
    { "prefix", .cell = stack_prefix },
    { 0 },
};

static const struct gecko_tables_column compact_stack_columns[] = {
    { "frame", .cell = stack_frame },
    { "prefixOffset", .cell = stack_prefix_offset },
    { 0 },
};

static const struct gecko_tables_column frame_columns[] = {
    { "address", .cell = frame_address, .always = "-1" },
    { "inlineDepth", .cell = frame_inline_depth },
    { "category", .cell = frame_category },
    { "subcategory", .cell = frame_subcategory },
    { "func", .cell = frame_function },
    { "nativeSymbol", .cell = frame_native_symbol },
    { "innerWindowID", .always = "null" },
    { "line", .cell = frame_line },
    { "column", .cell = frame_column },
    { "originalLocation", .always = "null" },
    { 0 },
};

static const struct gecko_tables_column function_columns[] = {
    { "name", .cell = gecko_tables_function_name },
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
static const struct gecko_tables_column resource_columns[] = {
    { "name", .cell = gecko_tables_resource_name },
    { "type", .always = "1" },
    { "lib", .cell = resource_lib },
    { "host", .always = "null" },
    { 0 },
};

static const struct gecko_tables_column source_columns[] = {
    { "id", .always = "null" },
    { "filename", .cell = gecko_tables_source_name },
    { "startLine", .always = "1" },
    { "startColumn", .always = "1" },
    { "sourceMapURL", .always = "null" },
    { "content", .emit = gecko_embedding_emit },
    { 0 },
};

static const struct gecko_tables_column native_symbol_columns[] = {
    { "libIndex", .cell = native_symbol_lib },
    { "address", .cell = native_symbol_address },
    { "name", .cell = native_symbol_name },
    { "functionSize", .always = "null" },
    { 0 },
};

static const struct gecko_tables_column location_columns[] = {
    { "source", .always = "0" },
    { "line", .always = "0" },
    { "column", .always = "0" },
    { 0 },
};

static const struct gecko_tables_table stack_tables[] = { { "stackTable", stack_columns, stack_rows },
                                                          { "stackTable", compact_stack_columns, stack_rows } };

static const struct gecko_tables_table tables_shared[] = {
    { "frameTable", frame_columns, frame_rows },
    { "funcTable", function_columns, function_rows },
    { "resourceTable", resource_columns, resource_rows },
    { "sources", source_columns, source_rows },
    { "nativeSymbols", native_symbol_columns, native_symbol_rows },
    { "sourceLocationTable", location_columns, no_rows },
};

static void gecko_tables_emit_column(struct gecko *gecko, const struct gecko_tables_column *column, size_t rows)
{
    struct json_emitter *json = &gecko->json;
    emit_open(json, column->name, '[');
    for (size_t row = 0; row < rows; row++) {
        if (column->emit) {
            column->emit(gecko, row);
            continue;
        }
        const int64_t cell = column->cell ? column->cell(gecko, row) : NOTHING;
        if (cell == NOTHING)
            emit_literal(json, NULL, column->always ? column->always : "null");
        else
            emit_integer(json, NULL, cell);
    }
    emit_close(json, ']');
}

static void emit_table(struct gecko *gecko, const struct gecko_tables_table *table)
{
    const size_t rows = table->rows(gecko);
    emit_open(&gecko->json, table->name, '{');
    for (const struct gecko_tables_column *column = table->columns; column->name; column++)
        gecko_tables_emit_column(gecko, column, rows);
    emit_integer(&gecko->json, "length", (int64_t)rows);
    emit_close(&gecko->json, '}');
}

static void emit_strings(struct gecko *gecko)
{
    struct json_emitter *json = &gecko->json;
    emit_open(json, "stringArray", '[');
    emit_text(json, NULL, TEXT(NO_PYTHON_FRAMES));
    for (uint32_t i = 1; i < string_rows(gecko); i++)
        emit_text(json, NULL, tables_string(gecko->tables, i));
    for (uint32_t i = 1; i <= gecko->strings.count; i++)
        emit_text(json, NULL, gecko->strings.texts[i]);
    emit_close(json, ']');
}

void gecko_tables_emit(struct gecko *gecko)
{
    emit_open(&gecko->json, "shared", '{');
    emit_table(gecko, &stack_tables[gecko->style.compact]);
    for (size_t i = 0; i < countof(tables_shared); i++)
        emit_table(gecko, &tables_shared[i]);
    emit_strings(gecko);
    emit_close(&gecko->json, '}');
}
