/* SPDX-License-Identifier: MIT */
#include "convert/filters/merge.h"

#include "formats/base/alloc.h"
#include "formats/model/known.h"

#include <stdlib.h>
#include <string.h>

static bool merge_emit(struct merge *merge, struct event *event, struct fault *why)
{
    return sink_take(&merge->to, event, why);
}

/* ---- definitions ---- */

static bool merge_emit_string(struct merge *merge, uint32_t string, uint32_t *number, struct fault *why)
{
    const struct text text = tables_linker_name(merge->from, string);
    bool added = false;
    *number = string ? intern_number(&merge->strings, text.bytes, text.size, &added) : 0;
    struct event event = { .kind = EVENT_STRING, .string = { *number, text } };
    return !added || merge_emit(merge, &event, why);
}

/* Emits what is known of the module of a function, each time that a function of it is emitted first: the tables behind
 * know it already but for the first time. If this recording knows nothing of it, another one may, and nobody knows
 * whether both had the same file. */
static bool merge_emit_module(struct merge *merge, uint32_t path, uint32_t number, struct fault *why)
{
    const struct module *module = tables_module(merge->from, path);
    struct event event = { .kind = EVENT_MODULE };
    if (module)
        event.module = *module;
    event.module.path = number;
    return path == 0 || merge_emit(merge, &event, why);
}

static bool merge_emit_function(struct merge *merge, uint32_t function, uint32_t *number, struct fault *why)
{
    struct event event = { .kind = EVENT_FUNCTION, .function = merge->from->functions[function] };
    struct function *emitted = &event.function;
    *number = merge->alike.before ? alike_find(&merge->alike, merge->from, emitted) : 0;
    if (*number)
        return true;
    if (!merge_emit_string(merge, emitted->name, &emitted->name, why) ||
        !merge_emit_string(merge, emitted->file, &emitted->file, why) ||
        !merge_emit_string(merge, emitted->module, &emitted->module, why))
        return false;
    bool added;
    *number = emitted->number = known_function(&merge->functions, emitted, &added);
    if (merge->alike.before)
        alike_note(&merge->alike, merge->from, &merge->from->functions[function], *number);
    return !added || (merge_emit_module(merge, merge->from->functions[function].module, emitted->module, why) &&
                      merge_emit(merge, &event, why));
}

static bool merge_emit_frame(struct merge *merge, uint32_t frame, uint32_t *number, struct fault *why)
{
    merge->frame_numbers = alloc_grow(merge->frame_numbers, &merge->frame_numbers_room, (size_t)frame + 1,
                                      sizeof(*merge->frame_numbers));
    *number = merge->frame_numbers[frame];
    if (*number)
        return true;
    struct event event = { .kind = EVENT_FRAME, .frame = merge->from->frames[frame] };
    struct frame *emitted = &event.frame;
    if (!merge_emit_function(merge, emitted->function, &emitted->function, why) ||
        (emitted->symbol && !merge_emit_function(merge, emitted->symbol, &emitted->symbol, why)) ||
        !merge_emit_string(merge, emitted->instruction, &emitted->instruction, why) ||
        !merge_emit_string(merge, emitted->base, &emitted->base, why))
        return false;
    bool added;
    *number = emitted->number = known_frame(&merge->frames, emitted, &added);
    merge->frame_numbers[frame] = *number;
    return !added || merge_emit(merge, &event, why);
}

/* Emits what was measured of a process before the process is emitted: its CPU time counts from there on. */
static bool emit_base(struct merge *merge, uint32_t process, uint32_t number, struct fault *why)
{
    const struct process_row *row = &merge->from->processes[process];
    const struct measures *measures = &row->measures;
    struct event event = { .kind = EVENT_MEASURE, .measure = measures->latest };
    event.measure.process = number;
    event.measure.time_ns += merge->offset_ns;
    if (selection_has_time(merge->selection, row->process.start_ns + merge->offset_ns)) {
        event.measure.time_ns = row->process.start_ns + merge->offset_ns;
        event.measure.cpu_ns = measures->first_cpu_ns;
        event.measure.recorder_cpu_ns = measures->first_recorder_cpu_ns;
    }
    return measures->count == 0 || merge_emit(merge, &event, why);
}

/* Emits a process whose parent, if it has one, is emitted. */
static bool emit_child(struct merge *merge, uint32_t process, struct fault *why)
{
    const uint32_t number = merge->process_numbers[process] = ++merge->last_process;
    struct event event = { .kind = EVENT_PROCESS, .process = merge->from->processes[process].process };
    event.process.number = number;
    event.process.parent = merge->process_numbers[event.process.parent];
    event.process.start_ns += merge->offset_ns;
    event.process.recording = merge->name;
    event.process.interval_ns = merge->from->recording.interval_ns;
    return merge_emit(merge, &event, why) && emit_base(merge, process, number, why);
}

/* Emits a process the first time, its ancestors first: so the output has the whole way from the first process. A parent
 * has a smaller number than its children. */
static bool merge_emit_process(struct merge *merge, uint32_t process, uint32_t *number, struct fault *why)
{
    const struct process_row *rows = merge->from->processes;
    merge->process_numbers = alloc_grow(merge->process_numbers, &merge->process_numbers_room, (size_t)process + 1,
                                        sizeof(*merge->process_numbers));
    size_t ancestors = 0;
    for (uint32_t at = process; at && !merge->process_numbers[at]; at = rows[at].process.parent) {
        merge->ancestors = alloc_grow(merge->ancestors, &merge->ancestors_room, ancestors + 1,
                                      sizeof(*merge->ancestors));
        merge->ancestors[ancestors++] = at;
    }
    while (ancestors > 0)
        if (!emit_child(merge, merge->ancestors[--ancestors], why))
            return false;
    *number = merge->process_numbers[process];
    return true;
}

/* Finds the number of a task in the output, and emits the task the first time. 0: the task's definition was lost. */
static bool merge_emit_task(struct merge *merge, uint32_t task, uint32_t *number, struct fault *why)
{
    struct event event = { .kind = EVENT_TASK, .task = tables_task(merge->from, task)->task };
    *number = 0;
    if (!event.task.number)
        return true;
    merge->task_numbers = alloc_grow(merge->task_numbers, &merge->task_numbers_room, (size_t)task + 1,
                                     sizeof(*merge->task_numbers));
    *number = merge->task_numbers[task];
    if (*number)
        return true;
    if (!merge_emit_process(merge, event.task.process, &event.task.process, why))
        return false;
    *number = merge->task_numbers[task] = event.task.number = ++merge->last_task;
    event.task.start_ns += merge->offset_ns;
    return merge_emit(merge, &event, why);
}

/* Emits who waits for the task of a sample, if that is not what was emitted last. The end of a wait is not emitted. */
static bool emit_waiter(struct merge *merge, const struct run *run, uint32_t task, struct fault *why)
{
    const struct task_row *row = tables_task(merge->from, run->task);
    merge->task_waiters = alloc_grow(merge->task_waiters, &merge->task_waiters_room, (size_t)run->task + 1,
                                     sizeof(*merge->task_waiters));
    if (!task || merge->task_waiters[run->task] == row->waiter)
        return true;
    merge->task_waiters[run->task] = row->waiter;
    struct event event = { .kind = EVENT_TASK_WAITER,
                           .task_waiter = { task, 0, row->waiters, run->time_ns + merge->offset_ns } };
    return merge_emit_task(merge, row->waiter, &event.task_waiter.waiter, why) &&
           (!event.task_waiter.waiter || merge_emit(merge, &event, why));
}

static struct merged_thread *merge_thread_row(struct merge *merge, uint32_t thread)
{
    merge->threads = alloc_grow(merge->threads, &merge->threads_room, (size_t)thread + 1, sizeof(*merge->threads));
    return &merge->threads[thread];
}

/* Finds the number of a thread in the output, and emits a wanted thread the first time. Number 0: the thread is not
 * wanted. */
static bool emit_thread(struct merge *merge, uint32_t thread, uint32_t *number, struct fault *why)
{
    struct merged_thread *row = merge_thread_row(merge, thread);
    *number = row->number;
    if (*number || !row->wanted)
        return true;
    struct event event = { .kind = EVENT_THREAD, .thread = merge->from->threads[thread].thread };
    if (!merge_emit_process(merge, event.thread.process, &event.thread.process, why) ||
        !merge_emit_task(merge, event.thread.task, &event.thread.task, why))
        return false;
    *number = row->number = event.thread.number = ++merge->last_thread;
    event.thread.start_ns += merge->offset_ns;
    return merge_emit(merge, &event, why);
}

/* The number of a thread, or of a process, in the output; 0: not emitted. */
static uint32_t thread_number(const struct merge *merge, uint32_t thread)
{
    return thread < merge->threads_room ? merge->threads[thread].number : 0;
}

static uint32_t process_number(const struct merge *merge, uint32_t process)
{
    return process < merge->process_numbers_room ? merge->process_numbers[process] : 0;
}

/* ---- ticks ---- */

static bool merge_is_wanted(const struct merge *merge, uint64_t time_ns)
{
    return selection_has_time(merge->selection, time_ns + merge->offset_ns);
}

/* Says in the sample how the stack of the run follows from the stack `before`, with frames as numbers in the output. */
static bool merge_emit_frames(struct merge *merge, const struct run *run, uint32_t before, struct sample *sample,
                              struct fault *why)
{
    const uint32_t common = stack_common(merge->from->stacks, before, run->stack);
    const uint32_t depth = merge->from->threads[run->thread].depth;
    merge->stack = alloc_grow(merge->stack, &merge->stack_room, depth, sizeof(*merge->stack));
    uint32_t at = depth;
    for (uint32_t stack = run->stack; stack != common; stack = merge->from->stacks[stack].caller)
        if (!merge_emit_frame(merge, merge->from->stacks[stack].frame, &merge->stack[--at], why))
            return false;
    sample->keep = at;
    sample->pushed = depth - at;
    sample->frames = at < depth ? merge->stack + at : NULL;
    return true;
}

/* Emits the samples of a run if they are wanted. */
static bool merge_take_run(struct merge *merge, const struct run *run, struct fault *why)
{
    if (run->stack == STACK_LOST || !merge_thread_row(merge, run->thread)->wanted ||
        !merge_is_wanted(merge, run->time_ns))
        return true;
    struct event event = { .kind = EVENT_SAMPLE,
                           .sample = { .time_ns = run->time_ns + merge->offset_ns,
                                       .status = run->status,
                                       .cpu_ns = run->cpu_ns,
                                       .count = run->count,
                                       .stands_ns = run->stands_ns,
                                       .fresh = run->fresh,
                                       .collection = run->collection,
                                       .callback_ns = run->callback_ns ? run->callback_ns + merge->offset_ns : 0,
                                       .span = run->span } };
    struct sample *sample = &event.sample;
    if (!emit_thread(merge, run->thread, &sample->thread, why) ||
        !merge_emit_task(merge, run->task, &sample->task, why) || !emit_waiter(merge, run, sample->task, why))
        return false;
    struct merged_thread *thread = &merge->threads[run->thread];
    const uint32_t before = thread->stack;
    thread->stack = run->stack;
    return merge_emit_frames(merge, run, before, sample, why) && merge_emit(merge, &event, why);
}

static bool merge_take_failed(struct merge *merge, struct event *event, struct fault *why)
{
    struct failed *failed = &event->failed;
    if (!merge_is_wanted(merge, failed->time_ns))
        return true;
    failed->time_ns += merge->offset_ns;
    const uint32_t thread = failed->thread;
    const uint32_t process = failed->process;
    failed->thread = thread_number(merge, thread);
    failed->process = process_number(merge, process);
    return (thread && !failed->thread) || (process && !failed->process) || merge_emit(merge, event, why);
}

static bool merge_take_left_out(struct merge *merge, struct event *event, struct fault *why)
{
    struct left_out *left_out = &event->left_out;
    if (!merge_is_wanted(merge, left_out->time_ns) || left_out->thread >= merge->from->threads_count ||
        !merge->from->threads[left_out->thread].thread.number)
        return true;
    left_out->time_ns += merge->offset_ns;
    if (left_out->frame && !merge_emit_frame(merge, left_out->frame, &left_out->frame, why))
        return false;
    return emit_thread(merge, left_out->thread, &left_out->thread, why) &&
           (!left_out->thread || merge_emit(merge, event, why));
}

/* Emits a measure of a process that has samples in the output. */
static bool merge_take_measure(struct merge *merge, struct event *event, struct fault *why)
{
    struct measure *measure = &event->measure;
    const uint32_t number = process_number(merge, measure->process);
    if (!number || !merge_is_wanted(merge, measure->time_ns))
        return true;
    measure->process = number;
    measure->time_ns += merge->offset_ns;
    return merge_emit(merge, event, why);
}

/* ---- changes of threads and processes ---- */

static bool merge_take_change(struct merge *merge, struct event *event, uint32_t number, struct fault *why)
{
    event->change.number = number;
    event->change.time_ns += merge->offset_ns;
    return !number || merge_emit(merge, event, why);
}

/* A process that is not emitted yet is emitted with the title that it has by then. */
static bool merge_take_title(struct merge *merge, struct event *event, struct fault *why)
{
    return !merge_is_wanted(merge, event->change.time_ns) ||
           merge_take_change(merge, event, process_number(merge, event->change.number), why);
}

/* Marks a thread as wanted if its name or number is wanted. The mark stays when the thread gets another name. */
static void look_at_name(struct merge *merge, uint32_t thread)
{
    if (thread < merge->from->threads_count && merge->from->threads[thread].thread.number &&
        selection_has_thread(merge->selection, merge->from, thread))
        merge_want(merge, thread);
}

static void look_at_names_of(struct merge *merge, uint32_t process)
{
    for (uint32_t i = 1; merge->selection->processes && i < merge->from->threads_count; i++)
        if (merge->from->threads[i].thread.process == process)
            look_at_name(merge, i);
}

static bool merge_take_process_end(struct merge *merge, struct event *event, struct fault *why)
{
    event->process_end.number = process_number(merge, event->process_end.number);
    event->process_end.time_ns += merge->offset_ns;
    return !event->process_end.number || merge_emit(merge, event, why);
}

/* The two below: missed ticks and ticks of a process are left out where the process is. */
static bool merge_take_missed(struct merge *merge, struct event *event, struct fault *why)
{
    const uint32_t process = event->missed_process;
    event->missed_process = process_number(merge, process);
    return (process && !event->missed_process) || !merge_is_wanted(merge, merge->from->last_ns) ||
           merge_emit(merge, event, why);
}

static bool merge_take_tick(struct merge *merge, struct event *event, struct fault *why)
{
    const uint32_t process = event->tick_process;
    if (!merge_is_wanted(merge, event->tick_ns))
        return true;
    event->tick_ns += merge->offset_ns;
    event->tick_process = process_number(merge, process);
    return (process && !event->tick_process) || merge_emit(merge, event, why);
}

bool merge_take(struct merge *merge, struct event *event, struct fault *why)
{
    switch (event->kind) {
    case EVENT_THREAD:
        look_at_name(merge, event->thread.number);
        return true;
    case EVENT_THREAD_NAME:
        look_at_name(merge, event->change.number);
        return merge_take_change(merge, event, thread_number(merge, event->change.number), why);
    case EVENT_THREAD_END:
        return merge_take_change(merge, event, thread_number(merge, event->change.number), why);
    case EVENT_PROCESS_TITLE:
        look_at_names_of(merge, event->change.number);
        return merge_take_title(merge, event, why);
    case EVENT_PROCESS_ATTRIBUTES: /* they are true of the process at all times */
        return merge_take_change(merge, event, process_number(merge, event->change.number), why);
    case EVENT_PROCESS_END:
        return merge_take_process_end(merge, event, why);
    case EVENT_RUN:
        return merge_take_run(merge, &event->run, why);
    case EVENT_FAILED:
        return merge_take_failed(merge, event, why);
    case EVENT_LEFT_OUT:
        return merge_take_left_out(merge, event, why);
    case EVENT_MEASURE:
        return merge_take_measure(merge, event, why);
    case EVENT_MISSED:
        return merge_take_missed(merge, event, why);
    case EVENT_TICK:
        return merge_take_tick(merge, event, why);
    default:
        return true; /* definitions are emitted with a sample; merge_finish() emits one end for all recordings */
    }
}

/* ---- the merged recording ---- */

bool merge_open(struct merge *merge, const struct recording *recording, struct fault *why)
{
    struct event event = { .kind = EVENT_RECORDING, .recording = *recording };
    event.recording.from_ns = merge->selection->from_ns;
    merge->opened = true;
    return merge_emit(merge, &event, why);
}

static void merge_forget(void *rows, size_t size)
{
    if (size > 0)
        memset(rows, 0, size);
}

void merge_next(struct merge *merge, const struct tables *from, struct text name, uint64_t offset_ns)
{
    merge_forget(merge->process_numbers, merge->process_numbers_room * sizeof(*merge->process_numbers));
    merge_forget(merge->task_numbers, merge->task_numbers_room * sizeof(*merge->task_numbers));
    merge_forget(merge->task_waiters, merge->task_waiters_room * sizeof(*merge->task_waiters));
    merge_forget(merge->frame_numbers, merge->frame_numbers_room * sizeof(*merge->frame_numbers));
    merge_forget(merge->threads, merge->threads_room * sizeof(*merge->threads));
    alike_next(&merge->alike);
    merge->from = from;
    merge->name = name;
    merge->offset_ns = offset_ns;
}

void merge_want(struct merge *merge, uint32_t thread)
{
    merge_thread_row(merge, thread)->wanted = true;
    merge->found = true;
}

/* The merged recording has the end event of the recording that ended last. */
void merge_end_recording(struct merge *merge)
{
    const struct tables *from = merge->from;
    const uint64_t last_ns = tables_end_ns(from) + merge->offset_ns;
    merge->last_ns = last_ns > merge->last_ns ? last_ns : merge->last_ns;
    const bool whole = from->end.reason ? from->end.reason != END_UNWRITTEN : from->recording.no_end_reason;
    merge->cut |= !whole;
    if (!whole || !from->end.reason || (merge->end.reason && from->end.time_ns + merge->offset_ns < merge->end.time_ns))
        return;
    merge->end = from->end;
    merge->end.time_ns += merge->offset_ns;
}

/* Emits the end event, unless a recording had none: an end event promises that nothing is missing before it. */
bool merge_finish(struct merge *merge, struct fault *why)
{
    struct event event = { .kind = EVENT_END, .end = merge->end };
    if (merge->cut || !merge->end.reason)
        return true;
    if (event.end.time_ns < merge->last_ns) /* a recording without an end reason may last longer */
        event.end.time_ns = merge->last_ns;
    if (merge->selection->to_ns && event.end.time_ns > merge->selection->to_ns)
        event.end.time_ns = merge->selection->to_ns;
    return merge_emit(merge, &event, why);
}

void merge_free(struct merge *merge)
{
    alike_free(&merge->alike);
    intern_free(&merge->strings);
    intern_free(&merge->functions);
    intern_free(&merge->frames);
    free(merge->process_numbers);
    free(merge->ancestors);
    free(merge->task_numbers);
    free(merge->task_waiters);
    free(merge->frame_numbers);
    free(merge->threads);
    free(merge->stack);
    *merge = (struct merge){ 0 };
}
