/* SPDX-License-Identifier: MIT */
#include "record/sampler_tasks.h"

#include "formats/base/alloc.h"
#include "record/sampler_emit.h"

#include <stdlib.h>
#include <string.h>

/* Leaves out the middle of a very deep stack. */
static void truncate_middle(struct sampler *sampler, struct frames *stack)
{
    const size_t depth = sampler->marks.depth, above = depth / 2, below = depth - above;
    if (stack->count <= depth)
        return;
    stack->frames[above] = synthetic_frames_truncated_frame(&sampler->marks, &sampler->codes);
    memmove(stack->frames + above + 1, stack->frames + stack->count - below, below * sizeof(*stack->frames));
    stack->count = above + 1 + below;
}

/* Frames nearest the root that two stacks have in common. */
static uint32_t common(const struct frames *a, const struct frames *b)
{
    size_t i = 0;
    while (i < a->count && i < b->count && a->frames[i] == b->frames[i])
        i++;
    return (uint32_t)i;
}

/* The new stack is the one that was told last, from now on; `sample` is what is new in it. */
static void take_stack(struct frames *stack, struct frames *before, struct sample *sample)
{
    const struct frames told = *before;
    sample->keep = common(stack, before);
    *before = *stack;
    *stack = told;
    sample->pushed = (uint32_t)before->count - sample->keep;
    sample->frames = sample->pushed ? before->frames + sample->keep : NULL;
}

/* ---- the tasks that threads run ---- */

bool sampler_tasks_running_stack(struct sampler *sampler, struct told *told, uint32_t place, struct sample *sample)
{
    struct asyncio *asyncio = &sampler->asyncio;
    const struct thread_task *thread = asyncio_thread(asyncio, place);
    if (thread && thread->failed)
        return false;
    asyncio_thread_stack(asyncio, place, &told->stack);
    truncate_middle(sampler, &told->stack);
    take_stack(&told->stack, &told->told, sample);
    sample->task = thread && thread->task ? asyncio->tasks.rows[thread->task - 1].number : 0;
    return true;
}

/* ---- all tasks ---- */

static void end_task(struct sampler *sampler, struct known_task *task, uint64_t time_ns)
{
    if (task->entry && task->entry->thread)
        sampler_emit_note(
            sampler, (struct event){ .kind = EVENT_THREAD_END, .change = { task->entry->thread, time_ns, { 0 } } });
    asyncio_forget_entry(task);
}

static void begin_task(struct sampler *sampler, const struct known_task *task, uint64_t time_ns)
{
    struct task_entry *entry = task->entry;
    const struct member *owner = task->owner ? &sampler->thread_list.members[task->owner - 1] : NULL;
    entry->thread = ++sampler->last_thread;
    entry->number = task->number;
    entry->owner = task->owner;
    entry->told.count = 0;
    sampler_emit_note(
        sampler,
        (struct event){ .kind = EVENT_THREAD,
                        .thread = { .number = entry->thread,
                                    .process = sampler->process,
                                    .tid = owner ? (uint32_t)sampler_host_thread(sampler, owner->native_id) : 0,
                                    .interpreter = sampler->target.interpreters[task->interpreter].id,
                                    .start_ns = time_ns,
                                    .name = task->name,
                                    .task = task->number } });
}

static bool tell_task(struct sampler *sampler, uint32_t place, uint64_t time_ns, struct fault *why)
{
    struct known_task *task = &sampler->asyncio.tasks.rows[place];
    struct task_entry *entry = task->entry;
    if (!entry || task->listed == 0)
        return true; /* it was never known for sure, or has ended in this tick */
    if (entry->settled != sampler->asyncio.tasks.tick)
        return !entry->thread || sampler_emit_failed(sampler, entry->thread, entry->cause, time_ns, why);
    if (entry->thread && (entry->number != task->number || entry->owner != task->owner)) {
        sampler_emit_note(sampler,
                          (struct event){ .kind = EVENT_THREAD_END, .change = { entry->thread, time_ns, { 0 } } });
        entry->thread = 0;
    }
    if (!entry->thread)
        begin_task(sampler, task, time_ns);
    struct event event;
    struct sample *sample = sampler_emit_begin_sample(&event, entry->thread, time_ns);
    sample->task = task->number;
    if (entry->same) {
        sample->keep = (uint32_t)entry->told.count;
    } else {
        truncate_middle(sampler, &entry->stack);
        take_stack(&entry->stack, &entry->told, sample);
        entry->same = true; /* when the tick is repeated */
    }
    return sampler_emit_sample(sampler, &event, why);
}

bool sampler_tasks_emit(struct sampler *sampler, uint64_t time_ns, struct fault *why)
{
    struct asyncio *asyncio = &sampler->asyncio;
    if (!asyncio->ready)
        return true;
    for (size_t i = 0; i < asyncio->tasks.count; i++)
        if (asyncio->tasks.rows[i].entry && asyncio->tasks.rows[i].listed != asyncio->tasks.tick)
            end_task(sampler, &asyncio->tasks.rows[i], time_ns);
    for (size_t i = 0; i < asyncio->listed_count; i++)
        if (!tell_task(sampler, asyncio->listed[i], time_ns, why))
            return false;
    return true;
}

void sampler_tasks_end(struct sampler *sampler, uint64_t time_ns)
{
    for (size_t i = 0; i < sampler->asyncio.tasks.count; i++)
        end_task(sampler, &sampler->asyncio.tasks.rows[i], time_ns);
}
