/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"
#include "formats/gecko/gecko_extra.h"
#include "formats/model/exactness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The programs of the profile: "app.py", "app.py and 2 more". */
static char *programs(const struct gecko *gecko)
{
    const struct gecko_lines *lines = &gecko->lines;
    const char *title = lines->processes[lines->processes_count > 1].title;
    const size_t more = lines->processes_count > 2 ? lines->processes_count - 2 : 0;
    char *all = NULL;
    if (more == 0 || asprintf(&all, "%s and %zu more", title, more) < 0)
        return alloc_copy(title, strlen(title));
    return all;
}

/* Writes the product: "app.py – Python". The viewer's title is the product and the digits at the end of `misc`; from
 * 3.15.0rc1 it would show only the 1. */
static void emit_product(struct gecko *gecko, uint32_t version_hex)
{
    struct json_emitter *json = &gecko->json;
    char version[32], value[48];
    event_python_version_text(version, version_hex);
    const bool plain = strspn(version, "0123456789.") == strlen(version);
    snprintf(value, sizeof(value), plain ? "rv:%s" : "Python %s", version);
    char *title = programs(gecko);
    emit_value(json, "product", json_sprintf("%s \xE2\x80\x93 %s", title, plain ? "Python" : value));
    emit_value(json, "misc", json_string(plain && version_hex ? value : ""));
    free(title);
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
    /* The times of measures are rounded, too, and the last one may be at the end. */
    const uint64_t end_ns = tables_end_ns(gecko->tables), unit_ns = gecko->unit_ns;
    const uint64_t rounded_ns = unit_ns ? gecko_in_units(gecko, end_ns) * unit_ns : end_ns; /* 0: no event */
    last_ns = rounded_ns > last_ns ? rounded_ns : last_ns;
    return end_ns > last_ns ? end_ns : last_ns;
}

static void gecko_meta_emit_times(struct gecko *gecko)
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
    if (recording->cores)
        emit_integer(json, "physicalCPUs", recording->cores);
    if (recording->processors)
        emit_integer(json, "logicalCPUs", recording->processors);
    if (recording->memory_bytes)
        emit_integer(json, "mainMemory", (int64_t)recording->memory_bytes);
}

/* The constant members of meta. Most of them hide parts of the viewer that are for Firefox and for native code. */
static const struct {
    const char *key, *json;
} fixed[] = {
    { "version", "24" }, /* the version of another format; the viewer requires it */
    { "processType", "0" },
    { "stackwalk", "0" },
    { "symbolicated", "true" },
    { "symbolicationNotSupported", "true" },
    { "sourceCodeIsNotOnSearchfox", "true" },
    { "usesOnlyOneStackType", "true" },
    { "keepProfileThreadOrder", "true" },
};

/* Adds "1000 Hz asked" if the value is known. */
static void add_feature(json_t *features, double value, int digits, const char *what)
{
    if (value > 0)
        json_array_append_new(features, json_sprintf("%.*f %s", digits, value, what));
}

/* How the recording was made, which Profile Info lists. The viewer wants the size of a buffer: there is none. */
static json_t *configuration(const struct tables *tables)
{
    const struct recording *recording = &tables->recording;
    const struct exactness exactness = exactness_of(tables);
    json_t *features = json_array();
    if (recording->mode.size)
        json_array_append_new(features, json_pack("s+%", "mode ", recording->mode.bytes, recording->mode.size));
    add_feature(features, exactness.asked_hz, 0, "Hz asked");
    add_feature(features, exactness.reached_hz, 0, "Hz reached");
    if (exactness.exact_percent > 0)
        add_feature(features, exactness_tenths(exactness.exact_percent), 1, "% of samples exact");
    json_array_append_new(features, json_string(recording->attached ? "attached" : "started by the recorder"));
    const struct text threads = recording->threads_option.size ? recording->threads_option : TEXT("all");
    return json_pack("{s:o, s:[s%], s:i}", "features", features, "threads", threads.bytes, threads.size, "capacity", 0);
}

/* Writes what the viewer needs to read the format, and what it shows at first. */
static void emit_for_viewer(struct gecko *gecko, const struct process *process)
{
    struct json_emitter *json = &gecko->json;
    emit_flag(json, "debug", process->build & BUILD_DEBUG);
    emit_integer(json, "preprocessedProfileVersion", gecko->style.compact ? 66 : 64);
    for (size_t i = 0; i < countof(fixed); i++)
        emit_literal(json, fixed[i].key, fixed[i].json);
    emit_value(json, "initialVisibleThreads", gecko_lines_visible(gecko));
    emit_value(json, "initialSelectedThreads", json_pack("[I]", (json_int_t)gecko_selected_line(gecko)));
    emit_value(json, "extra", gecko_extra_values(gecko));
}

void gecko_meta_emit(struct gecko *gecko)
{
    struct json_emitter *json = &gecko->json;
    const struct process *process = tables_first_process(gecko->tables);
    const struct text version = gecko->tables->recording.pyreel_version;
    emit_open(json, "meta", '{');
    gecko_meta_emit_times(gecko);
    emit_product(gecko, process->python_version);
    emit_platform(gecko);
    emit_text(json, "arguments", process->command);
    emit_value(json, "importedFrom", json_pack("s+%", "pyreel ", version.size ? version.bytes : "", version.size));
    if (process->build_id.size)
        emit_text(json, "appBuildID", process->build_id);
    emit_for_viewer(gecko, process);
    emit_value(json, "markerSchema", gecko_markers_schemas(gecko));
    if (gecko->cpu_known)
        emit_literal(json, "sampleUnits", "{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}");
    emit_value(json, "categories", gecko_categories_list(gecko));
    emit_value(json, "configuration", configuration(gecko->tables));
    emit_close(json, '}');
}
