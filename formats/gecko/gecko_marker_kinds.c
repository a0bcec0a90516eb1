/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_marker_kinds.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"
#include "formats/frames/plain_name.h"
#include "formats/frames/task_frame.h"
#include "formats/gecko/gecko_internal.h"
#include "formats/gecko/markers/task_rows.h"
#include "formats/model/program_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS 5

struct gecko_marker_kinds_field {
    const char *key, *label, *format;
};

static const struct kind {
    const char *name;       /* also the type; MARKER_TASK: only the type */
    const char *one, *many; /* for what is left out */
    const char *color;      /* NULL: each marker has its own */
    enum gecko_category category;
    const char *where; /* beside the marker chart and table; NULL: nowhere */
    const char *label;
    const char *description;
    struct gecko_marker_kinds_field fields[FIELDS];
} kinds[MARKER_KINDS] = {
    [MARKER_GIL_WAIT] = { "Waits for GIL",
                          "wait for the GIL",
                          "waits for the GIL",
                          "red",
                          CATEGORY_WAITING,
                          "timeline-overview",
                          "held by {marker.data.held}",
                          "The thread wanted its interpreter's lock, and another thread held it: the one that most "
                          "looks "
                          "during the wait found. The stack is that of the waiting thread.",
                          { { "held", "Held by", "unique-string" } } },
    [MARKER_GC] = { "GC",
                    "garbage collection",
                    "garbage collections",
                    "orange",
                    CATEGORY_GC,
                    "timeline-memory",
                    "in {marker.data.function}",
                    "A garbage collection, as long as looks found it on the thread's stack. The function is the one in "
                    "which the collection began.",
                    { { "function", "Began in", "unique-string" }, { "generation", "Generation", "integer" } } },
    [MARKER_EXCEPTION] = { "Handles exception",
                           "exception",
                           "exceptions",
                           "magenta",
                           CATEGORY_OTHER,
                           NULL,
                           "in {marker.data.function}",
                           "An exception was raised, or being handled. Looks that are close together are one marker.",
                           { { "function", "Began in", "unique-string" },
                             { "time", "With an exception", "duration" } } },
    [MARKER_GAP] = { "No samples",
                     "gap",
                     "gaps",
                     "grey",
                     CATEGORY_OTHER,
                     NULL,
                     "{marker.data.why}",
                     "The process has no samples in this time, because the recorder did not look, or could not read "
                     "it.",
                     { { "why", "Why", "string" }, { "ticks", "Ticks", "integer" } } },
    [MARKER_BLOCKED] = { "Loop blocked",
                         "blocked event loop",
                         "blocked event loops",
                         "purple",
                         CATEGORY_ASYNCIO,
                         NULL,
                         "by {marker.data.function}",
                         "The event loop ran one callback, or one step of a task, at least so long: whatever else "
                         "wanted to run had to wait. The looks prove it by the loop's own variables.",
                         { { "function", "Callback", "unique-string" }, { "task", "Task", "unique-string" } } },
    [MARKER_TASK] = { "Task",
                      "asyncio task",
                      "asyncio tasks",
                      NULL,
                      CATEGORY_ASYNCIO,
                      NULL,
                      "{marker.data.label}",
                      "The life of an asyncio task, as far as looks saw it. Tasks whose names differ only by numbers "
                      "share a row of the marker chart.",
                      { { "label", "Task", "unique-string" },
                        { "run", "Ran for", "duration" },
                        { "steps", "Steps seen", "integer" },
                        { "by", "Awaited by", "unique-string" },
                        { "coroutine", "Coroutine", "unique-string" } } },
    [MARKER_THREAD] = { "Thread",
                        "thread",
                        "threads",
                        "blue",
                        CATEGORY_OTHER,
                        NULL,
                        "{marker.data.thread}",
                        "A thread that shares its track with others of its kind, which live before and after. From its "
                        "first to its last sample.",
                        { { "thread", "Thread", "unique-string" },
                          { "tid", "Thread number", "tid" },
                          { "cpu", "CPU time", "duration" } } },
    [MARKER_PROCESS] = { "Process ends",
                         "end of a process",
                         "ends of processes",
                         "ink",
                         CATEGORY_OTHER,
                         NULL,
                         "{marker.data.how}",
                         "The process exited, a signal ended it, or it became another program (exec).",
                         { { "how", "How", "unique-string" }, { "command", "Command", "unique-string" } } },
    [MARKER_TITLE] = { "Title",
                       "title of a process",
                       "titles of processes",
                       "teal",
                       CATEGORY_OTHER,
                       NULL,
                       "{marker.data.title}",
                       "The title that the process had in this time: what it says of itself in lists of processes.",
                       { { "title", "Title", "unique-string" } } },
    [MARKER_SPAN] = { "Span",
                      "stretch of a span",
                      "stretches of spans",
                      "green",
                      CATEGORY_OTHER,
                      NULL,
                      "{marker.data.span} of trace {marker.data.trace}",
                      "The thread worked on this span of OpenTelemetry, as far as looks saw it. The program published "
                      "the ids.",
                      { { "trace", "Trace id", "unique-string" }, { "span", "Span id", "unique-string" } } },
};

bool gecko_marker_kinds_overview(enum marker_kind kind)
{
    return kinds[kind].where && strcmp(kinds[kind].where, "timeline-overview") == 0;
}

/* ---- texts ---- */

static size_t string_of(struct gecko *gecko, struct bytes *bytes)
{
    const size_t string = gecko_tables_string(gecko, (struct text){ (const char *)bytes->at, bytes->size });
    bytes_free(bytes);
    return string;
}

static void append(struct bytes *bytes, struct text text)
{
    if (text.size)
        put_bytes(bytes, text.bytes, text.size);
}

/* The name of a function without the functions in which it is defined. */
static struct text short_name(const struct gecko *gecko, uint32_t number)
{
    struct text name = tables_function_name(gecko->tables, number);
    const char *local;
    while (name.size && (local = memmem(name.bytes, name.size, "<locals>.", 9)))
        name = (struct text){ local + 9, name.size - (size_t)(local + 9 - name.bytes) };
    return name;
}

/* The name of a task in its frame: fetch of <task fetch>. */
static struct text task_in_frame(const struct gecko *gecko, uint32_t number)
{
    const struct text name = tables_function_name(gecko->tables, number);
    return name.size > 7 ? (struct text){ name.bytes + 6, name.size - 7 } : name;
}

static struct text gecko_marker_kinds_task_name(const struct gecko *gecko, uint32_t task)
{
    return tables_task(gecko->tables, task)->task.name;
}

/* The name that a task shares with others of its kind. A task whose program gave it no name has that of its coroutine.
 */
static void append_stem(const struct gecko *gecko, struct bytes *stem, const struct marker *marker)
{
    const struct text name = gecko_marker_kinds_task_name(gecko, marker->subject);
    const size_t before = stem->size;
    if (marker->function && (name.size == 0 || task_frame_is_automatic(name)))
        append(stem, short_name(gecko, marker->function));
    else
        put_plain_name(stem, name);
    if (stem->size == before)
        append(stem, TEXT("Task"));
}

static size_t stem_of(struct gecko *gecko, const struct marker *marker)
{
    struct bytes stem = { 0 };
    append_stem(gecko, &stem, marker);
    return string_of(gecko, &stem);
}

size_t gecko_marker_kinds_name(struct gecko *gecko, const struct marker *marker)
{
    if (marker->kind != MARKER_TASK)
        return gecko_tables_string(gecko, text_of(kinds[marker->kind].name));
    struct bytes name = { 0 };
    if (marker->row) {
        char row[16];
        snprintf(row, sizeof(row), "#%" PRIu32 " ", marker->row + 1);
        append(&name, text_of(row));
    }
    append_stem(gecko, &name, marker);
    return string_of(gecko, &name);
}

void gecko_marker_kinds_assign_rows(struct gecko *gecko)
{
    const struct marker_store *store = &gecko->markers.store;
    uint32_t *names = alloc_zeroed(store->settled_count + 1, sizeof(*names));
    for (size_t i = 0; i < store->settled_count; i++)
        if (store->settled[i].kind == MARKER_TASK)
            names[i] = (uint32_t)stem_of(gecko, &store->settled[i]);
    task_rows_assign(store->settled, store->settled_count, names);
    free(names);
}

int64_t gecko_marker_kinds_category(const struct marker *marker)
{
    return kinds[marker->kind].category;
}

/* ---- data ---- */

static void gecko_marker_kinds_emit_string(struct gecko *gecko, const char *key, struct text text)
{
    if (text.size)
        emit_integer(&gecko->json, key, (int64_t)gecko_tables_string(gecko, text));
}

static void gecko_marker_kinds_emit_function(struct gecko *gecko, const char *key, uint32_t number)
{
    if (number)
        emit_integer(&gecko->json, key, (int64_t)gecko_sources_function_name(gecko, number));
    else
        gecko_marker_kinds_emit_string(gecko, key, TEXT(NO_PYTHON_FRAMES));
}

/* Writes a duration in ms, to the microsecond. */
static void emit_duration(struct gecko *gecko, const char *key, uint64_t ns)
{
    emit_decimal(&gecko->json, key, (ns + 500) / 1000, 3);
}

/* The name under which the viewer shows a thread: that of its line, unless several threads share the line. */
static struct text gecko_marker_kinds_thread_name(const struct gecko *gecko, uint32_t thread)
{
    const size_t line = gecko_line_of(gecko, thread);
    if (line == SIZE_MAX || gecko_line_is_shared(&gecko->lines.rows[line]))
        return tables_thread_name(gecko->tables, thread);
    const char *name = gecko->lines.rows[line].name;
    return text_of(name);
}

static void emit_holder(struct gecko *gecko, const struct marker *marker)
{
    struct bytes text = { 0 };
    if (!marker->subject)
        return;
    append(&text, gecko_marker_kinds_thread_name(gecko, marker->subject));
    if (marker->function) {
        append(&text, TEXT(" in "));
        append(&text, tables_function_name(gecko->tables, marker->function));
    }
    emit_integer(&gecko->json, "held", (int64_t)string_of(gecko, &text));
}

static void emit_why(struct gecko *gecko, const struct marker *marker)
{
    struct json_emitter *json = &gecko->json;
    if (marker->count && marker->failed)
        emit_literal(json, "why", "\"the recorder had no processor, or could not read the process\"");
    else if (marker->count)
        emit_literal(json, "why", "\"the recorder had no processor\"");
    else
        emit_literal(json, "why", "\"the process changed while it was read\"");
    emit_integer(json, "ticks", (int64_t)marker->count + marker->failed);
}

static const char *const task_colors[] = { "blue", "green", "orange", "purple", "teal", "magenta", "yellow", "ink" };

static void gecko_marker_kinds_emit_task(struct gecko *gecko, const struct marker *marker)
{
    const uint32_t waiter = tables_task(gecko->tables, marker->subject)->waiter;
    gecko_marker_kinds_emit_string(gecko, "label", gecko_marker_kinds_task_name(gecko, marker->subject));
    if (marker->count) {
        emit_duration(gecko, "run", marker->amount_ns);
        emit_integer(&gecko->json, "steps", marker->count);
    }
    if (waiter)
        gecko_marker_kinds_emit_string(gecko, "by", gecko_marker_kinds_task_name(gecko, waiter));
    else if (marker->other)
        gecko_marker_kinds_emit_string(gecko, "by", task_in_frame(gecko, marker->other));
    if (marker->function)
        gecko_marker_kinds_emit_function(gecko, "coroutine", marker->function);
}

/* Writes how a process ended, and its command: that of the program which it became, if the recording has that one. */
static void gecko_marker_kinds_emit_end(struct gecko *gecko, const struct marker *marker)
{
    const struct process_row *row = gecko_lines_process(gecko, marker->subject);
    const struct process *process =
        &gecko_lines_process(gecko, marker->other ? marker->other : marker->subject)->process;
    char fate[EVENT_FATE_ROOM];
    gecko_marker_kinds_emit_string(gecko, "how", text_of(event_fate_text(fate, row->fate, row->wait_status)));
    gecko_marker_kinds_emit_string(gecko, "command", process->command);
}

static void gecko_marker_kinds_emit_title(struct gecko *gecko, const struct marker *marker)
{
    char *title = program_name_title(gecko->markers.titles.rows[marker->other - 1].title);
    gecko_marker_kinds_emit_string(gecko, "title", text_of(title));
    free(title);
}

static void gecko_marker_kinds_emit_span(struct gecko *gecko, struct span_ids span)
{
    char trace[EVENT_TRACE_DIGITS + 1], own[EVENT_SPAN_DIGITS + 1];
    gecko_marker_kinds_emit_string(gecko, "trace", text_of(event_trace_text(trace, span)));
    gecko_marker_kinds_emit_string(gecko, "span", text_of(event_span_text(own, span)));
}

static void gecko_marker_kinds_emit_own(struct gecko *gecko, const struct marker *marker)
{
    struct json_emitter *json = &gecko->json;
    switch (marker->kind) {
    case MARKER_GIL_WAIT:
        emit_holder(gecko, marker);
        return;
    case MARKER_GC:
        gecko_marker_kinds_emit_function(gecko, "function", marker->function);
        if (marker->count)
            emit_integer(json, "generation", (int64_t)marker->count - 1);
        return;
    case MARKER_EXCEPTION:
        gecko_marker_kinds_emit_function(gecko, "function", look_leaf(gecko->tables, marker->stack));
        emit_duration(gecko, "time", marker->amount_ns);
        return;
    case MARKER_GAP:
        emit_why(gecko, marker);
        return;
    case MARKER_BLOCKED:
        gecko_marker_kinds_emit_function(gecko, "function", marker->function);
        gecko_marker_kinds_emit_string(gecko, "task", gecko_marker_kinds_task_name(gecko, marker->subject));
        return;
    case MARKER_TASK:
        gecko_marker_kinds_emit_task(gecko, marker);
        return;
    case MARKER_THREAD:
        gecko_marker_kinds_emit_string(gecko, "thread", tables_thread_name(gecko->tables, marker->thread));
        emit_integer(json, "tid", gecko_lines_thread(gecko, marker->thread)->tid);
        emit_duration(gecko, "cpu", marker->amount_ns);
        return;
    case MARKER_PROCESS:
        gecko_marker_kinds_emit_end(gecko, marker);
        return;
    case MARKER_TITLE:
        gecko_marker_kinds_emit_title(gecko, marker);
        return;
    case MARKER_SPAN:
        gecko_marker_kinds_emit_span(gecko, marker->span);
        return;
    case MARKER_KINDS:
        return;
    }
}

bool gecko_marker_kinds_has_cause(const struct marker *marker)
{
    return marker->kind != MARKER_TASK && marker->kind != MARKER_GAP && marker->kind != MARKER_THREAD &&
           marker->kind != MARKER_PROCESS && marker->kind != MARKER_TITLE && marker->kind != MARKER_SPAN;
}

void gecko_marker_kinds_emit(struct gecko *gecko, const struct marker *marker, uint64_t start)
{
    const struct kind *kind = &kinds[marker->kind];
    const size_t color = marker->kind == MARKER_TASK ? stem_of(gecko, marker) % countof(task_colors) : 0;
    gecko_markers_emit_type(gecko, kind->name, kind->color ? kind->color : task_colors[color]);
    gecko_marker_kinds_emit_own(gecko, marker);
    if (gecko_marker_kinds_has_cause(marker))
        gecko_markers_emit_cause(gecko, start, marker->stack << GECKO_LEAF_BITS);
}

/* ---- schemas ---- */

static json_t *gecko_marker_kinds_schema_of(const struct kind *kind)
{
    json_t *fields = json_array(), *display = json_pack("[s, s]", "marker-chart", "marker-table");
    for (size_t i = 0; i < FIELDS && kind->fields[i].key; i++)
        gecko_markers_add_field(fields, kind->fields[i].key, kind->fields[i].label, kind->fields[i].format);
    json_array_append_new(fields, json_pack("{s:s, s:s, s:b}", "key", "color", "format", "string", "hidden", 1));
    if (kind->where)
        json_array_append_new(display, json_string(kind->where));
    return json_pack("{s:s, s:o, s:s+, s:s, s:s, s:s, s:s, s:o}", "name", kind->name, "display", display,
                     "tooltipLabel", "{marker.name}: ", kind->label, "tableLabel", kind->label, "chartLabel",
                     kind->label, "description", kind->description, "colorField", "color", "fields", fields);
}

void gecko_marker_kinds_add_schemas(const struct gecko *gecko, json_t *schemas)
{
    for (size_t kind = 0; kind < MARKER_KINDS; kind++)
        if (marker_store_count(&gecko->markers.store, (enum marker_kind)kind))
            json_array_append_new(schemas, gecko_marker_kinds_schema_of(&kinds[kind]));
}

/* ---- what is left out ---- */

void gecko_marker_kinds_add_left_out(const struct gecko *gecko, json_t *texts)
{
    for (size_t kind = 0; kind < MARKER_KINDS; kind++) {
        const struct markers_left_out *left_out = &gecko->markers.store.heaps[kind].left_out;
        const double ms = (double)left_out->longest_ns / 1e6;
        char length[40];
        snprintf(length, sizeof(length), ms < 1000 ? "%.1f ms" : "%.0f ms", ms + .05);
        const char *what = left_out->count == 1 ? kinds[kind].one : kinds[kind].many;
        if (left_out->count)
            json_array_append_new(texts, json_sprintf("%" PRIu64 " %s of at most %s", left_out->count, what, length));
    }
}
