/* SPDX-License-Identifier: MIT */
#include "record/asyncio/asyncio_internal.h"

#include "formats/base/alloc.h"
#include "record/asyncio/await_graph.h"

#include <string.h>

#define LIST_ATTEMPTS 3          /* walks along a list, until one reaches the end */
#define LIST_LIMIT    (1u << 18) /* most tasks per list */

static enum failure cause_of(enum look look)
{
    if (look == LOOK_NO_CODE)
        return FAILURE_CODE;
    return look == LOOK_TOO_DEEP ? FAILURE_DEPTH : FAILURE_CHANGED;
}

/* Adds a task to the list of all tasks. */
static void list_task(struct asyncio *a, struct known_task *task, size_t interpreter, uint32_t owner)
{
    task->interpreter = interpreter;
    task->owner = owner;
    task->wants_frames = true;
    if (task->listed == a->tasks.tick)
        return;
    task->listed = a->tasks.tick;
    a->listed = alloc_grow(a->listed, &a->listed_room, a->listed_count + 1, sizeof(*a->listed));
    a->listed[a->listed_count++] = (uint32_t)(task - a->tasks.rows);
}

/* Follows a list from its head, in the copies or directly (`now`). False when the list changes on the way. */
static bool follow_list(struct asyncio *a, uint64_t head, size_t index, bool now, size_t interpreter, uint32_t owner)
{
    struct tasks *tasks = &a->tasks;
    struct double_read *copy = &tasks->copies[a->front];
    uint64_t links[2], previous = head;
    size_t steps = 0;
    if (!now && double_read_same(copy, index))
        memcpy(links, double_read_at(copy, index), sizeof(links));
    else if (remote_read(&tasks->target->remote, head, links, sizeof(links)) != REMOTE_READ)
        return false;
    /* The head of a thread without any task has null links. */
    for (uint64_t at = links[0]; at && at != head;) {
        struct known_task *task = asyncio_tasks_at(tasks, at - tasks->offsets.task_node);
        if (!task || !asyncio_tasks_neighbours(tasks, task, now, links))
            return false;
        if (links[1] != previous &&
            (now || !asyncio_tasks_neighbours(tasks, task, true, links) || links[1] != previous))
            return false;
        if (task->walk == a->list_walk || ++steps > LIST_LIMIT)
            return false; /* a ring */
        task->walk = a->list_walk;
        list_task(a, task, interpreter, owner);
        previous = at;
        at = links[0];
    }
    return true;
}

static bool task_list_follow(struct asyncio *a, uint64_t head, size_t index, size_t interpreter, uint32_t owner)
{
    bool whole = false;
    for (int i = 0; i < LIST_ATTEMPTS && !whole; i++) {
        a->list_walk++;
        whole = follow_list(a, head, index, i > 0, interpreter, owner);
    }
    return whole;
}

/* Finds all tasks. When a list cannot be followed to its end, keeps the tasks of the tick before. */
static void list_tasks(struct asyncio *a)
{
    const struct asyncio_layout *o = &a->tasks.offsets;
    bool whole = true;
    a->listed_count = 0;
    for (size_t i = 0; i < a->owners_count; i++) {
        const struct member *member = &a->thread_list->members[a->owners[i]];
        whole &= task_list_follow(a, member->address + o->thread_tasks, a->interpreters + i, member->interpreter,
                                  a->owners[i] + 1);
    }
    for (size_t i = 0; i < a->interpreters; i++)
        whole &= task_list_follow(a, a->target->interpreters[i].address + o->interpreter_tasks,
                                  a->interpreters + a->owners_count + i, i, 0);
    for (size_t i = 0; !whole && i < a->tasks.count; i++)
        if (a->tasks.rows[i].listed + 1 == a->tasks.tick)
            list_task(a, &a->tasks.rows[i], a->tasks.rows[i].interpreter, a->tasks.rows[i].owner);
}

/* Makes the stack of a task, if this round shows it. */
static enum look task_settle(struct asyncio *a, uint32_t row)
{
    const enum look looked = await_graph_chain(a, row);
    struct known_task *task = &a->tasks.rows[row];
    if (looked != LOOK_SURE)
        return looked;
    if (!task->entry)
        task->entry = alloc_zeroed(1, sizeof(*task->entry));
    struct task_entry *entry = task->entry;
    entry->same = await_graph_steady(a) && entry->thread && entry->settled + 1 == a->tasks.tick;
    const enum look done = entry->same ? LOOK_SURE : await_graph_stack(a, &entry->stack);
    if (done == LOOK_SURE)
        entry->settled = a->tasks.tick;
    return done;
}

/* Whether a task has left its list. */
static bool task_has_left(struct asyncio *a, const struct known_task *task)
{
    uint64_t neighbours[2];
    return !asyncio_tasks_neighbours(&a->tasks, task, false, neighbours) || neighbours[0] == 0;
}

/* The row of what a thread runs in this tick; NULL: the task belongs to no thread. */
static struct thread_task *owner_of(struct asyncio *a, const struct known_task *task)
{
    if (!task->owner)
        return NULL;
    a->threads = alloc_grow(a->threads, &a->threads_room, task->owner, sizeof(*a->threads));
    struct thread_task *thread = &a->threads[task->owner - 1];
    if (thread->tick != a->tasks.tick)
        *thread = (struct thread_task){ .tick = a->tasks.tick };
    return thread;
}

void asyncio_all_place(struct asyncio *a)
{
    for (size_t i = 0; i < a->listed_count; i++) {
        const struct known_task *task = &a->tasks.rows[a->listed[i]];
        struct thread_task *thread = owner_of(a, task);
        uint32_t above;
        if (!thread)
            continue;
        const bool settled = task->entry && task->entry->settled == a->tasks.tick;
        if (!settled) {
            /* A thread that runs a coroutine may run this task. */
            const struct walk *walk = &a->thread_list->members[task->owner - 1].walk;
            thread->failed |= task->listed != 0 && await_graph_drives(a, walk, 0, walk->depth);
        } else if (task->runs && await_graph_thread(a, task, &above) && (!thread->task || above > thread->above)) {
            thread->task = a->listed[i] + 1;
            thread->above = above;
        }
    }
}

void asyncio_all_take(struct asyncio *a, bool first)
{
    const size_t count = first ? 0 : a->again_count;
    if (first)
        list_tasks(a);
    const size_t all = first ? a->listed_count : count;
    a->again_count = 0;
    /* Stacks depend on which tasks run, so all looks come first. */
    for (size_t i = 0; i < all; i++)
        await_graph_look(a, first ? a->listed[i] : a->again[i]);
    for (size_t i = 0; i < all; i++) {
        const uint32_t row = first ? a->listed[i] : a->again[i];
        const enum look done = task_settle(a, row);
        struct known_task *task = &a->tasks.rows[row];
        if (done == LOOK_SURE || done == LOOK_NO_TASK)
            continue;
        if (task_has_left(a, task)) {
            task->listed = 0;
            continue;
        }
        if (task->entry)
            task->entry->cause = cause_of(done);
        asyncio_plan_look_again(a, row);
    }
}
