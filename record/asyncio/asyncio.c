/* SPDX-License-Identifier: MIT */
#include "record/asyncio/asyncio.h"

#include "formats/base/alloc.h"
#include "record/asyncio/asyncio_internal.h"
#include "record/asyncio/await_graph.h"
#include "record/process/clock.h"

#include <stdlib.h>

#define SEARCH_FIRST_NS 30000000   /* wait before the second search for asyncio; doubles ... */
#define SEARCH_MOST_NS  1000000000 /* ... up to this */
#define ROUNDS          24         /* most rounds per tick */
#define FIRST_COPIES    3          /* most first copies per round: a first copy may show tasks that no plan has */
#define FRESH_NS        200000     /* an older copy is not carried: by then other tasks run */
#define SLOW_NS         100000     /* a carried round may take this time, ... */
#define SLOW_PIECE_NS   2000       /* ... and this time per piece; a longer round was interrupted */
#define READS_LIMIT     20000      /* most direct reads per tick */

const char *const async_names[ASYNC_KINDS] = { "none", "running", "all" };

bool asyncio_possible(const struct layout *layout, struct fault *why)
{
    char version[32];
    return (layout->publishes_tasks && layout->generator_state) ||
           fault(why, "--async needs CPython " LAYOUT_TASKS_SINCE " or later, and it runs CPython %s",
                 event_python_version_text(version, layout->version));
}

void asyncio_open(struct asyncio *a, struct thread_list *thread_list, struct codes *codes)
{
    a->thread_list = thread_list;
    a->target = thread_list->target;
    a->codes = codes;
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
    asyncio_layout_free_searched(&a->searched);
    free(a->owners);
    free(a->listed);
    free(a->again);
    free(a->chain);
    free(a->running);
    free(a->threads);
    const struct asyncio kept = { .which = a->which, .synthetic = a->synthetic, .emitter = a->emitter };
    *a = kept;
}

/* A program may import asyncio at any time, so the search goes on until asyncio is found. */
void asyncio_search(struct asyncio *a)
{
    struct asyncio_layout offsets;
    const uint64_t now_ns = clock_now_ns();
    if (a->ready || now_ns < a->search_due_ns)
        return;
    const uint64_t wait_ns = a->search_wait_ns ? 2 * a->search_wait_ns : SEARCH_FIRST_NS;
    a->search_wait_ns = wait_ns < SEARCH_MOST_NS ? wait_ns : SEARCH_MOST_NS;
    a->search_due_ns = now_ns + a->search_wait_ns;
    a->ready = asyncio_layout_find(&offsets, &a->searched, &a->target->remote);
    if (a->ready)
        asyncio_tasks_open(&a->tasks, a->target, a->codes, &offsets);
}

/* ---- a tick ---- */

/* Makes the first copy. If a task that runs in this copy is in no plan, plans the task and makes the copy again. */
static bool copy_first(struct asyncio *a)
{
    for (int i = 0; i < FIRST_COPIES; i++) {
        a->tasks.round++;
        a->running_count = 0;
        if (!asyncio_plan_copy(a, false))
            return false;
        if (a->which != ASYNC_RUNNING || i + 1 == FIRST_COPIES || asyncio_running_known(a))
            return true;
        asyncio_plan_again(a);
    }
    return true;
}

static void drop_copies(struct asyncio *a)
{
    for (size_t i = 0; i < COPIES; i++)
        double_read_drop(&a->tasks.copies[i]);
    a->carried = false;
}

/* Whether a round with a carried first copy took too long. A long time after this copy, memory may have changed and
 * changed back: a task may have ended, and a new task may use its memory. */
static bool round_was_slow(struct asyncio *a, const struct remote *before, uint64_t begin_ns)
{
    const uint64_t most_ns = SLOW_NS + SLOW_PIECE_NS * (a->target->remote.pieces - before->pieces);
    return a->carried && clock_now_ns() > begin_ns + most_ns;
}

/* Makes one round. *left: the number of threads or tasks that failed; at least 1 when the copies were dropped. */
static enum thread_list_state asyncio_read_round(struct asyncio *a, uint64_t now_ns, bool first, size_t *left)
{
    const struct remote before = a->target->remote;
    *left = 1;
    a->taken = false;
    if (!copy_first(a))
        return THREAD_LIST_GONE;
    if (!a->carried)
        a->tasks.known_code = a->codes->last_number;
    const enum thread_list_state state = thread_list_read(a->thread_list, now_ns);
    if (state != THREAD_LIST_READ)
        return state;
    if (!asyncio_plan_copy(a, true))
        return THREAD_LIST_GONE;
    if (a->list != a->thread_list->list)
        return THREAD_LIST_READ; /* the thread list has changed: the copies belong to the old list */
    if (round_was_slow(a, &before, now_ns)) {
        drop_copies(a);
        return THREAD_LIST_READ;
    }
    a->taken = true;
    if (a->which == ASYNC_RUNNING) {
        *left = asyncio_running_take(a);
    } else {
        asyncio_all_take(a, first);
        *left = a->again_count;
    }
    return THREAD_LIST_READ;
}

static enum thread_list_state read_rounds(struct asyncio *a, uint64_t now_ns)
{
    enum thread_list_state state = THREAD_LIST_READ;
    size_t left = 1;
    bool listed = false;
    a->rounds_before = a->rounds;
    for (int i = 0; i < ROUNDS && left > 0 && state == THREAD_LIST_READ; i++) {
        a->carried = i == 0 && (a->which == ASYNC_ALL || now_ns < a->read_ns + FRESH_NS);
        if (i == 0)
            asyncio_plan_tick(a);
        else if (listed)
            asyncio_plan_again(a);
        else
            asyncio_plan_busy(a);
        if (!a->carried && !listed)
            drop_copies(a);
        a->rounds = (uint32_t)i + 1;
        state = asyncio_read_round(a, i == 0 ? now_ns : clock_now_ns(), !listed, &left);
        listed |= a->taken;
    }
    if (a->which == ASYNC_ALL && state == THREAD_LIST_READ)
        asyncio_all_place(a);
    a->failed = state == THREAD_LIST_READ ? left : 0;
    a->read_ns = clock_now_ns();
    asyncio_tasks_turn(&a->tasks);
    return state;
}

enum thread_list_state asyncio_read(struct asyncio *a, uint64_t now_ns, uint64_t time_ns)
{
    if (!a->ready)
        return thread_list_read(a->thread_list, now_ns);
    a->time_ns = time_ns;
    a->tasks.tick++;
    a->tasks.reads_left = READS_LIMIT;
    return read_rounds(a, now_ns);
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
