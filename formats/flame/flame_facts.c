/* SPDX-License-Identifier: MIT */
#include "formats/flame/flame_facts.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"
#include "formats/flame/short_text.h"
#include "formats/model/exactness.h"
#include "formats/model/program_name.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds the first process that has samples, and returns the number of such processes. Without any, *first stays. */
static size_t find_shown(const struct tables *tables, const struct aggregate *aggregate, const struct process **first)
{
    bool *shown = alloc_zeroed(tables->processes_count + 1, sizeof(*shown));
    size_t count = 0;
    for (size_t i = 0; i < aggregate->count; i++) {
        const uint32_t number = tables->threads[aggregate->rows[i].thread].thread.process;
        if (number < tables->processes_count)
            shown[number] = true;
    }
    for (size_t i = 1; i < tables->processes_count; i++)
        if (shown[i] && tables->processes[i].process.number && count++ == 0)
            *first = &tables->processes[i].process;
    free(shown);
    return count;
}

char *flame_facts_title(const struct tables *tables, const struct aggregate *aggregate, bool alone)
{
    const struct process *first = tables_first_process(tables);
    const size_t shown = find_shown(tables, aggregate, &first);
    char *title = program_name_title(first->command.size ? first->command : first->executable), *all;
    const size_t more = !alone && shown > 1 ? shown - 1 : 0;
    if (more == 0 || asprintf(&all, "%s and %zu more", title, more) < 0)
        return title;
    free(title);
    return all;
}

void flame_facts_emit_one(struct json_emitter *json, const char *name, struct text value)
{
    struct bytes room = { 0 };
    if (value.size == 0)
        return;
    emit_open(json, NULL, '[');
    emit_text(json, NULL, text_of(name));
    emit_text(json, NULL, short_text(value, &room));
    emit_close(json, ']');
    bytes_free(&room);
}

void flame_facts_emit_formatted(struct json_emitter *json, const char *name, const char *format, ...)
{
    char *value;
    va_list values;
    va_start(values, format);
    const int size = vasprintf(&value, format, values);
    va_end(values);
    if (size < 0)
        return;
    flame_facts_emit_one(json, name, (struct text){ value, (size_t)size });
    free(value);
}

static void emit_program(struct json_emitter *json, const struct tables *tables)
{
    const struct process *process = tables_first_process(tables);
    char version[32];
    if (!process->number)
        return;
    flame_facts_emit_one(json, "Command", process->command);
    flame_facts_emit_formatted(json, "Python", "CPython %s%s%s",
                               event_python_version_text(version, process->python_version),
                               process->build & BUILD_FREE_THREADED ? " free-threaded" : "",
                               process->build & BUILD_DEBUG ? " debug build" : "");
    if (tables->processes_count > 2)
        flame_facts_emit_formatted(json, "Processes", "%zu", tables->processes_count - 1);
    else
        flame_facts_emit_formatted(json, "Process", "%" PRIu32, process->pid);
}

/* The date and the machine. */
static void emit_origin(struct json_emitter *json, const struct tables *tables, const struct flame_facts *facts)
{
    const struct recording *recording = &tables->recording;
    char date[32];
    if (facts->report && facts->report->undated_by) {
        flame_facts_emit_one(json, "Recorded", text_of(facts->report->undated_by));
        return;
    }
    struct bytes origin = { 0 };
    const struct text parts[] = { text_of(event_date_text(date, recording->start_unix_ns)),
                                  recording->host.size ? TEXT(" on ") : TEXT(""),
                                  recording->host,
                                  TEXT(", "),
                                  recording->machine,
                                  TEXT(", pyreel "),
                                  recording->pyreel_version };
    for (size_t i = 0; i < countof(parts); i++)
        put_bytes(&origin, parts[i].bytes, parts[i].size);
    flame_facts_emit_one(json, "Recorded", bytes_text(&origin));
    bytes_free(&origin);
}

static void emit_exactness(struct json_emitter *json, const struct tables *tables)
{
    static const struct {
        const char *name;
        const char *(*words)(char *room, const struct exactness *exactness);
    } lines[] = { { "Rate", exactness_rate }, { "Exact", exactness_share }, { "Missed", exactness_missed } };
    const struct exactness exactness = exactness_of(tables);
    char room[EXACTNESS_ROOM];
    for (size_t i = 0; i < countof(lines); i++)
        flame_facts_emit_one(json, lines[i].name, text_of(lines[i].words(room, &exactness)));
    for (enum exactness_stand stand = 0; stand < STANDS; stand++)
        flame_facts_emit_one(json, exactness_stand_titles[stand], text_of(exactness_stand(room, tables, stand)));
}

static size_t count_threads(const struct tables *tables)
{
    size_t count = 0;
    for (size_t i = 1; i < tables->threads_count; i++)
        count += tables->threads[i].samples > 0 && !tables->threads[i].thread.task;
    return count;
}

static void emit_missing(struct json_emitter *json, const struct tables *tables, const struct flame_facts *facts)
{
    if (facts->filters)
        flame_facts_emit_one(json, "Only", text_of(facts->filters));
    if (tables->missing)
        flame_facts_emit_formatted(json, "Lost", "%s%" PRIu64 " samples", tables->missing_estimated ? "about " : "",
                                   tables->missing);
    if (facts->report && !facts->report->complete)
        flame_facts_emit_one(json, "Incomplete", text_of(facts->report->ending));
    else if (!facts->whole)
        flame_facts_emit_one(json, "Incomplete", TEXT("a recording is damaged, cut off or left out"));
}

void flame_facts_emit(struct json_emitter *json, const char *key, const struct tables *tables,
                      const struct flame_facts *facts)
{
    emit_open(json, key, '[');
    emit_program(json, tables);
    emit_origin(json, tables, facts);
    if (facts->recordings > 1)
        flame_facts_emit_formatted(json, "Recordings", "%zu", facts->recordings);
    const size_t threads = count_threads(tables);
    flame_facts_emit_formatted(json, "Duration", "%.3f s", (double)tables_duration_ns(tables) / 1e9);
    flame_facts_emit_formatted(json, "Samples", "%" PRIu64 " of %zu thread%s", tables->samples, threads,
                               threads == 1 ? "" : "s");
    emit_exactness(json, tables);
    emit_missing(json, tables, facts);
    emit_close(json, ']');
}
