/* SPDX-License-Identifier: MIT */
#include "formats/stream/stream_write.h"

#include "formats/base/alloc.h"
#include "formats/stream/stream_due.h"
#include "formats/stream/stream_fields.h"
#include "formats/stream/stream_records.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BLOCK_LARGE ((size_t)256 << 10) /* an open block of this size is closed */
#define BLOCK_NS    1000000000u         /* an open block of this age is closed */

/* bytes below the limit for the events at the end: ends of threads and processes, and some 50 counters. */
#define CLOSING_ROOM 4096
#define LITTLE_ROOM  512 /* bytes for a block of one or two ticks */

#define CPU_SLACK_NS   1000000 /* allowed error of the CPU time, in addition to an interval */
#define CPU_SLACK_PART 128     /* ... and not by more than this part of all that the thread used */

/* The bytes of a record, at most: a record must leave the block below its limit, however deep the stack is. */
#define RECORD_ROOM(frames) ((size_t)80 + (size_t)(frames)*5)

void stream_writer_open(struct stream_writer *writer, int fd, enum stream_codec codec)
{
    *writer = (struct stream_writer){ .block = 1, .tick = 1 };
    block_writer_open(&writer->blocks, fd, codec);
}

void stream_writer_limit(struct stream_writer *writer, uint64_t bytes)
{
    writer->blocks.limit = bytes;
}

bool stream_writer_full(const struct stream_writer *writer)
{
    return writer->blocks.full || block_write_room(&writer->blocks) < CLOSING_ROOM + LITTLE_ROOM;
}

void stream_writer_close(struct stream_writer *writer)
{
    for (size_t i = 0; i < writer->threads_room; i++)
        free(writer->threads[i].stack);
    free(writer->threads);
    free(writer->rows);
    free(writer->ended);
    free(writer->spare);
    free(writer->measured);
    free(writer->rests_ns);
    for (size_t i = 0; i < writer->clocks_room; i++)
        free(writer->clocks[i].expected);
    free(writer->clocks);
    free(writer->clock_of);
    bytes_free(&writer->open);
    bytes_free(&writer->note);
    block_writer_close(&writer->blocks);
    *writer = (struct stream_writer){ 0 };
}

/* ---- rows of threads ---- */

/* The row of a thread that has one. */
static struct stream_thread *known_row(const struct stream_writer *writer, uint32_t number)
{
    return &writer->threads[writer->rows[number] - 1];
}

/* Finds a row for a thread. */
static uint32_t take_row(struct stream_writer *writer)
{
    if (writer->spare_count > 0)
        return writer->spare[--writer->spare_count];
    writer->threads = alloc_grow(writer->threads, &writer->threads_room, (size_t)writer->threads_count + 1,
                                 sizeof(*writer->threads));
    return writer->threads_count++;
}

/* The row of a thread. */
static struct stream_thread *stream_write_thread_row(struct stream_writer *writer, uint32_t number)
{
    writer->rows = alloc_grow(writer->rows, &writer->rows_room, (size_t)number + 1, sizeof(*writer->rows));
    if (writer->rows[number] == 0)
        writer->rows[number] = take_row(writer) + 1;
    return known_row(writer, number);
}

static void note_ended(struct stream_writer *writer, uint32_t number)
{
    writer->ended = alloc_grow(writer->ended, &writer->ended_room, (size_t)writer->ended_count + 1,
                               sizeof(*writer->ended));
    writer->ended[writer->ended_count++] = number;
}

/* Takes the rows of threads that have ended. No clock may expect them. */
static void release_rows(struct stream_writer *writer)
{
    writer->spare = alloc_grow(writer->spare, &writer->spare_room, (size_t)writer->spare_count + writer->ended_count,
                               sizeof(*writer->spare));
    for (uint32_t i = 0; i < writer->ended_count; i++) {
        uint32_t *row = &writer->rows[writer->ended[i]];
        if (*row == 0)
            continue; /* the thread ended twice */
        struct stream_thread *thread = &writer->threads[*row - 1];
        free(thread->stack); /* a sample came behind the end */
        *thread = (struct stream_thread){ 0 };
        writer->spare[writer->spare_count++] = *row - 1;
        *row = 0;
    }
    writer->ended_count = 0;
}

/* ---- the clocks of processes ---- */

/* The clock of the tick. It is in the open block, so it is there when a tick has begun. */
static struct stream_clock *clock_now(const struct stream_writer *writer)
{
    return &writer->clocks[writer->clock];
}

/* Makes the clock of a process the one of the tick. In each block, the process gets a row when its first tick comes. */
static void choose_clock(struct stream_writer *writer, uint32_t process)
{
    writer->clock_of = alloc_grow(writer->clock_of, &writer->clock_of_room, (size_t)process + 1,
                                  sizeof(*writer->clock_of));
    struct stream_clock_of *of = &writer->clock_of[process];
    if (of->block != writer->block) {
        *of = (struct stream_clock_of){ writer->block, writer->clocks_count++ };
        writer->clocks = alloc_grow(writer->clocks, &writer->clocks_room, writer->clocks_count,
                                    sizeof(*writer->clocks));
        writer->clocks[of->clock].stands_ns = writer->interval_ns;
    }
    writer->clock = of->clock;
}

/* Notes that the tick is of this process. All that comes in a tick is of one process. */
static bool begin_process(struct stream_writer *writer, uint32_t process, struct fault *why)
{
    if (!writer->process_ticks)
        process = 0;
    else if (process == 0)
        return fault(why, "a tick is of no process in a recording in which each process has its own ticks");
    if (writer->tick_begun)
        return process == writer->tick_process || fault(why, "a tick is of two processes");
    writer->tick_begun = true;
    writer->tick_process = process;
    choose_clock(writer, process);
    return true;
}

/* ---- ticks ---- */

/* Begins a block, if none is open: the base and the recording id come before the first record. */
static void begin_block(struct stream_writer *writer)
{
    if (writer->open.size > 0)
        return;
    writer->block_units = writer->last_units;
    put_number(&writer->open, writer->last_units);
    stream_records_put_numbers_note(&writer->open, NOTE_RECORDING_ID, (const uint64_t[]){ writer->recording_id }, 1);
}

static void write_idle_ticks(struct stream_writer *writer)
{
    if (writer->idle == 0)
        return;
    stream_records_put_tag(&writer->open, RECORD_REPEAT, writer->idle);
    writer->idle = 0;
}

static uint64_t units(const struct stream_writer *writer, uint64_t time_ns)
{
    const uint64_t time = time_ns / writer->unit_ns;
    return time > writer->last_units ? time : writer->last_units;
}

static uint64_t due(const struct stream_writer *writer)
{
    return stream_due(writer->last_units, writer->interval_ns, writer->unit_ns);
}

/* Writes a TICK-PROCESS note if the tick is of another process than the tick before. */
static void follow_process(struct stream_writer *writer)
{
    if (writer->said_process == writer->tick_process)
        return;
    writer->said_process = writer->tick_process;
    stream_records_put_numbers_note(&writer->open, NOTE_TICK_PROCESS, (const uint64_t[]){ writer->tick_process }, 1);
}

/* Begins a tick, if none is open. Call it before a record of the tick. */
static void begin_tick(struct stream_writer *writer, uint64_t time_ns)
{
    if (writer->tick_open)
        return;
    begin_block(writer);
    write_idle_ticks(writer);
    const uint64_t time = units(writer, time_ns);
    if (writer->process_ticks) {
        follow_process(writer);
        stream_records_put_tag(&writer->open, RECORD_TICK, time - writer->last_units);
    } else {
        const int64_t jitter = (int64_t)(time - due(writer));
        stream_records_put_tag(&writer->open, RECORD_TICK, signed_to_number(jitter));
    }
    writer->last_units = time;
    writer->tick_open = true;
}

static void stream_writer_leave_expected(struct stream_writer *writer, uint32_t number)
{
    struct stream_clock *clock = clock_now(writer);
    struct stream_thread *thread = known_row(writer, number);
    const uint32_t last = clock->expected[--clock->expected_count];
    clock->expected[thread->listed - 1] = last;
    known_row(writer, last)->listed = thread->listed;
    thread->listed = 0;
}

static void stream_writer_join_expected(struct stream_writer *writer, uint32_t number)
{
    struct stream_clock *clock = clock_now(writer);
    clock->expected = alloc_grow(clock->expected, &clock->expected_room, clock->expected_count + 1, sizeof(uint32_t));
    clock->expected[clock->expected_count++] = number;
    known_row(writer, number)->listed = clock->expected_count;
}

/* Writes an ABSENT record for each expected thread without a sample in the tick. */
static void close_expected(struct stream_writer *writer, uint64_t time_ns)
{
    for (uint32_t i = clock_now(writer)->expected_count; i > 0; i--) {
        const uint32_t number = clock_now(writer)->expected[i - 1];
        if (known_row(writer, number)->tick == writer->tick)
            continue;
        begin_tick(writer, time_ns);
        stream_records_put_tag(&writer->open, RECORD_ABSENT, number);
        stream_writer_leave_expected(writer, number);
    }
}

static void forget_clocks(struct stream_writer *writer)
{
    for (uint32_t i = 0; i < writer->clocks_count; i++) {
        struct stream_clock *clock = &writer->clocks[i];
        for (uint32_t at = 0; at < clock->expected_count; at++)
            known_row(writer, clock->expected[at])->listed = 0;
        clock->expected_count = 0;
    }
    writer->clocks_count = 0;
}

static bool close_block(struct stream_writer *writer, struct fault *why)
{
    write_idle_ticks(writer);
    if (writer->open.size == 0)
        return true;
    forget_clocks(writer);
    release_rows(writer);
    const bool good = block_write(&writer->blocks, BLOCK_EVENTS, &writer->open, why);
    if (good && !writer->blocks.full)
        writer->kept = writer->now;
    writer->open.size = 0;
    writer->named = 0;
    writer->shortest_ns = UINT64_MAX;
    writer->said_process = 0;
    writer->block++;
    return good;
}

bool stream_writer_waits(const struct stream_writer *writer)
{
    return writer->open.size > 0 || writer->idle > 0;
}

bool stream_writer_flush(struct stream_writer *writer, struct fault *why)
{
    return close_block(writer, why);
}

/* Whether the open block would take all remaining room if it were not compressed. Its compressed size is unknown, so it
 * is written now, and the next block gets the room that remains. */
static bool room_is_short(const struct stream_writer *writer)
{
    return block_write_room(&writer->blocks) < STREAM_BLOCK_HEADER + writer->open.size + CLOSING_ROOM;
}

/* How much later than an interval the next tick may come. When the budget makes intervals longer than asked for, the
 * recorder draws the moment of a tick within the interval. Of several processes, the one with the shortest interval is
 * the next. */
static uint64_t may_be_late_ns(const struct stream_writer *writer)
{
    const uint64_t stands_ns = writer->shortest_ns, asked_ns = writer->interval_ns;
    return stands_ns > asked_ns ? 2 * stands_ns - asked_ns : 0;
}

/* Whether to close the block: one more interval would keep its first samples in memory for longer than a second, or
 * would exceed the block's limits. */
static bool block_due(const struct stream_writer *writer)
{
    if (room_is_short(writer) || writer->named > STREAM_FRAMES_LIMIT / 2)
        return true;
    const uint64_t age_units = due(writer) - writer->block_units;
    return writer->open.size > BLOCK_LARGE || age_units * writer->unit_ns + may_be_late_ns(writer) > BLOCK_NS;
}

/* Notes how long the samples of a tick stand for. Without processes' own ticks, the latest tick counts. */
static void note_stands(struct stream_writer *writer)
{
    const uint64_t stands_ns = clock_now(writer)->stands_ns;
    if (!writer->process_ticks || stands_ns < writer->shortest_ns)
        writer->shortest_ns = stands_ns;
}

static bool stream_writer_end_tick(struct stream_writer *writer, uint64_t time_ns, uint32_t process, struct fault *why)
{
    if (!begin_process(writer, process, why))
        return false;
    writer->now.ticks++;
    close_expected(writer, time_ns);
    if (!writer->tick_open && (writer->process_ticks || units(writer, time_ns) != due(writer)))
        begin_tick(writer, time_ns);
    if (!writer->tick_open) {
        begin_block(writer);
        writer->idle++;
        writer->last_units = due(writer);
    }
    note_stands(writer);
    writer->tick_open = false;
    writer->tick_sampled = false;
    writer->tick_begun = false;
    writer->tick++;
    return !block_due(writer) || close_block(writer, why);
}

/* ---- samples ---- */

static void name_frames(struct stream_writer *writer, const uint32_t *frames, uint32_t count)
{
    writer->named += count;
    stream_records_put_frames(&writer->open, frames, count);
}

static bool put_failed(struct stream_writer *writer, const struct failed *failed, struct fault *why)
{
    const uint32_t process = failed->thread ? stream_write_thread_row(writer, failed->thread)->process
                                            : failed->process;
    if (!begin_process(writer, process, why))
        return false;
    begin_tick(writer, failed->time_ns);
    stream_records_put_tag(&writer->open, RECORD_FAILED, failed->thread);
    put_number(&writer->open, failed->cause);
    writer->now.failed++;
    if (failed->thread) {
        struct stream_thread *thread = stream_write_thread_row(writer, failed->thread);
        thread->tick = writer->tick;
        if (!thread->listed)
            stream_writer_join_expected(writer, failed->thread);
        return true;
    }
    for (uint32_t i = 0; i < clock_now(writer)->expected_count; i++)
        known_row(writer, clock_now(writer)->expected[i])->tick = writer->tick;
    return true;
}

static void put_status(struct stream_writer *writer, uint32_t number, uint32_t bits, uint64_t cpu_units)
{
    struct stream_status *status = &known_row(writer, number)->status;
    *status = (struct stream_status){ writer->block, bits, cpu_units, writer->last_units };
    stream_records_put_numbers_note(&writer->open, NOTE_STATUS, (const uint64_t[]){ number, bits, cpu_units }, 3);
}

/* Writes a note for each held attribute whose value differs from the one that the block has. */
static void follow_held(struct stream_writer *writer, const struct sample *sample)
{
    for (size_t i = 0; i < HELD; i++) {
        struct stream_held *held = &known_row(writer, sample->thread)->held[i];
        const uint64_t value = stream_held_of(sample, i, writer->unit_ns);
        if (value == stream_held_now(held, writer->block))
            continue;
        begin_tick(writer, sample->time_ns);
        held->value = value;
        held->block = writer->block;
        stream_records_put_numbers_note(&writer->open, stream_held[i].note, (const uint64_t[]){ sample->thread, value },
                                        2);
    }
}

/* Writes a STANDS note if the tick's samples stand for another time than the block says. */
static bool follow_stands(struct stream_writer *writer, const struct sample *sample, struct fault *why)
{
    const uint64_t stands_ns = sample->stands_ns ? sample->stands_ns : writer->interval_ns;
    const bool first = !writer->tick_sampled;
    writer->tick_sampled = true;
    if (stands_ns == clock_now(writer)->stands_ns)
        return true;
    if (!first)
        return fault(why, "samples of one tick stand for different times");
    assert(stands_ns <= STREAM_STANDS_MOST);
    begin_tick(writer, sample->time_ns);
    clock_now(writer)->stands_ns = stands_ns;
    stream_records_put_numbers_note(&writer->open, NOTE_STANDS, &stands_ns, 1);
    return true;
}

/* The CPU time of ended threads and entries of a process by which what was written is too small, or too large: less
 * than a unit. The next one of the process that ran gets this time. */
static int64_t *rest_of(struct stream_writer *writer, uint32_t process)
{
    writer->rests_ns = alloc_grow(writer->rests_ns, &writer->rests_room, (size_t)process + 1, sizeof(int64_t));
    return &writer->rests_ns[process];
}

/* Returns an amount with the rest of its process, in units to the nearest one and at least `least`. Keeps what that is
 * too small or too large. */
static uint64_t round_cpu(struct stream_writer *writer, uint32_t process, uint64_t cpu_ns, uint64_t least)
{
    int64_t *rest = rest_of(writer, process);
    const int64_t unit_ns = (int64_t)writer->unit_ns, all_ns = (int64_t)cpu_ns + *rest;
    const int64_t nearest = all_ns > 0 ? (all_ns + unit_ns / 2) / unit_ns : 0;
    const int64_t units = nearest > (int64_t)least ? nearest : (int64_t)least;
    *rest = all_ns - units * unit_ns > -unit_ns ? all_ns - units * unit_ns : -unit_ns;
    return (uint64_t)units;
}

/* The CPU time of a sample, and the rest of its process. */
static uint64_t cpu_with_rest(struct stream_writer *writer, uint32_t process, uint64_t cpu_ns)
{
    if (cpu_ns == 0) /* most threads sleep */
        return 0;
    int64_t *rest = rest_of(writer, process);
    const int64_t taken_ns = *rest < -(int64_t)cpu_ns ? -(int64_t)cpu_ns : *rest;
    *rest -= taken_ns;
    return (uint64_t)((int64_t)cpu_ns + taken_ns);
}

/* Writes a STATUS note if a reader would not compute the sample's status from the notes before. */
static void follow_status(struct stream_writer *writer, const struct sample *sample)
{
    struct stream_thread *thread = known_row(writer, sample->thread);
    const struct stream_status *last_status = &thread->status;
    if (!(sample->status & STATUS_RECORDED))
        return;
    thread->cpu_ns += cpu_with_rest(writer, thread->process, sample->cpu_ns);
    const uint32_t bits = sample->status & STATUS_BITS;
    const uint64_t now = writer->tick_open ? writer->last_units : units(writer, sample->time_ns);
    const uint64_t cpu = thread->cpu_ns / writer->unit_ns;
    const uint64_t expected = stream_status_cpu(last_status, now);
    const uint64_t off = cpu > expected ? cpu - expected : expected - cpu;
    const bool known = last_status->block == writer->block && last_status->bits == bits;
    /* While the thread sleeps, its CPU time is exact, and shows the time of a burst that no look has seen. */
    /* An entry of a task may end before its CPU time is right again, and the next task gets what the thread used. A
     * short thread may end, too. */
    const uint64_t most = (writer->interval_ns + CPU_SLACK_NS) / writer->unit_ns, part = cpu / CPU_SLACK_PART;
    const uint64_t slack = thread->task ? 0 : part < most ? part : most;
    const bool wrong = bits & STATUS_CPU ? off > slack : cpu > expected;
    thread->told_units = expected;
    if (known && (bits & STATUS_CPU_UNKNOWN || !wrong))
        return;
    begin_tick(writer, sample->time_ns);
    thread->told_units = last_status->block == writer->block && cpu < last_status->cpu_units ? last_status->cpu_units
                                                                                             : cpu;
    put_status(writer, sample->thread, bits, thread->told_units);
}

/* Updates the thread's stack. Returns whether anything changed. */
static bool follow_stack(struct stream_thread *thread, const struct sample *sample)
{
    const bool changed = sample->keep != thread->depth || sample->pushed > 0;
    thread->depth = sample->keep + sample->pushed;
    thread->stack = alloc_grow(thread->stack, &thread->stack_room, thread->depth, sizeof(uint32_t));
    if (sample->pushed > 0)
        memcpy(thread->stack + sample->keep, sample->frames, sample->pushed * sizeof(uint32_t));
    return changed;
}

static bool stream_write_put_sample(struct stream_writer *writer, const struct sample *sample, struct fault *why)
{
    struct stream_thread *thread = stream_write_thread_row(writer, sample->thread);
    if (sample->keep > thread->depth)
        return fault(why, "a sample keeps more frames than its thread had");
    if (!begin_process(writer, thread->process, why))
        return false;
    const uint32_t pop = thread->depth - sample->keep;
    const bool changed = follow_stack(thread, sample);
    if (writer->open.size + RECORD_ROOM(thread->depth) > STREAM_BLOCK_LIMIT ||
        writer->named + thread->depth > STREAM_FRAMES_LIMIT) {
        thread->block = 0; /* a reader of this block does not know the stack */
        return put_failed(writer, &(struct failed){ sample->thread, FAILURE_DEPTH, sample->time_ns, 0 }, why);
    }
    if (!follow_stands(writer, sample, why))
        return false;
    follow_status(writer, sample);
    follow_held(writer, sample);
    const bool known = thread->block == writer->block;
    thread->block = writer->block;
    thread->tick = writer->tick;
    writer->now.samples++;
    if (known && thread->listed && !changed)
        return true;

    begin_tick(writer, sample->time_ns);
    if (known && pop < sample->keep) {
        stream_records_put_tag(&writer->open, RECORD_POP_PUSH, sample->thread);
        put_number(&writer->open, pop);
        name_frames(writer, sample->frames, sample->pushed);
    } else {
        const uint32_t keep = known ? sample->keep : 0;
        stream_records_put_tag(&writer->open, RECORD_SUFFIX, sample->thread);
        put_number(&writer->open, keep);
        name_frames(writer, thread->depth > keep ? thread->stack + keep : NULL, thread->depth - keep);
    }
    if (!thread->listed)
        stream_writer_join_expected(writer, sample->thread);
    return true;
}

static void learn_thread(struct stream_writer *writer, const struct thread *given)
{
    struct stream_thread *thread = stream_write_thread_row(writer, given->number);
    thread->process = given->process;
    thread->held[HELD_TASK].begin = given->task;
    thread->task = given->task != 0;
}

/* Frees a thread's stack: the thread has ended. */
static void forget_thread(struct stream_writer *writer, uint32_t number)
{
    struct stream_thread *thread = stream_write_thread_row(writer, number);
    note_ended(writer, number);
    free(thread->stack);
    thread->stack = NULL;
    thread->stack_room = 0;
    thread->depth = 0;
    thread->block = 0;
}

/* ---- notes ---- */

/* Begins a note. Returns the buffer for its fields. */
static struct bytes *begin_note(struct stream_writer *writer)
{
    begin_block(writer);
    if (!writer->tick_open)
        write_idle_ticks(writer); /* the idle ticks came before the note */
    writer->note.size = 0;
    return &writer->note;
}

static void end_note(struct stream_writer *writer, enum stream_note note)
{
    stream_records_put_tag(&writer->open, RECORD_NOTE, note);
    put_number(&writer->open, writer->note.size);
    put_bytes(&writer->open, writer->note.at, writer->note.size);
}

static void put_note(struct stream_writer *writer, const struct event *event)
{
    stream_notes_put_fields(begin_note(writer), event, writer->unit_ns);
    end_note(writer, stream_notes_of(event->kind));
}

static void put_measure(struct stream_writer *writer, const struct measure *measure)
{
    writer->measured = alloc_grow(writer->measured, &writer->measured_room, (size_t)measure->process + 1,
                                  sizeof(*writer->measured));
    stream_notes_put_measure(begin_note(writer), measure, writer->last_units, writer->unit_ns,
                             &writer->measured[measure->process], writer->block);
    end_note(writer, NOTE_MEASURE);
}

/* Writes CPU time that no sample has. */
static void stream_write_put_left_out(struct stream_writer *writer, const struct left_out *given)
{
    struct event event = { .kind = EVENT_LEFT_OUT, .left_out = *given };
    const uint32_t process = stream_write_thread_row(writer, given->thread)->process;
    if (given->cpu_ns > 0)
        event.left_out.cpu_ns = round_cpu(writer, process, given->cpu_ns, 0) * writer->unit_ns;
    put_note(writer, &event);
}

/* Writes what a reader lacks of the CPU time of a thread that ends. */
static void put_last_cpu(struct stream_writer *writer, const struct change *end)
{
    const struct stream_thread *thread = stream_write_thread_row(writer, end->number);
    const uint64_t told_units = thread->told_units;
    const uint64_t units = round_cpu(writer, thread->process, thread->cpu_ns, told_units);
    const struct left_out left_out = { .thread = end->number,
                                       .time_ns = end->time_ns,
                                       .cpu_ns = (units - told_units) * writer->unit_ns };
    if (units > told_units)
        put_note(writer, &(struct event){ .kind = EVENT_LEFT_OUT, .left_out = left_out });
}

/* ---- the two ends ---- */

static bool write_header(struct stream_writer *writer, const struct recording *recording, struct fault *why)
{
    struct recording complete = *recording;
    complete.format_version = STREAM_VERSION;
    if (complete.time_unit_ns == 0)
        complete.time_unit_ns = 1;
    writer->unit_ns = complete.time_unit_ns;
    writer->interval_ns = complete.interval_ns ? complete.interval_ns : 1;
    writer->shortest_ns = UINT64_MAX;
    writer->process_ticks = complete.process_ticks;

    struct bytes fields = { 0 };
    stream_fields_put_recording(&fields, &complete);
    writer->recording_id = (uint32_t)crc32_z(0, fields.at, fields.size) | 1;
    stream_fields_put_number(&fields, HEADER_RECORDING_ID, writer->recording_id);
    const bool good = block_write(&writer->blocks, BLOCK_HEADER, &fields, why);
    bytes_free(&fields);
    return good;
}

static bool put_end(struct stream_writer *writer, const struct end *end, struct fault *why)
{
    struct bytes fields = { 0 };
    stream_fields_put_end(&fields, end, writer->unit_ns);
    stream_fields_put_number(&fields, END_RECORDING_ID, writer->recording_id);
    const bool good = block_write(&writer->blocks, BLOCK_END, &fields, why);
    bytes_free(&fields);
    return good;
}

static bool write_end(struct stream_writer *writer, const struct end *end, struct fault *why)
{
    const bool all_written = close_block(writer, why) && !writer->blocks.broken;
    const struct totals *totals = all_written ? &writer->kept : &writer->now;
    struct end complete = *end;
    if (!all_written)
        complete.reason = END_UNWRITTEN; /* there may be room for END, because the torn block was removed */
    complete.ticks = totals->ticks;
    complete.samples = totals->samples;
    complete.missed = totals->missed;
    complete.failed = totals->failed;
    return put_end(writer, &complete, why) && all_written;
}

bool stream_write(struct stream_writer *writer, const struct event *event, struct fault *why)
{
    switch (event->kind) {
    case EVENT_RECORDING:
        return write_header(writer, &event->recording, why);
    case EVENT_SAMPLE:
        return stream_write_put_sample(writer, &event->sample, why);
    case EVENT_FAILED:
        return put_failed(writer, &event->failed, why);
    case EVENT_TICK:
        return stream_writer_end_tick(writer, event->tick_ns, event->tick_process, why);
    case EVENT_MEASURE:
        put_measure(writer, &event->measure);
        return true;
    case EVENT_LEFT_OUT:
        stream_write_put_left_out(writer, &event->left_out);
        return true;
    case EVENT_THREAD_END:
        put_last_cpu(writer, &event->change);
        break;
    case EVENT_END:
        return write_end(writer, &event->end, why);
    case EVENT_RUN:
        return fault(why, "a run of samples, which no file has");
    default:
        break;
    }
    put_note(writer, event);
    if (event->kind == EVENT_MISSED)
        writer->now.missed += event->missed;
    if (event->kind == EVENT_THREAD)
        learn_thread(writer, &event->thread);
    if (event->kind == EVENT_THREAD_END)
        forget_thread(writer, event->change.number);
    return true;
}

static bool stream_writer_take(void *self, struct event *event, struct fault *why)
{
    return stream_write(self, event, why);
}

struct sink stream_writer_sink(struct stream_writer *writer)
{
    return (struct sink){ .take = stream_writer_take, .self = writer };
}
