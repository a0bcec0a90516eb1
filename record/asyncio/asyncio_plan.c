/* SPDX-License-Identifier: MIT */
#include "record/asyncio/asyncio_internal.h"

#include "formats/base/alloc.h"

#include <string.h>

#define STALE_LEAST 8  /* a plan is made anew when the ticks with it made more direct reads than this, ... */
#define STALE_PART  16 /* ... and more than 1/16 of its ranges */

/* ---- words of interpreters and threads ---- */

/* The word of a thread that a tick reads; 0: none. */
static uint32_t thread_word(const struct asyncio *a)
{
    const struct layout *l = &a->target->runtime.layout;
    const struct asyncio_layout *o = &a->tasks.offsets;
    if (a->which == ASYNC_RUNNING)
        return o->thread_task;
    if (o->thread_tasks)
        return o->thread_tasks;
    return l->thread_dict ? l->thread_dict : l->thread_loop;
}

static void plan_words(struct asyncio *a)
{
    const struct thread_list *thread_list = a->thread_list;
    const struct layout *l = &a->target->runtime.layout;
    const struct asyncio_layout *o = &a->tasks.offsets;
    const bool main_only = thread_list->which == THREADS_MAIN;
    const uint32_t *order = main_only ? thread_list->asked : thread_list->order;
    task_memory_clear(&a->words);
    a->list = thread_list->list;
    a->interpreters = l->interpreter_code_generation ? a->target->interpreters_count : 0;
    a->owners_count = main_only ? thread_list->asked_count : thread_list->order_count;
    a->owners = alloc_grow(a->owners, &a->owners_room, a->owners_count + 1, sizeof(*a->owners));
    if (a->owners_count > 0)
        memcpy(a->owners, order, a->owners_count * sizeof(*order));
    for (size_t i = 0; i < a->interpreters; i++)
        task_memory_add(&a->words, a->target->interpreters[i].address + l->interpreter_code_generation, 8);
    const uint32_t word = thread_word(a);
    for (size_t i = 0; word && i < a->owners_count; i++)
        task_memory_add(&a->words, thread_list->members[a->owners[i]].address + word, 8);
    if (a->tasks.module.task_type && a->which == ASYNC_ALL)
        task_sets_plan(a);
    for (size_t i = 0; o->interpreter_tasks && a->which == ASYNC_ALL && i < a->interpreters; i++)
        task_memory_add(&a->words, a->target->interpreters[i].address + o->interpreter_tasks, 8);
}

bool asyncio_plan_read_words(struct asyncio *a)
{
    if (a->list != a->thread_list->list || a->thread_list->which == THREADS_MAIN || a->sets.moved)
        plan_words(a);
    return task_memory_read(&a->words, &a->target->remote) == REMOTE_READ;
}

bool asyncio_word(const struct asyncio *a, size_t index, uint64_t *word)
{
    const unsigned char *bytes = task_memory_at(&a->words, a->interpreters + index);
    *word = bytes ? word_at(bytes, 0) : 0;
    return bytes != NULL;
}

/* ---- tasks ---- */

void asyncio_plan_all(struct asyncio *a)
{
    struct tasks *tasks = &a->tasks;
    if (tasks->stale <= STALE_LEAST || tasks->stale <= tasks->memory.count / STALE_PART)
        return;
    asyncio_tasks_begin_plan(tasks);
    for (size_t i = 0; i < tasks->count; i++)
        if (tasks->rows[i].used != 0 && tasks->rows[i].used + 1 >= tasks->tick)
            asyncio_tasks_plan(tasks, &tasks->rows[i]);
    task_memory_plan(&tasks->memory);
}

/* Plans the callbacks that wake those who wait for a task, and the callbacks that these wake. */
static void plan_wakers(struct tasks *tasks, const struct known_task *task, uint32_t depth)
{
    for (size_t i = 0; depth > 0 && i < task->waiters_count; i++) {
        struct known_task *waker = asyncio_tasks_find(tasks, task->waiters[i]);
        if (!waker || waker->looked != LOOK_WAKES || asyncio_tasks_planned(tasks, waker))
            continue;
        asyncio_tasks_plan(tasks, waker);
        plan_wakers(tasks, waker, depth - 1);
    }
}

void asyncio_plan_running(struct asyncio *a)
{
    struct tasks *tasks = &a->tasks;
    asyncio_tasks_begin_plan(tasks);
    for (size_t i = 0; i < a->owners_count; i++) {
        uint64_t address;
        struct known_task *task = asyncio_running_named(a, i, &address) ? asyncio_tasks_find(tasks, address) : NULL;
        while (task && !asyncio_tasks_planned(tasks, task)) {
            asyncio_tasks_plan(tasks, task);
            plan_wakers(tasks, task, CALLBACKS_DEEP);
            task = task->parent && task->parent <= tasks->count ? &tasks->rows[task->parent - 1] : NULL;
        }
    }
}

bool asyncio_plan_read_tasks(struct asyncio *a)
{
    return task_memory_read(&a->tasks.memory, &a->target->remote) == REMOTE_READ;
}
