/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"

#include <stdio.h>
#include <string.h>

static const struct gecko_marker_kind *const kinds[] = {
    &gecko_state_markers,
    &gecko_task_markers,
    &gecko_opcode_markers,
};

/* ---- helpers for the kinds ---- */

/* Reads samples up to the time, so changes and samples advance together. */
uint32_t gecko_markers_stack_at(struct gecko_marker_reader *reader, uint64_t time)
{
    while (reader->stacks && reader->sample.time < time && spool_next(&reader->samples, &reader->sample)) {
    }
    return reader->sample.stack;
}

/* Writes a constant text, which needs no escape. Fast, because there may be millions. */
static void emit_own(struct json_emitter *json, const char *key, const char *text)
{
    char quoted[32];
    snprintf(quoted, sizeof(quoted), "\"%s\"", text);
    emit_literal(json, key, quoted);
}

void gecko_markers_emit_type(struct gecko *gecko, const char *type, const char *color)
{
    emit_own(&gecko->json, "type", type);
    emit_own(&gecko->json, "color", color);
}

/* The name (a string) of the innermost function of a stack; string 0 is "no Python frames" in the profile. */
static size_t leaf_name(const struct gecko *gecko, uint32_t code)
{
    const uint32_t stack = gecko_leaves_stack(code);
    const uint32_t frame = stack ? gecko->tables->stacks[stack].frame : 0;
    return frame ? gecko_sources_function_name(gecko, gecko->tables->frames[frame].function) : 0;
}

void gecko_markers_emit_beginning(struct gecko *gecko, const struct gecko_marker *marker)
{
    struct json_emitter *json = &gecko->json;
    emit_integer(json, "function", (int64_t)leaf_name(gecko, marker->stack));
    emit_open(json, "cause", '{');
    emit_decimal(json, "time", marker->start, gecko->digits);
    emit_integer(json, "stack", gecko_leaves_row(gecko, gecko_leaves_bare(marker->stack)));
    emit_close(json, '}');
}

void gecko_markers_add_field(json_t *fields, const char *key, const char *label, const char *format)
{
    json_array_append_new(fields, json_pack("{s:s, s:s, s:s}", "key", key, "label", label, "format", format));
}

void gecko_markers_add_beginning_field(json_t *fields)
{
    gecko_markers_add_field(fields, "function", "Began in", "unique-string");
}

json_t *gecko_markers_schema(const char *name, const char *description, bool overview, const char *shown,
                             json_t *fields)
{
    char tooltip[96], label[48];
    snprintf(label, sizeof(label), "{marker.data.%s}", shown);
    snprintf(tooltip, sizeof(tooltip), "{marker.name} \xE2\x80\x94 %s", label);
    json_t *display = json_pack("[s, s]", "marker-chart", "marker-table");
    if (overview)
        json_array_append_new(display, json_string("timeline-overview"));
    json_array_append_new(fields, json_pack("{s:s, s:s, s:b}", "key", "color", "format", "string", "hidden", 1));
    return json_pack("{s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:o}", "name", name, "display", display, "tooltipLabel",
                     tooltip, "tableLabel", label, "chartLabel", label, "description", description, "colorField",
                     "color", "fields", fields);
}

/* ---- the columns ---- */

static void emit_data(struct gecko *gecko, const struct gecko_marker_kind *kind, const struct gecko_marker *marker)
{
    emit_open(&gecko->json, NULL, '{');
    kind->emit_data(gecko, marker);
    emit_close(&gecko->json, '}');
}

static void emit_name(struct gecko *gecko, const struct gecko_marker_kind *kind, const struct gecko_marker *marker)
{
    emit_integer(&gecko->json, NULL, (int64_t)gecko_tables_string(gecko, kind->name(marker)));
}

static void emit_start(struct gecko *gecko, const struct gecko_marker_kind *kind, const struct gecko_marker *marker)
{
    (void)kind;
    emit_decimal(&gecko->json, NULL, marker->start, gecko->digits);
}

static void emit_end(struct gecko *gecko, const struct gecko_marker_kind *kind, const struct gecko_marker *marker)
{
    (void)kind;
    emit_decimal(&gecko->json, NULL, marker->end, gecko->digits);
}

/* Writes the phase: 1 is an interval. */
static void emit_phase(struct gecko *gecko, const struct gecko_marker_kind *kind, const struct gecko_marker *marker)
{
    (void)kind;
    (void)marker;
    emit_integer(&gecko->json, NULL, 1);
}

static void emit_category(struct gecko *gecko, const struct gecko_marker_kind *kind, const struct gecko_marker *marker)
{
    (void)kind;
    (void)marker;
    emit_integer(&gecko->json, NULL, CATEGORY_OTHER);
}

static const struct {
    const char *name;
    void (*emit)(struct gecko *gecko, const struct gecko_marker_kind *kind, const struct gecko_marker *marker);
    bool stacks;
} columns[] = {
    { "data", emit_data, true },    { "name", emit_name, false },   { "startTime", emit_start, false },
    { "endTime", emit_end, false }, { "phase", emit_phase, false }, { "category", emit_category, false },
};

static void begin_kind(struct gecko_marker_reader *reader, const struct gecko_marker_kind *kind, bool stacks)
{
    spool_rewind(&reader->samples, &reader->gecko->spool, &reader->thread->samples);
    if (!spool_next(&reader->samples, &reader->sample))
        reader->sample = (struct spool_sample){ 0 };
    reader->stacks = stacks;
    reader->over = false;
    kind->begin(reader);
}

static void set_thread(struct gecko_marker_reader *reader, uint32_t number)
{
    const struct gecko_thread *thread = gecko_thread(reader->gecko, number);
    reader->thread = thread;
    reader->end = 0;
    if (thread->samples.count)
        reader->end = thread->samples.last.time + gecko_status_width_units(reader->gecko, thread->stands_ns);
}

/* Writes a column. Returns the number of its cells. */
static int64_t emit_column(struct gecko_marker_reader *reader, const struct gecko_line *line, size_t column)
{
    int64_t count = 0;
    emit_open(&reader->gecko->json, columns[column].name, '[');
    for (size_t at = 0; at < line->count; at++) {
        set_thread(reader, line->threads[at]);
        for (size_t i = 0; i < countof(kinds); i++) {
            struct gecko_marker marker;
            for (begin_kind(reader, kinds[i], columns[column].stacks); kinds[i]->next(reader, &marker); count++)
                columns[column].emit(reader->gecko, kinds[i], &marker);
        }
    }
    emit_close(&reader->gecko->json, ']');
    return count;
}

void gecko_markers_emit(struct gecko *gecko, const struct gecko_line *line)
{
    struct gecko_marker_reader reader = { .gecko = gecko };
    int64_t count = 0;
    emit_open(&gecko->json, "markers", '{');
    for (size_t i = 0; i < countof(columns); i++)
        count = emit_column(&reader, line, i);
    emit_integer(&gecko->json, "length", count);
    emit_close(&gecko->json, '}');
    spool_reader_free(&reader.changes);
    spool_reader_free(&reader.samples);
}

json_t *gecko_markers_schemas(const struct gecko *gecko)
{
    json_t *schemas = json_array();
    for (size_t i = 0; i < countof(kinds); i++)
        kinds[i]->add_schemas(gecko, schemas);
    return schemas;
}
