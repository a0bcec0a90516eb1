/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_cpu.h"
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"
#include "formats/model/program_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VISIBLE_LINES 15 /* the viewer's own default */

/* Counts how often each key was seen. `= {0}` is empty. */
struct again {
    struct intern keys;
    uint32_t *times; /* by the key's number */
    size_t times_room;
};

static uint32_t seen_before(struct again *again, const void *key, size_t size)
{
    bool added;
    const uint32_t number = intern_number(&again->keys, key, size, &added);
    again->times = alloc_grow(again->times, &again->times_room, (size_t)number + 1, sizeof(*again->times));
    return again->times[number]++;
}

static void again_free(struct again *again)
{
    intern_free(&again->keys);
    free(again->times);
}

/* The title of a process. Without a command line it is the name of the executable. */
static char *title_of(const struct process_row *row)
{
    const struct process *process = &row->process;
    char *title = program_name_title(process->command.size ? process->command : process->executable), *full;
    if (row->recording.size == 0 ||
        asprintf(&full, "%s (%.*s)", title, (int)row->recording.size, row->recording.bytes) < 0)
        return title;
    free(title);
    return full;
}

static const struct thread *thread_of(const struct gecko *gecko, const struct gecko_line *line)
{
    static const struct thread none;
    return line->thread ? &gecko->tables->threads[line->thread].thread : &none;
}

static const struct process_row *process_of(const struct gecko *gecko, uint32_t process)
{
    static const struct process_row none;
    return process ? &gecko->tables->processes[process] : &none;
}

/* Whether the thread is the main thread of its process. Only the main interpreter has one, although other interpreters
 * may run in the same thread of the system. */
static bool is_main(const struct thread *thread)
{
    return thread->main && thread->interpreter == 0;
}

/* Whether a thread is shown. A thread without samples is hidden, but a main thread names the process and is always
 * shown. */
static bool is_shown(const struct gecko *gecko, uint32_t number)
{
    const struct thread *thread = &gecko->tables->threads[number].thread;
    return thread->number && (gecko_samples(gecko, number)->count > 0 || is_main(thread));
}

/* Compares lines: by process, the main thread first, entries of tasks last, then by number. */
static int by_order(const void *left, const void *right)
{
    const struct gecko_line *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->main != b->main)
        return a->main ? -1 : 1;
    if (a->task != b->task)
        return b->task ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* Keeps only one main thread per process: with two, the viewer loses threads. */
static void keep_one_main(struct gecko *gecko)
{
    for (size_t i = 1; i < gecko->lines_count; i++)
        if (gecko->lines[i].process == gecko->lines[i - 1].process)
            gecko->lines[i].main = false;
}

static void make_lines(struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    gecko->lines = alloc_zeroed(tables->threads_count + 1, sizeof(*gecko->lines));
    for (uint32_t i = 1; i < tables->threads_count; i++) {
        const struct thread *thread = &tables->threads[i].thread;
        if (is_shown(gecko, i))
            gecko->lines[gecko->lines_count++] = (struct gecko_line){
                .thread = i, .process = thread->process, .main = is_main(thread), .task = thread->task != 0
            };
    }
    qsort(gecko->lines, gecko->lines_count, sizeof(*gecko->lines), by_order);
    keep_one_main(gecko);
}

/* Adds an empty line. A profile without threads is an error in the viewer, so a recording without samples needs one. */
static void make_empty_line(struct gecko *gecko)
{
    const uint32_t process = gecko->tables->processes_count > 1 ? 1 : 0;
    gecko->lines[gecko->lines_count++] = (struct gecko_line){ .process = process, .main = true };
}

static char *name_pid(const struct process *process, uint32_t before)
{
    char text[32];
    const int size = before ? snprintf(text, sizeof(text), "%" PRIu32 ".%" PRIu32, process->pid, before)
                            : snprintf(text, sizeof(text), "%" PRIu32, process->pid);
    return alloc_copy(text, (size_t)size);
}

/* Names the processes. The viewer treats threads with the same pid as one process, so a reused pid gets a suffix. */
static void name_processes(struct gecko *gecko)
{
    gecko->processes_count = gecko->tables->processes_count ? gecko->tables->processes_count : 1;
    gecko->processes = alloc_zeroed(gecko->processes_count, sizeof(*gecko->processes));
    struct again pids = { 0 };
    for (uint32_t i = 0; i < gecko->processes_count; i++) {
        const struct process *process = &process_of(gecko, i)->process;
        const uint32_t before = i ? seen_before(&pids, &process->pid, sizeof(process->pid)) : 0;
        gecko->processes[i].title = title_of(process_of(gecko, i));
        gecko->processes[i].pid = name_pid(process, before);
    }
    again_free(&pids);
}

void gecko_threads_make_lines(struct gecko *gecko)
{
    name_processes(gecko);
    make_lines(gecko);
    if (gecko->lines_count == 0)
        make_empty_line(gecko);
}

void gecko_threads_free_lines(struct gecko *gecko)
{
    for (size_t i = 0; i < gecko->processes_count; i++) {
        free(gecko->processes[i].title);
        free(gecko->processes[i].pid);
    }
    free(gecko->processes);
    free(gecko->lines);
}

/* Writes the name of a line. The viewer labels a process with the name of its main thread. */
static void emit_name(struct gecko *gecko, const struct gecko_line *line)
{
    const struct thread *thread = thread_of(gecko, line);
    if (line->main) {
        const char *title = gecko->processes[line->process].title;
        emit_text(&gecko->json, "name", text_of(title));
        return;
    }
    const struct text name = gecko_tasks_shared(gecko, line->thread) ? TEXT("other tasks")
                                                                     : tables_thread_name(gecko->tables, line->thread);
    if (thread->interpreter == 0) {
        emit_text(&gecko->json, "name", name);
        return;
    }
    char *full = NULL;
    const int size = asprintf(&full, "%.*s (interpreter %" PRIu64 ")", (int)name.size, name.bytes, thread->interpreter);
    emit_text(&gecko->json, "name", size < 0 ? name : (struct text){ full, (size_t)size });
    free(full);
}

/* Writes an id that is unique in the process: the system's thread number. A text where this number is not unique: one
 * thread may run several interpreters, and a number may be reused after a thread has ended. */
static void emit_tid(struct gecko *gecko, const struct gecko_line *line, struct again *tids)
{
    const struct thread *thread = thread_of(gecko, line);
    if (thread->number == 0) { /* Linux gives a main thread the number of its process. */
        emit_integer(&gecko->json, "tid", process_of(gecko, line->process)->process.pid);
        return;
    }
    if (line->task) { /* the thread number of an entry is that of its owner */
        char text[48];
        const int size = snprintf(text, sizeof(text), "%" PRIu32 " task %" PRIu32, thread->tid, thread->task);
        emit_text(&gecko->json, "tid", (struct text){ text, (size_t)size });
        return;
    }
    const uint64_t key[] = { thread->process, thread->tid, thread->interpreter };
    const uint32_t before = seen_before(tids, key, sizeof(key));
    if (before == 0 && thread->interpreter == 0) {
        emit_integer(&gecko->json, "tid", thread->tid);
        return;
    }
    char text[80];
    int size = snprintf(text, sizeof(text), "%" PRIu32, thread->tid);
    if (thread->interpreter)
        size += snprintf(text + size, sizeof(text) - (size_t)size, ".%" PRIu64, thread->interpreter);
    if (before)
        size += snprintf(text + size, sizeof(text) - (size_t)size, "#%" PRIu32, before + 1);
    emit_text(&gecko->json, "tid", (struct text){ text, (size_t)size });
}

static void emit_life(struct json_emitter *json, const char *start_key, uint64_t start_ns, const char *end_key,
                      uint64_t end_ns)
{
    gecko_emit_ms(json, start_key, start_ns);
    if (end_ns)
        gecko_emit_ms(json, end_key, end_ns);
    else
        emit_literal(json, end_key, "null");
}

static void emit_identity(struct gecko *gecko, const struct gecko_line *line, struct again *tids)
{
    struct json_emitter *json = &gecko->json;
    const struct gecko_process *process = &gecko->processes[line->process];
    const struct process_row *process_row = process_of(gecko, line->process);
    emit_name(gecko, line);
    emit_literal(json, "isMainThread", line->main ? "true" : "false");
    emit_literal(json, "processType", "\"default\"");
    emit_text(json, "processName", text_of(process->title));
    emit_text(json, "pid", text_of(process->pid));
    emit_tid(gecko, line, tids);
    emit_life(json, "processStartupTime", process_row->process.start_ns, "processShutdownTime", process_row->end_ns);
    /* A thread whose end was not seen ended with its process, or before. */
    uint64_t end_ns = line->thread ? gecko->tables->threads[line->thread].end_ns : 0;
    if (end_ns == 0)
        end_ns = process_row->end_ns;
    emit_life(json, "registerTime", thread_of(gecko, line)->start_ns, "unregisterTime", end_ns);
    emit_literal(json, "pausedRanges", "[]");
    /* Only the markers "Waits for GIL" are shown there, see gecko_state_markers.c. */
    const bool waits = gecko_thread(gecko, line->thread)->seen & 1u << STATE_GIL_WAIT;
    emit_literal(json, "showMarkersInTimeline", waits ? "true" : "false");
}

static void emit_weights(struct gecko *gecko, uint32_t number, struct gecko_cpu_writer *writer)
{
    struct json_emitter *json = &gecko->json;
    const bool differ = gecko_weights_differ(gecko);
    emit_literal(json, "weightType", differ ? "\"tracing-ms\"" : "\"samples\"");
    if (!differ) {
        emit_literal(json, "weight", "null");
        return;
    }
    emit_open(json, "weight", '[');
    if (gecko->weight == GECKO_WEIGHT_CPU)
        gecko_cpu_emit_weights(writer, gecko_thread(gecko, number));
    else
        gecko_weights_emit_cells(gecko, number, &writer->samples);
    emit_close(json, ']');
}

/* Writes the samples. A recording without a status has no column of CPU times. Without this column the viewer draws a
 * thread at full height while it is sampled, as is right for a wall-clock profile. */
static void emit_samples(struct gecko *gecko, uint32_t number, struct gecko_cpu_writer *writer)
{
    struct spool_reader *reader = &writer->samples;
    const struct gecko_thread *thread = gecko_thread(gecko, number);
    struct json_emitter *json = &gecko->json;
    const struct spool_column *samples = &thread->samples;
    struct spool_sample sample;
    emit_open(json, "samples", '{');
    emit_open(json, "stack", '[');
    for (spool_rewind(reader, &gecko->spool, samples); spool_next(reader, &sample);)
        emit_again(json, gecko_opcodes_leaf(gecko, sample.stack), 1 + spool_pass_same(reader));
    emit_close(json, ']');
    emit_open(json, "time", '[');
    for (spool_rewind(reader, &gecko->spool, samples); spool_next(reader, &sample);)
        emit_decimal(json, NULL, sample.time, gecko->digits);
    emit_close(json, ']');
    if (gecko->cpu_known) {
        emit_open(json, "threadCPUDelta", '[');
        gecko_cpu_begin_line(writer, gecko);
        gecko_cpu_emit_cells(writer, thread);
        emit_close(json, ']');
    }
    emit_weights(gecko, number, writer);
    emit_integer(json, "length", (int64_t)samples->count);
    emit_close(json, '}');
}

void gecko_threads_emit(struct gecko *gecko)
{
    struct json_emitter *json = &gecko->json;
    struct gecko_cpu_writer writer = { .gecko = gecko };
    struct again tids = { 0 };
    emit_open(json, "threads", '[');
    for (size_t i = 0; i < gecko->lines_count; i++) {
        const struct gecko_line *line = &gecko->lines[i];
        emit_open(json, NULL, '{');
        emit_identity(gecko, line, &tids);
        emit_samples(gecko, line->thread, &writer);
        gecko_markers_emit(gecko, gecko_thread(gecko, line->thread));
        emit_close(json, '}');
    }
    emit_close(json, ']');
    again_free(&tids);
    gecko_cpu_writer_free(&writer);
}

struct ranked {
    unsigned behind; /* rank of the kind: threads, then tasks, then shared lines */
    uint64_t samples;
    size_t index;
};

static int by_samples(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->behind != b->behind)
        return a->behind < b->behind ? -1 : 1;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Ranks the lines: most samples first, threads before tasks unless they have no samples. The caller frees the array. */
static struct ranked *rank_lines(const struct gecko *gecko)
{
    struct ranked *ranked = alloc_zeroed(gecko->lines_count, sizeof(*ranked));
    for (size_t i = 0; i < gecko->lines_count; i++) {
        const uint32_t thread = gecko->lines[i].thread;
        const uint64_t samples = gecko_samples(gecko, thread)->count;
        const unsigned behind = (gecko->lines[i].task || samples == 0) + gecko_tasks_shared(gecko, thread);
        ranked[i] = (struct ranked){ behind, samples, i };
    }
    qsort(ranked, gecko->lines_count, sizeof(*ranked), by_samples);
    return ranked;
}

json_t *gecko_threads_visible_lines(const struct gecko *gecko)
{
    struct ranked *ranked = rank_lines(gecko);
    json_t *visible = json_array();
    for (size_t i = 0; i < gecko->lines_count && i < VISIBLE_LINES; i++)
        json_array_append_new(visible, json_integer((json_int_t)ranked[i].index));
    free(ranked);
    return visible;
}

/* Selects the first line, which is the main thread of the program; if this thread has no samples, the line with most
 * samples. */
json_t *gecko_threads_selected_lines(const struct gecko *gecko)
{
    struct ranked *ranked = rank_lines(gecko);
    const bool first = gecko_samples(gecko, gecko->lines[0].thread)->count > 0;
    json_t *selected = json_pack("[I]", first ? (json_int_t)0 : (json_int_t)ranked[0].index);
    free(ranked);
    return selected;
}
