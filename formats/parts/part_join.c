/* SPDX-License-Identifier: MIT */
#include "formats/parts/part_join.h"

#include "formats/base/alloc.h"
#include "formats/intern/name.h"
#include "formats/model/known.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A damaged part may skip so many definitions, which is more than a lost block has, and little memory. */
#define SKIPPED_LIMIT 4194304u

static bool part_join_emit(struct part_join *join, struct event *event, struct fault *why)
{
    return sink_take(&join->to, event, why);
}

/* ---- numbers ---- */

/* The number in the recording; 0: the part did not define it. */
static uint32_t part_join_number_of(const struct part_join *join, enum part_kind kind, uint32_t number)
{
    const struct part_numbers *numbers = &join->numbers[kind];
    return number > 0 && number <= numbers->last ? numbers->rows[number] : 0;
}

/* Notes the number that a definition of the part has in the recording. */
static bool define(struct part_join *join, enum part_kind kind, uint32_t number, uint32_t joined, struct fault *why)
{
    struct part_numbers *numbers = &join->numbers[kind];
    const uint32_t latest = numbers->last;
    join->refused = number <= latest || number - latest - 1 > SKIPPED_LIMIT - join->skipped;
    if (join->refused)
        return fault(why, "definition %" PRIu32 " is out of order (the latest is %" PRIu32 ")", number, latest);
    join->skipped += number - latest - 1;
    numbers->rows = alloc_grow(numbers->rows, &numbers->room, (size_t)number + 1, sizeof(*numbers->rows));
    memset(numbers->rows + numbers->last + 1, 0, (number - numbers->last) * sizeof(*numbers->rows));
    numbers->rows[0] = 0;
    numbers->rows[number] = joined;
    numbers->last = number;
    return true;
}

/* The part that was the last to define this process, thread or task. */
static uint32_t *defined_in(struct part_join *join, enum part_kind kind, uint32_t number)
{
    struct part_numbers *parts = &join->defined_in[kind];
    parts->rows = alloc_grow(parts->rows, &parts->room, (size_t)number + 1, sizeof(*parts->rows));
    return &parts->rows[number];
}

/* The number of the process, thread or task with this serial; 0: no earlier part has it. Two with the same serial in
 * one part are damage, and are not the same. */
static uint32_t find_serial(struct part_join *join, enum serial_kind kind, enum part_kind part_kind, uint32_t serial)
{
    const uint32_t known = intern_pairs_find(&join->serials, kind, serial);
    return known && *defined_in(join, part_kind, known) != join->parts ? known : 0;
}

/* Finds the number of a process, thread or task that is defined now. *added: no earlier part has it. */
static uint32_t part_join_take_serial(struct part_join *join, enum serial_kind kind, enum part_kind part_kind,
                                      uint32_t number, bool *added)
{
    const struct serial pending = join->pending[kind];
    const uint32_t serial = pending.number == number ? pending.serial : 0; /* 0: none */
    const uint32_t known = serial ? find_serial(join, kind, part_kind, serial) : 0;
    const uint32_t joined = known ? known : ++join->last[part_kind];
    join->pending[kind] = (struct serial){ 0 };
    *added = known == 0;
    *defined_in(join, part_kind, joined) = join->parts;
    if (serial && !intern_pairs_find(&join->serials, kind, serial))
        intern_pairs_add(&join->serials, kind, serial, joined);
    return joined;
}

/* ---- definitions ---- */

/* Notes the title of a process. Returns whether it is another one than before. */
static bool part_join_note_title(struct part_join *join, uint32_t process, struct text title)
{
    const uint64_t mark = name_hash(NAME_HASH_START, title);
    join->titles = alloc_grow(join->titles, &join->titles_room, (size_t)process + 1, sizeof(*join->titles));
    const bool other = join->titles[process] != mark;
    join->titles[process] = mark;
    return other;
}

/* A later part defines the process with the title that it has then, which may be another one: its change may be in a
 * part that is missing. */
static bool part_join_take_title(struct part_join *join, struct event *event, struct fault *why)
{
    const struct change *title = &event->change;
    const bool same = title->number && !part_join_note_title(join, title->number, title->name);
    return same || part_join_emit(join, event, why);
}

static bool part_join_take_process(struct part_join *join, struct event *event, struct fault *why)
{
    struct process *process = &event->process;
    bool added;
    const uint32_t number = process->number;
    process->number = part_join_take_serial(join, SERIAL_PROCESS, PART_PROCESS, number, &added);
    if (!define(join, PART_PROCESS, number, process->number, why))
        return false;
    join->ticks_ns = alloc_grow(join->ticks_ns, &join->ticks_room, (size_t)process->number + 1,
                                sizeof(*join->ticks_ns));
    process->parent = part_join_number_of(join, PART_PROCESS, process->parent);
    if (added) {
        part_join_note_title(join, process->number, process->command);
        return part_join_emit(join, event, why);
    }
    struct event title = { .kind = EVENT_PROCESS_TITLE,
                           .change = { process->number, process->start_ns, process->command, false } };
    struct event attributes = { .kind = EVENT_PROCESS_ATTRIBUTES,
                                .change = { process->number, process->start_ns, process->attributes, false } };
    return part_join_take_title(join, &title, why) &&
           (process->attributes.size == 0 || part_join_emit(join, &attributes, why));
}

static bool part_join_take_thread(struct part_join *join, struct event *event, struct fault *why)
{
    struct thread *thread = &event->thread;
    bool added;
    const uint32_t number = thread->number;
    thread->number = part_join_take_serial(join, SERIAL_THREAD, PART_THREAD, number, &added);
    thread->process = part_join_number_of(join, PART_PROCESS, thread->process);
    thread->task = part_join_number_of(join, PART_TASK, thread->task);
    if (!define(join, PART_THREAD, number, thread->number, why))
        return false;
    join->threads = alloc_grow(join->threads, &join->threads_room, (size_t)thread->number + 1, sizeof(*join->threads));
    join->threads[thread->number].process = thread->process;
    return !added || part_join_emit(join, event, why);
}

static bool part_join_take_task(struct part_join *join, struct event *event, struct fault *why)
{
    struct task *task = &event->task;
    bool added;
    const uint32_t number = task->number;
    task->number = part_join_take_serial(join, SERIAL_TASK, PART_TASK, number, &added);
    task->process = part_join_number_of(join, PART_PROCESS, task->process);
    return define(join, PART_TASK, number, task->number, why) && (!added || part_join_emit(join, event, why));
}

static bool part_join_take_string(struct part_join *join, struct event *event, struct fault *why)
{
    const struct text text = event->string.text;
    const uint32_t number = event->string.number;
    bool added;
    event->string.number = intern_number(&join->strings, text.bytes, text.size, &added);
    return define(join, PART_STRING, number, event->string.number, why) && (!added || part_join_emit(join, event, why));
}

static bool part_join_take_function(struct part_join *join, struct event *event, struct fault *why)
{
    struct function *function = &event->function;
    const uint32_t number = function->number;
    function->name = part_join_number_of(join, PART_STRING, function->name);
    function->file = part_join_number_of(join, PART_STRING, function->file);
    function->module = part_join_number_of(join, PART_STRING, function->module);
    bool added;
    function->number = known_function(&join->functions, function, &added);
    return define(join, PART_FUNCTION, number, function->number, why) && (!added || part_join_emit(join, event, why));
}

static bool part_join_take_frame(struct part_join *join, struct event *event, struct fault *why)
{
    struct frame *frame = &event->frame;
    const uint32_t number = frame->number;
    frame->function = part_join_number_of(join, PART_FUNCTION, frame->function);
    frame->instruction = part_join_number_of(join, PART_STRING, frame->instruction);
    frame->base = part_join_number_of(join, PART_STRING, frame->base);
    bool added;
    frame->number = known_frame(&join->frames, frame, &added);
    return define(join, PART_FRAME, number, frame->number, why) && (!added || part_join_emit(join, event, why));
}

/* ---- ticks ---- */

/* The time of a look in the recording. Only a part whose start is wrong has looks before `least_ns`. */
static uint64_t joined_ns(const struct part_join *join, uint64_t time_ns)
{
    return time_ns > join->least_ns ? time_ns : join->least_ns;
}

/* A tick that was damaged has looks, and no end. */
static void part_join_note_time(struct part_join *join, uint64_t time_ns)
{
    if (join->last_ns < time_ns)
        join->last_ns = time_ns;
}

/* Notes the look. The first look of a thread in a part is not fresh for the reader of the part, when there were looks
 * from the first tick on; the join knows whether there was a look in the tick before that. */
static void follow_part_before(struct part_join *join, struct sample *sample)
{
    struct part_thread *thread = &join->threads[sample->thread];
    if (join->parts > 1 && thread->part != join->parts && !thread->goes_on)
        sample->fresh = true;
    thread->part = join->parts;
    thread->looked_ns = sample->time_ns;
}

static bool part_join_take_sample(struct part_join *join, struct event *event, struct fault *why)
{
    struct sample *sample = &event->sample;
    sample->thread = part_join_number_of(join, PART_THREAD, sample->thread);
    sample->task = part_join_number_of(join, PART_TASK, sample->task);
    sample->time_ns = joined_ns(join, sample->time_ns);
    if (sample->first_ns)
        sample->first_ns = joined_ns(join, sample->first_ns);
    if (sample->callback_ns)
        sample->callback_ns = joined_ns(join, sample->callback_ns);
    part_join_note_time(join, sample->time_ns);
    if (sample->thread)
        follow_part_before(join, sample);
    join->frame_numbers = alloc_grow(join->frame_numbers, &join->frame_numbers_room, sample->pushed,
                                     sizeof(*join->frame_numbers));
    for (uint32_t i = 0; i < sample->pushed; i++)
        join->frame_numbers[i] = part_join_number_of(join, PART_FRAME, sample->frames[i]);
    if (sample->pushed > 0)
        sample->frames = join->frame_numbers;
    return part_join_emit(join, event, why);
}

/* A look that failed: the next one follows without a break. */
static bool part_join_take_failed(struct part_join *join, struct event *event, struct fault *why)
{
    struct failed *failed = &event->failed;
    failed->thread = part_join_number_of(join, PART_THREAD, failed->thread);
    failed->process = part_join_number_of(join, PART_PROCESS, failed->process);
    failed->time_ns = joined_ns(join, failed->time_ns);
    struct part_thread *thread = failed->thread ? &join->threads[failed->thread] : NULL;
    if (thread && thread->looked_ns)
        thread->looked_ns = failed->time_ns;
    return part_join_emit(join, event, why);
}

static bool part_join_take_left_out(struct part_join *join, struct event *event, struct fault *why)
{
    struct left_out *left_out = &event->left_out;
    left_out->thread = part_join_number_of(join, PART_THREAD, left_out->thread);
    left_out->time_ns = joined_ns(join, left_out->time_ns);
    left_out->frame = left_out->frame ? part_join_number_of(join, PART_FRAME, left_out->frame) : 0;
    if (left_out->thread)
        join->threads[left_out->thread].looked_ns = 0;
    return part_join_emit(join, event, why);
}

static bool part_join_take_tick(struct part_join *join, struct event *event, struct fault *why)
{
    event->tick_process = part_join_number_of(join, PART_PROCESS, event->tick_process);
    event->tick_ns = joined_ns(join, event->tick_ns);
    join->ticks_ns[event->tick_process] = event->tick_ns;
    part_join_note_time(join, event->tick_ns);
    return part_join_emit(join, event, why);
}

/* Notes which threads had a look in the last tick of their process. Behind a gap no look follows one before. */
static void end_looks(struct part_join *join, bool gap)
{
    for (size_t i = 0; i < join->threads_room; i++) {
        struct part_thread *thread = &join->threads[i];
        const uint64_t own_ns = join->ticks_ns[thread->process], tick_ns = own_ns ? own_ns : join->ticks_ns[0];
        if (gap)
            thread->looked_ns = 0;
        thread->goes_on = thread->looked_ns && thread->looked_ns == tick_ns;
    }
    join->least_ns = join->last_ns;
}

/* ---- the recording ---- */

/* How much later than the first part this part began. Without a monotonic clock, by the date. */
static int64_t shift_of(const struct part_join *join, const struct recording *part)
{
    const bool monotonic = join->start_monotonic_ns && part->start_monotonic_ns;
    const uint64_t from_ns = monotonic ? join->start_monotonic_ns : join->start_unix_ns;
    const uint64_t to_ns = monotonic ? part->start_monotonic_ns : part->start_unix_ns;
    return to_ns > from_ns && to_ns - from_ns < INT64_MAX / 2 ? (int64_t)(to_ns - from_ns) : 0;
}

static bool part_join_take_recording(struct part_join *join, struct event *event, struct fault *why)
{
    struct recording *recording = &event->recording;
    if (join->parts > 1) {
        join->shift_ns = shift_of(join, recording);
        return true;
    }
    join->start_monotonic_ns = recording->start_monotonic_ns;
    join->start_unix_ns = recording->start_unix_ns;
    recording->part = 0;
    recording->series = 0;
    return part_join_emit(join, event, why);
}

/* The value of a counter of this part, with those of the parts before. */
static uint64_t counter_with_parts_before(const struct part_join *join, const struct counter *counter)
{
    for (size_t i = 0; i < join->counters.count; i++)
        if (text_equal(join->counters.rows[i].name, counter->name) && counters_add_up(counter->name))
            return join->counters.rows[i].value + counter->value;
    return counter->value;
}

/* Gives the counter of the recording so far: a later value replaces it. */
static bool part_join_take_counter(struct part_join *join, struct event *event, struct fault *why)
{
    struct counter *counter = &event->counter;
    if (!counters_set(&join->of_part, counter->name, counter->value, why))
        return false;
    counter->value = counter_with_parts_before(join, counter);
    return part_join_emit(join, event, why);
}

/* Adds the counters of the part to those of the recording. */
static void add_counters(struct part_join *join)
{
    for (size_t i = 0; i < join->of_part.count; i++) {
        const struct counter *counter = &join->of_part.rows[i];
        counters_set(&join->counters, counter->name, counter_with_parts_before(join, counter), NULL);
    }
    counters_free(&join->of_part);
}

static void take_end(struct part_join *join, const struct end *end)
{
    const struct end before = join->end;
    join->end = *end;
    join->end.ticks += before.ticks;
    join->end.samples += before.samples;
    join->end.missed += before.missed;
    join->end.failed += before.failed;
    join->ended = true;
}

void part_join_next(struct part_join *join, bool gap)
{
    add_counters(join);
    for (size_t i = 0; i < PART_KINDS; i++)
        join->numbers[i].last = 0;
    memset(join->pending, 0, sizeof(join->pending));
    join->skipped = 0;
    join->ticks_ns = alloc_grow(join->ticks_ns, &join->ticks_room, 1, sizeof(*join->ticks_ns));
    end_looks(join, gap);
    join->parts++;
    join->ended = false;
}

bool part_join_take(struct part_join *join, struct event *event, struct fault *why)
{
    event_shift(event, join->shift_ns);
    switch (event->kind) {
    case EVENT_RECORDING:
        return part_join_take_recording(join, event, why);
    case EVENT_PROCESS:
        return part_join_take_process(join, event, why);
    case EVENT_THREAD:
        return part_join_take_thread(join, event, why);
    case EVENT_TASK:
        return part_join_take_task(join, event, why);
    case EVENT_STRING:
        return part_join_take_string(join, event, why);
    case EVENT_FUNCTION:
        return part_join_take_function(join, event, why);
    case EVENT_FRAME:
        return part_join_take_frame(join, event, why);
    case EVENT_MODULE:
        event->module.path = part_join_number_of(join, PART_STRING, event->module.path);
        return part_join_emit(join, event, why);
    case EVENT_SAMPLE:
        return part_join_take_sample(join, event, why);
    case EVENT_FAILED:
        return part_join_take_failed(join, event, why);
    case EVENT_TICK:
        return part_join_take_tick(join, event, why);
    case EVENT_PROCESS_END:
        event->process_end.number = part_join_number_of(join, PART_PROCESS, event->process_end.number);
        return part_join_emit(join, event, why);
    case EVENT_PROCESS_TITLE:
        event->change.number = part_join_number_of(join, PART_PROCESS, event->change.number);
        return part_join_take_title(join, event, why);
    case EVENT_PROCESS_ATTRIBUTES:
        event->change.number = part_join_number_of(join, PART_PROCESS, event->change.number);
        return part_join_emit(join, event, why);
    case EVENT_THREAD_NAME:
    case EVENT_THREAD_END:
        event->change.number = part_join_number_of(join, PART_THREAD, event->change.number);
        return part_join_emit(join, event, why);
    case EVENT_TASK_WAITER:
        event->task_waiter.task = part_join_number_of(join, PART_TASK, event->task_waiter.task);
        event->task_waiter.waiter = part_join_number_of(join, PART_TASK, event->task_waiter.waiter);
        return part_join_emit(join, event, why);
    case EVENT_LEFT_OUT:
        return part_join_take_left_out(join, event, why);
    case EVENT_MEASURE:
        event->measure.process = part_join_number_of(join, PART_PROCESS, event->measure.process);
        return part_join_emit(join, event, why);
    case EVENT_SERIAL:
        join->pending[event->serial.kind] = event->serial;
        return true;
    case EVENT_COUNTER:
        return part_join_take_counter(join, event, why);
    case EVENT_END:
        take_end(join, &event->end);
        return true;
    case EVENT_MISSED:
        event->missed_process = part_join_number_of(join, PART_PROCESS, event->missed_process);
        return part_join_emit(join, event, why);
    case EVENT_RUN:
        break; /* behind the tables only */
    }
    return fault(why, "an event of unknown kind %d", (int)event->kind);
}

bool part_join_finish(struct part_join *join, struct fault *why)
{
    struct event event = { .kind = EVENT_END, .end = join->end };
    return !join->ended || part_join_emit(join, &event, why);
}

void part_join_free(struct part_join *join)
{
    for (size_t i = 0; i < PART_KINDS; i++)
        free(join->numbers[i].rows);
    for (size_t i = 0; i <= PART_TASK; i++)
        free(join->defined_in[i].rows);
    intern_free(&join->strings);
    intern_free(&join->functions);
    intern_free(&join->frames);
    intern_pairs_free(&join->serials);
    free(join->threads);
    free(join->ticks_ns);
    free(join->titles);
    free(join->frame_numbers);
    counters_free(&join->counters);
    counters_free(&join->of_part);
    *join = (struct part_join){ 0 };
}
