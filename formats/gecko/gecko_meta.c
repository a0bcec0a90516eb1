/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"
#include "formats/gecko/gecko_marker_kinds.h"
#include "formats/model/exactness.h"

#include <stdio.h>
#include <string.h>

static json_t *text_value(struct text text)
{
    return json_stringn(text.size ? text.bytes : "", text.size);
}

/* Writes the product. The viewer's title is the product and the digits at the end of `misc`; from 3.15.0rc1 it would
 * show only the 1. */
static void emit_product(struct json_emitter *json, uint32_t version_hex)
{
    char version[32], value[48];
    event_python_version_text(version, version_hex);
    const bool plain = strspn(version, "0123456789.") == strlen(version);
    snprintf(value, sizeof(value), plain ? "rv:%s" : "Python %s", version);
    const char *const misc = plain && version_hex ? value : "";
    emit_value(json, "product", json_string(plain ? "Python" : value));
    emit_value(json, "misc", json_string(misc));
}

uint64_t gecko_meta_end_ns(const struct gecko *gecko)
{
    uint64_t last_ns = gecko->tables->recording.interval_ns;
    for (size_t i = 0; i < gecko->threads_room; i++) {
        const struct gecko_thread *thread = &gecko->threads[i];
        if (thread->samples.count == 0)
            continue;
        const uint64_t drawn_ns = thread->samples.last.time * gecko->unit_ns;
        const uint64_t width_ns = gecko_status_width_units(gecko, thread->stands_ns) * gecko->unit_ns;
        const uint64_t stands_ns = thread->stands_ns ? thread->stands_ns : gecko->tables->recording.interval_ns;
        const uint64_t ends_ns = drawn_ns + (width_ns > stands_ns ? width_ns : stands_ns);
        last_ns = ends_ns > last_ns ? ends_ns : last_ns;
    }
    const uint64_t end_ns = tables_end_ns(gecko->tables);
    return end_ns > last_ns ? end_ns : last_ns;
}

static void emit_times(struct gecko *gecko)
{
    struct json_emitter *json = &gecko->json;
    const struct recording *recording = &gecko->tables->recording;
    /* an unknown interval is 0, which the viewer would draw without a width */
    gecko_emit_ms(json, "interval", recording->interval_ns ? recording->interval_ns : 1000000);
    gecko_emit_ms(json, "startTime", recording->start_unix_ns);
    emit_integer(json, "startTimeAsClockMonotonicNanosecondsSinceBoot", (int64_t)recording->start_monotonic_ns);
    gecko_emit_ms(json, "profilingStartTime", recording->from_ns);
    gecko_emit_ms(json, "profilingEndTime", gecko->end_ns);
}

static void emit_platform(struct gecko *gecko)
{
    struct json_emitter *json = &gecko->json;
    const struct recording *recording = &gecko->tables->recording;
    emit_value(
        json, "oscpu",
        json_pack("s+%", "Linux ", recording->machine.size ? recording->machine.bytes : "", recording->machine.size));
    emit_literal(json, "platform", "\"Linux\"");
    emit_text(json, "abi", recording->machine);
    emit_literal(json, "toolkit", "\"\"");
    if (recording->processor.size)
        emit_text(json, "CPUName", recording->processor);
    if (recording->processors)
        emit_integer(json, "logicalCPUs", recording->processors);
    if (recording->memory_bytes)
        emit_integer(json, "mainMemory", (int64_t)recording->memory_bytes);
}

static json_t *row(const char *label, const char *format, json_t *value)
{
    return json_pack("{s:s, s:s, s:o}", "label", label, "format", format, "value", value);
}

static void add_text(json_t *rows, const char *label, struct text text)
{
    if (text.size)
        json_array_append_new(rows, row(label, "string", text_value(text)));
}

static void add_string(json_t *rows, const char *label, const char *string)
{
    add_text(rows, label, text_of(string));
}

static void add_count(json_t *rows, const char *label, uint64_t count)
{
    json_array_append_new(rows, row(label, "integer", json_integer((json_int_t)count)));
}

/* Adds a duration. The viewer formats it; the value is in milliseconds. */
static void add_duration(json_t *rows, const char *label, uint64_t ns)
{
    json_array_append_new(rows, row(label, "duration", json_integer((json_int_t)((ns + 500000) / 1000000))));
}

/* Adds the exactness of the recording, if the recorder counted it. */
static void add_exactness(json_t *rows, const struct tables *tables)
{
    const struct exactness exactness = exactness_of(tables);
    char room[EXACTNESS_ROOM];
    if (exactness.has_left_out)
        add_string(rows, "Rate", exactness_rate(room, &exactness));
    add_string(rows, "Exactness", exactness_share(room, &exactness));
}

/* Adds the total time of each state over all threads, as far as it is known. */
static void add_states(json_t *rows, const struct gecko *gecko)
{
    for (size_t i = 0; i < GECKO_TOTALS; i++)
        if (gecko_totals_name(gecko, i))
            add_duration(rows, gecko_totals_name(gecko, i), gecko->total_ns[i]);
    uint64_t cpu_ns = 0;
    for (size_t i = 1; i < gecko->tables->threads_count; i++)
        cpu_ns += gecko->tables->threads[i].cpu_ns;
    if (gecko->cpu_known)
        add_duration(rows, "CPU time", cpu_ns);
}

/* Adds what is known of markers that the profile does not have. */
static void add_markers_left_out(json_t *rows, const struct gecko *gecko)
{
    json_t *texts = json_array(), *text;
    size_t i;
    gecko_marker_kinds_add_left_out(gecko, texts);
    json_array_foreach(texts, i, text)
    {
        add_string(rows, i ? "" : "Markers left out", json_string_value(text));
    }
    json_decref(texts);
}

static json_t *ending(const struct tables *tables)
{
    if (!tables->end.reason && tables->recording.no_end_reason && !tables->cut)
        return json_string("complete: it does not say what ended it");
    if (!tables->end.reason)
        return json_string("cut off: the recorder did not come to its end");
    const char *how_much = tables->end.reason == END_UNWRITTEN ? "cut off" : "complete";
    return json_sprintf("%s: %s", how_much, event_end_reason_text(tables->end.reason));
}

/* Our rows under "show more" in the viewer. */
static json_t *extra_values(const struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    const struct recording *recording = &tables->recording;
    json_t *rows = json_array();
    json_array_append_new(rows, row("Recording", "string", ending(tables)));
    add_text(rows, "Mode", recording->mode);
    add_text(rows, "Threads", recording->threads_option);
    add_count(rows, "Samples", tables->samples);
    add_count(rows, "Ticks", tables->ticks);
    add_count(rows, "Missed ticks", tables->missed);
    add_count(rows, "Failed samples", tables->failed);
    add_count(rows, "Lost samples", tables->missing);
    add_exactness(rows, tables);
    if (tables->left_out)
        add_count(rows, "Left out by the mode", tables->left_out);
    add_states(rows, gecko);
    add_markers_left_out(rows, gecko);
    if (tables->tasks_count > 1)
        add_count(rows, "Asyncio tasks", tables->tasks_count - 1);
    add_text(rows, "Host", recording->host);
    add_text(rows, "Kernel", recording->kernel);
    add_text(rows, "Recorded with", recording->command);
    return json_pack("[{s:s, s:o}]", "label", "Sampling", "entries", rows);
}

/* The constant members of meta. Most of them hide parts of the viewer that are for Firefox and for native code. */
static const struct fixed {
    const char *key, *json;
} fixed[] = {
    { "preprocessedProfileVersion", "64" },
    { "version", "24" }, /* the version of another format; the viewer requires it */
    { "processType", "0" },
    { "stackwalk", "0" },
    { "debug", "false" },
    { "symbolicated", "true" },
    { "symbolicationNotSupported", "true" },
    { "sourceCodeIsNotOnSearchfox", "true" },
    { "usesOnlyOneStackType", "true" },
    { "keepProfileThreadOrder", "true" },
};

void gecko_meta_emit(struct gecko *gecko)
{
    struct json_emitter *json = &gecko->json;
    const struct process *process = tables_first_process(gecko->tables);
    const struct text version = gecko->tables->recording.pyreel_version;
    emit_open(json, "meta", '{');
    emit_times(gecko);
    emit_product(json, process->python_version);
    emit_platform(gecko);
    emit_text(json, "arguments", process->command);
    emit_value(json, "importedFrom", json_pack("s+%", "pyreel ", version.size ? version.bytes : "", version.size));
    for (size_t i = 0; i < countof(fixed); i++)
        emit_literal(json, fixed[i].key, fixed[i].json);
    emit_value(json, "markerSchema", gecko_markers_schemas(gecko));
    if (gecko->cpu_known)
        emit_literal(json, "sampleUnits", "{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}");
    emit_value(json, "initialVisibleThreads", gecko_lines_visible(gecko));
    emit_value(json, "initialSelectedThreads", gecko_lines_selected(gecko));
    emit_value(json, "categories", gecko_categories_list(gecko));
    emit_value(json, "extra", extra_values(gecko));
    emit_close(json, '}');
}
