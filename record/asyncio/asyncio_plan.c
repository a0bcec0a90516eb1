/* SPDX-License-Identifier: MIT */
#include "record/asyncio/asyncio_internal.h"

#include "formats/base/alloc.h"
#include "record/asyncio/await_graph.h"

#include <string.h>

#define USED_TICKS    8     /* ticks for which a task stays planned after it last ran */
#define BUSY_LEAST    24    /* with more busy tasks than this, ... */
#define BUSY_PART     8     /* ... and more than 1/8 of the calm tasks, all tasks become calm */
#define TRIM_TICKS    4096  /* tasks that were not used for so many ticks are removed */
#define CLOSURE_LIMIT 65536 /* most tasks that are planned because they wait for one task */

static void begin_plan(struct asyncio *a, size_t copy)
{
    a->tasks.plans[copy] = ++a->tasks.last_plan;
    double_read_clear(&a->tasks.copies[copy]);
}

/* Starts the plan of a copy with words of the interpreters and threads: each interpreter's count of freed code objects,
 * then each thread's current task (ASYNC_RUNNING) or list of tasks (ASYNC_ALL), then each interpreter's list of tasks
 * (ASYNC_ALL). */
static void plan_owners(struct asyncio *a, size_t front)
{
    const struct thread_list *thread_list = a->thread_list;
    const struct layout *l = &a->target->runtime.layout;
    const struct asyncio_layout *o = &a->tasks.offsets;
    struct double_read *copy = &a->tasks.copies[front];
    const bool main_only = thread_list->which == THREADS_MAIN;
    const uint32_t *order = main_only ? thread_list->asked : thread_list->order;
    begin_plan(a, front);
    a->front = front;
    a->list = thread_list->list;
    a->interpreters = a->target->interpreters_count;
    a->owners_count = main_only ? thread_list->asked_count : thread_list->order_count;
    a->owners = alloc_grow(a->owners, &a->owners_room, a->owners_count + 1, sizeof(*a->owners));
    if (a->owners_count > 0)
        memcpy(a->owners, order, a->owners_count * sizeof(*order));
    for (size_t i = 0; i < a->interpreters; i++)
        double_read_add(copy, a->target->interpreters[i].address + l->interpreter_code_generation, 8);
    for (size_t i = 0; i < a->owners_count; i++) {
        const uint64_t thread = thread_list->members[a->owners[i]].address;
        if (a->which == ASYNC_RUNNING)
            double_read_add(copy, thread + o->thread_task, 8);
        else
            double_read_add(copy, thread + o->thread_tasks, 16);
    }
    for (size_t i = 0; a->which == ASYNC_ALL && i < a->interpreters; i++)
        double_read_add(copy, a->target->interpreters[i].address + o->interpreter_tasks, 16);
    a->words = copy->count;
}

static bool is_used(const struct asyncio *a, const struct known_task *task)
{
    const uint64_t ticks = a->which == ASYNC_RUNNING ? USED_TICKS : 1;
    return task->used != 0 && task->used + ticks >= a->tasks.tick;
}

static bool task_is_calm(const struct asyncio *a, const struct known_task *task)
{
    return a->tasks.plans[COPY_CALM] && task->planned[COPY_CALM].plan == a->tasks.plans[COPY_CALM];
}

/* Plans COPY_CALM: all tasks that are used now. A task that moves later becomes busy. */
static void plan_calm(struct asyncio *a)
{
    struct tasks *tasks = &a->tasks;
    begin_plan(a, COPY_CALM);
    a->calm_plan = tasks->plans[COPY_CALM];
    a->calm_count = 0;
    for (size_t i = 0; i < tasks->count; i++) {
        struct known_task *task = &tasks->rows[i];
        if (!is_used(a, task))
            continue;
        asyncio_tasks_plan(tasks, task, COPY_CALM);
        a->calm_count++;
    }
}

void asyncio_plan_busy(struct asyncio *a)
{
    struct tasks *tasks = &a->tasks;
    plan_owners(a, COPY_BUSY);
    a->busy_plan = tasks->plans[COPY_BUSY];
    a->busy_count = 0;
    for (size_t i = 0; i < tasks->count; i++) {
        if (!is_used(a, &tasks->rows[i]) || task_is_calm(a, &tasks->rows[i]))
            continue;
        asyncio_tasks_plan(tasks, &tasks->rows[i], COPY_BUSY);
        a->busy_count++;
    }
}

/* Removes tasks that were not used for long. */
static void trim(struct asyncio *a)
{
    struct tasks *tasks = &a->tasks;
    const uint64_t since = tasks->tick > TRIM_TICKS ? tasks->tick - TRIM_TICKS : 0;
    for (size_t i = 0; i < tasks->count; i++)
        if (tasks->rows[i].used < since)
            asyncio_forget_entry(&tasks->rows[i]);
    asyncio_tasks_trim(tasks, since);
}

void asyncio_plan_tick(struct asyncio *a)
{
    struct tasks *tasks = &a->tasks;
    if (tasks->tick % TRIM_TICKS == 0)
        trim(a);
    tasks->plans[COPY_CALM] = a->calm_plan;
    tasks->plans[COPY_BUSY] = a->busy_plan;
    tasks->plans[COPY_AGAIN] = 0;
    a->front = COPY_BUSY;
    if (a->moved || a->list != a->thread_list->list) {
        asyncio_plan_busy(a);
        if (a->busy_count > BUSY_LEAST && a->busy_count > a->calm_count / BUSY_PART) {
            plan_calm(a);
            asyncio_plan_busy(a);
        }
    }
    a->moved = false;
}

/* Looks at a task and at all tasks that wait for it, directly or over other tasks, to find their spans. Puts the
 * waiting tasks into a->chain. */
static void find_waiters(struct asyncio *a, uint32_t row)
{
    struct tasks *tasks = &a->tasks;
    a->chains++;
    a->chain_count = 0;
    for (size_t at = 0; at == 0 || (at <= a->chain_count && at < CLOSURE_LIMIT); at++) {
        const uint32_t next = at == 0 ? row : a->chain[at - 1];
        if (!is_used(a, &tasks->rows[next])) /* the spans of a used task are known */
            await_graph_look(a, next);
        for (size_t i = 0; i < tasks->rows[next].waiters_count; i++) {
            struct known_task *waiter = asyncio_tasks_at(tasks, tasks->rows[next].waiters[i]);
            if (!waiter || waiter->chained == a->chains)
                continue;
            waiter->chained = a->chains;
            waiter->wants_frames = true;
            waiter->interpreter = tasks->rows[next].interpreter;
            a->chain = alloc_grow(a->chain, &a->chain_room, a->chain_count + 1, sizeof(*a->chain));
            a->chain[a->chain_count++] = (uint32_t)(waiter - tasks->rows);
        }
    }
}

void asyncio_plan_again(struct asyncio *a)
{
    struct tasks *tasks = &a->tasks;
    for (size_t i = 0; i < a->again_count; i++)
        find_waiters(a, a->again[i]);
    asyncio_tasks_turn(tasks);
    /* A further round makes both copies anew. Also, a copy that was made during a change must not serve the next tick
     * as first copy: the second copy may be inconsistent in the same way, and then both are equal. */
    for (size_t i = 0; i < COPIES; i++)
        double_read_drop(&tasks->copies[i]);
    plan_owners(a, COPY_AGAIN);
    tasks->plans[COPY_CALM] = tasks->plans[COPY_BUSY] = 0;
    for (size_t i = 0; i < a->again_count; i++) {
        find_waiters(a, a->again[i]); /* the looks are made already: only fills the chain */
        for (size_t k = 0; k <= a->chain_count; k++) {
            struct known_task *task = &tasks->rows[k == 0 ? a->again[i] : a->chain[k - 1]];
            if (task->planned[COPY_AGAIN].plan != tasks->plans[COPY_AGAIN])
                asyncio_tasks_plan(tasks, task, COPY_AGAIN);
            a->moved |= task->planned[COPY_CALM].plan != a->calm_plan && task->planned[COPY_BUSY].plan != a->busy_plan;
        }
    }
    /* Any task that ran lately may run in the further round. */
    for (size_t i = 0; a->which == ASYNC_RUNNING && i < tasks->count; i++)
        if (is_used(a, &tasks->rows[i]) && tasks->rows[i].planned[COPY_AGAIN].plan != tasks->plans[COPY_AGAIN])
            asyncio_tasks_plan(tasks, &tasks->rows[i], COPY_AGAIN);
}

/* Selects a task and the tasks that wait for it, as far as they are known, for the next copies. */
static void want_chain(struct asyncio *a, struct known_task *task)
{
    while (task->chained != a->chains) {
        task->chained = a->chains;
        asyncio_tasks_want(&a->tasks, task);
        if (task->parent == 0 || task->parent > a->tasks.count)
            return;
        task = &a->tasks.rows[task->parent - 1];
    }
}

/* Selects only the tasks that run in the first copy. Selects all tasks when there is no first copy yet. */
static void want_running(struct asyncio *a)
{
    struct tasks *tasks = &a->tasks;
    struct double_read *front = &tasks->copies[a->front];
    for (size_t i = 0; i < a->owners_count; i++)
        if (!double_read_first(front, a->interpreters + i))
            return;
    for (size_t i = 0; i < COPIES; i++)
        if (tasks->plans[i])
            double_read_want_all(&tasks->copies[i], false);
    for (size_t i = 0; i < a->words; i++)
        double_read_want(front, i);
    a->chains++;
    for (size_t i = 0; i < a->owners_count; i++) {
        const uint64_t address = word_at(double_read_first(front, a->interpreters + i), 0);
        struct known_task *task = address ? asyncio_tasks_find(tasks, address) : NULL;
        if (task)
            want_chain(a, task);
    }
}

bool asyncio_plan_copy(struct asyncio *a, bool second)
{
    struct tasks *tasks = &a->tasks;
    for (size_t i = 0; i < COPIES; i++)
        if (tasks->plans[i])
            double_read_want_all(&tasks->copies[i], true);
    if (a->which == ASYNC_RUNNING && a->rounds == 1 && a->rounds_before == 1)
        want_running(a);
    for (size_t i = 0; i < COPIES; i++) {
        if (!tasks->plans[i])
            continue;
        if (double_read_copy(&tasks->copies[i], &a->target->remote, second) != REMOTE_READ)
            return false;
        if (second)
            tasks->copied_rounds[i] = tasks->round;
    }
    return true;
}

void asyncio_plan_look_again(struct asyncio *a, uint32_t row)
{
    a->again = alloc_grow(a->again, &a->again_room, a->again_count + 1, sizeof(*a->again));
    a->again[a->again_count++] = row;
}
