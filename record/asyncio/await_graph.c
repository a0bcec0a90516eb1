/* SPDX-License-Identifier: MIT */
#include "record/asyncio/await_graph.h"

#include "formats/base/alloc.h"
#include "record/asyncio/asyncio_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COROUTINE_FLAGS 0x180 /* CO_COROUTINE, CO_ITERABLE_COROUTINE of co_flags */
#define CHAIN_LIMIT     65536 /* most tasks per chain */

/* ---- looks ---- */

static void define_task(struct asyncio *a, struct known_task *task)
{
    task->number = ++a->emitter->last_task;
    task->label = 0;
    task->emitted_waiter = task->emitted_waiters = 0;
    emitter_serial(a->emitter, SERIAL_TASK, task->number, &task->serial);
    emitter_note(
        a->emitter,
        (struct event){
            .kind = EVENT_TASK,
            .task = { .number = task->number, .process = a->process, .name = task->name, .start_ns = a->time_ns } });
}

static void note_running(struct asyncio *a, uint32_t row)
{
    a->running = alloc_grow(a->running, &a->running_room, a->running_count + 1, sizeof(*a->running));
    a->running[a->running_count++] = row;
}

/* An interpreter's count of freed code objects + 1; 0: not known. */
static uint64_t generation_of(const struct asyncio *a, size_t interpreter)
{
    if (!a->target->runtime.layout.interpreter_code_generation)
        return 1; /* looks have the identities of code objects, see await_chain_code() */
    const bool known = interpreter < a->interpreters && interpreter < a->target->interpreters_count;
    const unsigned char *count = known ? task_memory_at(&a->words, interpreter) : NULL;
    return count ? word_at(count, 0) + 1 : 0;
}

enum look await_graph_look(struct asyncio *a, uint32_t row)
{
    struct tasks *tasks = &a->tasks;
    struct known_task *task = &tasks->rows[row];
    if (task->looked_tick == tasks->tick)
        return task->looked;
    const uint64_t generation = generation_of(a, task->interpreter);
    a->planned_used += task->used != tasks->tick && asyncio_tasks_planned(tasks, task);
    task->used = tasks->tick;
    task->steady = asyncio_tasks_still(tasks, task, generation);
    if (!task->steady)
        asyncio_tasks_look(tasks, task, generation);
    task->looked_tick = tasks->tick;
    if (task->looked != LOOK_SURE)
        return task->looked;
    if (task->number == 0)
        define_task(a, task);
    if (task->runs)
        note_running(a, row);
    return LOOK_SURE;
}

/* ---- chains ---- */

/* Emits who waits for a task, if that has changed. */
static void note_waiter(struct asyncio *a, struct known_task *task)
{
    const uint32_t waiter = task->parent ? a->tasks.rows[task->parent - 1].number : 0;
    if (task->emitted_waiter == waiter && task->emitted_waiters == task->parents)
        return;
    task->emitted_waiter = waiter;
    task->emitted_waiters = task->parents;
    emitter_note(a->emitter, (struct event){ .kind = EVENT_TASK_WAITER,
                                             .task_waiter = { task->number, waiter, task->parents, a->time_ns } });
}

/* ---- another stream ---- */

/* A task with the number that it had in the stream before, and the number of the task that waits for it. */
struct renumbered {
    uint32_t before, waiter_before, waiters, row;
};

static int compare_before(const void *one, const void *another)
{
    const struct renumbered *a = one, *b = another;
    return a->before < b->before ? -1 : a->before > b->before;
}

/* The task waits for the same tasks as before, and these have new numbers. */
static void repeat_waiter(struct asyncio *a, const struct renumbered *all, size_t count, const struct renumbered *task)
{
    const struct renumbered wanted = { .before = task->waiter_before };
    const struct renumbered *waiter = bsearch(&wanted, all, count, sizeof(*all), compare_before);
    struct known_task *known = &a->tasks.rows[task->row];
    if (!waiter)
        return;
    known->emitted_waiter = a->tasks.rows[waiter->row].number;
    known->emitted_waiters = task->waiters;
    emitter_note(a->emitter,
                 (struct event){ .kind = EVENT_TASK_WAITER,
                                 .task_waiter = { known->number, known->emitted_waiter, task->waiters, a->time_ns } });
}

void await_graph_restart(struct asyncio *a)
{
    struct renumbered *all = alloc_zeroed(a->tasks.count + 1, sizeof(*all));
    size_t count = 0;
    for (uint32_t row = 0; row < a->tasks.count; row++) {
        const struct known_task *task = &a->tasks.rows[row];
        if (task->number)
            all[count++] = (struct renumbered){ task->number, task->emitted_waiter, task->emitted_waiters, row };
    }
    qsort(all, count, sizeof(*all), compare_before);
    for (size_t i = 0; i < count; i++)
        define_task(a, &a->tasks.rows[all[i].row]);
    for (size_t i = 0; i < count; i++)
        repeat_waiter(a, all, count, &all[i]);
    free(all);
}

/* ---- parents ---- */

/* The tasks that wait for a task. */
struct waiting {
    uint32_t parent; /* row + 1 of the one that the stack shows; 0: none */
    uint32_t count;
};

static void count_waiting(struct asyncio *a, uint32_t row, struct waiting *waiting)
{
    struct known_task *task = &a->tasks.rows[row];
    if (task->counted == a->counts)
        return;
    task->counted = a->counts;
    waiting->count++;
    /* Callbacks are in the order in which tasks began to wait. A set has no order that means anything. */
    if (!waiting->parent || (!a->tasks.module.task_type && task->number < a->tasks.rows[waiting->parent - 1].number))
        waiting->parent = row + 1;
}

/* Adds the tasks that wait for a task, or that a callback wakes, or the callbacks that it wakes in turn. */
static enum look add_waiting(struct asyncio *a, uint32_t row, struct waiting *waiting, uint32_t depth)
{
    const size_t count = a->tasks.rows[row].waiters_count;
    for (size_t i = 0; i < count; i++) {
        const struct known_task *waiter = asyncio_tasks_at(&a->tasks,
                                                           a->tasks.rows[row].waiters[i]); /* may move the rows */
        if (!waiter)
            continue;
        const uint32_t at = (uint32_t)(waiter - a->tasks.rows);
        struct known_task *other = &a->tasks.rows[at];
        other->interpreter = a->tasks.rows[row].interpreter;
        if (!other->wants_frames)
            other->looked_tick = 0;
        other->wants_frames = true;
        enum look looked = await_graph_look(a, at);
        if (looked == LOOK_SURE)
            count_waiting(a, at, waiting);
        else if (looked == LOOK_WAKES && depth == 0)
            looked = LOOK_TOO_DEEP;
        else if (looked == LOOK_WAKES && a->tasks.rows[at].counted != a->counts) {
            a->tasks.rows[at].counted = a->counts;
            looked = add_waiting(a, at, waiting, depth - 1);
        }
        if (looked != LOOK_SURE && looked != LOOK_NO_TASK && looked != LOOK_WAKES)
            return looked;
    }
    return LOOK_SURE;
}

/* Finds the parent of a task: of the tasks that wait for it, the one with the smallest number; before CPython 3.14 the
 * one that waits for it the longest. */
static enum look task_find_parent(struct asyncio *a, uint32_t row)
{
    struct waiting waiting = { 0 };
    a->counts++;
    const enum look looked = add_waiting(a, row, &waiting, CALLBACKS_DEEP);
    if (looked != LOOK_SURE)
        return looked;
    struct known_task *task = &a->tasks.rows[row];
    task->steady &= task->parent == waiting.parent && task->parents == waiting.count;
    task->parent = waiting.parent;
    task->parents = waiting.count;
    note_waiter(a, task);
    return LOOK_SURE;
}

static void add_to_chain(struct asyncio *a, uint32_t row)
{
    a->chain = alloc_grow(a->chain, &a->chain_room, a->chain_count + 1, sizeof(*a->chain));
    a->chain[a->chain_count++] = row;
    a->tasks.rows[row].chained = a->chains;
}

enum look await_graph_chain(struct asyncio *a, uint32_t row)
{
    a->chains++;
    a->chain_count = 0;
    for (uint32_t at = row;;) {
        if (a->chain_count == CHAIN_LIMIT)
            return LOOK_TOO_DEEP;
        enum look looked = await_graph_look(a, at);
        if (looked == LOOK_SURE && a->tasks.rows[at].parent_tick != a->tasks.tick) {
            looked = task_find_parent(a, at);
            a->tasks.rows[at].parent_tick = looked == LOOK_SURE ? a->tasks.tick : 0;
        }
        if (looked != LOOK_SURE)
            return looked;
        add_to_chain(a, at);
        const uint32_t parent = a->tasks.rows[at].parent;
        /* Tasks can wait for each other in a ring. The chain then has each task of the ring once. */
        if (!parent || a->tasks.rows[parent - 1].chained == a->chains)
            return LOOK_SURE;
        /* The waiting task runs: it has started the other task on top of itself, and its frames are on the thread's
         * stack already. */
        if (a->which == ASYNC_RUNNING && a->tasks.rows[parent - 1].runs)
            return LOOK_SURE;
        at = parent - 1;
    }
}

bool await_graph_steady(struct asyncio *a)
{
    size_t known = a->chain_count;
    for (size_t i = 0; i < a->chain_count && known == a->chain_count; i++) {
        const struct known_task *task = &a->tasks.rows[a->chain[i]];
        if (!task->steady || task->runs)
            return false;
        if (task->steady_tick == a->tasks.tick)
            known = i;
    }
    for (size_t i = 0; i < known; i++)
        a->tasks.rows[a->chain[i]].steady_tick = a->tasks.tick;
    return true;
}

/* ---- stacks ---- */

bool await_graph_drives(const struct asyncio *a, const struct walk *walk, uint32_t from, uint32_t to)
{
    if (walk->epoch != a->codes->epoch)
        return false;
    for (uint32_t i = from; i < to; i++)
        if (walk->links[i].from_c && walk->links[i].code->flags & COROUTINE_FLAGS)
            return true;
    return false;
}

/* Whether each coroutine on a stack is driven from C, also by the coroutine that awaits it. There, no task can run on
 * top of another one. */
static bool all_are_driven(const struct asyncio *a)
{
    return a->tasks.module.task_type && !a->tasks.module.eager; /* 3.11 */
}

const struct known_task *await_graph_driven(struct asyncio *a, const struct walk *walk)
{
    const uint32_t in_coroutine = a->target->runtime.layout.generator_frame;
    const struct known_task *task = NULL;
    bool goes_on = true;
    for (uint32_t at = walk->depth; at > 0 && goes_on; at--) {
        if (!await_graph_drives(a, walk, at - 1, at))
            continue;
        task = asyncio_tasks_of(&a->tasks, walk->links[at - 1].address - in_coroutine);
        goes_on = !task && all_are_driven(a);
    }
    return task;
}

static void await_stack_push(struct frames *stack, uint32_t frame)
{
    stack->frames = alloc_grow(stack->frames, &stack->room, stack->count + 1, sizeof(*stack->frames));
    stack->frames[stack->count++] = frame;
}

static uint32_t label_of(struct asyncio *a, struct known_task *task)
{
    if (task->label && task->label_parents == task->parents)
        return task->label;
    const size_t room = task->name.size + 64;
    char *text = alloc_zeroed(room, 1);
    int size;
    if (task->parents > 1)
        size = snprintf(text, room, "<task %.*s (%u parents)>", (int)task->name.size, task->name.bytes, task->parents);
    else
        size = snprintf(text, room, "<task %.*s>", (int)task->name.size, task->name.bytes);
    task->label = definitions_named_frame(a->codes->definitions, KIND_TASK, (struct text){ text, (size_t)size });
    task->label_parents = task->parents;
    free(text);
    return task->label;
}

bool await_graph_find_running(const struct asyncio *a, const struct walk *walk, uint64_t coroutine, uint32_t *above)
{
    const uint64_t frame = coroutine + a->target->runtime.layout.generator_frame;
    uint32_t i = walk->depth;
    while (i > 0 && walk->links[i - 1].address != frame)
        i--;
    *above = i > 0 ? i - 1 : 0;
    return i > 0;
}

void await_graph_add_native(const struct asyncio *a, struct frames *stack)
{
    await_stack_push(stack, synthetic_frames_native_frame(a->synthetic));
}

/* Adds the C frames that stand before a link, from c_links[*at] on. */
static void add_c_links(const struct walk *walk, uint32_t link, size_t *at, struct frames *stack)
{
    while (*at < walk->c_count && walk->c_links[*at].link < link)
        ++*at;
    for (; *at < walk->c_count && walk->c_links[*at].link == link; ++*at)
        await_stack_push(stack, walk->c_links[*at].frame);
}

void await_graph_add_links(struct asyncio *a, const struct member *member, uint32_t from, uint32_t to,
                           struct frames *stack)
{
    struct synthetic_frames *wanted = a->synthetic;
    const struct walk *walk = &member->walk;
    const uint32_t gc = synthetic_frames_collecting(wanted, a->thread_list, member);
    size_t at = walk->c_links ? 0 : walk->c_count;
    for (uint32_t i = from; i < to; i++) {
        if (gc == i)
            await_stack_push(stack, synthetic_frames_gc_frame(wanted));
        if (walk->c_links)
            add_c_links(walk, i, &at, stack);
        else if (wanted->native && walk->links[i].from_c && i > 0)
            await_stack_push(stack, synthetic_frames_native_frame(wanted));
        await_stack_push(stack, walk->links[i].frame);
    }
    if (gc == to && to == walk->depth)
        await_stack_push(stack, synthetic_frames_gc_frame(wanted));
    if (walk->c_links && to == walk->depth)
        add_c_links(walk, to, &at, stack);
}

const struct member *await_graph_thread(const struct asyncio *a, const struct known_task *task, uint32_t *above)
{
    const struct member *member = task->owner ? &a->thread_list->members[task->owner - 1] : NULL;
    return member && member->state == UNWIND_DONE && member->tick == a->thread_list->tick &&
                   await_graph_find_running(a, &member->walk, task->coroutine, above)
               ? member
               : NULL;
}

void await_graph_add_chain(struct asyncio *a, struct frames *stack)
{
    for (size_t i = a->chain_count; i > 0; i--) {
        struct known_task *task = &a->tasks.rows[a->chain[i - 1]];
        uint32_t above;
        /* For a waiting task that runs, the stack shows the frame of its coroutine only. */
        const struct member *member = task->runs && i > 1 && a->which == ASYNC_ALL ? await_graph_thread(a, task, &above)
                                                                                   : NULL;
        const bool on_stack = task->runs || (i == 1 && a->which == ASYNC_RUNNING);
        await_stack_push(stack, label_of(a, task));
        for (size_t k = 0; !on_stack && k < task->frames_count; k++)
            await_stack_push(stack, task->frames[k]);
        if (member)
            await_stack_push(stack, member->walk.links[above].frame);
    }
}

/* The index of the first link of the next task on a thread's stack, which runs inside the task with `above` callers.
 * The depth of the stack when there is none. */
static uint32_t end_of_task(const struct asyncio *a, const struct walk *walk, uint32_t above)
{
    uint32_t end = walk->depth;
    for (size_t i = 0; i < a->running_count; i++) {
        uint32_t other;
        if (await_graph_find_running(a, walk, a->tasks.rows[a->running[i]].coroutine, &other) && other > above &&
            other < end)
            end = other;
    }
    return end;
}

static bool owner_was_read(const struct asyncio *a, const struct known_task *task)
{
    const struct member *member = task->owner ? &a->thread_list->members[task->owner - 1] : NULL;
    return member && member->state == UNWIND_DONE && member->tick == a->thread_list->tick;
}

enum look await_graph_stack(struct asyncio *a, struct frames *stack)
{
    const struct known_task *task = &a->tasks.rows[a->chain[0]];
    uint32_t above = 0;
    const struct member *member = task->runs ? await_graph_thread(a, task, &above) : NULL;
    /* A task that is starting or ending runs, and is not on the stack of its thread. */
    if (task->runs && !member && !owner_was_read(a, task))
        return LOOK_CHANGED;
    stack->count = 0;
    await_graph_add_chain(a, stack);
    if (member)
        await_graph_add_links(a, member, above, end_of_task(a, &member->walk, above), stack);
    return LOOK_SURE;
}
