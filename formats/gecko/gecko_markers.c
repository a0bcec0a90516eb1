/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"
#include "formats/gecko/gecko_cpu.h"
#include "formats/gecko/gecko_extra.h"
#include "formats/gecko/gecko_marker_kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kinds with as many markers as the states of threads change. Only --markers=all shows them. */
static const struct gecko_marker_kind *const kinds[] = {
    &gecko_state_markers,
    &gecko_run_markers,
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
static void gecko_markers_emit_own(struct json_emitter *json, const char *key, const char *text)
{
    char quoted[32];
    snprintf(quoted, sizeof(quoted), "\"%s\"", text);
    emit_literal(json, key, quoted);
}

void gecko_markers_emit_type(struct gecko *gecko, const char *type, const char *color)
{
    gecko_markers_emit_own(&gecko->json, "type", type);
    gecko_markers_emit_own(&gecko->json, "color", color);
}

/* The name (a string) of the innermost function of a stack; string 0 is "no Python frames" in the profile. */
static size_t leaf_name(const struct gecko *gecko, uint32_t code)
{
    const uint32_t function = look_leaf(gecko->tables, gecko_leaves_stack(code));
    return function ? gecko_sources_function_name(gecko, function) : 0;
}

void gecko_markers_emit_cause(struct gecko *gecko, uint64_t start, uint32_t code)
{
    struct json_emitter *json = &gecko->json;
    emit_open(json, "cause", '{');
    emit_decimal(json, "time", start, gecko->digits);
    emit_integer(json, "stack", gecko_leaves_row(gecko, code));
    emit_close(json, '}');
}

void gecko_markers_emit_beginning(struct gecko *gecko, const struct gecko_marker *marker)
{
    emit_integer(&gecko->json, "function", (int64_t)leaf_name(gecko, marker->stack));
    gecko_markers_emit_cause(gecko, marker->start, gecko_leaves_bare(marker->stack));
}

void gecko_markers_add_field(json_t *fields, const char *key, const char *label, const char *format)
{
    json_array_append_new(fields, json_pack("{s:s, s:s, s:s}", "key", key, "label", label, "format", format));
}

void gecko_markers_add_beginning_field(json_t *fields)
{
    gecko_markers_add_field(fields, "function", "Began in", "unique-string");
}

json_t *gecko_markers_schema(const char *name, const char *description, const char *shown, json_t *fields)
{
    char tooltip[96], label[48];
    snprintf(label, sizeof(label), "{marker.data.%s}", shown);
    snprintf(tooltip, sizeof(tooltip), "{marker.name} \xE2\x80\x94 %s", label);
    json_t *display = json_pack("[s, s]", "marker-chart", "marker-table");
    json_array_append_new(fields, json_pack("{s:s, s:s, s:b}", "key", "color", "format", "string", "hidden", 1));
    return json_pack("{s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:o}", "name", name, "display", display, "tooltipLabel",
                     tooltip, "tableLabel", label, "chartLabel", label, "description", description, "colorField",
                     "color", "fields", fields);
}

/* ---- the columns ---- */

/* A marker of either source, as the columns take it. */
struct gecko_markers_row {
    const struct marker *stored; /* NULL: `kind` made `made` */
    const struct gecko_marker_kind *kind;
    struct gecko_marker made;
    uint64_t start, end; /* in units */
};

static void gecko_markers_emit_data(struct gecko *gecko, const struct gecko_markers_row *row)
{
    emit_open(&gecko->json, NULL, '{');
    if (row->stored)
        gecko_marker_kinds_emit(gecko, row->stored, row->start);
    else
        row->kind->emit_data(gecko, &row->made);
    emit_close(&gecko->json, '}');
}

static void gecko_markers_emit_name(struct gecko *gecko, const struct gecko_markers_row *row)
{
    const size_t name = row->stored ? gecko_marker_kinds_name(gecko, row->stored)
                                    : gecko_tables_string(gecko, row->kind->name(&row->made));
    emit_integer(&gecko->json, NULL, (int64_t)name);
}

static void emit_start(struct gecko *gecko, const struct gecko_markers_row *row)
{
    emit_decimal(&gecko->json, NULL, row->start, gecko->digits);
}

static void gecko_markers_emit_end(struct gecko *gecko, const struct gecko_markers_row *row)
{
    emit_decimal(&gecko->json, NULL, row->end, gecko->digits);
}

/* Writes the phase: 0 is a moment, 1 an interval. */
static void emit_phase(struct gecko *gecko, const struct gecko_markers_row *row)
{
    emit_integer(&gecko->json, NULL, !(row->stored && row->stored->kind == MARKER_PROCESS));
}

static void emit_category(struct gecko *gecko, const struct gecko_markers_row *row)
{
    emit_integer(&gecko->json, NULL, row->stored ? gecko_marker_kinds_category(row->stored) : CATEGORY_OTHER);
}

struct gecko_markers_column {
    const char *name;
    void (*emit)(struct gecko *gecko, const struct gecko_markers_row *row);
    bool stacks;
};

static const struct gecko_markers_column columns[] = {
    { "data", gecko_markers_emit_data, true },
    { "name", gecko_markers_emit_name, false },
    { "startTime", emit_start, false },
    { "endTime", gecko_markers_emit_end, false },
    { "phase", emit_phase, false },
    { "category", emit_category, false },
};

/* A time in units, not behind the end of the profile. All times are rounded in the same way, so markers that did not
 * overlap do not. */
static uint64_t in_units(const struct gecko *gecko, uint64_t ns)
{
    const uint64_t last_ns = gecko->end_ns;
    ns = ns > last_ns ? last_ns : ns;
    const uint64_t units = gecko_in_units(gecko, ns);
    return units * gecko->unit_ns > last_ns ? last_ns / gecko->unit_ns : units;
}

static int64_t emit_stored(struct gecko *gecko, uint32_t thread, const struct gecko_markers_column *column)
{
    size_t count;
    const struct marker *markers = marker_store_of(&gecko->markers.store, thread, &count);
    for (size_t i = 0; i < count; i++) {
        const struct gecko_markers_row row = { .stored = &markers[i],
                                               .start = in_units(gecko, markers[i].start_ns),
                                               .end = in_units(gecko, markers[i].end_ns) };
        column->emit(gecko, &row);
    }
    return (int64_t)count;
}

static void begin_kind(struct gecko_marker_reader *reader, const struct gecko_marker_kind *kind, bool stacks)
{
    spool_rewind(&reader->samples, &reader->gecko->spool, &reader->thread->samples);
    if (!spool_next(&reader->samples, &reader->sample))
        reader->sample = (struct spool_sample){ 0 };
    reader->stacks = stacks;
    reader->over = false;
    kind->begin(reader);
}

/* Sets the reader to the thread at an index of a line. The states of a thread end before the next thread of the line
 * begins. */
static void set_thread(struct gecko_marker_reader *reader, const struct gecko_line *line, size_t at)
{
    const struct gecko_thread *thread = gecko_thread(reader->gecko, line->threads[at]);
    reader->thread = thread;
    reader->end = 0;
    if (thread->samples.count)
        reader->end = thread->samples.last.time + gecko_status_width_units(reader->gecko, thread->stands_ns);
    const uint64_t next = at + 1 < line->count ? gecko_thread(reader->gecko, line->threads[at + 1])->first : UINT64_MAX;
    if (reader->end > next)
        reader->end = next;
}

static int64_t emit_made(struct gecko_marker_reader *reader, const struct gecko_line *line, size_t at,
                         const struct gecko_markers_column *column)
{
    int64_t count = 0;
    if (reader->gecko->style.markers != GECKO_MARKERS_ALL)
        return 0;
    set_thread(reader, line, at);
    for (size_t i = 0; i < countof(kinds); i++) {
        struct gecko_markers_row row = { .kind = kinds[i] };
        for (begin_kind(reader, kinds[i], column->stacks); kinds[i]->next(reader, &row.made); count++) {
            row.start = row.made.start;
            row.end = row.made.end;
            column->emit(reader->gecko, &row);
        }
    }
    return count;
}

/* Writes the cells of all markers of a line. Returns their number. */
static int64_t emit_cells(struct gecko_marker_reader *reader, const struct gecko_line *line,
                          const struct gecko_markers_column *column)
{
    int64_t count = 0;
    for (size_t at = 0; at < line->count; at++) {
        count += emit_stored(reader->gecko, line->threads[at], column);
        count += emit_made(reader, line, at, column);
    }
    return count;
}

void gecko_markers_emit(struct gecko *gecko, const struct gecko_line *line)
{
    struct gecko_marker_reader reader = { .gecko = gecko };
    int64_t count = 0;
    emit_open(&gecko->json, "markers", '{');
    for (size_t i = 0; i < countof(columns); i++) {
        emit_open(&gecko->json, columns[i].name, '[');
        count = emit_cells(&reader, line, &columns[i]);
        emit_close(&gecko->json, ']');
    }
    emit_integer(&gecko->json, "length", count);
    emit_close(&gecko->json, '}');
    spool_reader_free(&reader.changes);
    spool_reader_free(&reader.samples);
}

json_t *gecko_markers_schemas(const struct gecko *gecko)
{
    json_t *schemas = json_array();
    gecko_marker_kinds_add_schemas(gecko, schemas);
    for (size_t i = 0; i < countof(kinds) && gecko->style.markers == GECKO_MARKERS_ALL; i++)
        kinds[i]->add_schemas(gecko, schemas);
    return schemas;
}

/* ---- what lines show of markers ---- */

static bool line_has(const struct gecko *gecko, const struct gecko_line *line, bool (*wanted)(enum marker_kind kind))
{
    for (size_t at = 0; at < line->count; at++) {
        size_t count;
        const struct marker *markers = marker_store_of(&gecko->markers.store, line->threads[at], &count);
        for (size_t i = 0; i < count; i++)
            if (wanted(markers[i].kind))
                return true;
    }
    return false;
}

bool gecko_markers_overview(const struct gecko *gecko, const struct gecko_line *line)
{
    return line_has(gecko, line, gecko_marker_kinds_overview);
}

static bool is_blocked(enum marker_kind kind)
{
    return kind == MARKER_BLOCKED;
}

bool gecko_markers_have_delays(const struct gecko *gecko, const struct gecko_line *line)
{
    return line_has(gecko, line, is_blocked);
}

/* Finds the next marker of a blocked loop; NULL: there is none. */
static const struct marker *next_blocked(const struct marker **from, const struct marker *end)
{
    while (*from < end && (*from)->kind != MARKER_BLOCKED)
        (*from)++;
    return *from < end ? (*from)++ : NULL;
}

/* The viewer derives a bar of jank from each fall of the delay: the bar ends at the sample before the fall, and is as
 * long as the delay of that sample. So the sample with which a marker ends has its length, and all others have 0. */
void gecko_markers_emit_delays(struct gecko *gecko, uint32_t thread, struct spool_reader *reader)
{
    size_t count;
    const struct marker *from = marker_store_of(&gecko->markers.store, thread, &count), *const end = from + count;
    const struct marker *blocked = next_blocked(&from, end);
    const struct thinning thinning = gecko_thinning(gecko, thread);
    const uint64_t last = gecko_samples(gecko, thread)->last.time;
    struct spool_sample sample;
    uint64_t number = 0;
    for (spool_rewind(reader, &gecko->spool, gecko_samples(gecko, thread)); spool_next(reader, &sample); number++) {
        if (!thinning_keeps(&thinning, number))
            continue;
        uint64_t delay = 0;
        if (blocked && (sample.time >= in_units(gecko, blocked->end_ns) || sample.time == last)) {
            const uint64_t start = in_units(gecko, blocked->start_ns);
            delay = sample.time > start ? sample.time - start : 0;
            blocked = next_blocked(&from, end);
        }
        emit_decimal(&gecko->json, NULL, delay, gecko->digits);
    }
}

/* ---- the budget ---- */

/* The bytes of a thread's samples: rather too few. Small numbers of stacks are more frequent than large ones. */
static uint64_t sample_bytes(const struct gecko *gecko, const struct gecko_thread *thread)
{
    const uint64_t stack = output_digits(gecko->tables->stacks_count / 8) + 1;
    const uint64_t time = output_digits(thread->samples.last.time * gecko->unit_ns / 2000000) + gecko->digits + 1;
    return thread->samples.count * (stack + time + 2 * gecko->cpu_known + 2 * gecko->weighted);
}

/* The size of the profile without markers: rather too small. */
static uint64_t profile_bytes(const struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    uint64_t bytes = 5000;
    for (size_t i = 0; i < gecko->threads_room; i++)
        bytes += sample_bytes(gecko, &gecko->threads[i]);
    for (size_t i = 1; i < tables->strings_count; i++)
        bytes += tables->strings[i].size + 3;
    return bytes + tables->stacks_count * 8 + tables->frames_count * 35 + tables->functions_count * 40;
}

/* Adds a marker for a thread that shares its line. */
static void add_life(struct gecko *gecko, uint32_t number)
{
    const struct gecko_thread *thread = gecko_thread(gecko, number);
    const struct marker life = { .kind = MARKER_THREAD,
                                 .thread = number,
                                 .start_ns = thread->first * gecko->unit_ns,
                                 .end_ns = thread->samples.last.time * gecko->unit_ns,
                                 .weight = thread->samples.count,
                                 .amount_ns = gecko_cpu_of(gecko, number) };
    marker_store_add(&gecko->markers.store, &life);
}

static void add_lives(struct gecko *gecko)
{
    for (size_t i = 0; i < gecko->lines.count; i++) {
        const struct gecko_line *line = &gecko->lines.rows[i];
        for (size_t at = 0; gecko_line_is_shared(line) && at < line->count; at++)
            add_life(gecko, line->threads[at]);
    }
}

/* A thread on the first line of a process, on which the markers of the process are; 0: the process has no line. */
static uint32_t first_line_thread(const struct gecko *gecko, uint32_t process)
{
    const size_t line = gecko->lines.processes[process].line;
    return line == SIZE_MAX || gecko->lines.rows[line].count == 0 ? 0 : gecko->lines.rows[line].threads[0];
}

/* Adds how a process of a tree ended, to the first line of the process. `became`: the process after an exec. */
static void add_end(struct gecko *gecko, uint32_t number, uint32_t became)
{
    const struct process_row *row = gecko_lines_process(gecko, number);
    const uint32_t thread = first_line_thread(gecko, number);
    if (!thread || !row->end_ns || (row->fate != FATE_EXITED && row->fate != FATE_EXECED))
        return;
    const struct marker end = { .kind = MARKER_PROCESS,
                                .thread = thread,
                                .start_ns = row->end_ns,
                                .end_ns = row->end_ns,
                                .subject = number,
                                .other = became };
    marker_store_add(&gecko->markers.store, &end);
}

static void add_ends(struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    uint32_t *became = alloc_zeroed(tables->processes_count + 1, sizeof(*became));
    for (uint32_t i = 1; i < tables->processes_count; i++) {
        const struct process *process = &tables->processes[i].process;
        if (process->parent && tables->processes[process->parent].process.pid == process->pid)
            became[process->parent] = i;
    }
    for (uint32_t i = 1; i < tables->processes_count; i++)
        if (tables->processes[i].process.number)
            add_end(gecko, i, became[i]);
    free(became);
}

static void add_title_lives(struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    uint32_t *threads = alloc_zeroed(tables->processes_count + 1, sizeof(*threads));
    for (uint32_t i = 1; i < tables->processes_count; i++)
        threads[i] = first_line_thread(gecko, i);
    title_lives_settle(&gecko->markers.titles, tables, threads, gecko->end_ns, &gecko->markers.store);
    free(threads);
}

void gecko_markers_settle(struct gecko *gecko)
{
    if (gecko->style.markers == GECKO_MARKERS_NONE)
        return;
    add_lives(gecko);
    add_title_lives(gecko);
    if (gecko_extra_has_tree(gecko))
        add_ends(gecko);
    markers_settle(&gecko->markers, profile_bytes(gecko));
    if (gecko->style.tasks == GECKO_TASKS_ROWS)
        gecko_marker_kinds_assign_rows(gecko);
    for (size_t i = 0; i < gecko->markers.store.settled_count; i++)
        if (gecko_marker_kinds_has_cause(&gecko->markers.store.settled[i]))
            gecko_leaves_note_bare(gecko, gecko->markers.store.settled[i].stack);
}
