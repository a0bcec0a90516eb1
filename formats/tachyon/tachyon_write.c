/* SPDX-License-Identifier: MIT */
#include "formats/tachyon/tachyon_write.h"

#include "formats/base/alloc.h"
#include "formats/model/exactness.h"
#include "formats/tachyon/tachyon_buffer.h"
#include "formats/tachyon/tachyon_intern.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PENDING_SIZE ((size_t)4 << 10) /* bytes of a thread's repeated samples that wait to be written */
#define ROOT_SHOWN   127               /* frames that remain of a stack that is too deep: at the root, ... */
#define LEAF_SHOWN   128               /* ... and at the leaf, with a synthetic frame between both */

/* A thread of the file: a number and an interpreter. Several threads of a recording may be one thread of the file, one
 * after the other. */
struct line {
    uint64_t tid;
    uint32_t interpreter;
    uint64_t last_us; /* time of the last sample */
    uint32_t stack;   /* its stack in the tables (STACK_LOST: no sample yet), ... */
    uint32_t depth;   /* ... and its depth and frames as written: indexes in the file, root first */
    uint32_t shown[TACHYON_DEPTH];
    struct bytes pending; /* samples with the same stack that are not written yet */
    uint64_t pending_count;
};

struct tachyon_writer {
    const struct tables *tables;
    struct output *output;
    struct tachyon_style style;
    struct tachyon_buffer store;
    struct tachyon_intern names;
    struct intern keys; /* finds a line by its number and interpreter */
    struct line **lines;
    size_t lines_room;
    uint32_t *line_of; /* by thread: its line, from 1 */
    size_t line_of_room;
    struct bytes record; /* the record that is being made */
    uint64_t samples, cut;
    uint64_t stands_ns; /* total time that all samples stand for */
};

struct tachyon_writer *tachyon_writer_start(const struct tables *tables, struct output *output,
                                            const struct tachyon_style *style)
{
    struct tachyon_writer *writer = alloc_zeroed(1, sizeof(*writer));
    writer->tables = tables;
    writer->output = output;
    writer->style = *style;
    if (writer->style.zstd_most == 0)
        writer->style.zstd_most = TACHYON_ZSTD_MOST;
    return writer;
}

uint64_t tachyon_writer_cut(const struct tachyon_writer *writer)
{
    return writer->cut;
}

/* ---- threads ---- */

/* The line of a thread. NULL, with the reason, when the format has no room for the thread. */
static struct line *find_line(struct tachyon_writer *writer, const struct thread *thread, struct fault *why)
{
    writer->line_of = alloc_grow(writer->line_of, &writer->line_of_room, (size_t)thread->number + 1,
                                 sizeof(*writer->line_of));
    uint32_t *number = &writer->line_of[thread->number];
    if (*number)
        return writer->lines[*number - 1];
    if (thread->interpreter > UINT32_MAX) {
        fault(why, "Tachyon's format has no room for the number of interpreter %" PRIu64, thread->interpreter);
        return NULL;
    }
    bool added;
    const uint32_t key[] = { thread->tid, (uint32_t)thread->interpreter };
    *number = intern_number(&writer->keys, key, sizeof(key), &added);
    writer->lines = alloc_grow(writer->lines, &writer->lines_room, *number, sizeof(struct line *));
    if (added) {
        writer->lines[*number - 1] = alloc_zeroed(1, sizeof(struct line));
        writer->lines[*number - 1]->tid = key[0];
        writer->lines[*number - 1]->interpreter = key[1];
        writer->lines[*number - 1]->stack = STACK_LOST;
    }
    return writer->lines[*number - 1];
}

/* ---- records ---- */

static void begin_record(struct tachyon_writer *writer, const struct line *line, enum tachyon_record kind)
{
    const unsigned char byte = (unsigned char)kind;
    writer->record.size = 0;
    tachyon_put_u64(&writer->record, line->tid);
    put_u32(&writer->record, line->interpreter);
    put_bytes(&writer->record, &byte, 1);
}

static void put_moment(struct bytes *to, struct line *line, uint64_t time_us, uint8_t status)
{
    put_number(to, time_us > line->last_us ? time_us - line->last_us : 0);
    put_bytes(to, &status, 1);
    line->last_us = time_us > line->last_us ? time_us : line->last_us;
}

static void write_pending(struct tachyon_writer *writer, struct line *line)
{
    if (line->pending_count == 0)
        return;
    begin_record(writer, line, TACHYON_REPEAT);
    put_number(&writer->record, line->pending_count);
    put_bytes(&writer->record, line->pending.at, line->pending.size);
    tachyon_buffer_put(&writer->store, writer->record.at, writer->record.size);
    line->pending_count = 0;
    line->pending.size = 0;
}

static void put_repeat(struct tachyon_writer *writer, struct line *line, uint64_t time_us, uint8_t status)
{
    put_moment(&line->pending, line, time_us, status);
    line->pending_count++;
    if (line->pending.size >= PENDING_SIZE)
        write_pending(writer, line);
}

/* Makes the stack as written, root first. Returns its depth. */
static uint32_t show_stack(struct tachyon_writer *writer, const struct thread_row *row, uint32_t *shown)
{
    const bool whole = row->depth <= TACHYON_DEPTH;
    const uint32_t depth = whole ? row->depth : TACHYON_DEPTH;
    const uint32_t skipped = row->depth - depth;
    writer->cut += !whole;
    for (uint32_t i = 0; i < depth; i++) {
        const uint32_t at = i <= ROOT_SHOWN ? i : i + skipped;
        shown[i] = tachyon_intern_frame(&writer->names, writer->tables->stacks[row->stacks[at]].frame);
    }
    if (!whole)
        shown[ROOT_SHOWN] = tachyon_intern_synthetic(&writer->names, TACHYON_LEFT_OUT);
    if (depth > 0)
        return depth;
    shown[0] = tachyon_intern_synthetic(&writer->names, TACHYON_NO_FRAMES);
    return 1;
}

static void put_stack(struct tachyon_writer *writer, struct line *line, const struct thread_row *row, uint64_t time_us,
                      uint8_t status)
{
    uint32_t shown[TACHYON_DEPTH], keep = 0;
    const uint32_t depth = show_stack(writer, row, shown);
    while (keep < depth && keep < line->depth && shown[keep] == line->shown[keep])
        keep++;
    const uint32_t popped = line->depth - keep;
    const enum tachyon_record kind = keep == 0 ? TACHYON_FULL : popped ? TACHYON_POP_PUSH : TACHYON_SUFFIX;
    write_pending(writer, line);
    begin_record(writer, line, kind);
    put_moment(&writer->record, line, time_us, status);
    if (kind != TACHYON_FULL)
        put_number(&writer->record, popped ? popped : keep);
    put_number(&writer->record, depth - keep);
    for (uint32_t i = depth; i-- > keep;)
        put_number(&writer->record, shown[i]);
    tachyon_buffer_put(&writer->store, writer->record.at, writer->record.size);
    memcpy(line->shown, shown, depth * sizeof(*shown));
    line->depth = depth;
}

static uint8_t status_of(const struct run *run, const struct thread *thread)
{
    const uint32_t known = run->status & STATUS_RECORDED ? run->status & TACHYON_STATUS : STATUS_CPU_UNKNOWN;
    return (uint8_t)(known | (thread->main ? TACHYON_MAIN_THREAD : 0));
}

/* Writes a sample. Two different stacks may look the same after their middle is left out; then the record has no
 * changes. */
static bool tachyon_write_put_run(struct tachyon_writer *writer, const struct run *run, struct fault *why)
{
    const struct thread_row *row = &writer->tables->threads[run->thread];
    struct line *line = find_line(writer, &row->thread, why);
    if (!line)
        return false;
    const uint64_t time_us = (writer->tables->recording.start_monotonic_ns % 1000 + run->time_ns) / 1000;
    const uint8_t status = status_of(run, &row->thread);
    if (run->stack == line->stack) {
        writer->cut += row->depth > TACHYON_DEPTH;
        put_repeat(writer, line, time_us, status);
    } else {
        put_stack(writer, line, row, time_us, status);
    }
    line->stack = run->stack;
    writer->samples++;
    writer->stands_ns += run->stands_ns;
    return writer->store.failure.text[0] == '\0' || fault(why, "%s", writer->store.failure.text);
}

bool tachyon_writer_take(struct tachyon_writer *writer, const struct event *event, struct fault *why)
{
    return event->kind != EVENT_RUN || tachyon_write_put_run(writer, &event->run, why);
}

/* ---- the file ---- */

static double rate_hz(const struct tables *tables)
{
    const uint64_t duration_ns = tables_duration_ns(tables);
    if (tables->recording.process_ticks && tables->missing == 0)
        return exactness_of(tables).reached_hz;
    return duration_ns ? (double)tables->ticks * 1e9 / (double)duration_ns : 0;
}

static struct tachyon_statistics measured(const struct tables *tables)
{
    const uint64_t duration_ns = tables_duration_ns(tables);
    const double looks = (double)tables->samples + (double)tables->failed;
    const double due = (double)tables->ticks + (double)tables->missed;
    return (struct tachyon_statistics){
        .known = true,
        .failed_known = looks > 0,
        .missed_known = due > 0,
        .duration_s = (double)duration_ns / 1e9,
        .rate_hz = rate_hz(tables),
        .failed_percent = looks > 0 ? (double)tables->failed * 100 / looks : 0,
        .missed_percent = due > 0 ? (double)tables->missed * 100 / due : 0,
    };
}

/* The interval in the file. The format has no weights: in Tachyon a sample stands for the interval. So the interval is
 * the mean of the times that samples stand for, and total times are right even where ticks were left out. */
static uint64_t interval_us(const struct tachyon_writer *writer)
{
    const uint64_t asked_ns = writer->tables->recording.interval_ns;
    const uint64_t mean_ns = writer->samples ? writer->stands_ns / writer->samples : asked_ns;
    return mean_ns >= 1000 ? (mean_ns + 500) / 1000 : 1;
}

static struct tachyon_header header_of(const struct tachyon_writer *writer)
{
    const struct recording *recording = &writer->tables->recording;
    struct tachyon_header header = {
        .start_us = recording->start_monotonic_ns / 1000,
        .interval_us = interval_us(writer),
        .samples = writer->samples,
        .threads = writer->keys.count,
        .codec = writer->store.plain_size < writer->style.zstd_most ? TACHYON_ZSTD : TACHYON_PLAIN,
        .mode = writer->style.mode.size ? writer->style.mode : recording->mode,
        .strings = writer->names.strings_count,
        .frames = writer->names.frames_count,
    };
    tachyon_intern_version(&writer->names, writer->tables, header.python);
    const bool zstd = header.codec == TACHYON_ZSTD;
    header.strings_at = TACHYON_HEADER + (zstd ? writer->store.packed_size : writer->store.plain_size);
    header.frames_at = header.strings_at + writer->names.strings.size;
    return header;
}

bool tachyon_writer_finish(struct tachyon_writer *writer, struct fault *why)
{
    for (uint32_t i = 0; i < writer->keys.count; i++)
        write_pending(writer, writer->lines[i]);
    tachyon_buffer_finish(&writer->store);
    tachyon_intern_finish(&writer->names, writer->tables);
    const struct tachyon_header header = header_of(writer);
    const struct tachyon_statistics statistics = measured(writer->tables);

    struct bytes head = { 0 }, tail = { 0 };
    tachyon_header_put(&head, &header);
    put_bytes(&tail, writer->names.strings.at, writer->names.strings.size);
    put_bytes(&tail, writer->names.frames.at, writer->names.frames.size);
    tachyon_header_put_statistics(&tail, &statistics);
    tachyon_header_put_footer(&tail, &header, header.strings_at + tail.size + TACHYON_FOOTER);
    output_bytes(writer->output, head.at, head.size);
    const bool good = tachyon_buffer_write(&writer->store, header.codec == TACHYON_ZSTD, writer->output, why);
    output_bytes(writer->output, tail.at, tail.size);
    bytes_free(&head);
    bytes_free(&tail);
    return good;
}

void tachyon_writer_drop(struct tachyon_writer *writer)
{
    if (!writer)
        return;
    for (uint32_t i = 0; i < writer->keys.count; i++) {
        bytes_free(&writer->lines[i]->pending);
        free(writer->lines[i]);
    }
    free(writer->lines);
    free(writer->line_of);
    bytes_free(&writer->record);
    intern_free(&writer->keys);
    tachyon_buffer_free(&writer->store);
    tachyon_intern_free(&writer->names);
    free(writer);
}
