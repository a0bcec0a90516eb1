/* SPDX-License-Identifier: MIT */
#include "formats/stream/stream_read.h"

#include "formats/base/alloc.h"
#include "formats/stream/stream_decode.h"
#include "formats/stream/stream_fields.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_LEAST_NS         1000 /* a recorder with a shorter interval does not exist */
#define SAMPLES_LIMIT             100000000 /* samples of a block per second of its time: far more than any recorder reaches */
#define PROCESS_TICKS_LIMIT       (1u << 20) /* ticks of a block in which each process has its own */
#define UNDEFINED_PROCESSES_LIMIT (1u << 16) /* as that of threads: the definition of a process may be lost */
#define PREFETCH_LEAST            (64 << 10) /* bytes of a file for which a thread pays that reads ahead */
#define PLAIN_VERSION_MOST        32         /* bytes of the version of a pyreel that a message names */

void stream_reader_stop(struct stream_reader *reader)
{
    block_prefetch_end(reader->ahead);
    reader->ahead = NULL;
    reader->goes_ahead = false;
}

void stream_reader_close(struct stream_reader *reader)
{
    stream_reader_stop(reader);
    block_reader_close(&reader->blocks);
    free(reader->threads);
    free(reader->measured);
    free(reader->processes);
    for (size_t i = 0; i < reader->clocks_room; i++) {
        free(reader->clocks[i].expected);
        free(reader->clocks[i].ticks);
    }
    free(reader->clocks);
    free(reader->ticked);
    free(reader->frames);
    *reader = (struct stream_reader){ 0 };
}

/* Adds a repetition: frames that are copies of the frames `distance` before them. False: the file is broken. */
static bool repeat_frames(struct decoding *d, uint32_t *at, uint32_t count)
{
    uint32_t *frames = d->reader->frames;
    const uint32_t distance = take_number32(&d->from);
    const uint32_t length = take_number32(&d->from);
    if (d->from.bad || distance == 0 || distance > *at || length > count - *at)
        return false;
    for (uint32_t i = 0; i < length; i++, ++*at)
        frames[*at] = frames[*at - distance];
    return true;
}

static bool take_frames(struct decoding *d, uint32_t count)
{
    struct stream_reader *reader = d->reader;
    if (count > STACK_DEPTH_LIMIT || count > d->frames_left)
        return stream_decode_broken(d);
    d->frames_left -= count;
    reader->frames = alloc_grow(reader->frames, &reader->frames_room, count, sizeof(uint32_t));
    for (uint32_t i = 0; i < count && !d->from.bad;) {
        const uint64_t frame = take_either_number(&d->from);
        d->from.bad |= frame > UINT32_MAX;
        if (frame != 0)
            reader->frames[i++] = (uint32_t)frame;
        else if (!repeat_frames(d, &i, count))
            return stream_decode_broken(d);
    }
    return !d->from.bad;
}

static bool stream_read_read_stack(struct decoding *d, enum stream_record kind, uint64_t number)
{
    struct reader_thread *thread = stream_decode_name_thread(d, number);
    const uint32_t keep_or_pop = take_number32(&d->from);
    const uint32_t pushed = take_number32(&d->from);
    if (!thread || d->from.bad || !take_frames(d, pushed))
        return stream_decode_broken(d);
    const uint32_t depth = thread->block == d->reader->block ? thread->depth : 0;
    if (keep_or_pop > depth)
        return stream_decode_broken(d);
    const uint32_t keep = kind == RECORD_SUFFIX ? keep_or_pop : depth - keep_or_pop;
    if (pushed > STACK_DEPTH_LIMIT - keep)
        return stream_decode_broken(d);
    d->weighed = true;
    if (!stream_decode_give_run(d, (uint32_t)number))
        return false;
    thread->depth = keep + pushed;
    thread->block = d->reader->block;
    return stream_decode_give_sample(d, (uint32_t)number, keep, pushed);
}

static bool read_absent(struct decoding *d, uint64_t number)
{
    if (!stream_decode_name_thread(d, number))
        return stream_decode_broken(d);
    const bool good = stream_decode_give_run(d, (uint32_t)number);
    stream_decode_dismiss_thread(d, (uint32_t)number);
    return good;
}

static bool read_failed(struct decoding *d, uint64_t number)
{
    const uint64_t cause = take_number(&d->from);
    const bool of_all = number == 0 && d->in_tick && !d->all_failed;
    if (!of_all && !stream_decode_name_thread(d, number))
        return stream_decode_broken(d);
    if (!(of_all ? stream_decode_fail_tick(d) : stream_decode_give_run(d, (uint32_t)number)))
        return false;
    if (!of_all)
        stream_decode_expect_thread(d, (uint32_t)number);
    struct event event = { .kind = EVENT_FAILED,
                           .failed = { .thread = (uint32_t)number,
                                       .cause = cause < FAILURE_KINDS ? (enum failure)cause : 0,
                                       .time_ns = stream_decode_time_ns(d->reader),
                                       .process = number ? 0 : d->clock->process } };
    return !d->from.bad && sink_take(d->to, &event, d->why);
}

static bool read_status(struct decoding *d, struct cursor fields)
{
    struct stream_reader *reader = d->reader;
    const uint64_t number = take_number(&fields);
    struct reader_thread *thread = stream_decode_thread_of_tick(d, number);
    const uint64_t bits = take_number(&fields), cpu_units = take_number(&fields);
    if (fields.bad || d->from.bad || !thread || cpu_units > UINT64_MAX / 2 / reader->unit_ns)
        return stream_decode_broken(d);
    if (thread->status.block == reader->block && cpu_units < thread->status.cpu_units)
        return stream_decode_broken(d);
    if (!reader->ignores_status && !stream_decode_give_run(d, (uint32_t)number))
        return false;
    thread->status = (struct stream_status){ reader->block, bits & STATUS_BITS, cpu_units, reader->tick_units };
    return true;
}

static bool read_held(struct decoding *d, size_t attribute, struct cursor fields)
{
    struct stream_reader *reader = d->reader;
    const uint64_t number = take_number(&fields);
    struct reader_thread *thread = stream_decode_thread_of_tick(d, number);
    const uint64_t value = take_number(&fields);
    if (fields.bad || d->from.bad || !thread || value > stream_held_most(attribute, reader->tick_units))
        return stream_decode_broken(d);
    if (!stream_decode_give_run(d, (uint32_t)number))
        return false;
    d->unsure |= stream_held[attribute].holds == HOLDS_TASK && value > reader->last_task;
    thread->held[attribute].value = value;
    thread->held[attribute].block = reader->block;
    return true;
}

static bool read_stands(struct decoding *d, struct cursor fields)
{
    const uint64_t stands_ns = take_number(&fields);
    if (fields.bad || d->from.bad || !d->in_tick || d->weighed || stands_ns == 0 || stands_ns > STREAM_STANDS_MOST)
        return stream_decode_broken(d);
    d->weighed = true;
    if (d->reader->ignores_stands || stands_ns == d->clock->stands_ns)
        return true;
    if (!stream_decode_give_runs(d))
        return false;
    d->clock->stands_ns = stands_ns;
    return true;
}

/* Whether the number is that of a process that may exist. The definition of a process may be lost; but no such
 * definition can be many numbers behind the known ones, so the number of a process never costs much memory. */
static bool is_process(const struct stream_reader *reader, uint32_t process)
{
    return process > 0 && process <= (uint64_t)reader->last_process + UNDEFINED_PROCESSES_LIMIT;
}

static bool read_tick_process(struct decoding *d, struct cursor fields)
{
    const uint32_t process = take_number32(&fields);
    if (fields.bad || d->from.bad || !is_process(d->reader, process))
        return stream_decode_broken(d);
    if (!stream_decode_close_tick(d))
        return false;
    stream_decode_choose_clock(d, process);
    return true;
}

/* Gives a measure. The sink finds out whether the definition of its process is lost. */
static bool read_measure(struct decoding *d, struct cursor fields)
{
    struct stream_reader *reader = d->reader;
    struct event event = { .kind = EVENT_MEASURE, .measure.process = take_number32(&fields) };
    const uint32_t process = event.measure.process;
    if (fields.bad || d->from.bad || !is_process(reader, process))
        return stream_decode_broken(d);
    reader->measured = alloc_grow(reader->measured, &reader->measured_room, (size_t)process + 1,
                                  sizeof(*reader->measured));
    if (!stream_notes_take_measure(fields, reader->tick_units, reader->unit_ns, &reader->measured[process],
                                   reader->block, &event.measure))
        return stream_decode_broken(d);
    return sink_take(d->to, &event, d->why);
}

static void raise_to(uint32_t *highest, uint32_t number)
{
    if (*highest < number)
        *highest = number;
}

/* Notes a definition that the sink has accepted. */
static void learn(struct stream_reader *reader, const struct event *event)
{
    if (event->kind == EVENT_PROCESS)
        raise_to(&reader->last_process, event->process.number);
    if (event->kind == EVENT_TASK)
        raise_to(&reader->last_task, event->task.number);
    if (event->kind != EVENT_THREAD)
        return;
    raise_to(&reader->last_thread, event->thread.number);
    if (event->thread.task)
        stream_decode_thread(reader, event->thread.number)->held[HELD_TASK].begin = event->thread.task;
}

static bool give_note(struct decoding *d, uint64_t note)
{
    const struct cursor fields = take_part(&d->from, take_number(&d->from));
    if (note == NOTE_STATUS)
        return read_status(d, fields);
    for (size_t i = 0; i < HELD; i++)
        if (note == stream_held[i].note)
            return read_held(d, i, fields);
    if (note == NOTE_STANDS)
        return read_stands(d, fields);
    if (note == NOTE_TICK_PROCESS && d->reader->process_ticks)
        return read_tick_process(d, fields);
    if (note == NOTE_MEASURE)
        return read_measure(d, fields);
    struct event event = { 0 };
    const enum note_taken taken = stream_notes_take(fields, note, d->reader->unit_ns, &event);
    if (d->from.bad || taken == NOTE_BROKEN)
        return stream_decode_broken(d);
    if (taken == NOTE_UNKNOWN)
        return true; /* a note of a later version of pyreel */
    stream_notes_cut(&event, &d->reader->cut);
    if (!sink_take(d->to, &event, d->why))
        return false;
    learn(d->reader, &event);
    return true;
}

static bool stream_read_read_record(struct decoding *d)
{
    const uint64_t tag = take_number(&d->from);
    const uint64_t argument = tag >> 3;
    if (d->from.bad)
        return false;
    if ((tag & 7) == RECORD_TICK)
        return stream_decode_close_tick(d) && stream_decode_begin_tick(d, argument);
    if ((tag & 7) == RECORD_REPEAT)
        return stream_decode_close_tick(d) && stream_decode_repeat(d, argument);
    switch (tag & 7) {
    case RECORD_SUFFIX:
    case RECORD_POP_PUSH:
        return stream_read_read_stack(d, tag & 7, argument);
    case RECORD_ABSENT:
        return read_absent(d, argument);
    case RECORD_FAILED:
        return read_failed(d, argument);
    case RECORD_NOTE:
        return give_note(d, argument);
    default:
        return stream_decode_broken(d);
    }
}

bool stream_read_events(struct stream_reader *reader, struct cursor payload, const struct sink *to, struct fault *why)
{
    stream_decode_begin(reader);
    /* A writer closes a block each second. So a block with more ticks than fit in two seconds is false, and the limit
     * keeps it from taking long. Ticks of several processes each take bytes, and a writer closes a large block. */
    struct decoding d = { .reader = reader,
                          .from = payload,
                          .to = to,
                          .why = why,
                          .ticks_left = reader->process_ticks ? PROCESS_TICKS_LIMIT
                                                              : 2000000000u / reader->interval_ns + 2,
                          .samples_left = SAMPLES_LIMIT,
                          .frames_left = STREAM_FRAMES_LIMIT };
    if (!reader->process_ticks)
        stream_decode_choose_clock(&d, 0);
    const uint64_t before_units = reader->tick_units;
    reader->tick_units = take_number(&d.from);
    bool going = !d.from.bad && reader->tick_units <= reader->most_units ? true : stream_decode_broken(&d);
    if (going && reader->tick_units > before_units)
        reader->lost_ticks += (reader->tick_units - before_units) * reader->unit_ns / reader->interval_ns;
    while (going && cursor_left(&d.from) > 0)
        going = stream_read_read_record(&d);
    going = going && stream_decode_close_tick(&d);
    const bool given = stream_decode_end(&d);
    if (going)
        return given;
    if (!d.from.bad)
        return false;
    reader->blocks.damage.blocks++;
    reader->losses++;
    block_read_note_damage(&reader->blocks, "a block that breaks the rules of the format", reader->at);
    return true;
}

/* Whether a text is short and plain, as the version of a program is: a file of an enemy may have any text. */
static bool is_plain_version(struct text text)
{
    size_t plain = 0;
    while (plain < text.size && (isalnum((unsigned char)text.bytes[plain]) || strchr(".+~-", text.bytes[plain])))
        plain++;
    return text.size > 0 && text.size <= PLAIN_VERSION_MOST && plain == text.size;
}

/* Says which pyreel reads this: the one that recorded it does, and later ones do. */
static bool refuse_version(const struct recording *recording, struct fault *why)
{
    const struct text version = recording->pyreel_version;
    char program[PLAIN_VERSION_MOST + 32] = "the pyreel that recorded it";
    if (is_plain_version(version))
        snprintf(program, sizeof(program), "pyreel %.*s, which recorded it,", (int)version.size, version.bytes);
    return fault(why,
                 "it has stream version %" PRIu32 ", and this program reads stream version %d: use %s or a later one",
                 recording->format_version, STREAM_VERSION, program);
}

bool stream_read_header(struct stream_reader *reader, struct cursor payload, const struct sink *to, struct fault *why)
{
    struct event event = { .kind = EVENT_RECORDING };
    struct recording *recording = &event.recording;
    const bool whole = stream_fields_take_recording(payload, recording);
    if (recording->format_version > STREAM_VERSION)
        return refuse_version(recording, why);
    const bool sane = recording->format_version > 0 && recording->time_unit_ns > 0 &&
                      recording->time_unit_ns <= recording->interval_ns &&
                      recording->interval_ns >= INTERVAL_LEAST_NS && recording->interval_ns <= INT64_MAX / 2;
    if (!whole || !sane)
        return fault(why, "its header is damaged");
    reader->process_ticks = recording->process_ticks;
    reader->is_later_part = recording->part > 1;
    reader->interval_ns = recording->interval_ns;
    reader->unit_ns = recording->time_unit_ns;
    reader->most_units = UINT64_MAX / reader->unit_ns;
    reader->step_units = reader->interval_ns % reader->unit_ns ? 0 : reader->interval_ns / reader->unit_ns;
    stream_notes_cut(&event, &reader->cut);
    return sink_take(to, &event, why);
}

bool stream_read_end(struct stream_reader *reader, struct cursor payload, const struct sink *to, struct fault *why)
{
    struct event event = { .kind = EVENT_END };
    if (!stream_fields_take_end(payload, &event.end, reader->unit_ns)) {
        reader->blocks.damage.blocks++;
        block_read_note_damage(&reader->blocks, "a damaged end block", reader->at);
        return true;
    }
    reader->ended = true;
    reader->complete = event.end.reason != END_UNWRITTEN;
    reader->end_reason = event.end.reason;
    return sink_take(to, &event, why);
}

bool stream_reader_open(struct stream_reader *reader, int fd, struct text head, const struct sink *to,
                        struct fault *why)
{
    *reader = (struct stream_reader){ 0 };
    block_reader_open(&reader->blocks, fd);
    block_reader_begin(&reader->blocks, head);
    if (!block_read_magic(&reader->blocks, why))
        return false;
    struct block block;
    const enum block_found found = block_read(&reader->blocks, &block, why);
    if (found == BLOCK_UNREADABLE)
        return false;
    if (found == BLOCK_NO_MORE || block.kind != BLOCK_HEADER || block.sequence != 0)
        return fault(why, "its header block is damaged or cut off, and nothing can be read without it");
    return stream_read_header(reader, block.payload, to, why);
}

static enum block_found next_block(struct stream_reader *reader, struct block *block, struct fault *why)
{
    if (reader->goes_ahead && !reader->ahead) {
        reader->ahead = block_prefetch_begin(&reader->blocks);
        reader->goes_ahead = reader->ahead != NULL; /* when no thread can be started, it is not tried again */
    }
    if (reader->ahead)
        return block_prefetch_next(reader->ahead, &reader->blocks, block, why);
    return block_read(&reader->blocks, block, why);
}

enum source_state stream_read_block(struct stream_reader *reader, const struct sink *to, struct fault *why)
{
    struct block block;
    const enum block_found found = next_block(reader, &block, why);
    if (found != BLOCK_FOUND)
        return found == BLOCK_NO_MORE ? SOURCE_ENDED : SOURCE_STOPPED;
    reader->losses += block.skipped;
    reader->at = block.at;
    if (reader->ended || block.kind == BLOCK_HEADER) {
        reader->blocks.damage.blocks++;
        block_read_note_damage(&reader->blocks, "a misplaced block", reader->at);
        return SOURCE_MORE;
    }
    bool going = true;
    if (block.kind == BLOCK_EVENTS)
        going = stream_read_events(reader, block.payload, to, why);
    else if (block.kind == BLOCK_END)
        going = stream_read_end(reader, block.payload, to, why);
    return going ? SOURCE_MORE : SOURCE_STOPPED;
}

void stream_reader_forgive(struct stream_reader *reader, const char *what)
{
    reader->blocks.damage.blocks++;
    block_read_note_damage(&reader->blocks, what, reader->at);
}

/* ---- as a source ---- */

static bool stream_read_kind_recognises(struct text head)
{
    return block_read_recognised(head.bytes, head.size);
}

static bool stream_read_kind_open(void *self, int fd, struct text head, const struct source_options *options,
                                  const struct sink *to, struct fault *why)
{
    struct stream_reader *reader = self;
    if (!stream_reader_open(reader, fd, head, to, why))
        return false;
    reader->gives_runs = options->runs;
    reader->run_ns = options->run_ns;
    reader->ignores_status = options->without_status;
    reader->ignores_stands = options->without_stands;
    reader->goes_ahead = options->file_bytes >= PREFETCH_LEAST;
    return true;
}

static enum source_state stream_read_kind_read(void *self, const struct sink *to, struct fault *why)
{
    return stream_read_block(self, to, why);
}

static void kind_forgive(void *self, const char *what)
{
    stream_reader_forgive(self, what);
}

static const struct damage *kind_damage(const void *self)
{
    const struct stream_reader *reader = self;
    return &reader->blocks.damage;
}

static const char *stream_read_ending(const struct stream_reader *reader)
{
    if (reader->ended)
        return event_end_reason_text(reader->end_reason);
    return reader->blocks.damage.cut ? "it is cut off" : "it has no end (was the recorder killed?)";
}

static void stream_read_kind_report(const void *self, struct source_report *report)
{
    const struct stream_reader *reader = self;
    report->ending = stream_read_ending(reader);
    report->complete = reader->complete;
    report->ended = reader->ended;
    report->bytes = reader->blocks.bytes_read;
    report->blocks = reader->blocks.good;
    report->plain_bytes = reader->blocks.good_plain;
    report->lost_ticks = reader->lost_ticks;
}

static void stream_read_kind_close(void *self)
{
    stream_reader_close(self);
}

const struct source_kind stream_read_kind = {
    .name = "pyreel",
    .reader_size = sizeof(struct stream_reader),
    .recognises = stream_read_kind_recognises,
    .open = stream_read_kind_open,
    .read = stream_read_kind_read,
    .forgive = kind_forgive,
    .damage = kind_damage,
    .report = stream_read_kind_report,
    .close = stream_read_kind_close,
};
