/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_cpu.h"
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- identity ---- */

uint32_t gecko_again_count(struct gecko_again *again, const void *key, size_t size)
{
    bool added;
    const uint32_t number = intern_number(&again->keys, key, size, &added);
    again->times = alloc_grow(again->times, &again->times_room, (size_t)number + 1, sizeof(*again->times));
    return again->times[number]++;
}

void gecko_again_free(struct gecko_again *again)
{
    intern_free(&again->keys);
    free(again->times);
}

/* Writes the system's thread number into `room`, with what makes the number unique in the process: one thread may run
 * several interpreters, and a number may be used again after a thread has ended. Returns the size; 0: the plain number
 * is unique. */
static size_t put_unique_tid(char *room, size_t room_size, const struct thread *thread, struct gecko_again *tids)
{
    const uint64_t key[] = { thread->process, thread->tid, thread->interpreter };
    const uint32_t before = gecko_again_count(tids, key, sizeof(key));
    if (before == 0 && thread->interpreter == 0)
        return 0;
    size_t size = (size_t)snprintf(room, room_size, "%" PRIu32, thread->tid);
    if (thread->interpreter)
        size += (size_t)snprintf(room + size, room_size - size, ".%" PRIu64, thread->interpreter);
    if (before)
        size += (size_t)snprintf(room + size, room_size - size, "#%" PRIu32, before + 1);
    return size;
}

/* Writes an id that is unique in the process. It is a number where it can be: Perfetto has a thread for each number,
 * and one thread for all other ids. A line that several threads share has the number of its first thread. */
static void emit_tid(struct gecko *gecko, const struct gecko_line *line, struct gecko_again *tids)
{
    const struct thread *thread = gecko_lines_thread(gecko, gecko_line_first(line));
    char text[120];
    size_t size;
    if (thread->number == 0) { /* Linux gives a main thread the number of its process. */
        emit_integer(&gecko->json, "tid", gecko_lines_process(gecko, line->process)->process.pid);
        return;
    }
    if (line->task) { /* the thread number of an entry is that of its owner */
        size = (size_t)snprintf(text, sizeof(text), "%" PRIu32 " task %" PRIu32, thread->tid, thread->task);
        emit_text(&gecko->json, "tid", (struct text){ text, size });
        return;
    }
    size = put_unique_tid(text, sizeof(text), thread, tids);
    if (size == 0)
        emit_integer(&gecko->json, "tid", thread->tid);
    else
        emit_text(&gecko->json, "tid", (struct text){ text, size });
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

/* A part of the time line; until_ns 0: to the end of the recording. */
struct life {
    uint64_t from_ns, until_ns;
};

/* The life of a thread. Its samples lie within: their times are rounded, so they may lie a little outside of the times
 * that the recording has. A thread whose end was not seen ended with its process, or before. */
static struct life life_of_thread(const struct gecko *gecko, uint32_t number, uint64_t process_end_ns)
{
    const struct thread_row *row = &gecko->tables->threads[number];
    const struct gecko_thread *thread = gecko_thread(gecko, number);
    struct life life = { row->thread.start_ns, row->end_ns ? row->end_ns : process_end_ns };
    if (thread->samples.count == 0)
        return life;
    const uint64_t first_ns = thread->first * gecko->unit_ns, last_ns = thread->samples.last.time * gecko->unit_ns;
    if (first_ns < life.from_ns)
        life.from_ns = first_ns;
    if (life.until_ns && life.until_ns < last_ns)
        life.until_ns = last_ns;
    return life;
}

/* The life of a line: from the beginning of its first thread to the end of its last one. */
static struct life life_of_line(const struct gecko *gecko, const struct gecko_line *line, uint64_t process_end_ns)
{
    struct life life = { .until_ns = process_end_ns };
    for (size_t i = 0; i < line->count; i++) {
        const struct life next = life_of_thread(gecko, line->threads[i], process_end_ns);
        if (i == 0)
            life = next;
        else if (life.until_ns)
            life.until_ns = next.until_ns && next.until_ns < life.until_ns ? life.until_ns : next.until_ns;
    }
    return life;
}

/* Writes the members that say which thread a line is. `tids` counts the numbers of all threads. */
static void emit_identity(struct gecko *gecko, const struct gecko_line *line, struct gecko_again *tids)
{
    struct json_emitter *json = &gecko->json;
    const struct gecko_process *process = &gecko->lines.processes[line->process];
    const struct process_row *row = gecko_lines_process(gecko, line->process);
    const struct life life = life_of_line(gecko, line, row->end_ns);
    emit_text(json, "name", text_of(line->name));
    emit_literal(json, "processType", "\"default\"");
    emit_text(json, "processName", text_of(process->title));
    emit_text(json, "pid", text_of(process->pid));
    emit_tid(gecko, line, tids);
    emit_life(json, "registerTime", life.from_ns, "unregisterTime", life.until_ns);
    emit_flag(json, "isMainThread", line->main);
    emit_life(json, "processStartupTime", row->process.start_ns, "processShutdownTime",
              row->fate == FATE_LEFT ? 0 : row->end_ns);
    emit_literal(json, "pausedRanges", "[]");
    emit_flag(json, "showMarkersInTimeline", gecko_markers_overview(gecko, line));
}

/* ---- samples ---- */

static void emit_stacks(struct gecko *gecko, uint32_t thread, struct gecko_cpu_writer *writer)
{
    struct spool_reader *reader = &writer->samples;
    const struct thinning thinning = gecko_thinning(gecko, thread);
    struct spool_sample sample;
    uint64_t number = 0;
    for (spool_rewind(reader, &gecko->spool, gecko_samples(gecko, thread)); spool_next(reader, &sample); number++) {
        if (thinning.every == 1)
            emit_again(&gecko->json, gecko_leaves_row(gecko, sample.stack), 1 + spool_pass_same(reader));
        else if (thinning_keeps(&thinning, number))
            emit_integer(&gecko->json, NULL, gecko_leaves_row(gecko, sample.stack));
    }
}

static void gecko_threads_emit_times(struct gecko *gecko, uint32_t thread, struct gecko_cpu_writer *writer)
{
    struct spool_reader *reader = &writer->samples;
    const struct thinning thinning = gecko_thinning(gecko, thread);
    struct spool_sample sample;
    uint64_t number = 0;
    for (spool_rewind(reader, &gecko->spool, gecko_samples(gecko, thread)); spool_next(reader, &sample); number++)
        if (thinning_keeps(&thinning, number))
            emit_decimal(&gecko->json, NULL, sample.time, gecko->digits);
}

/* Writes the time since the sample before on the line. */
static void emit_time_deltas(struct gecko *gecko, uint32_t thread, struct gecko_cpu_writer *writer)
{
    struct spool_reader *reader = &writer->samples;
    const struct thinning thinning = gecko_thinning(gecko, thread);
    struct spool_sample sample;
    uint64_t number = 0;
    for (spool_rewind(reader, &gecko->spool, gecko_samples(gecko, thread)); spool_next(reader, &sample); number++) {
        if (!thinning_keeps(&thinning, number))
            continue;
        emit_decimal(&gecko->json, NULL, sample.time - gecko->written_units, gecko->digits);
        gecko->written_units = sample.time;
    }
}

static void emit_weights(struct gecko *gecko, uint32_t thread, struct gecko_cpu_writer *writer)
{
    if (!gecko_weights_are_times(gecko))
        gecko_weights_emit_counts(gecko, thread);
    else if (gecko->style.weight == GECKO_WEIGHT_CPU)
        gecko_cpu_emit_weights(gecko, thread, writer);
    else
        gecko_weights_emit_cells(gecko, thread, &writer->samples);
}

static void emit_delays(struct gecko *gecko, uint32_t thread, struct gecko_cpu_writer *writer)
{
    gecko_markers_emit_delays(gecko, thread, &writer->samples);
}

static bool is_portable(const struct gecko *gecko, const struct gecko_line *line)
{
    (void)line;
    return !gecko->style.compact;
}

static bool is_compact(const struct gecko *gecko, const struct gecko_line *line)
{
    return !is_portable(gecko, line);
}

static bool has_cpu(const struct gecko *gecko, const struct gecko_line *line)
{
    (void)line;
    return gecko_knows_cpu(gecko);
}

static bool has_weights(const struct gecko *gecko, const struct gecko_line *line)
{
    (void)line;
    return gecko_has_weights(gecko);
}

/* A column of samples: writes the cells of one thread. `shown` NULL: of all lines. */
static const struct column {
    const char *name;
    void (*emit)(struct gecko *gecko, uint32_t thread, struct gecko_cpu_writer *writer);
    bool (*shown)(const struct gecko *gecko, const struct gecko_line *line);
} columns[] = {
    { "stack", emit_stacks, NULL },
    { "time", gecko_threads_emit_times, is_portable },
    { "timeDeltas", emit_time_deltas, is_compact },
    { "threadCPUDelta", gecko_cpu_emit_cells, has_cpu },
    { "eventDelay", emit_delays, gecko_markers_have_delays },
    { "weight", emit_weights, has_weights },
};

/* Writes the samples. A recording without a status has no column of CPU times. Without this column the viewer draws a
 * thread at full height while it is sampled, as is right for a wall-clock profile. */
static void gecko_threads_emit_samples(struct gecko *gecko, const struct gecko_line *line,
                                       struct gecko_cpu_writer *writer)
{
    struct json_emitter *json = &gecko->json;
    uint64_t length = 0;
    gecko_cpu_begin_line(writer);
    gecko->written_units = 0;
    emit_open(json, "samples", '{');
    for (size_t i = 0; i < countof(columns); i++) {
        if (columns[i].shown && !columns[i].shown(gecko, line))
            continue;
        emit_open(json, columns[i].name, '[');
        for (size_t at = 0; at < line->count; at++)
            columns[i].emit(gecko, line->threads[at], writer);
        emit_close(json, ']');
    }
    for (size_t at = 0; at < line->count; at++) {
        const struct thinning thinning = gecko_thinning(gecko, line->threads[at]);
        length += thinning_kept(&thinning);
    }
    if (!gecko_has_weights(gecko))
        emit_literal(json, "weight", "null");
    emit_literal(json, "weightType", gecko_weights_are_times(gecko) ? "\"tracing-ms\"" : "\"samples\"");
    emit_integer(json, "length", (int64_t)length);
    emit_close(json, '}');
}

void gecko_threads_emit(struct gecko *gecko)
{
    struct json_emitter *json = &gecko->json;
    struct gecko_cpu_writer writer = { 0 };
    struct gecko_again tids = { 0 };
    emit_open(json, "threads", '[');
    for (size_t i = 0; i < gecko->lines.count; i++) {
        const struct gecko_line *line = &gecko->lines.rows[i];
        emit_open(json, NULL, '{');
        emit_identity(gecko, line, &tids);
        gecko_threads_emit_samples(gecko, line, &writer);
        gecko_markers_emit(gecko, line);
        emit_close(json, '}');
    }
    emit_close(json, ']');
    gecko_again_free(&tids);
    gecko_cpu_writer_free(&writer);
}
