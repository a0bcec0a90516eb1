/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_extra.h"

#include "formats/gecko/gecko_internal.h"
#include "formats/gecko/gecko_marker_kinds.h"
#include "formats/model/exactness.h"

#include <inttypes.h>
#include <stdio.h>

#define EXTRA_PROCESSES 50 /* processes of a tree that have a row */

static json_t *row(const char *label, const char *format, json_t *value)
{
    return json_pack("{s:s, s:s, s:o}", "label", label, "format", format, "value", value);
}

static void gecko_extra_add_text(json_t *rows, const char *label, struct text text)
{
    if (text.size)
        json_array_append_new(rows, row(label, "string", json_stringn(text.bytes, text.size)));
}

static void add_string(json_t *rows, const char *label, const char *string)
{
    gecko_extra_add_text(rows, label, text_of(string));
}

static void add_count(json_t *rows, const char *label, uint64_t count)
{
    json_array_append_new(rows, row(label, "integer", json_integer((json_int_t)count)));
}

static void add_rate(json_t *rows, const char *label, double hz)
{
    if (hz > 0)
        json_array_append_new(rows, row(label, "string", json_sprintf("%.0f Hz", hz)));
}

/* Adds a duration. The viewer formats it; the value is in milliseconds. */
static void add_duration(json_t *rows, const char *label, uint64_t ns)
{
    json_array_append_new(rows, row(label, "duration", json_integer((json_int_t)((ns + 500000) / 1000000))));
}

static json_t *gecko_extra_ending(const struct tables *tables)
{
    if (!tables->end.reason && tables->recording.no_end_reason && !tables->cut)
        return json_string("complete: it does not say what ended it");
    if (!tables->end.reason)
        return json_string("cut off: the recorder did not come to its end");
    const char *how_much = tables->end.reason == END_UNWRITTEN ? "cut off" : "complete";
    return json_sprintf("%s: %s", how_much, event_end_reason_text(tables->end.reason));
}

/* Adds how many looks there were, and what became of them. */
static void add_looks(json_t *rows, const struct tables *tables)
{
    const struct exactness exactness = exactness_of(tables);
    char room[EXACTNESS_ROOM];
    add_count(rows, "Samples", tables->samples);
    add_count(rows, "Ticks", tables->ticks);
    add_count(rows, "Missed ticks", tables->missed);
    add_count(rows, "Failed samples", tables->failed);
    add_count(rows, "Lost samples", tables->missing);
    if (tables->left_out)
        add_count(rows, "Left out by the mode", tables->left_out);
    add_rate(rows, "Rate asked", exactness.asked_hz);
    add_rate(rows, "Rate reached", exactness.reached_hz);
    if (exactness.has_left_out)
        add_string(rows, "Rate", exactness_rate(room, &exactness));
    add_string(rows, "Exactness", exactness_share(room, &exactness));
    for (enum exactness_stand stand = 0; stand < STANDS; stand++)
        add_string(rows, exactness_stand_titles[stand], exactness_stand(room, tables, stand));
}

/* What is special about a build of CPython. */
static struct text build_of(uint32_t build)
{
    if ((build & BUILD_DEBUG) == 0)
        return TEXT("free-threaded");
    return build & BUILD_FREE_THREADED ? TEXT("free-threaded, debug: slower") : TEXT("debug: slower");
}

/* Adds where and how the recording was made. */
static void add_origin(json_t *rows, const struct tables *tables)
{
    const struct recording *recording = &tables->recording;
    const struct process *process = tables_first_process(tables);
    gecko_extra_add_text(rows, "Executable", process->executable);
    if (process->build & (BUILD_FREE_THREADED | BUILD_DEBUG))
        gecko_extra_add_text(rows, "Build", build_of(process->build));
    gecko_extra_add_text(rows, "Host", recording->host);
    gecko_extra_add_text(rows, "Kernel", recording->kernel);
    gecko_extra_add_text(rows, "Recorded with", recording->command);
}

/* Adds the total time of each state over all threads, as far as it is known. */
static void add_states(json_t *rows, const struct gecko *gecko)
{
    uint64_t ns, cpu_ns = 0;
    for (enum attribute state = 0; state < ATTRIBUTE_STATES; state++)
        if (attributes[state].time && gecko_totals_get(gecko, state, &ns))
            add_duration(rows, attributes[state].time, ns);
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
    json_array_foreach(texts, i, text) add_string(rows, "Markers left out", json_string_value(text));
    json_decref(texts);
}

static json_t *section(struct text label, json_t *rows)
{
    return json_pack("{s:s%, s:o}", "label", label.bytes, label.size, "entries", rows);
}

static json_t *begin_rows(const struct tables *tables)
{
    json_t *rows = json_array();
    json_array_append_new(rows, row("Recording", "string", gecko_extra_ending(tables)));
    gecko_extra_add_text(rows, "Mode", tables->recording.mode);
    gecko_extra_add_text(rows, "Threads", tables->recording.threads_option);
    add_looks(rows, tables);
    return rows;
}

void gecko_extra_add(struct gecko_extra *extra, const struct tables *tables, struct text name)
{
    char date[32];
    if (!extra->sections)
        extra->sections = json_array();
    if (json_array_size(extra->sections) == GECKO_EXTRA_RECORDINGS) {
        extra->left_out++;
        return;
    }
    json_t *rows = begin_rows(tables);
    add_string(rows, "Began", event_date_text(date, tables->recording.start_unix_ns));
    add_duration(rows, "Duration", tables_duration_ns(tables));
    gecko_extra_add_text(rows, "Command", tables_first_process(tables)->command);
    add_origin(rows, tables);
    json_array_append_new(extra->sections, section(name, rows));
}

/* Adds how a process of a tree began and ended. */
static void add_process(json_t *rows, const struct gecko *gecko, uint32_t number)
{
    const struct process_row *row = gecko_lines_process(gecko, number);
    char fate[EVENT_FATE_ROOM], text[EVENT_FATE_ROOM + 64], parent[32] = "";
    if (row->process.parent_pid)
        snprintf(parent, sizeof(parent), "child of %" PRIu32, row->process.parent_pid);
    const bool ended = row->end_ns && event_fate_text(fate, row->fate, row->wait_status)[0];
    snprintf(text, sizeof(text), "%s%s%s", parent, parent[0] && ended ? ", " : "", ended ? fate : "");
    add_string(rows, gecko->lines.processes[number].title, text);
}

bool gecko_extra_has_tree(const struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    for (size_t i = 1; i < tables->processes_count; i++)
        if (tables->processes[i].process.parent)
            return true;
    return false;
}

/* The processes of a tree; NULL: the recording has none. */
static json_t *processes_section(const struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    uint64_t processes = 0;
    if (!gecko_extra_has_tree(gecko))
        return NULL;
    json_t *rows = json_array();
    for (uint32_t i = 1; i < tables->processes_count; i++) {
        if (!tables->processes[i].process.number)
            continue;
        if (processes++ < EXTRA_PROCESSES)
            add_process(rows, gecko, i);
    }
    if (processes > EXTRA_PROCESSES)
        add_count(rows, "Further processes", processes - EXTRA_PROCESSES);
    return section(TEXT("Processes"), rows);
}

json_t *gecko_extra_values(const struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    json_t *rows = begin_rows(tables), *all = json_array();
    if (gecko->every > 1)
        add_count(rows, "Left out by --max-samples", tables->samples - gecko_kept_samples(gecko));
    add_states(rows, gecko);
    add_markers_left_out(rows, gecko);
    if (tables->tasks_count > 1)
        add_count(rows, "Asyncio tasks", tables->tasks_count - 1);
    if (gecko->extra.left_out)
        add_count(rows, "Recordings without a section here", gecko->extra.left_out);
    if (!gecko->extra.sections)
        add_origin(rows, tables);
    json_array_append_new(all, section(TEXT("Sampling"), rows));
    json_t *processes = processes_section(gecko);
    if (processes)
        json_array_append_new(all, processes);
    if (gecko->extra.sections)
        json_array_extend(all, gecko->extra.sections);
    return all;
}

void gecko_extra_free(struct gecko_extra *extra)
{
    json_decref(extra->sections);
}
