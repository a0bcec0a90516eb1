/* SPDX-License-Identifier: MIT */
#include "formats/stream/stream_decode.h"

#include "formats/base/alloc.h"
#include "formats/stream/stream_due.h"

/* A record may name a thread whose definition was lost. The number is limited, so that it costs little memory. */
#define UNDEFINED_THREADS_LIMIT (1u << 16)

#define LULL_LIMIT 1024 /* ticks of a lull: a longer one has no use, and costs memory */

struct reader_thread *stream_decode_thread(struct stream_reader *reader, uint64_t number)
{
    if (number == 0 || number > (uint64_t)reader->last_thread + UNDEFINED_THREADS_LIMIT)
        return NULL;
    reader->threads = alloc_grow(reader->threads, &reader->threads_room, (size_t)number + 1, sizeof(*reader->threads));
    return &reader->threads[number];
}

/* ---- expected threads ---- */

static void join_expected(struct stream_reader *reader, uint32_t number)
{
    struct reader_thread *thread = &reader->threads[number];
    if (thread->listed)
        return;
    reader->expected = alloc_grow(reader->expected, &reader->expected_room, reader->expected_count + 1,
                                  sizeof(uint32_t));
    reader->expected[reader->expected_count++] = number;
    thread->listed = reader->expected_count;
}

static void leave_expected(struct stream_reader *reader, uint32_t number)
{
    struct reader_thread *thread = &reader->threads[number];
    if (!thread->listed)
        return;
    const uint32_t last = reader->expected[--reader->expected_count];
    reader->expected[thread->listed - 1] = last;
    reader->threads[last].listed = thread->listed;
    thread->listed = 0;
}

void stream_decode_begin(struct stream_reader *reader)
{
    while (reader->expected_count > 0)
        leave_expected(reader, reader->expected[reader->expected_count - 1]);
    reader->block++;
    reader->first_tick = reader->tick + 1;
}

/* ---- samples ---- */

static uint64_t units_of(const struct stream_reader *reader, uint64_t tick)
{
    return reader->ticks[tick - reader->first_tick];
}

/* Returns the thread's status, which is the same in ticks `first` to `last`. *cpu_units is the CPU time since the
 * thread's last sample; when a loss makes that unknown, the CPU time between these ticks. Both are 0 when the reader
 * ignores the status. */
static uint32_t take_status(struct stream_reader *reader, struct reader_thread *thread, uint64_t first, uint64_t last,
                            uint64_t *cpu_units)
{
    const struct stream_status *status = &thread->status;
    *cpu_units = 0;
    if (status->block != reader->block || reader->ignores_status)
        return 0;
    const bool whole = thread->sampled ? thread->losses == reader->losses : reader->losses == 0;
    const uint64_t then = whole ? thread->cpu_units : stream_status_cpu(status, units_of(reader, first));
    const uint64_t now = stream_status_cpu(status, units_of(reader, last));
    thread->cpu_units = now > then ? now : then;
    thread->losses = reader->losses;
    thread->sampled = true;
    if (!(status->bits & STATUS_CPU_UNKNOWN))
        *cpu_units = thread->cpu_units - then;
    return status->bits | STATUS_RECORDED;
}

/* Whether there was a look at the thread, maybe a failed one, in the tick before `tick`. */
static bool goes_on(const struct stream_reader *reader, const struct reader_thread *thread, uint64_t tick)
{
    return thread->looked + 1 == tick && thread->looked_losses == reader->losses;
}

/* The look at the thread fails in this tick: the next look follows it without a break. */
static void fail_look(const struct stream_reader *reader, struct reader_thread *thread)
{
    if (goes_on(reader, thread, reader->tick))
        thread->looked = reader->tick;
}

/* Fills in the CPU times of the looks of a lull. The CPU time of a thread that runs grows with the clock. */
static void share_cpu(const struct sample *sample)
{
    struct look_time *looks = sample->looks;
    const bool grows = sample->status & STATUS_CPU;
    uint64_t left_ns = sample->cpu_ns;
    for (uint64_t i = sample->more; i > 0; i--) {
        const uint64_t since_ns = grows ? looks[i].time_ns - looks[i - 1].time_ns : 0;
        looks[i].cpu_ns = left_ns < since_ns ? left_ns : since_ns;
        left_ns -= looks[i].cpu_ns;
    }
    looks[0].cpu_ns = left_ns;
}

/* Gives one sample that stands for each tick from `first` to `last`. */
static bool give(struct decoding *d, uint32_t number, uint32_t keep, uint32_t pushed, uint64_t first, uint64_t last)
{
    struct stream_reader *reader = d->reader;
    struct reader_thread *thread = &reader->threads[number];
    uint64_t cpu_units;
    const uint32_t status = take_status(reader, thread, first, last, &cpu_units);
    struct event event; /* set field by field, and not zeroed before: this runs millions of times */
    event.kind = EVENT_SAMPLE;
    struct sample *sample = &event.sample;
    sample->thread = number;
    sample->keep = keep;
    sample->pushed = pushed;
    sample->frames = reader->frames;
    sample->time_ns = units_of(reader, last) * reader->unit_ns;
    sample->status = status;
    sample->cpu_ns = cpu_units * reader->unit_ns;
    sample->more = last - first;
    sample->stands_ns = d->stands_ns;
    sample->looks = d->looks;
    if (sample->looks)
        share_cpu(sample);
    sample->first_ns = units_of(reader, first) * reader->unit_ns;
    sample->fresh = !goes_on(reader, thread, first);
    thread->looked = last;
    thread->looked_losses = reader->losses;
    for (size_t i = 0; i < HELD; i++)
        *stream_held_in(sample, i) = stream_held_now(&thread->held[i], reader->block);
    return sink_take(d->to, &event, d->why);
}

bool stream_decode_give_run(struct decoding *d, uint32_t number)
{
    struct reader_thread *thread = &d->reader->threads[number];
    const uint64_t first = thread->since, next = d->reader->tick + !d->in_tick;
    if (!thread->listed || first >= next)
        return true;
    thread->since = next;
    return give(d, number, thread->depth, 0, first, next - 1);
}

bool stream_decode_give_runs(struct decoding *d)
{
    bool good = true;
    for (uint32_t i = 0; i < d->reader->expected_count; i++)
        good = stream_decode_give_run(d, d->reader->expected[i]) && good;
    return good;
}

struct reader_thread *stream_decode_name_thread(struct decoding *d, uint64_t number)
{
    struct stream_reader *reader = d->reader;
    struct reader_thread *thread = d->in_tick && !d->all_failed ? stream_decode_thread(reader, number) : NULL;
    if (!thread || thread->tick == reader->tick)
        return NULL;
    thread->tick = reader->tick;
    return thread;
}

/* Begins a new run of the thread in the next tick. */
static void restart(struct decoding *d, uint32_t number)
{
    join_expected(d->reader, number);
    d->reader->threads[number].since = d->reader->tick + 1;
    d->named++;
    /* an undefined thread: its samples are lost until its definition comes */
    d->unsure |= number > d->reader->last_thread;
}

void stream_decode_expect_thread(struct decoding *d, uint32_t number)
{
    restart(d, number);
    fail_look(d->reader, &d->reader->threads[number]);
    /* the block may never give its stack */
    d->unsure |= d->reader->threads[number].block != d->reader->block;
}

void stream_decode_dismiss_thread(struct decoding *d, uint32_t number)
{
    leave_expected(d->reader, number);
}

bool stream_decode_give_sample(struct decoding *d, uint32_t number, uint32_t keep, uint32_t pushed)
{
    restart(d, number);
    return give(d, number, keep, pushed, d->reader->tick, d->reader->tick);
}

/* ---- ticks ---- */

uint64_t stream_decode_time_ns(const struct stream_reader *reader)
{
    return reader->tick_units * reader->unit_ns;
}

static void fail_expected(const struct stream_reader *reader, uint32_t number)
{
    reader->threads[number].since = reader->tick + 1;
    fail_look(reader, &reader->threads[number]);
}

bool stream_decode_fail_tick(struct decoding *d)
{
    if (d->reader->expected_count > d->samples_left)
        return stream_decode_broken(d);
    d->samples_left -= d->reader->expected_count;
    const bool good = stream_decode_give_runs(d);
    for (uint32_t i = 0; i < d->reader->expected_count; i++)
        fail_expected(d->reader, d->reader->expected[i]);
    d->all_failed = true;
    return good;
}

/* Gives the sample of each expected thread in the tick that was just closed. */
static bool give_each(struct decoding *d)
{
    const struct stream_reader *reader = d->reader;
    for (uint32_t i = 0; i < reader->expected_count; i++) {
        const uint32_t number = reader->expected[i];
        const struct reader_thread *thread = &reader->threads[number];
        if (thread->tick == reader->tick)
            continue;
        if (thread->block != reader->block)
            return stream_decode_broken(d); /* a sample without any stack in this block */
        if (d->samples_left-- == 0)
            return stream_decode_broken(d);
        if (!stream_decode_give_run(d, number))
            return false;
    }
    return true;
}

/* Whether the samples without a record wait for the end of their runs: if runs are given and no rule can be broken. */
static bool samples_wait(const struct decoding *d)
{
    const struct stream_reader *reader = d->reader;
    const uint32_t unmoved = reader->expected_count - d->named;
    const bool in_lull = reader->gives_lulls && !d->moved && d->ticks_closed < LULL_LIMIT;
    return (reader->gives_runs || in_lull) && !d->unsure && unmoved <= d->samples_left;
}

static bool give_ticks(struct decoding *d)
{
    struct stream_reader *reader = d->reader;
    struct event event;
    if (d->ticks_closed == 0)
        return true;
    event.kind = EVENT_TICK;
    event.tick_ns = units_of(reader, reader->tick - d->in_tick) * reader->unit_ns;
    event.more_ticks = d->ticks_closed - 1;
    event.tick_looks = d->looks;
    d->ticks_closed = 0;
    return sink_take(d->to, &event, d->why);
}

/* Fills in when the looks of the lull were. */
static struct look_time *make_looks(const struct decoding *d)
{
    struct stream_reader *reader = d->reader;
    const size_t count = (size_t)d->ticks_closed;
    const uint64_t first = reader->tick - d->in_tick + 1 - count;
    reader->looks = alloc_grow(reader->looks, &reader->looks_room, count, sizeof(*reader->looks));
    for (size_t i = 0; i < count; i++)
        reader->looks[i].time_ns = units_of(reader, first + i) * reader->unit_ns;
    return reader->looks;
}

bool stream_decode_give_lull(struct decoding *d)
{
    d->looks = d->ticks_closed > 1 ? make_looks(d) : NULL;
    const bool good = stream_decode_give_runs(d) && give_ticks(d);
    d->looks = NULL;
    return good;
}

bool stream_decode_close_tick(struct decoding *d)
{
    const struct stream_reader *reader = d->reader;
    if (!d->in_tick)
        return true;
    const bool wait = samples_wait(d);
    if (!wait && !stream_decode_end_lull(d))
        return false;
    d->in_tick = false;
    if (wait && !d->all_failed)
        d->samples_left -= reader->expected_count - d->named;
    if (!wait && !d->all_failed && !give_each(d)) {
        d->in_tick = true; /* the tick was not closed */
        return false;
    }
    d->ticks_closed++;
    return reader->gives_runs || wait || give_ticks(d);
}

/* The time at which the next tick is due. Most ticks come on time, and then the next one is due a step later. */
static uint64_t next_due(struct stream_reader *reader)
{
    const uint64_t units = reader->tick_units, step = reader->step_units;
    if (units - reader->due_units < step && reader->due_units < reader->most_units - step)
        reader->due_units += step;
    else
        reader->due_units = stream_due(units, reader->interval_ns, reader->unit_ns);
    return reader->due_units;
}

/* Makes room for the times of `count` more ticks. */
static uint64_t *room_for_ticks(struct stream_reader *reader, size_t count)
{
    const size_t known = (size_t)(reader->tick + 1 - reader->first_tick);
    reader->ticks = alloc_grow(reader->ticks, &reader->ticks_room, known + count, sizeof(*reader->ticks));
    return reader->ticks + known;
}

/* Adds a tick at this time. False when the time is impossible. */
static bool add_tick(struct stream_reader *reader, uint64_t time)
{
    if (time < reader->tick_units || time > reader->most_units)
        return false;
    *room_for_ticks(reader, 1) = time;
    reader->tick_units = time;
    reader->tick++;
    return true;
}

/* After a tick that was on time, due ticks are a step apart. Returns how many more are possible. */
static uint64_t steps_left(const struct stream_reader *reader)
{
    return reader->step_units ? (reader->most_units - reader->due_units) / reader->step_units : 0;
}

static void add_steps(struct stream_reader *reader, uint64_t count)
{
    const uint64_t due = reader->due_units, step = reader->step_units;
    uint64_t *ticks = room_for_ticks(reader, count);
    for (uint64_t i = 0; i < count; i++)
        ticks[i] = due + (i + 1) * step;
    reader->tick_units = reader->due_units = due + count * step;
    reader->tick += count;
}

/* Adds `count` ticks, each when it is due. */
static bool add_ticks(struct stream_reader *reader, uint64_t count)
{
    while (count-- > 0) {
        if (!add_tick(reader, next_due(reader)))
            return false;
        if (count <= steps_left(reader)) {
            add_steps(reader, count);
            return true;
        }
    }
    return true;
}

bool stream_decode_open_tick(struct decoding *d, int64_t jitter)
{
    struct stream_reader *reader = d->reader;
    const uint64_t due = next_due(reader), time = due + (uint64_t)jitter;
    const bool wraps = jitter < 0 ? time > due : time < due;
    if (wraps || d->ticks_left == 0 || !add_tick(reader, time))
        return stream_decode_broken(d);
    d->ticks_left--;
    d->in_tick = true;
    d->all_failed = false;
    d->weighed = false;
    d->moved = false;
    d->named = 0;
    return true;
}

bool stream_decode_end(struct decoding *d)
{
    if (!d->reader->gives_runs)
        return stream_decode_end_lull(d);
    const bool given = stream_decode_give_runs(d);
    return give_ticks(d) && given;
}

/* Whether `count` ticks without a change only continue the current runs, and break no rule. */
static bool pass_ticks(const struct decoding *d, uint64_t count)
{
    const uint32_t threads = d->reader->expected_count;
    const bool in_lull = d->reader->gives_lulls && d->ticks_closed + count <= LULL_LIMIT;
    return (d->reader->gives_runs || in_lull) && !d->unsure && count <= d->ticks_left &&
           (threads == 0 || count <= d->samples_left / threads);
}

bool stream_decode_repeat(struct decoding *d, uint64_t count)
{
    if (count == 0)
        return stream_decode_broken(d);
    if (pass_ticks(d, count)) {
        d->ticks_left -= count;
        d->samples_left -= count * d->reader->expected_count;
        const uint64_t before = d->reader->tick;
        const bool good = add_ticks(d->reader, count);
        d->ticks_closed += d->reader->tick - before;
        return good || stream_decode_broken(d);
    }
    for (; count > 0; count--)
        if (!stream_decode_open_tick(d, 0) || !stream_decode_close_tick(d))
            return false;
    return true;
}
