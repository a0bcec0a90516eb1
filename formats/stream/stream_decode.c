/* SPDX-License-Identifier: MIT */
#include "formats/stream/stream_decode.h"

#include "formats/base/alloc.h"
#include "formats/stream/stream_due.h"

/* A record may name a thread whose definition was lost. The number is limited, so that it costs little memory. */
#define UNDEFINED_THREADS_LIMIT (1u << 16)

struct reader_thread *stream_decode_thread(struct stream_reader *reader, uint64_t number)
{
    if (number == 0 || number > (uint64_t)reader->last_thread + UNDEFINED_THREADS_LIMIT)
        return NULL;
    reader->threads = alloc_grow(reader->threads, &reader->threads_room, (size_t)number + 1, sizeof(*reader->threads));
    return &reader->threads[number];
}

struct reader_thread *stream_decode_thread_of_tick(struct decoding *d, uint64_t number)
{
    struct stream_reader *reader = d->reader;
    struct reader_thread *thread = d->in_tick ? stream_decode_thread(reader, number) : NULL;
    if (!thread)
        return NULL;
    const uint32_t clock = (uint32_t)(d->clock - reader->clocks);
    if (thread->named == reader->block && thread->clock != clock)
        return NULL;
    thread->named = reader->block;
    thread->clock = clock;
    return thread;
}

/* ---- the clocks of processes ---- */

void stream_decode_begin(struct stream_reader *reader)
{
    for (uint32_t i = 0; i < reader->clocks_count; i++) {
        struct reader_clock *clock = &reader->clocks[i];
        reader->processes[clock->process].tick = clock->tick;
        for (uint32_t at = 0; at < clock->expected_count; at++)
            reader->threads[clock->expected[at]].listed = 0;
    }
    reader->clocks_count = 0;
    reader->ticked_count = 0;
    reader->runs_end_units = 0; /* a block behind a damaged one may begin earlier */
    reader->block++;
}

/* Makes the clock of a process whose first tick in the block comes. */
static void make_clock(struct stream_reader *reader, uint32_t process)
{
    const uint32_t at = reader->clocks_count++;
    reader->clocks = alloc_grow(reader->clocks, &reader->clocks_room, reader->clocks_count, sizeof(*reader->clocks));
    struct reader_clock *clock = &reader->clocks[at];
    struct reader_process *row = &reader->processes[process];
    if (row->block == 0) /* ticks of processes count from 2: no look came in the tick before the first, in this file */
        row->tick = process != 0 && !reader->is_later_part;
    row->block = reader->block;
    row->clock = at;
    clock->process = process;
    clock->expected_count = 0;
    clock->tick = row->tick;
    clock->first_tick = row->tick + 1;
    clock->ticks_closed = 0;
    clock->stands_ns = reader->interval_ns;
}

void stream_decode_choose_clock(struct decoding *d, uint32_t process)
{
    struct stream_reader *reader = d->reader;
    reader->processes = alloc_grow(reader->processes, &reader->processes_room, (size_t)process + 1,
                                   sizeof(*reader->processes));
    if (reader->processes[process].block != reader->block)
        make_clock(reader, process);
    d->clock = &reader->clocks[reader->processes[process].clock];
}

/* ---- expected threads ---- */

static void decoding_join_expected(struct decoding *d, uint32_t number)
{
    struct reader_clock *clock = d->clock;
    struct reader_thread *thread = &d->reader->threads[number];
    if (thread->listed)
        return;
    clock->expected = alloc_grow(clock->expected, &clock->expected_room, clock->expected_count + 1, sizeof(uint32_t));
    clock->expected[clock->expected_count++] = number;
    thread->listed = clock->expected_count;
}

static void decoding_leave_expected(struct decoding *d, uint32_t number)
{
    struct reader_clock *clock = d->clock;
    struct reader_thread *thread = &d->reader->threads[number];
    if (!thread->listed)
        return;
    const uint32_t last = clock->expected[--clock->expected_count];
    clock->expected[thread->listed - 1] = last;
    d->reader->threads[last].listed = thread->listed;
    thread->listed = 0;
}

/* ---- samples ---- */

static uint64_t units_of(const struct reader_clock *clock, uint64_t tick)
{
    return clock->ticks[tick - clock->first_tick];
}

/* Returns the thread's status, which is the same from time `first` to `last`, both in units. *cpu_units is the CPU time
 * since the thread's last sample; when a loss makes that unknown, the CPU time between these times. Both are 0 when the
 * reader ignores the status. */
static uint32_t take_status(struct stream_reader *reader, struct reader_thread *thread, uint64_t first, uint64_t last,
                            uint64_t *cpu_units)
{
    const struct stream_status *status = &thread->status;
    *cpu_units = 0;
    if (status->block != reader->block || reader->ignores_status)
        return 0;
    const bool whole = thread->sampled ? thread->losses == reader->losses : reader->losses == 0;
    const uint64_t then = whole ? thread->cpu_units : stream_status_cpu(status, first);
    const uint64_t now = stream_status_cpu(status, last);
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
static void fail_look(const struct decoding *d, struct reader_thread *thread)
{
    if (goes_on(d->reader, thread, d->clock->tick))
        thread->looked = d->clock->tick;
}

/* Gives one sample that stands for each tick from `first` to `last`. */
static bool decoding_give(struct decoding *d, uint32_t number, uint32_t keep, uint32_t pushed, uint64_t first,
                          uint64_t last)
{
    struct stream_reader *reader = d->reader;
    struct reader_thread *thread = &reader->threads[number];
    const uint64_t first_units = units_of(d->clock, first), last_units = units_of(d->clock, last);
    uint64_t cpu_units;
    const uint32_t status = take_status(reader, thread, first_units, last_units, &cpu_units);
    struct event event; /* set field by field, and not zeroed before: this runs millions of times */
    event.kind = EVENT_SAMPLE;
    struct sample *sample = &event.sample;
    sample->thread = number;
    sample->keep = keep;
    sample->pushed = pushed;
    sample->frames = reader->frames;
    sample->time_ns = last_units * reader->unit_ns;
    sample->status = status;
    sample->cpu_ns = cpu_units * reader->unit_ns;
    sample->count = last - first + 1;
    sample->stands_ns = d->clock->stands_ns;
    sample->first_ns = first_units * reader->unit_ns;
    sample->fresh = !goes_on(reader, thread, first);
    thread->looked = last;
    thread->looked_losses = reader->losses;
    for (size_t i = 0; i < HELD; i++)
        stream_held_give(sample, i, stream_held_now(&thread->held[i], reader->block), reader->unit_ns);
    return sink_take(d->to, &event, d->why);
}

bool stream_decode_give_run(struct decoding *d, uint32_t number)
{
    struct reader_thread *thread = &d->reader->threads[number];
    const uint64_t first = thread->since, next = d->clock->tick + !d->in_tick;
    if (!thread->listed || first >= next)
        return true;
    thread->since = next;
    return decoding_give(d, number, thread->depth, 0, first, next - 1);
}

bool stream_decode_give_runs(struct decoding *d)
{
    bool good = true;
    for (uint32_t i = 0; i < d->clock->expected_count; i++)
        good = stream_decode_give_run(d, d->clock->expected[i]) && good;
    return good;
}

struct reader_thread *stream_decode_name_thread(struct decoding *d, uint64_t number)
{
    struct reader_thread *thread = d->all_failed ? NULL : stream_decode_thread_of_tick(d, number);
    if (!thread || thread->tick == d->clock->tick)
        return NULL;
    thread->tick = d->clock->tick;
    return thread;
}

/* Begins a new run of the thread in the next tick. */
static void restart(struct decoding *d, uint32_t number)
{
    decoding_join_expected(d, number);
    d->reader->threads[number].since = d->clock->tick + 1;
    d->named++;
    /* an undefined thread: its samples are lost until its definition comes */
    d->unsure |= number > d->reader->last_thread;
}

void stream_decode_expect_thread(struct decoding *d, uint32_t number)
{
    restart(d, number);
    fail_look(d, &d->reader->threads[number]);
    /* the block may never give its stack */
    d->unsure |= d->reader->threads[number].block != d->reader->block;
}

void stream_decode_dismiss_thread(struct decoding *d, uint32_t number)
{
    decoding_leave_expected(d, number);
}

bool stream_decode_give_sample(struct decoding *d, uint32_t number, uint32_t keep, uint32_t pushed)
{
    restart(d, number);
    return decoding_give(d, number, keep, pushed, d->clock->tick, d->clock->tick);
}

/* ---- ticks ---- */

uint64_t stream_decode_time_ns(const struct stream_reader *reader)
{
    return reader->tick_units * reader->unit_ns;
}

static void fail_expected(const struct decoding *d, uint32_t number)
{
    d->reader->threads[number].since = d->clock->tick + 1;
    fail_look(d, &d->reader->threads[number]);
}

bool stream_decode_fail_tick(struct decoding *d)
{
    if (d->clock->expected_count > d->samples_left)
        return stream_decode_broken(d);
    d->samples_left -= d->clock->expected_count;
    const bool good = stream_decode_give_runs(d);
    for (uint32_t i = 0; i < d->clock->expected_count; i++)
        fail_expected(d, d->clock->expected[i]);
    d->all_failed = true;
    return good;
}

/* Gives the sample of each expected thread in the tick that was just closed. */
static bool give_each(struct decoding *d)
{
    const struct reader_clock *clock = d->clock;
    for (uint32_t i = 0; i < clock->expected_count; i++) {
        const uint32_t number = clock->expected[i];
        const struct reader_thread *thread = &d->reader->threads[number];
        if (thread->tick == clock->tick)
            continue;
        if (thread->block != d->reader->block)
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
    const uint32_t unmoved = d->clock->expected_count - d->named;
    return reader->gives_runs && !d->unsure && unmoved <= d->samples_left;
}

static bool give_ticks(struct decoding *d)
{
    struct reader_clock *clock = d->clock;
    struct event event;
    if (clock->ticks_closed == 0)
        return true;
    event.kind = EVENT_TICK;
    event.tick_ns = units_of(clock, clock->tick - d->in_tick) * d->reader->unit_ns;
    event.more_ticks = clock->ticks_closed - 1;
    event.tick_process = clock->process;
    clock->ticks_closed = 0;
    return sink_take(d->to, &event, d->why);
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
static uint64_t *room_for_ticks(struct reader_clock *clock, size_t count)
{
    const size_t known = (size_t)(clock->tick + 1 - clock->first_tick);
    clock->ticks = alloc_grow(clock->ticks, &clock->ticks_room, known + count, sizeof(*clock->ticks));
    return clock->ticks + known;
}

/* Adds a tick at this time. False when the time is impossible. */
static bool add_tick(struct decoding *d, uint64_t time)
{
    struct stream_reader *reader = d->reader;
    if (time < reader->tick_units || time > reader->most_units)
        return false;
    *room_for_ticks(d->clock, 1) = time;
    reader->tick_units = time;
    d->clock->tick++;
    return true;
}

/* After a tick that was on time, due ticks are a step apart. Returns how many more are possible. */
static uint64_t steps_left(const struct stream_reader *reader)
{
    return reader->step_units ? (reader->most_units - reader->due_units) / reader->step_units : 0;
}

static void add_steps(struct decoding *d, uint64_t count)
{
    struct stream_reader *reader = d->reader;
    const uint64_t due = reader->due_units, step = reader->step_units;
    uint64_t *ticks = room_for_ticks(d->clock, count);
    for (uint64_t i = 0; i < count; i++)
        ticks[i] = due + (i + 1) * step;
    reader->tick_units = reader->due_units = due + count * step;
    d->clock->tick += count;
}

/* Adds `count` ticks, each when it is due. */
static bool add_ticks(struct decoding *d, uint64_t count)
{
    while (count-- > 0) {
        if (!add_tick(d, next_due(d->reader)))
            return false;
        if (count <= steps_left(d->reader)) {
            add_steps(d, count);
            return true;
        }
    }
    return true;
}

/* Begins a tick at this time. */
static bool open_tick(struct decoding *d, uint64_t time)
{
    if (d->ticks_left == 0 || !add_tick(d, time))
        return stream_decode_broken(d);
    d->ticks_left--;
    d->in_tick = true;
    d->all_failed = false;
    d->weighed = false;
    d->named = 0;
    return true;
}

bool stream_decode_begin_tick(struct decoding *d, uint64_t argument)
{
    struct stream_reader *reader = d->reader;
    if (!d->clock)
        return stream_decode_broken(d);
    if (reader->process_ticks)
        return open_tick(d, reader->tick_units + argument); /* a sum that wraps is before the latest tick */
    const int64_t jitter = number_to_signed(argument);
    const uint64_t due = next_due(reader), time = due + (uint64_t)jitter;
    const bool wraps = jitter < 0 ? time > due : time < due;
    return wraps ? stream_decode_broken(d) : open_tick(d, time);
}

static bool end_runs(struct decoding *d)
{
    const bool given = stream_decode_give_runs(d);
    return give_ticks(d) && given;
}

bool stream_decode_end(struct decoding *d)
{
    struct stream_reader *reader = d->reader;
    if (!reader->gives_runs)
        return true; /* each tick gave its samples */
    bool given = true;
    struct reader_clock *const current = d->clock;
    const struct reader_clock *const open = d->in_tick ? current : NULL;
    for (uint32_t i = 0; i < reader->clocks_count; i++) {
        d->clock = &reader->clocks[i];
        d->in_tick = d->clock == open;
        given = end_runs(d) && given;
    }
    d->clock = current;
    return given;
}

/* Ends all runs, if the latest tick, which is closed, is the first one behind a multiple of their longest time. Its
 * clock comes last, so that it is behind all looks before it. */
static bool end_long_runs(struct decoding *d)
{
    struct stream_reader *reader = d->reader;
    struct reader_clock *const current = d->clock;
    if (reader->run_ns == 0 || reader->tick_units < reader->runs_end_units)
        return true;
    const uint64_t end_ns = (reader->tick_units * reader->unit_ns / reader->run_ns + 1) * reader->run_ns;
    reader->runs_end_units = (end_ns - 1) / reader->unit_ns + 1;
    bool given = true;
    for (size_t i = 0; i < reader->ticked_count; i++) {
        d->clock = &reader->clocks[reader->ticked[i]];
        given = (d->clock == current || end_runs(d)) && given;
    }
    reader->ticked_count = 0;
    d->clock = current;
    return end_runs(d) && given;
}

/* Adds ticks that are closed, and not given yet. A clock without such ticks has no runs. */
static void count_closed(const struct decoding *d, uint64_t count)
{
    struct stream_reader *reader = d->reader;
    if (reader->gives_runs && reader->run_ns && d->clock->ticks_closed == 0 && count > 0) {
        reader->ticked = alloc_grow(reader->ticked, &reader->ticked_room, reader->ticked_count + 1,
                                    sizeof(*reader->ticked));
        reader->ticked[reader->ticked_count++] = (uint32_t)(d->clock - reader->clocks);
    }
    d->clock->ticks_closed += count;
}

bool stream_decode_close_tick(struct decoding *d)
{
    if (!d->in_tick)
        return true;
    const bool wait = samples_wait(d);
    d->in_tick = false;
    if (wait && !d->all_failed)
        d->samples_left -= d->clock->expected_count - d->named;
    if (!wait && !d->all_failed && !give_each(d)) {
        d->in_tick = true; /* the tick was not closed */
        return false;
    }
    count_closed(d, 1);
    return d->reader->gives_runs ? end_long_runs(d) : give_ticks(d);
}

/* Whether `count` ticks without a change only continue the current runs, and break no rule. */
static bool pass_ticks(const struct decoding *d, uint64_t count)
{
    const uint32_t threads = d->clock->expected_count;
    return d->reader->gives_runs && !d->unsure && count <= d->ticks_left &&
           (threads == 0 || count <= d->samples_left / threads);
}

/* How many ticks that are on time there are until the runs end. */
static uint64_t ticks_of_runs(const struct stream_reader *reader)
{
    if (reader->run_ns == 0)
        return UINT64_MAX;
    const bool ahead = reader->step_units > 0 && reader->runs_end_units > reader->due_units;
    return ahead ? (reader->runs_end_units - reader->due_units - 1) / reader->step_units + 1 : 1;
}

/* Adds ticks that only continue the current runs. */
static bool pass_unchanged(struct decoding *d, uint64_t count)
{
    while (count > 0) {
        const uint64_t most = ticks_of_runs(d->reader), now = count < most ? count : most, before = d->clock->tick;
        const bool good = add_ticks(d, now);
        count_closed(d, d->clock->tick - before);
        if (!good)
            return stream_decode_broken(d);
        if (!end_long_runs(d))
            return false;
        count -= now;
    }
    return true;
}

bool stream_decode_repeat(struct decoding *d, uint64_t count)
{
    if (count == 0 || d->reader->process_ticks)
        return stream_decode_broken(d);
    if (pass_ticks(d, count)) {
        d->ticks_left -= count;
        d->samples_left -= count * d->clock->expected_count;
        return pass_unchanged(d, count);
    }
    for (; count > 0; count--)
        if (!open_tick(d, next_due(d->reader)) || !stream_decode_close_tick(d))
            return false;
    return true;
}
