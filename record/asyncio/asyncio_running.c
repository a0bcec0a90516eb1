/* SPDX-License-Identifier: MIT */
#include "record/asyncio/asyncio_internal.h"

#include "formats/base/alloc.h"
#include "record/asyncio/await_graph.h"

/* After so many rounds, a coroutine that runs without a task is taken to be outside all tasks. */
#define ROUNDS_BY_ITSELF 4

static struct thread_task *thread_at(struct asyncio *a, uint32_t index)
{
    a->threads = alloc_grow(a->threads, &a->threads_room, (size_t)index + 1, sizeof(*a->threads));
    return &a->threads[index];
}

/* Checks whether a thread runs this task. LOOK_NO_TASK: the thread does not. */
static enum look find_running(struct asyncio *a, uint32_t member_index, uint64_t address, struct thread_task *thread)
{
    const struct member *member = &a->thread_list->members[member_index];
    struct known_task *task = address ? asyncio_tasks_at(&a->tasks, address) : NULL;
    if (!task)
        return LOOK_NO_TASK;
    const uint32_t row = (uint32_t)(task - a->tasks.rows);
    task->interpreter = member->interpreter;
    task->owner = member_index + 1;
    asyncio_plan_look_again(a, row); /* for a further round, if there is one */
    const enum look looked = await_graph_look(a, row);
    task = &a->tasks.rows[row];
    if (looked != LOOK_SURE)
        return looked;
    uint32_t above;
    if (!await_graph_find_running(a, &member->walk, task->coroutine, &above))
        return LOOK_NO_TASK;
    if (a->carried && await_graph_drives(a, &member->walk, above + 1, member->walk.depth))
        return LOOK_CHANGED; /* as in await_graph_stack() */
    const enum look chained = await_graph_chain(a, row);
    if (chained != LOOK_SURE)
        return chained;
    task = &a->tasks.rows[row];
    if (!task->runs && task->frames_count > 0) { /* the task ran at the moment, though it waits in both copies */
        task->runs = true;
        task->kept_round = 0;
    }
    thread->task = row + 1;
    thread->above = above;
    return LOOK_SURE;
}

static const struct known_task *coroutine_task(const struct asyncio *a, uint64_t coroutine)
{
    for (size_t i = 0; i < a->tasks.count; i++)
        if (a->tasks.rows[i].coroutine == coroutine && asyncio_tasks_copy_of(&a->tasks, &a->tasks.rows[i]) != COPIES)
            return &a->tasks.rows[i];
    return NULL;
}

/* Finds the task of a thread from the thread's stack. Where tasks run for a short time, the task of the moment may
 * differ from the tasks in both copies. */
static enum look find_on_stack(struct asyncio *a, uint32_t member_index, struct thread_task *thread)
{
    const struct walk *walk = &a->thread_list->members[member_index].walk;
    uint32_t at = walk->depth;
    if (walk->epoch != a->codes->epoch)
        return LOOK_CHANGED; /* code objects were freed: the links may point to other code objects */
    while (at > 0 && !await_graph_drives(a, walk, at - 1, at))
        at--;
    if (at == 0)
        return LOOK_NO_TASK;
    const uint64_t start = a->target->runtime.layout.generator_frame;
    const struct known_task *task = coroutine_task(a, walk->links[at - 1].address - start);
    return task ? find_running(a, member_index, task->address, thread) : LOOK_CHANGED;
}

static enum look running_take_thread(struct asyncio *a, size_t i, struct thread_task *thread)
{
    const struct double_read *copy = &a->tasks.copies[a->front];
    const size_t index = a->interpreters + i;
    const unsigned char *first = double_read_first(copy, index), *second = double_read_at(copy, index);
    if (!first || !second)
        return LOOK_CHANGED;
    const uint64_t before = word_at(first, 0), after = word_at(second, 0);
    enum look done = find_running(a, a->owners[i], after, thread);
    if (done != LOOK_SURE && before != after)
        done = find_running(a, a->owners[i], before, thread) == LOOK_SURE ? LOOK_SURE : LOOK_CHANGED;
    const enum look shown = done != LOOK_SURE ? find_on_stack(a, a->owners[i], thread) : LOOK_SURE;
    if (shown == LOOK_SURE || shown == LOOK_NO_TASK)
        done = shown;
    /* The stack has a coroutine that C code called, but no task of the copies. A task may have begun after the first
     * copy and ended before the second. */
    const struct walk *walk = &a->thread_list->members[a->owners[i]].walk;
    if (done == LOOK_NO_TASK && await_graph_drives(a, walk, 0, walk->depth)) {
        /* Or the program itself runs a coroutine outside all tasks. Then each round shows the same. */
        thread->quiet += before == 0 && after == 0;
        if (thread->quiet < ROUNDS_BY_ITSELF || thread->quiet < a->rounds)
            done = LOOK_CHANGED;
    }
    return done;
}

size_t asyncio_running_take(struct asyncio *a)
{
    size_t left = 0;
    a->again_count = 0;
    for (size_t i = 0; i < a->owners_count; i++) {
        const struct member *member = &a->thread_list->members[a->owners[i]];
        struct thread_task *thread = thread_at(a, a->owners[i]);
        const uint32_t quiet = thread->tick == a->tasks.tick ? thread->quiet : 0;
        *thread = (struct thread_task){ .tick = a->tasks.tick, .quiet = quiet };
        if (member->tick != a->thread_list->tick || member->state != UNWIND_DONE)
            continue;
        const enum look done = running_take_thread(a, i, thread);
        thread->failed = done != LOOK_SURE && done != LOOK_NO_TASK;
        left += thread->failed;
    }
    return left;
}

bool asyncio_running_known(struct asyncio *a)
{
    struct tasks *tasks = &a->tasks;
    const struct double_read *copy = &tasks->copies[a->front];
    bool known = true;
    a->again_count = 0;
    for (size_t i = 0; i < a->owners_count; i++) {
        const unsigned char *word = double_read_first(copy, a->interpreters + i);
        const uint64_t address = word ? word_at(word, 0) : 0;
        struct known_task *task = address ? asyncio_tasks_at(tasks, address) : NULL;
        if (!task)
            continue;
        task->interpreter = a->thread_list->members[a->owners[i]].interpreter;
        known &= asyncio_tasks_copy_of(tasks, task) != COPIES;
        asyncio_plan_look_again(a, (uint32_t)(task - tasks->rows));
    }
    return known;
}
