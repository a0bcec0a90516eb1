/* SPDX-License-Identifier: MIT */
#include "record/asyncio/asyncio.h"

#include "formats/base/alloc.h"
#include "record/asyncio/asyncio_internal.h"
#include "record/asyncio/await_graph.h"
#include "record/process/clock.h"

#include <stdlib.h>

#define SEARCH_FIRST_NS 30000000   /* wait before the second search for asyncio; doubles ... */
#define SEARCH_MOST_NS  1000000000 /* ... up to this */
#define READS_LIMIT     20000      /* most direct reads per tick */
#define PLAN_NOW        2000       /* after more direct reads than this, a look does not wait for asyncio_prepare() */
#define TRIM_TICKS      4096       /* tasks that were not used for so many ticks are removed */

const char *const async_names[ASYNC_KINDS] = { "none", "running", "all" };

bool asyncio_possible(const struct layout *layout, struct fault *why)
{
    char version[32];
    return (layout->publishes_tasks ? layout->generator_state > 0 : layout->task_size > 0) ||
           fault(why, "--async reads no free-threaded build of CPython before 3.14, and it runs CPython %s",
                 event_python_version_text(version, layout->version));
}

void asyncio_open(struct asyncio *a, struct thread_list *thread_list, struct codes *codes)
{
    a->thread_list = thread_list;
    a->target = thread_list->target;
    a->codes = codes;
    a->refusal = (struct fault){ 0 };
}

void asyncio_forget_entry(struct known_task *task)
{
    if (!task->entry)
        return;
    free(task->entry->stack.frames);
    free(task->entry->emitted.frames);
    free(task->entry);
    task->entry = NULL;
}

void asyncio_close(struct asyncio *a)
{
    for (size_t i = 0; i < a->tasks.count; i++)
        asyncio_forget_entry(&a->tasks.rows[i]);
    asyncio_tasks_close(&a->tasks);
    task_sets_close(&a->sets);
    asyncio_layout_free_searched(&a->searched);
    task_memory_free(&a->words);
    free(a->owners);
    free(a->listed);
    free(a->chain);
    free(a->running);
    free(a->threads);
    const struct asyncio kept = {
        .which = a->which, .synthetic = a->synthetic, .emitter = a->emitter, .refusal = a->refusal
    };
    *a = kept;
}

/* Finds the offsets that the module publishes, or the module whose offsets are known. */
static bool search_now(struct asyncio *a)
{
    const struct layout *l = &a->target->runtime.layout;
    struct asyncio_layout offsets = asyncio_layout_known(l);
    struct asyncio_module module;
    struct fault why = { 0 };
    const bool found = l->publishes_tasks ? asyncio_layout_find(&offsets, &a->searched, &a->target->remote)
                                          : asyncio_module_find(&module, a->target, &why);
    a->refusal = why; /* a later search may find it: the module may have been about to begin */
    if (!found)
        return false;
    asyncio_tasks_open(&a->tasks, a->target, a->codes, &offsets, l->publishes_tasks ? NULL : &module);
    task_sets_open(&a->sets, a);
    return true;
}

/* A program may import asyncio at any time, so the search goes on until asyncio is found. */
void asyncio_search(struct asyncio *a)
{
    const uint64_t now_ns = clock_now_ns();
    if (a->ready || now_ns < a->search_due_ns)
        return;
    const uint64_t wait_ns = a->search_wait_ns ? 2 * a->search_wait_ns : SEARCH_FIRST_NS;
    a->search_wait_ns = wait_ns < SEARCH_MOST_NS ? wait_ns : SEARCH_MOST_NS;
    a->search_due_ns = now_ns + a->search_wait_ns;
    a->ready = search_now(a);
}

/* ---- a tick ---- */

void asyncio_prepare(struct asyncio *a)
{
    if (a->ready && a->which == ASYNC_ALL)
        asyncio_plan_all(a);
}

/* Removes tasks that were not used for long. */
static void trim_tasks(struct asyncio *a)
{
    struct tasks *tasks = &a->tasks;
    const uint64_t since = tasks->tick > TRIM_TICKS ? tasks->tick - TRIM_TICKS : 0;
    for (size_t i = 0; i < tasks->count; i++)
        if (tasks->rows[i].used < since)
            asyncio_forget_entry(&tasks->rows[i]);
    asyncio_tasks_trim(tasks, since);
}

/* Reads the tasks, whose threads have just been read. */
static enum thread_list_state read_tasks(struct asyncio *a)
{
    if (a->tasks.tick % TRIM_TICKS == 0)
        trim_tasks(a);
    a->running_count = a->planned_used = 0;
    if (!asyncio_plan_read_words(a))
        return THREAD_LIST_GONE;
    if (a->which == ASYNC_RUNNING)
        asyncio_plan_running(a);
    else if (a->tasks.stale >
             PLAN_NOW) /* a look at many new tasks was thrown away: to plan is quicker than that again */
        asyncio_plan_all(a);
    if (!asyncio_plan_read_tasks(a))
        return THREAD_LIST_GONE;
    a->failed = a->which == ASYNC_RUNNING ? asyncio_running_take(a) : asyncio_all_take(a);
    a->tasks.stale += a->tasks.planned - a->planned_used + a->tasks.memory.lost;
    return THREAD_LIST_READ;
}

enum thread_list_state asyncio_read(struct asyncio *a, uint64_t now_ns, uint64_t time_ns)
{
    const enum thread_list_state state = thread_list_read(a->thread_list, now_ns);
    if (!a->ready)
        return state;
    a->time_ns = time_ns;
    a->failed = 0;
    asyncio_tasks_begin_tick(&a->tasks, READS_LIMIT);
    return state == THREAD_LIST_READ ? read_tasks(a) : state;
}

const struct thread_task *asyncio_thread(const struct asyncio *a, uint32_t index)
{
    const struct thread_task *thread = index < a->threads_room ? &a->threads[index] : NULL;
    return thread && thread->tick == a->tasks.tick ? thread : NULL;
}

void asyncio_thread_stack(struct asyncio *a, uint32_t index, struct frames *stack)
{
    const struct member *member = &a->thread_list->members[index];
    const struct thread_task *thread = asyncio_thread(a, index);
    const bool runs = thread && thread->task;
    const uint32_t depth = member->walk.depth;
    await_graph_add_links(a, member, 0, runs ? thread->above : depth, stack);
    if (runs && await_graph_chain(a, thread->task - 1) == LOOK_SURE)
        await_graph_add_chain(a, stack);
    if (runs)
        await_graph_add_links(a, member, thread->above, depth, stack);
}
