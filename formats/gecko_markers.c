/* SPDX-License-Identifier: MIT */
#include "formats/gecko_parts.h"

#include "formats/alloc.h"

#include <stdio.h>

/* A sample is in the state when `bits` of its status are `value`. The colours are the viewer's for graphs. */
static const struct state {
    const char *name, *color;
    uint32_t bits, value;
    bool overview; /* above the thread's graph, too: there is room for one kind, and this is what one looks for */
    const char *description;
} states[STATES] = {
    [STATE_GIL] = { "Holds GIL", "green", STATUS_GIL, STATUS_GIL, false,
                    "The thread held its interpreter's lock, or was attached to an interpreter that has none." },
    [STATE_GIL_WAIT] = { "Waits for GIL", "red", STATUS_GIL_WAIT, STATUS_GIL_WAIT, true,
                         "The thread wanted its interpreter's lock, and another thread held it." },
    [STATE_CPU] = { "On CPU", "blue", STATUS_CPU | STATUS_CPU_UNKNOWN, STATUS_CPU, false,
                    "The thread was running, or ready to run." },
    [STATE_NO_CPU] = { "Off CPU", "grey", STATUS_CPU | STATUS_CPU_UNKNOWN, 0, false,
                       "The thread slept, or waited for something." },
    [STATE_EXCEPTION] = { "Handles exception", "orange", STATUS_EXCEPTION, STATUS_EXCEPTION, false,
                          "An exception was raised, or being handled." },
};

/* A thread was in `state` from a sample on up to the first one in which it was not; `stack` is that of the first. */
struct marker {
    enum gecko_state state;
    uint64_t start, end;
    uint32_t stack;
};

/* Makes markers of a thread's changes of state, in the order in which they end. */
struct marker_reader {
    const struct gecko_thread *thread;
    struct spool_reader changes, samples;
    struct spool_sample sample; /* the one that is read */
    uint64_t end;               /* of the thread's last sample */
    uint64_t now;
    uint32_t states, ended; /* after the change at `now`; ended by it, and not given yet */
    bool stacks;            /* are wanted */
    bool over;
    struct marker open[STATES];
};

uint32_t gecko_states_of(uint32_t status)
{
    uint32_t set = 0;
    for (size_t i = 0; i < STATES && status & STATUS_RECORDED; i++)
        if ((status & states[i].bits) == states[i].value)
            set |= 1u << i;
    return set;
}

const char *gecko_state_name(enum gecko_state state)
{
    return states[state].name;
}

static void rewind_markers(struct marker_reader *reader, struct gecko *gecko, bool stacks)
{
    spool_rewind(&reader->changes, &gecko->spool, &reader->thread->states);
    spool_rewind(&reader->samples, &gecko->spool, &reader->thread->samples);
    if (!spool_next(&reader->samples, &reader->sample))
        reader->sample = (struct spool_sample){ 0 };
    reader->now = 0;
    reader->states = reader->ended = 0;
    reader->stacks = stacks;
    reader->over = false;
}

/* Behind the last change everything ends with the last sample. */
static struct spool_sample next_change(struct marker_reader *reader)
{
    struct spool_sample change;
    if (spool_next(&reader->changes, &change))
        return change;
    reader->over = true;
    return (struct spool_sample){ .time = reader->end, .stack = 0 };
}

/* Changes and samples go on together. */
static uint32_t stack_now(struct marker_reader *reader)
{
    while (reader->stacks && reader->sample.time < reader->now && spool_next(&reader->samples, &reader->sample)) {
    }
    return reader->sample.stack;
}

static void read_change(struct marker_reader *reader)
{
    const struct spool_sample change = next_change(reader);
    const uint32_t before = reader->states;
    reader->now = change.time;
    reader->states = change.stack;
    reader->ended = before & ~change.stack;
    for (uint32_t begun = change.stack & ~before; begun; begun &= begun - 1) {
        const enum gecko_state state = (enum gecko_state)__builtin_ctz(begun);
        reader->open[state] = (struct marker){ .state = state, .start = reader->now, .stack = stack_now(reader) };
    }
}

static bool next_marker(struct marker_reader *reader, struct marker *marker)
{
    while (!reader->ended) {
        if (reader->over)
            return false;
        read_change(reader);
    }
    *marker = reader->open[__builtin_ctz(reader->ended)];
    marker->end = reader->now;
    reader->ended &= reader->ended - 1;
    return true;
}

/* The function at the leaf of a stack, as a string; 0 is "no Python frames", as everywhere. */
static uint32_t leaf_name(const struct tables *tables, uint32_t stack)
{
    const uint32_t frame = stack ? tables->stacks[stack].frame : 0;
    return frame ? tables->functions[tables->frames[frame].function].name : 0;
}

/* A text from the table above, which needs no escape: there may be millions of them. */
static void emit_own(struct emitter *json, const char *key, const char *text)
{
    char quoted[32];
    snprintf(quoted, sizeof(quoted), "\"%s\"", text);
    emit_literal(json, key, quoted);
}

static void emit_data(struct gecko *gecko, const struct marker *marker)
{
    struct emitter *json = &gecko->json;
    emit_open(json, NULL, '{');
    emit_own(json, "type", states[marker->state].name);
    emit_own(json, "color", states[marker->state].color);
    emit_integer(json, "function", leaf_name(gecko->tables, marker->stack));
    emit_open(json, "cause", '{');
    emit_decimal(json, "time", marker->start, gecko->digits);
    emit_integer(json, "stack", marker->stack);
    emit_close(json, '}');
    emit_close(json, '}');
    gecko->state_units[marker->state] += marker->end - marker->start;
}

static void emit_marker_name(struct gecko *gecko, const struct marker *marker)
{
    emit_integer(&gecko->json, NULL, (int64_t)gecko_state_string(gecko, marker->state));
}

static void emit_start(struct gecko *gecko, const struct marker *marker)
{
    emit_decimal(&gecko->json, NULL, marker->start, gecko->digits);
}

static void emit_end(struct gecko *gecko, const struct marker *marker)
{
    emit_decimal(&gecko->json, NULL, marker->end, gecko->digits);
}

/* An interval. */
static void emit_phase(struct gecko *gecko, const struct marker *marker)
{
    (void)marker;
    emit_integer(&gecko->json, NULL, 1);
}

static void emit_category(struct gecko *gecko, const struct marker *marker)
{
    (void)marker;
    emit_integer(&gecko->json, NULL, CATEGORY_OTHER);
}

static const struct {
    const char *name;
    void (*emit)(struct gecko *gecko, const struct marker *marker);
    bool stacks;
} columns[] = {
    { "data", emit_data, true },    { "name", emit_marker_name, false }, { "startTime", emit_start, false },
    { "endTime", emit_end, false }, { "phase", emit_phase, false },      { "category", emit_category, false },
};

void gecko_emit_markers(struct gecko *gecko, const struct gecko_thread *thread)
{
    struct marker_reader reader = { .thread = thread };
    if (thread->states.count)
        reader.end = thread->samples.last.time + gecko_interval_units(gecko);
    int64_t count = 0;
    emit_open(&gecko->json, "markers", '{');
    for (size_t i = 0; i < countof(columns); i++) {
        struct marker marker;
        emit_open(&gecko->json, columns[i].name, '[');
        count = 0;
        for (rewind_markers(&reader, gecko, columns[i].stacks); next_marker(&reader, &marker); count++)
            columns[i].emit(gecko, &marker);
        emit_close(&gecko->json, ']');
    }
    emit_integer(&gecko->json, "length", count);
    emit_close(&gecko->json, '}');
    spool_reader_free(&reader.changes);
    spool_reader_free(&reader.samples);
}

static json_t *schema_of(const struct state *state)
{
    json_t *display = json_pack("[s, s]", "marker-chart", "marker-table");
    if (state->overview)
        json_array_append_new(display, json_string("timeline-overview"));
    json_t *fields = json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:b}]", "key", "function", "label", "Began in", "format",
                               "unique-string", "key", "color", "format", "string", "hidden", 1);
    return json_pack("{s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:o}", "name", state->name, "display", display,
                     "tooltipLabel", "{marker.name} \xE2\x80\x94 {marker.data.function}", "tableLabel",
                     "{marker.data.function}", "chartLabel", "{marker.data.function}", "description",
                     state->description, "colorField", "color", "fields", fields);
}

json_t *gecko_marker_schema(const struct gecko *gecko)
{
    json_t *schema = json_array();
    for (size_t i = 0; i < STATES; i++)
        if (gecko->seen & 1u << i)
            json_array_append_new(schema, schema_of(&states[i]));
    return schema;
}
