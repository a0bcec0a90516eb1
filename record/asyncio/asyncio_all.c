/* SPDX-License-Identifier: MIT */
#include "record/asyncio/asyncio_internal.h"

#include "formats/base/alloc.h"
#include "record/asyncio/await_graph.h"

#define LIST_LIMIT (1u << 18) /* most tasks per list */

static enum failure cause_of(enum look look)
{
    if (look == LOOK_NO_CODE)
        return FAILURE_CODE;
    return look == LOOK_TOO_DEEP ? FAILURE_DEPTH : FAILURE_CHANGED;
}

/* Adds a task to the list of all tasks, and looks at it: what was read directly to find it has most of it. */
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
    await_graph_look(a, a->listed[a->listed_count - 1]);
}

/* Follows a list from its head, whose first link is `first`. Only the links to the next task count: a thread may stand
 * still in the middle of a change, with those to the previous task. False when the list does not come back to its head.
 */
static bool task_list_follow(struct asyncio *a, uint64_t head, uint64_t first, size_t interpreter, uint32_t owner)
{
    struct tasks *tasks = &a->tasks;
    size_t steps = 0;
    a->list_walk++;
    if (first == 0)
        return true; /* a thread that never had a task */
    for (uint64_t at = first, next; at != head; at = next) {
        struct known_task *task = at ? asyncio_tasks_at(tasks, at - tasks->offsets.task_node) : NULL;
        if (!task || task->walk == a->list_walk || ++steps > LIST_LIMIT)
            return false;
        task->walk = a->list_walk;
        task->listed_at = task->address + tasks->offsets.task_node;
        if (!asyncio_tasks_next(tasks, task, &next))
            return false;
        list_task(a, task, interpreter, owner);
    }
    return true;
}

/* Lists a task of the sets, unless it is done: the sets have it while anybody keeps it. */
static void list_from_set(struct asyncio *a, uint64_t address, uint64_t listed_at)
{
    struct known_task *task = asyncio_tasks_at(&a->tasks, address);
    if (!task || task->listed == a->tasks.tick)
        return;
    const uint32_t row = (uint32_t)(task - a->tasks.rows);
    task->listed_at = listed_at;
    task->wants_frames = true;
    task->interpreter = a->module_interpreter;
    const enum look looked = await_graph_look(a, row);
    const uint32_t owner = task_sets_owner(a, task->loop);
    if (looked == LOOK_NO_TASK || looked == LOOK_WAKES || (!owner && a->thread_list->which == THREADS_MAIN))
        return;
    list_task(a, task, task->interpreter, owner);
}

static bool list_sets(struct asyncio *a)
{
    a->module_interpreter = 0;
    for (size_t i = 0; i < a->target->interpreters_count; i++)
        if (a->target->interpreters[i].address == a->tasks.module.interpreter)
            a->module_interpreter = i;
    task_sets_find_loops(a);
    return task_sets_each(a, list_from_set);
}

static bool list_lists(struct asyncio *a)
{
    const struct asyncio_layout *o = &a->tasks.offsets;
    uint64_t first;
    bool whole = true;
    for (size_t i = 0; i < a->owners_count; i++) {
        const struct member *member = &a->thread_list->members[a->owners[i]];
        whole &= asyncio_word(a, i, &first) &&
                 task_list_follow(a, member->address + o->thread_tasks, first, member->interpreter, a->owners[i] + 1);
    }
    for (size_t i = 0; i < a->interpreters; i++)
        whole &= asyncio_word(a, a->owners_count + i, &first) &&
                 task_list_follow(a, a->target->interpreters[i].address + o->interpreter_tasks, first, i, 0);
    return whole;
}

/* Lists a task again that the tick before has listed, if its link still leads somewhere, or the set still to the task.
 */
static void keep_listed(struct asyncio *a, struct known_task *task)
{
    uint64_t next;
    if (task->listed + 1 != a->tasks.tick || !task->listed_at || !asyncio_tasks_next(&a->tasks, task, &next) || !next)
        return;
    if (!a->tasks.module.task_type)
        list_task(a, task, task->interpreter, task->owner);
    else if (next == task->address)
        list_from_set(a, next, task->listed_at);
}

/* Finds all tasks. When a list cannot be followed to its end, keeps the tasks of the tick before, and returns false. */
static bool list_tasks(struct asyncio *a)
{
    a->listed_count = 0;
    const bool whole = a->tasks.module.task_type ? list_sets(a) : list_lists(a);
    for (size_t i = 0; !whole && i < a->tasks.count; i++)
        keep_listed(a, &a->tasks.rows[i]);
    return whole;
}

/* Makes the stack of a task. */
static enum look task_settle(struct asyncio *a, uint32_t row)
{
    const enum look looked = await_graph_chain(a, row);
    struct known_task *task = &a->tasks.rows[row];
    if (looked != LOOK_SURE)
        return looked;
    if (!task->entry)
        task->entry = alloc_zeroed(1, sizeof(*task->entry));
    struct task_entry *entry = task->entry;
    const bool steady = await_graph_steady(a) && entry->thread && entry->owner == task->owner &&
                        entry->settled + 1 == a->tasks.tick;
    const enum look done = steady ? LOOK_SURE : await_graph_stack(a, &entry->stack);
    if (done != LOOK_SURE)
        return done;
    entry->settled = a->tasks.tick;
    entry->same &= steady; /* a look that was thrown away may have made the stack, which is not emitted yet */
    return LOOK_SURE;
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

/* Finds the task that a thread runs by the thread's stack. A task that is about to wait, or to go on, has the state of
 * one that waits, and its frames are on the stack all the same. */
static void place_by_stack(struct asyncio *a, uint32_t index, struct thread_task *thread)
{
    const struct member *member = &a->thread_list->members[index];
    const bool read = member->state == UNWIND_DONE && member->tick == a->thread_list->tick;
    const struct known_task *task = read ? await_graph_driven(a, &member->walk) : NULL;
    if (task && task->owner == index + 1 && task->entry && task->entry->settled == a->tasks.tick &&
        await_graph_find_running(a, &member->walk, task->coroutine, &thread->above))
        thread->task = (uint32_t)(task - a->tasks.rows) + 1;
}

/* Finds the task that each thread runs. */
static void place_tasks(struct asyncio *a)
{
    for (size_t i = 0; i < a->listed_count; i++) {
        const struct known_task *task = &a->tasks.rows[a->listed[i]];
        struct thread_task *thread = owner_of(a, task);
        uint32_t above;
        if (!thread)
            continue;
        if (!task->entry || task->entry->settled != a->tasks.tick) {
            /* A thread that runs a coroutine may run this task. */
            const struct walk *walk = &a->thread_list->members[task->owner - 1].walk;
            thread->failed |= await_graph_drives(a, walk, 0, walk->depth);
        } else if (task->runs && await_graph_thread(a, task, &above) && (!thread->task || above > thread->above)) {
            thread->task = a->listed[i] + 1;
            thread->above = above;
        }
    }
    for (size_t i = 0; i < a->owners_count; i++) {
        struct thread_task *thread = a->owners[i] < a->threads_room ? &a->threads[a->owners[i]] : NULL;
        if (thread && thread->tick == a->tasks.tick && !thread->task)
            place_by_stack(a, a->owners[i], thread);
    }
}

size_t asyncio_all_take(struct asyncio *a)
{
    size_t failed = !list_tasks(a);
    for (size_t i = 0; i < a->listed_count; i++) {
        const enum look done = task_settle(a, a->listed[i]);
        struct known_task *task = &a->tasks.rows[a->listed[i]];
        if (done == LOOK_SURE || done == LOOK_NO_TASK)
            continue;
        if (task->entry)
            task->entry->cause = cause_of(done);
        failed++;
    }
    place_tasks(a);
    return failed;
}
