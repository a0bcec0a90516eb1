/* SPDX-License-Identifier: MIT */
#include "formats/gecko/raw/raw_tables.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"
#include "formats/gecko/gecko_internal.h"
#include "formats/gecko/raw/gecko_raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NO_BREAK_SPACE "\xC2\xA0" /* UTF-8 */

/* ---- numbers ---- */

/* Callers get their numbers first: readers want the row of a caller in front of those of its callees. */
uint32_t raw_tables_stack(struct gecko *gecko, uint32_t code)
{
    struct raw_tables *raw = &gecko->raw;
    const uint32_t leaf = gecko_leaves_row(gecko, code);
    size_t depth = 0;
    for (int64_t row = leaf; row >= 0 && !numbering_has(&raw->stacks, (size_t)row);
         row = gecko_tables_caller(gecko, (size_t)row)) {
        raw->path = alloc_grow(raw->path, &raw->path_room, depth + 1, sizeof(*raw->path));
        raw->path[depth++] = (size_t)row;
    }
    while (depth > 0)
        numbering_number(&raw->stacks, raw->path[--depth]);
    return numbering_number(&raw->stacks, leaf);
}

uint32_t raw_tables_string(struct gecko *gecko, size_t string)
{
    return numbering_number(&gecko->raw.strings, string);
}

/* ---- locations ---- */

static void append(struct bytes *bytes, struct text text)
{
    if (text.size)
        put_bytes(bytes, text.bytes, text.size);
}

/* Whether a file name ends as if a line followed it: "app:main:12". */
static bool ends_in_number(struct text file)
{
    size_t digits = 0;
    while (digits < file.size && file.bytes[file.size - 1 - digits] >= '0' && file.bytes[file.size - 1 - digits] <= '9')
        digits++;
    return digits > 0 && digits < file.size && file.bytes[file.size - 1 - digits] == ':';
}

/* Appends the name of a file. Readers take a blank with a parenthesis for the end of the function, so in a file name
 * the blank becomes one that looks the same: "/home/u/app (1)/main.py". */
static void append_file(struct bytes *bytes, struct text file)
{
    for (size_t i = 0; i < file.size; i++) {
        const bool ends_function = file.bytes[i] == ' ' && i + 1 < file.size && file.bytes[i + 1] == '(';
        append(bytes, ends_function ? TEXT(NO_BREAK_SPACE) : (struct text){ file.bytes + i, 1 });
    }
}

/* Makes the location of a function. Readers take the last two numbers of a location for a line and a column, so a file
 * name that ends in a number gets both. */
static size_t make_location(struct gecko *gecko, const struct gecko_frame_cells *frame)
{
    struct bytes bytes = { 0 };
    char line[32];
    if (!frame->has_file)
        return frame->name;
    const struct text file = gecko_tables_text(gecko, frame->file);
    append(&bytes, gecko_tables_text(gecko, frame->name));
    append(&bytes, TEXT(" ("));
    append_file(&bytes, file);
    const int size = snprintf(line, sizeof(line), ":%" PRIu32 "%s)", frame->first_line,
                              ends_in_number(file) ? ":1" : "");
    put_bytes(&bytes, line, (size_t)size);
    const size_t string = gecko_tables_string(gecko, (struct text){ (const char *)bytes.at, bytes.size });
    bytes_free(&bytes);
    return string;
}

static size_t location_of(struct gecko *gecko, const struct gecko_frame_cells *frame)
{
    struct raw_tables *raw = &gecko->raw;
    raw->locations = alloc_grow(raw->locations, &raw->locations_room, frame->function + 1, sizeof(*raw->locations));
    size_t *location = &raw->locations[frame->function];
    if (*location == 0)
        *location = make_location(gecko, frame) + 1;
    return *location - 1;
}

/* ---- tables ---- */

static void emit_or_null(struct json_emitter *json, uint32_t number)
{
    if (number)
        emit_integer(json, NULL, number);
    else
        emit_literal(json, NULL, "null");
}

static void emit_stacks(struct gecko *gecko)
{
    struct json_emitter *json = &gecko->json;
    struct raw_tables *raw = &gecko->raw;
    gecko_raw_open_table(gecko, "stackTable", "{\"prefix\":0,\"frame\":1}");
    for (size_t i = 0; i < raw->stacks.count; i++) {
        const size_t row = raw->stacks.rows[i];
        const int64_t caller = gecko_tables_caller(gecko, row);
        emit_open(json, NULL, '[');
        if (caller < 0)
            emit_literal(json, NULL, "null");
        else
            emit_integer(json, NULL, numbering_number(&raw->stacks, (size_t)caller));
        emit_integer(json, NULL, numbering_number(&raw->frames, gecko_tables_frame(gecko, row)));
        emit_close(json, ']');
    }
    gecko_raw_close_table(gecko);
}

static void emit_frames(struct gecko *gecko)
{
    struct json_emitter *json = &gecko->json;
    struct raw_tables *raw = &gecko->raw;
    gecko_raw_open_table(gecko, "frameTable",
                         "{\"location\":0,\"relevantForJS\":1,\"innerWindowID\":2,\"implementation\":3,\"line\":4,"
                         "\"column\":5,\"category\":6,\"subcategory\":7}");
    for (size_t i = 0; i < raw->frames.count; i++) {
        const struct gecko_frame_cells frame = gecko_tables_frame_cells(gecko, raw->frames.rows[i]);
        emit_open(json, NULL, '[');
        emit_integer(json, NULL, raw_tables_string(gecko, location_of(gecko, &frame)));
        emit_literal(json, NULL, "false,null,null");
        emit_or_null(json, frame.line);
        emit_or_null(json, frame.column);
        emit_integer(json, NULL, frame.category);
        emit_integer(json, NULL, frame.subcategory);
        emit_close(json, ']');
    }
    gecko_raw_close_table(gecko);
}

static void emit_strings(struct gecko *gecko)
{
    const struct numbering *strings = &gecko->raw.strings;
    emit_open(&gecko->json, "stringTable", '[');
    for (size_t i = 0; i < strings->count; i++)
        emit_text(&gecko->json, NULL, gecko_tables_text(gecko, strings->rows[i]));
    emit_close(&gecko->json, ']');
}

void raw_tables_emit(struct gecko *gecko)
{
    emit_stacks(gecko); /* numbers the frames */
    emit_frames(gecko); /* numbers the locations */
    emit_strings(gecko);
    numbering_reset(&gecko->raw.stacks);
    numbering_reset(&gecko->raw.frames);
    numbering_reset(&gecko->raw.strings);
}

void raw_tables_free(struct raw_tables *tables)
{
    numbering_free(&tables->stacks);
    numbering_free(&tables->frames);
    numbering_free(&tables->strings);
    free(tables->path);
    free(tables->locations);
}
