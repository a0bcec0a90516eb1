/* SPDX-License-Identifier: MIT */
#include "record/watch/watched_tasks.h"

#include "formats/base/alloc.h"
#include "record/asyncio/await_graph.h"
#include "record/process/clock.h"
#include "record/watch/watched_threads.h"

#include <stdlib.h>
#include <string.h>

#define CALLBACK_LEAST_NS 20000000 /* a callback that ran for less is no news: a loop that is busy has many */

#define KEPT_LOOKS 64 /* CPU time of at most so many looks is kept for later looks on a processor */

/* Leaves out the middle of a stack that is deeper than --depth. */
static void truncate_middle(struct watched *w, struct frames *stack)
{
    const size_t depth = w->synthetic->depth, above = depth / 2, below = depth - above;
    if (stack->count <= depth)
        return;
    stack->frames[above] = synthetic_frames_truncated_frame(w->synthetic);
    memmove(stack->frames + above + 1, stack->frames + stack->count - below, below * sizeof(*stack->frames));
    stack->count = above + 1 + below;
}

/* The number of equal frames at the roots of two stacks. */
static uint32_t common(const struct frames *a, const struct frames *b)
{
    size_t i = 0;
    while (i < a->count && i < b->count && a->frames[i] == b->frames[i])
        i++;
    return (uint32_t)i;
}

void watched_tasks_take_stack(struct watched *w, struct frames *stack, struct frames *emitted, struct sample *sample)
{
    truncate_middle(w, stack);
    const struct frames before = *emitted;
    sample->keep = common(stack, emitted);
    *emitted = *stack;
    *stack = before;
    sample->pushed = (uint32_t)emitted->count - sample->keep;
    sample->frames = sample->pushed ? emitted->frames + sample->keep : NULL;
}

/* ---- the tasks that threads run ---- */

uint32_t watched_tasks_running(const struct watched *w, uint32_t member)
{
    const struct thread_task *runs = asyncio_thread(&w->asyncio, member);
    return runs && runs->task ? w->asyncio.tasks.rows[runs->task - 1].number : 0;
}

bool watched_tasks_running_stack(struct watched *w, uint32_t member, struct frames *stack)
{
    const struct thread_task *runs = asyncio_thread(&w->asyncio, member);
    if (runs && runs->failed)
        return false;
    asyncio_thread_stack(&w->asyncio, member, stack);
    return true;
}

uint64_t watched_tasks_callback(struct watched *w, uint32_t member, uint64_t time_ns)
{
    struct loop_callback *callback = &w->rows.states[member].callback;
    const struct loop_turn *turn = &w->thread_list.members[member].walk.turn;
    if (!turn->known)
        return 0;
    if (callback->looked_ns != w->look.moment_ns)
        loop_callback_take(callback, turn, w->look.moment_ns, w->look.one_moment ? w->look.moment_ns : clock_now_ns());
    if (callback->since_ns == 0 || callback->looked_ns < callback->since_ns + CALLBACK_LEAST_NS)
        return 0;
    const uint64_t start_ns = w->options->start_ns;
    const uint64_t since_ns = callback->since_ns > start_ns ? callback->since_ns - start_ns : 1;
    return since_ns < time_ns ? since_ns : time_ns;
}

struct span_ids watched_tasks_span(const struct watched *w, uint32_t member, const struct label *label)
{
    static const struct span_ids none;
    const struct span_ids published = w->thread_list.members[member].walk.span.span;
    const struct thread_task *runs = asyncio_thread(&w->asyncio, member);
    const struct known_task *task = runs && runs->task ? &w->asyncio.tasks.rows[runs->task - 1] : NULL;
    if (!span_ids_equal(published, none))
        return published;
    if (task && !span_ids_equal(task->span, none))
        return task->span;
    return label ? label->span : none;
}

/* ---- all tasks ---- */

/* The CPU time of the look. A task that runs for less than an interval is seen rarely, and most of its CPU time shows
 * when the thread waits for events again. So the time of a look without a processor is kept for the next look with one.
 * Outputs move time between looks of one entry in the same way (convert/filters/cpu_owner.h). */
static uint64_t take_cpu(const struct watched *w, struct emitted_thread *thread, uint32_t status)
{
    const uint64_t stands_ns = w->emitter->stands_ns ? w->emitter->stands_ns : w->options->interval_ns;
    const uint64_t kept_ns = KEPT_LOOKS * stands_ns;
    thread->owed_ns += thread->watch.cpu_ns;
    const uint64_t due_ns = status & STATUS_CPU         ? thread->owed_ns
                            : thread->owed_ns > kept_ns ? thread->owed_ns - kept_ns
                                                        : 0;
    thread->owed_ns -= due_ns;
    return due_ns;
}

bool watched_tasks_owns_sample(struct watched *w, struct emitted_thread *thread, uint32_t member, uint32_t status)
{
    const struct thread_task *runs = asyncio_thread(&w->asyncio, member);
    if (runs && !runs->task && runs->failed) {
        thread->owed_ns += thread->watch.cpu_ns;
        return false;
    }
    thread->status = status;
    thread->cpu_ns = take_cpu(w, thread, status);
    return !runs || !runs->task;
}

/* The thread that runs a task in this tick; NULL: the task waits. */
static const struct emitted_thread *runner_of(const struct watched *w, uint32_t row)
{
    const uint32_t owner = w->asyncio.tasks.rows[row].owner;
    const struct thread_task *runs = owner ? asyncio_thread(&w->asyncio, owner - 1) : NULL;
    const struct emitted_thread *thread = owner ? watched_thread_of(w, owner - 1) : NULL;
    /* A task that has entered another interpreter waits: the stack there is the thread's own. */
    return runs && runs->task == row + 1 && thread && thread->innermost == owner ? thread : NULL;
}

static void end_task(struct watched *w, struct known_task *task, uint64_t time_ns)
{
    if (task->entry && task->entry->thread)
        emitter_note(w->emitter, (struct event){ .kind = EVENT_THREAD_END,
                                                 .change = { .number = task->entry->thread, .time_ns = time_ns } });
    asyncio_forget_entry(task);
}

static void begin_task(struct watched *w, const struct known_task *task, uint64_t time_ns)
{
    struct task_entry *entry = task->entry;
    const struct member *owner = task->owner ? &w->thread_list.members[task->owner - 1] : NULL;
    entry->thread = ++w->emitter->last_thread;
    entry->number = task->number;
    entry->owner = task->owner;
    entry->emitted.count = 0;
    emitter_serial(w->emitter, SERIAL_THREAD, entry->thread, &entry->serial);
    emitter_note(w->emitter,
                 (struct event){ .kind = EVENT_THREAD,
                                 .thread = { .number = entry->thread,
                                             .process = w->number,
                                             .tid = owner ? (uint32_t)watched_host_thread(w, member_number(owner)) : 0,
                                             .interpreter = w->target.interpreters[task->interpreter].id,
                                             .start_ns = time_ns,
                                             .name = task->name,
                                             .task = task->number } });
}

/* Whether the thread of the task is not shown in this tick: right after a fork, the state of the parent's thread stands
 * there, and the parent's tasks with it. */
static bool is_of_hidden_thread(const struct watched *w, const struct known_task *task)
{
    return task->owner && w->thread_list.members[task->owner - 1].hidden == w->thread_list.tick;
}

static bool watched_emit_task(struct watched *w, uint32_t row, uint64_t time_ns, struct fault *why)
{
    struct known_task *task = &w->asyncio.tasks.rows[row];
    struct task_entry *entry = task->entry;
    if (!entry || task->listed == 0)
        return true; /* the task never had a sure look, or has ended in this tick */
    if (is_of_hidden_thread(w, task)) {
        entry->settled = 0; /* the next look compares with no stack of this tick */
        return true;
    }
    if (entry->settled != w->asyncio.tasks.tick)
        return !entry->thread || emitter_failed(w->emitter, entry->thread, entry->cause, time_ns, why);
    if (entry->thread && (entry->number != task->number || entry->owner != task->owner)) {
        emitter_note(w->emitter, (struct event){ .kind = EVENT_THREAD_END,
                                                 .change = { .number = entry->thread, .time_ns = time_ns } });
        entry->thread = entry->serial = 0;
    }
    if (!entry->thread)
        begin_task(w, task, time_ns);
    struct event event;
    struct sample *sample = emitter_begin_sample(&event, entry->thread, time_ns);
    sample->task = task->number;
    const struct emitted_thread *runner = runner_of(w, row);
    if (w->options->with_status)
        sample->status = runner ? runner->status : STATUS_RECORDED | STATUS_TASK_WAITS;
    sample->cpu_ns = runner ? runner->cpu_ns : 0;
    sample->collection = runner ? watched_threads_collection(w, task->owner - 1) : 0;
    sample->callback_ns = runner ? watched_tasks_callback(w, task->owner - 1, time_ns) : 0;
    sample->span = runner ? watched_tasks_span(w, task->owner - 1, NULL) : task->span;
    if (entry->same) {
        sample->keep = (uint32_t)entry->emitted.count;
    } else {
        watched_tasks_take_stack(w, &entry->stack, &entry->emitted, sample);
        entry->same = true; /* for watched_emit_again() */
    }
    return emitter_sample(w->emitter, &event, why);
}

bool watched_tasks_emit(struct watched *w, uint64_t time_ns, struct fault *why)
{
    struct asyncio *asyncio = &w->asyncio;
    if (!asyncio->ready)
        return true;
    for (size_t i = 0; i < asyncio->tasks.count; i++)
        if (asyncio->tasks.rows[i].entry && asyncio->tasks.rows[i].listed != asyncio->tasks.tick)
            end_task(w, &asyncio->tasks.rows[i], time_ns);
    for (size_t i = 0; i < asyncio->listed_count; i++)
        if (!watched_emit_task(w, asyncio->listed[i], time_ns, why))
            return false;
    return true;
}

void watched_tasks_restart(struct watched *w)
{
    await_graph_restart(&w->asyncio);
    for (size_t i = 0; i < w->asyncio.tasks.count; i++) {
        struct task_entry *entry = w->asyncio.tasks.rows[i].entry;
        if (!entry)
            continue;
        /* The next tick may emit the same stack without a look. */
        const struct frames last = entry->emitted;
        entry->emitted = entry->stack;
        entry->stack = last;
        entry->thread = 0;
        entry->same = false;
    }
}

void watched_tasks_end(struct watched *w, uint64_t time_ns)
{
    for (size_t i = 0; i < w->asyncio.tasks.count; i++)
        end_task(w, &w->asyncio.tasks.rows[i], time_ns);
}
