/* SPDX-License-Identifier: MIT */
#include "formats/stream/stream_notes.h"

#include "formats/base/alloc.h"

#include <assert.h>

/* Where fields are written to or read from, and the unit of their times. */
struct stream_notes_writing {
    struct bytes *to;
    uint64_t unit_ns;
};

struct stream_notes_reading {
    struct cursor from;
    uint64_t unit_ns;
};

static void stream_notes_put_time(struct stream_notes_writing *w, uint64_t time_ns)
{
    put_number(w->to, time_ns / w->unit_ns);
}

static uint64_t take_time(struct stream_notes_reading *r)
{
    const uint64_t units = take_number(&r->from);
    if (units <= UINT64_MAX / r->unit_ns)
        return units * r->unit_ns;
    r->from.bad = true;
    return 0;
}

static void put_string_note(struct stream_notes_writing *w, const struct event *event)
{
    put_number(w->to, event->string.number);
    put_text(w->to, event->string.text);
}

static void stream_notes_take_string(struct stream_notes_reading *r, struct event *event)
{
    event->string.number = take_number32(&r->from);
    event->string.text = take_text(&r->from);
}

static void put_function(struct stream_notes_writing *w, const struct event *event)
{
    const struct function *function = &event->function;
    put_number(w->to, function->number);
    put_number(w->to, function->name);
    put_number(w->to, function->file);
    put_number(w->to, function->first_line);
    if (function->kind == KIND_PYTHON)
        return;
    put_number(w->to, function->kind);
    put_number(w->to, function->module);
    if (function->address)
        put_number(w->to, function->address);
}

static void stream_notes_take_function(struct stream_notes_reading *r, struct event *event)
{
    struct function *function = &event->function;
    function->number = take_number32(&r->from);
    function->name = take_number32(&r->from);
    function->file = take_number32(&r->from);
    function->first_line = take_number32(&r->from);
    if (r->from.bad || cursor_left(&r->from) == 0)
        return; /* a Python function */
    const uint32_t kind = take_number32(&r->from);
    function->kind = kind < FRAME_KINDS ? (enum frame_kind)kind : KIND_HOLE; /* a later pyreel knows what it is */
    const uint32_t module = take_number32(&r->from);
    function->module = function->kind == KIND_PYTHON ? 0 : module;
    if (!r->from.bad && cursor_left(&r->from) > 0)
        function->address = take_number(&r->from);
}

static void stream_notes_put_column(struct stream_notes_writing *w, int32_t column)
{
    put_number(w->to, (uint64_t)((int64_t)column + 1));
}

static int32_t take_column(struct stream_notes_reading *r)
{
    const uint32_t column = take_number32(&r->from);
    if (column <= INT32_MAX)
        return (int32_t)column - 1;
    r->from.bad = true;
    return -1;
}

static void stream_notes_put_frame(struct stream_notes_writing *w, const struct event *event)
{
    const struct frame *frame = &event->frame;
    put_number(w->to, frame->number);
    put_number(w->to, frame->function);
    put_number(w->to, frame->line);
    put_signed(w->to, (int64_t)frame->end_line - (int64_t)frame->line);
    stream_notes_put_column(w, frame->column);
    stream_notes_put_column(w, frame->end_column);
    if (frame->instruction == 0 && frame->address == 0)
        return;
    put_number(w->to, frame->instruction);
    put_number(w->to, frame->base);
    if (frame->address)
        put_number(w->to, frame->address);
}

static void stream_notes_take_frame(struct stream_notes_reading *r, struct event *event)
{
    struct frame *frame = &event->frame;
    frame->number = take_number32(&r->from);
    frame->function = take_number32(&r->from);
    frame->line = take_number32(&r->from);
    frame->end_line = frame->line + (uint32_t)take_signed(&r->from);
    frame->column = take_column(r);
    frame->end_column = take_column(r);
    if (r->from.bad || cursor_left(&r->from) == 0)
        return; /* the instruction was not recorded */
    frame->instruction = take_number32(&r->from);
    frame->base = take_number32(&r->from);
    if (!r->from.bad && cursor_left(&r->from) > 0)
        frame->address = take_number(&r->from);
}

static void stream_notes_put_module(struct stream_notes_writing *w, const struct event *event)
{
    const struct module *module = &event->module;
    put_number(w->to, module->path);
    put_text(w->to, module->build_id);
    put_number(w->to, module->code_begin);
    put_number(w->to, module->code_size);
    put_number(w->to, module->code_offset);
    put_number(w->to, module->begin);
}

static void stream_notes_take_module(struct stream_notes_reading *r, struct event *event)
{
    struct module *module = &event->module;
    module->path = take_number32(&r->from);
    module->build_id = take_text(&r->from);
    module->code_begin = take_number(&r->from);
    module->code_size = take_number(&r->from);
    module->code_offset = take_number(&r->from);
    module->begin = take_number(&r->from);
}

static void stream_notes_put_process(struct stream_notes_writing *w, const struct event *event)
{
    const struct process *process = &event->process;
    put_number(w->to, process->number);
    put_number(w->to, process->pid);
    stream_notes_put_time(w, process->start_ns);
    put_number(w->to, process->python_version);
    put_text(w->to, process->executable);
    put_text(w->to, process->command);
    put_text(w->to, process->folder);
    const bool has_attributes = process->attributes.size > 0;
    const bool has_parent = process->parent_pid || process->parent || has_attributes;
    if (!process->build && process->build_id.size == 0 && !has_parent)
        return;
    put_number(w->to, process->build);
    put_text(w->to, process->build_id);
    if (!has_parent)
        return;
    put_number(w->to, process->parent_pid);
    put_number(w->to, process->parent);
    if (has_attributes)
        put_text(w->to, process->attributes);
}

static void stream_notes_take_process(struct stream_notes_reading *r, struct event *event)
{
    struct process *process = &event->process;
    process->number = take_number32(&r->from);
    process->pid = take_number32(&r->from);
    process->start_ns = take_time(r);
    process->python_version = take_number32(&r->from);
    process->executable = take_text(&r->from);
    process->command = take_text(&r->from);
    process->folder = take_text(&r->from);
    struct cursor behind = r->from; /* bytes that are no build are those of another version */
    const uint32_t build = take_number32(&behind);
    const struct text build_id = take_text(&behind);
    if (behind.bad)
        return;
    process->build = build;
    process->build_id = build_id;
    const uint32_t parent_pid = take_number32(&behind), parent = take_number32(&behind);
    if (behind.bad)
        return;
    process->parent_pid = parent_pid;
    process->parent = parent;
    const struct text attributes = take_text(&behind);
    if (!behind.bad)
        process->attributes = attributes;
}

static void put_process_end(struct stream_notes_writing *w, const struct event *event)
{
    const struct process_end *end = &event->process_end;
    put_number(w->to, end->number);
    stream_notes_put_time(w, end->time_ns);
    if (end->fate == FATE_UNKNOWN)
        return;
    put_number(w->to, end->fate);
    put_number(w->to, (uint64_t)((int64_t)end->wait_status + 1));
}

static void stream_notes_take_process_end(struct stream_notes_reading *r, struct event *event)
{
    struct process_end *end = &event->process_end;
    end->number = take_number32(&r->from);
    end->time_ns = take_time(r);
    end->fate = FATE_UNKNOWN;
    end->wait_status = -1;
    struct cursor behind = r->from; /* bytes that are no fate are those of another version */
    const uint64_t fate = take_number(&behind), status_plus_1 = take_number(&behind);
    if (behind.bad || fate >= FATES)
        return;
    end->fate = (enum fate)fate;
    if (fate == FATE_EXITED && status_plus_1 <= INT32_MAX)
        end->wait_status = (int)status_plus_1 - 1;
}

static void put_thread(struct stream_notes_writing *w, const struct event *event)
{
    const struct thread *thread = &event->thread;
    put_number(w->to, thread->number);
    put_number(w->to, thread->process);
    put_number(w->to, thread->tid);
    put_number(w->to, thread->interpreter);
    put_number(w->to, thread->main);
    stream_notes_put_time(w, thread->start_ns);
    put_text(w->to, thread->name);
    if (thread->task)
        put_number(w->to, thread->task);
}

static void stream_notes_take_thread(struct stream_notes_reading *r, struct event *event)
{
    struct thread *thread = &event->thread;
    thread->number = take_number32(&r->from);
    thread->process = take_number32(&r->from);
    thread->tid = take_number32(&r->from);
    thread->interpreter = take_number(&r->from);
    const uint64_t main = take_number(&r->from);
    thread->main = main <= MAIN_THREAD_NAMED ? (enum main_thread)main : MAIN_THREAD;
    thread->start_ns = take_time(r);
    thread->name = take_text(&r->from);
    if (!r->from.bad && cursor_left(&r->from) > 0)
        thread->task = take_number32(&r->from); /* an absent field means a real thread */
}

static void put_task(struct stream_notes_writing *w, const struct event *event)
{
    const struct task *task = &event->task;
    put_number(w->to, task->number);
    put_number(w->to, task->process);
    stream_notes_put_time(w, task->start_ns);
    put_text(w->to, task->name);
}

static void stream_notes_take_task(struct stream_notes_reading *r, struct event *event)
{
    struct task *task = &event->task;
    task->number = take_number32(&r->from);
    task->process = take_number32(&r->from);
    task->start_ns = take_time(r);
    task->name = take_text(&r->from);
}

static void put_task_waiter(struct stream_notes_writing *w, const struct event *event)
{
    const struct task_waiter *waiter = &event->task_waiter;
    put_number(w->to, waiter->task);
    stream_notes_put_time(w, waiter->time_ns);
    put_number(w->to, waiter->waiter);
    put_number(w->to, waiter->waiters);
}

static void stream_notes_take_task_waiter(struct stream_notes_reading *r, struct event *event)
{
    struct task_waiter *waiter = &event->task_waiter;
    waiter->task = take_number32(&r->from);
    waiter->time_ns = take_time(r);
    waiter->waiter = take_number32(&r->from);
    waiter->waiters = take_number32(&r->from);
}

static void put_change(struct stream_notes_writing *w, const struct event *event)
{
    put_number(w->to, event->change.number);
    stream_notes_put_time(w, event->change.time_ns);
}

static void stream_notes_take_change(struct stream_notes_reading *r, struct event *event)
{
    event->change.number = take_number32(&r->from);
    event->change.time_ns = take_time(r);
}

static void stream_notes_put_title(struct stream_notes_writing *w, const struct event *event)
{
    put_change(w, event);
    put_text(w->to, event->change.name);
}

static void stream_notes_take_title(struct stream_notes_reading *r, struct event *event)
{
    stream_notes_take_change(r, event);
    event->change.name = take_text(&r->from);
}

static void stream_notes_put_name(struct stream_notes_writing *w, const struct event *event)
{
    stream_notes_put_title(w, event);
    if (event->change.own_name)
        put_number(w->to, 1);
}

static void take_name(struct stream_notes_reading *r, struct event *event)
{
    stream_notes_take_title(r, event);
    if (!r->from.bad && cursor_left(&r->from) > 0)
        event->change.own_name = take_number(&r->from) == 1;
}

static void put_missed(struct stream_notes_writing *w, const struct event *event)
{
    put_number(w->to, event->missed);
    if (event->missed_process)
        put_number(w->to, event->missed_process);
}

static void stream_notes_take_missed(struct stream_notes_reading *r, struct event *event)
{
    event->missed = take_number(&r->from);
    struct cursor behind = r->from; /* bytes that are no number are those of another version */
    const uint32_t process = take_number32(&behind);
    event->missed_process = behind.bad ? 0 : process;
}

static void put_counter(struct stream_notes_writing *w, const struct event *event)
{
    put_text(w->to, event->counter.name);
    put_number(w->to, event->counter.value);
}

static void stream_notes_take_counter(struct stream_notes_reading *r, struct event *event)
{
    event->counter.name = take_text(&r->from);
    event->counter.value = take_number(&r->from);
}

static void put_left_out(struct stream_notes_writing *w, const struct event *event)
{
    const struct left_out *left_out = &event->left_out;
    put_number(w->to, left_out->thread);
    put_number(w->to, left_out->ticks);
    stream_notes_put_time(w, left_out->time_ns);
    stream_notes_put_time(w, left_out->cpu_ns);
    if (left_out->frame)
        put_number(w->to, left_out->frame);
}

static void stream_notes_take_left_out(struct stream_notes_reading *r, struct event *event)
{
    struct left_out *left_out = &event->left_out;
    left_out->thread = take_number32(&r->from);
    left_out->ticks = take_number(&r->from);
    left_out->time_ns = take_time(r);
    left_out->cpu_ns = take_time(r);
    if (!r->from.bad && cursor_left(&r->from) > 0)
        left_out->frame = take_number32(&r->from);
}

static void put_serial(struct stream_notes_writing *w, const struct event *event)
{
    put_number(w->to, event->serial.kind);
    put_number(w->to, event->serial.number);
    put_number(w->to, event->serial.serial);
}

static void stream_notes_take_serial(struct stream_notes_reading *r, struct event *event)
{
    const uint64_t kind = take_number(&r->from);
    event->serial.kind = kind < SERIAL_KINDS ? (enum serial_kind)kind : 0;
    event->serial.number = take_number32(&r->from);
    event->serial.serial = take_number32(&r->from);
}

/* ---- measures ---- */

/* An amount as the block has it, to the nearest unit, and back. */
static uint64_t amount_to_code(uint64_t amount, uint64_t unit)
{
    return amount == MEASURE_UNKNOWN ? 0 : amount / unit + (amount % unit > unit / 2) + 1;
}

static uint64_t amount_of_code(uint64_t code, uint64_t unit)
{
    return code == 0 ? MEASURE_UNKNOWN : (code - 1) * unit;
}

/* What the block has of the process. Nothing when `last` is of an earlier block. */
static struct stream_measured measured_now(const struct stream_measured *last, uint64_t block)
{
    return last->block == block ? *last : (struct stream_measured){ .block = block };
}

void stream_notes_put_measure(struct bytes *to, const struct measure *measure, uint64_t tick_units, uint64_t unit_ns,
                              struct stream_measured *last, uint64_t block)
{
    const struct stream_measured before = measured_now(last, block);
    const struct stream_measured now = {
        .block = block,
        .resident = amount_to_code(measure->resident_bytes, MEASURE_PAGE),
        .cpu = amount_to_code(measure->cpu_ns, unit_ns),
        .recorder_cpu = amount_to_code(measure->recorder_cpu_ns, unit_ns),
    };
    const uint64_t time_units = measure->time_ns / unit_ns;
    put_number(to, measure->process);
    put_number(to, time_units > tick_units ? time_units - tick_units : 0);
    put_signed(to, (int64_t)(now.resident - before.resident));
    put_signed(to, (int64_t)(now.cpu - before.cpu));
    put_signed(to, (int64_t)(now.recorder_cpu - before.recorder_cpu));
    *last = now;
}

bool stream_notes_take_measure(struct cursor fields, uint64_t tick_units, uint64_t unit_ns,
                               struct stream_measured *last, uint64_t block, struct measure *measure)
{
    const struct stream_measured before = measured_now(last, block);
    const uint64_t since_units = take_number(&fields);
    struct stream_measured now = { .block = block };
    now.resident = before.resident + (uint64_t)take_signed(&fields);
    now.cpu = before.cpu + (uint64_t)take_signed(&fields);
    now.recorder_cpu = before.recorder_cpu + (uint64_t)take_signed(&fields);
    const uint64_t most_units = UINT64_MAX / unit_ns;
    if (fields.bad || since_units > most_units - tick_units || now.resident > UINT64_MAX / MEASURE_PAGE ||
        now.cpu > most_units || now.recorder_cpu > most_units)
        return false;
    measure->time_ns = (tick_units + since_units) * unit_ns;
    measure->resident_bytes = amount_of_code(now.resident, MEASURE_PAGE);
    measure->cpu_ns = amount_of_code(now.cpu, unit_ns);
    measure->recorder_cpu_ns = amount_of_code(now.recorder_cpu, unit_ns);
    *last = now;
    return true;
}

/* ---- notes without a state ---- */

static const struct {
    enum event_kind kind;
    void (*put)(struct stream_notes_writing *, const struct event *);
    void (*take)(struct stream_notes_reading *, struct event *);
} notes[] = {
    [NOTE_STRING] = { EVENT_STRING, put_string_note, stream_notes_take_string },
    [NOTE_FUNCTION] = { EVENT_FUNCTION, put_function, stream_notes_take_function },
    [NOTE_FRAME] = { EVENT_FRAME, stream_notes_put_frame, stream_notes_take_frame },
    [NOTE_PROCESS] = { EVENT_PROCESS, stream_notes_put_process, stream_notes_take_process },
    [NOTE_PROCESS_END] = { EVENT_PROCESS_END, put_process_end, stream_notes_take_process_end },
    [NOTE_THREAD] = { EVENT_THREAD, put_thread, stream_notes_take_thread },
    [NOTE_THREAD_NAME] = { EVENT_THREAD_NAME, stream_notes_put_name, take_name },
    [NOTE_THREAD_END] = { EVENT_THREAD_END, put_change, stream_notes_take_change },
    [NOTE_MISSED] = { EVENT_MISSED, put_missed, stream_notes_take_missed },
    [NOTE_COUNTER] = { EVENT_COUNTER, put_counter, stream_notes_take_counter },
    [NOTE_LEFT_OUT] = { EVENT_LEFT_OUT, put_left_out, stream_notes_take_left_out },
    [NOTE_TASK] = { EVENT_TASK, put_task, stream_notes_take_task },
    [NOTE_TASK_WAITER] = { EVENT_TASK_WAITER, put_task_waiter, stream_notes_take_task_waiter },
    [NOTE_SERIAL] = { EVENT_SERIAL, put_serial, stream_notes_take_serial },
    [NOTE_MODULE] = { EVENT_MODULE, stream_notes_put_module, stream_notes_take_module },
    [NOTE_PROCESS_TITLE] = { EVENT_PROCESS_TITLE, stream_notes_put_title, stream_notes_take_title },
    [NOTE_PROCESS_ATTRIBUTES] = { EVENT_PROCESS_ATTRIBUTES, stream_notes_put_title, stream_notes_take_title },
};

enum stream_note stream_notes_of(enum event_kind kind)
{
    for (size_t note = 1; note < countof(notes); note++)
        if (notes[note].kind == kind)
            return (enum stream_note)note;
    return 0;
}

void stream_notes_put_fields(struct bytes *to, const struct event *event, uint64_t unit_ns)
{
    struct stream_notes_writing w = { to, unit_ns };
    notes[stream_notes_of(event->kind)].put(&w, event);
}

enum note_taken stream_notes_take(struct cursor fields, uint64_t note, uint64_t unit_ns, struct event *event)
{
    if (note >= countof(notes) || !notes[note].take)
        return NOTE_UNKNOWN;
    struct stream_notes_reading r = { fields, unit_ns };
    event->kind = notes[note].kind;
    notes[note].take(&r, event);
    return r.from.bad ? NOTE_BROKEN : NOTE_TAKEN;
}

/* ---- names from files ---- */

static void cut_texts(struct text *const *texts, size_t count, struct stream_cut *room)
{
    for (size_t i = 0; i < count; i++)
        *texts[i] = name_cut(*texts[i], room->texts[i], TEXT_LIMIT);
}

static void cut_name(struct text *name, struct stream_cut *room)
{
    *name = name_cut(*name, room->texts[0], NAME_LIMIT);
}

static void cut_recording(struct recording *r, struct stream_cut *room)
{
    struct text *const texts[] = { &r->pyreel_version, &r->host, &r->kernel,         &r->machine,
                                   &r->processor,      &r->mode, &r->threads_option, &r->command };
    static_assert(countof(texts) <= STREAM_CUT_TEXTS, "room for each");
    cut_texts(texts, countof(texts), room);
}

static void cut_process(struct process *p, struct stream_cut *room)
{
    struct text *const texts[] = { &p->executable, &p->command, &p->folder, &p->build_id, &p->attributes };
    cut_texts(texts, countof(texts), room);
}

void stream_notes_cut(struct event *event, struct stream_cut *room)
{
    switch (event->kind) {
    case EVENT_STRING:
        cut_name(&event->string.text, room);
        break;
    case EVENT_MODULE:
        cut_name(&event->module.build_id, room);
        break;
    case EVENT_THREAD:
        cut_name(&event->thread.name, room);
        break;
    case EVENT_THREAD_NAME:
        cut_name(&event->change.name, room);
        break;
    case EVENT_TASK:
        cut_name(&event->task.name, room);
        break;
    case EVENT_RECORDING:
        cut_recording(&event->recording, room);
        break;
    case EVENT_PROCESS:
        cut_process(&event->process, room);
        break;
    case EVENT_PROCESS_TITLE:
    case EVENT_PROCESS_ATTRIBUTES:
        cut_texts(&(struct text *){ &event->change.name }, 1, room);
        break;
    default:
        break; /* no texts; the name of a counter has a limit of its own */
    }
}
