/* SPDX-License-Identifier: MIT */
#include "record/asyncio/asyncio_internal.h"

#include "formats/base/alloc.h"
#include "record/asyncio/await_graph.h"

#define CURRENT_MOST 256 /* event loops that run a task at the same time */

/* Looks at a task, and at the tasks that wait for it, if a thread has the task's coroutine on its stack. LOOK_NO_TASK:
 * it has not. */
static enum look take_task(struct asyncio *a, uint32_t member_index, uint64_t address, struct thread_task *thread)
{
    const struct member *member = &a->thread_list->members[member_index];
    struct known_task *task = address ? asyncio_tasks_at(&a->tasks, address) : NULL;
    if (!task)
        return LOOK_NO_TASK;
    const uint32_t row = (uint32_t)(task - a->tasks.rows);
    task->interpreter = member->interpreter;
    task->owner = member_index + 1;
    enum look looked = await_graph_look(a, row);
    uint32_t above;
    if (looked == LOOK_WAKES)
        looked = LOOK_NO_TASK;
    if (looked == LOOK_SURE && !await_graph_find_running(a, &member->walk, a->tasks.rows[row].coroutine, &above))
        looked = LOOK_NO_TASK;
    if (looked == LOOK_SURE)
        looked = await_graph_chain(a, row);
    if (looked == LOOK_SURE)
        *thread = (struct thread_task){ .tick = a->tasks.tick, .task = row + 1, .above = above };
    return looked;
}

bool asyncio_running_named(struct asyncio *a, size_t index, uint64_t *task)
{
    if (a->tasks.offsets.thread_task)
        return asyncio_word(a, index, task);
    const struct known_task *driven = await_graph_driven(a, &a->thread_list->members[a->owners[index]].walk);
    *task = driven ? driven->address : 0;
    return true;
}

/* Finds the task of a thread among those that run in any event loop: the one that the thread's stack has. */
static enum look take_current(struct asyncio *a, uint32_t member_index, struct thread_task *thread)
{
    uint64_t current[CURRENT_MOST];
    size_t count;
    if (!task_sets_current(&a->tasks, current, CURRENT_MOST, &count))
        return LOOK_CHANGED;
    enum look looked = LOOK_NO_TASK;
    for (size_t i = 0; i < count && looked == LOOK_NO_TASK; i++)
        looked = take_task(a, member_index, current[i], thread);
    return looked;
}

/* Finds the task of a thread: the one that the thread state names, if the stack has it, else what the stack shows. */
static enum look find_task(struct asyncio *a, size_t owner, struct thread_task *thread)
{
    const struct walk *walk = &a->thread_list->members[a->owners[owner]].walk;
    uint64_t named;
    const enum look looked = asyncio_running_named(a, owner, &named) ? take_task(a, a->owners[owner], named, thread)
                                                                     : LOOK_CHANGED;
    const bool derived = a->tasks.module.task_type; /* what is named is a guess: the memory may be used again by now */
    if (looked == LOOK_SURE)
        return looked;
    if (walk->epoch != a->codes->epoch) /* the links may point to code objects that were freed */
        return derived ? LOOK_CHANGED : looked;
    if (!await_graph_drives(a, walk, 0, walk->depth))
        return LOOK_NO_TASK; /* whatever the thread state names */
    if (derived)
        return take_current(a, a->owners[owner], thread);
    const struct known_task *driven = looked == LOOK_NO_TASK ? await_graph_driven(a, walk) : NULL;
    const enum look shown = driven ? take_task(a, a->owners[owner], driven->address, thread) : looked;
    /* The program may run a coroutine outside all tasks. But then the thread state names no task. */
    return shown == LOOK_NO_TASK && named ? LOOK_CHANGED : shown;
}

size_t asyncio_running_take(struct asyncio *a)
{
    size_t failed = 0;
    for (size_t i = 0; i < a->owners_count; i++) {
        const uint32_t index = a->owners[i];
        const struct member *member = &a->thread_list->members[index];
        a->threads = alloc_grow(a->threads, &a->threads_room, (size_t)index + 1, sizeof(*a->threads));
        struct thread_task *thread = &a->threads[index];
        *thread = (struct thread_task){ .tick = a->tasks.tick };
        if (member->tick != a->thread_list->tick || member->state != UNWIND_DONE)
            continue;
        const enum look found = find_task(a, i, thread);
        thread->failed = found != LOOK_SURE && found != LOOK_NO_TASK;
        failed += thread->failed;
    }
    return failed;
}
