/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/markers.h"

#include "formats/base/alloc.h"
#include "formats/model/attribute.h"

#include <stdlib.h>

/* Bytes of one marker, as the profile has it: about what recordings show, rather more. */
static const uint32_t each_bytes[MARKER_KINDS] = {
    [MARKER_GIL_WAIT] = 110, [MARKER_GC] = 120,   [MARKER_EXCEPTION] = 110, [MARKER_GAP] = 70,
    [MARKER_BLOCKED] = 130,  [MARKER_TASK] = 110, [MARKER_THREAD] = 110,    [MARKER_PROCESS] = 160,
    [MARKER_TITLE] = 110,    [MARKER_SPAN] = 150,
};

#define SHARE       20           /* markers take one part of so many of a profile's bytes */
#define SMALL_BYTES (8u << 10)   /* a profile may have so many bytes of markers in any case, ... */
#define LIVES_BYTES (384u << 10) /* ... and of lives, of tasks, threads, processes and spans: thousands */

void markers_begin(struct markers *markers, const struct tables *tables, uint64_t least_wait_ns)
{
    *markers = (struct markers){ .tables = tables, .least_wait_ns = least_wait_ns, .facts = { .tables = tables } };
}

static void close_thread(struct markers *markers, uint32_t number, uint64_t ns)
{
    struct marker_thread *thread = markers->threads[number];
    struct marker_store *store = &markers->store;
    lock_waits_close(&thread->wait, number, ns, store, markers->least_wait_ns);
    spans_close(&thread->spans, number, ns, markers->tables, store);
    loop_steps_close(&thread->step, number, ns, store);
    traced_close(&thread->traced, number, ns, store);
}

static struct look look_of(struct markers *markers, const struct run *run, uint32_t number,
                           const struct marker_thread *thread, uint64_t tick)
{
    const uint64_t end_ns = thread->last_ns + thread->width_ns;
    const bool after = thread->width_ns && tick - thread->tick <= 1 && run->time_ns >= thread->last_ns;
    return (struct look){ .run = run,
                          .fact = stack_facts_of(&markers->facts, run->stack),
                          .thread = number,
                          .ns = run->time_ns,
                          .width_ns = run->stands_ns,
                          .last_ns = thread->last_ns,
                          .since_ns = after || end_ns > run->time_ns ? run->time_ns : end_ns,
                          .after = after };
}

/* Whether a thread of this number is defined; a recording may be damaged. */
static bool markers_is_known(const struct tables *tables, uint32_t thread)
{
    return thread && thread < tables->threads_count && tables->threads[thread].thread.number;
}

static struct marker_thread *make_thread(struct markers *markers, uint32_t number)
{
    if (!markers_is_known(markers->tables, number))
        return NULL;
    markers->threads = alloc_grow(markers->threads, &markers->threads_room, (size_t)number + 1,
                                  sizeof(*markers->threads));
    struct marker_thread *thread = markers->threads[number] = alloc_zeroed(1, sizeof(*thread));
    thread->process = markers->tables->threads[number].thread.process;
    return thread;
}

/* What is open on a thread's line; NULL: the thread has no definition. */
static inline struct marker_thread *markers_thread_of(struct markers *markers, uint32_t number)
{
    const bool made = number < markers->threads_room && markers->threads[number];
    return made ? markers->threads[number] : make_thread(markers, number);
}

/* The number of the process's open tick. */
static uint64_t tick_now(const struct markers *markers, uint32_t process)
{
    return markers->tick + (process < markers->own_ticks_room ? markers->own_ticks[process] : 0);
}

static void count_tick(struct markers *markers, uint32_t process)
{
    if (process == 0) {
        markers->tick++;
        return;
    }
    markers->own_ticks = alloc_grow(markers->own_ticks, &markers->own_ticks_room, (size_t)process + 1,
                                    sizeof(*markers->own_ticks));
    markers->own_ticks[process]++;
}

/* Whether the look says nothing that the look before did not say. Most looks are so. */
static bool is_calm(const struct marker_thread *thread, const struct run *run, uint64_t tick)
{
    return thread->calm && run->stack == thread->stack && run->status == thread->status && !run->task &&
           !run->callback_ns && span_ids_equal(run->span, thread->traced.span) && tick - thread->tick <= 1 &&
           run->time_ns >= thread->last_ns;
}

static void take_calm(struct markers *markers, const struct marker_thread *thread, uint32_t number)
{
    if (thread->wait.open)
        lock_waits_add_waiter(&markers->lock, number);
    if (attribute_is(thread->status, ATTRIBUTE_GIL))
        lock_waits_add_holder(&markers->lock, number, thread->stack);
}

static void markers_end_look(struct marker_thread *thread, const struct run *run, uint64_t tick)
{
    thread->last_ns = run->time_ns;
    thread->width_ns = run->stands_ns ? run->stands_ns : 1;
    thread->tick = tick;
}

/* Takes a look for the gaps of its process, once for each tick. */
static void take_gaps(struct markers *markers, const struct run *run, uint32_t number, uint32_t process)
{
    if (run->time_ns == markers->gaps_ns && process == markers->gaps_process)
        return;
    const struct look look = { .thread = number, .ns = run->time_ns, .width_ns = run->stands_ns };
    gaps_take(&markers->gaps, &look, markers->tables, &markers->store);
    markers->gaps_ns = run->time_ns;
    markers->gaps_process = process;
}

static void markers_take_look(struct markers *markers, struct marker_thread *thread, const struct run *run,
                              uint32_t number, uint64_t tick)
{
    const struct look look = look_of(markers, run, number, thread, tick);
    lock_waits_take(&markers->lock, &thread->wait, &look, &markers->store, markers->least_wait_ns);
    spans_take(&thread->spans, &look, markers->tables, &markers->store);
    loop_steps_take(&thread->step, &look, &markers->store);
    traced_take(&thread->traced, &look, &markers->store);
    const bool goes_on = look.after && thread->task == run->task;
    task_lives_take(&markers->tasks, &look, markers->tables, goes_on ? TASK_RUNS : TASK_BEGINS);
    thread->stack = run->stack;
    thread->status = run->status;
    thread->task = run->task;
    thread->calm = !run->task && !look.fact->gc && !thread->step.since_ns;
}

void markers_take_run(struct markers *markers, const struct run *run, uint32_t number)
{
    struct marker_thread *thread = markers_thread_of(markers, number);
    if (!thread)
        return;
    const uint64_t tick = tick_now(markers, thread->process);
    take_gaps(markers, run, number, thread->process);
    if (is_calm(thread, run, tick))
        take_calm(markers, thread, number);
    else
        markers_take_look(markers, thread, run, number, tick);
    markers_end_look(thread, run, tick);
}

void markers_take_waiting(struct markers *markers, const struct run *run, uint32_t number)
{
    const struct look look = { .run = run,
                               .fact = stack_facts_of(&markers->facts, run->stack),
                               .thread = number,
                               .ns = run->time_ns,
                               .width_ns = run->stands_ns };
    if (markers_is_known(markers->tables, number))
        task_lives_take(&markers->tasks, &look, markers->tables, TASK_WAITS);
}

static void markers_end_thread(struct markers *markers, const struct marker_end *end)
{
    const struct marker_thread *thread = markers->threads[end->thread];
    if (!thread)
        return;
    const uint64_t last_ns = thread->last_ns + thread->width_ns;
    close_thread(markers, end->thread, end->ns < last_ns ? end->ns : last_ns);
    free(markers->threads[end->thread]);
    markers->threads[end->thread] = NULL;
}

/* The looks of the tick are complete: notes who held the lock for which the others waited. */
static void markers_end_tick(struct markers *markers, uint32_t process)
{
    for (size_t i = 0; i < markers->lock.waiters_count; i++) {
        const uint32_t waiter = markers->lock.waiters[i];
        const struct lock_held *held = lock_waits_holder(&markers->lock, markers->tables, waiter);
        if (held && markers->threads[waiter])
            lock_waits_note(&markers->threads[waiter]->wait, held, markers->tables);
    }
    markers->lock.waiters_count = markers->lock.held_count = 0;
    for (size_t i = 0; i < markers->ended_count; i++)
        markers_end_thread(markers, &markers->ended[i]);
    markers->ended_count = 0;
    if (!markers->blind)
        count_tick(markers, process);
    markers->blind = false;
}

/* A tick in which the thread could not be read ends nothing. */
static void markers_take_failed(struct markers *markers, const struct failed *failed)
{
    struct marker_thread *thread = failed->thread < markers->threads_room ? markers->threads[failed->thread] : NULL;
    if (failed->thread == 0) {
        markers->blind = true;
        gaps_take_failed(&markers->gaps, failed->process);
    } else if (thread && tick_now(markers, thread->process) - thread->tick <= 1) {
        thread->tick = tick_now(markers, thread->process);
    }
}

static void markers_take_thread_end(struct markers *markers, const struct change *change)
{
    const uint32_t number = change->number;
    if (markers_is_known(markers->tables, number) && markers->tables->threads[number].thread.task)
        task_lives_end(&markers->tasks, markers->tables->threads[number].thread.task, change->time_ns);
    if (number >= markers->threads_room || !markers->threads[number])
        return;
    markers->ended = alloc_grow(markers->ended, &markers->ended_room, markers->ended_count + 1,
                                sizeof(*markers->ended));
    markers->ended[markers->ended_count++] = (struct marker_end){ number, change->time_ns };
}

void markers_take(struct markers *markers, const struct event *event)
{
    if (event->kind == EVENT_TICK)
        markers_end_tick(markers, event->tick_process);
    else if (event->kind == EVENT_FAILED)
        markers_take_failed(markers, &event->failed);
    else if (event->kind == EVENT_MISSED)
        gaps_take_missed(&markers->gaps, event->missed_process, event->missed);
    else if (event->kind == EVENT_THREAD && markers_is_known(markers->tables, event->thread.number))
        gaps_take_thread(&markers->gaps, &event->thread);
    else if (event->kind == EVENT_THREAD_END)
        markers_take_thread_end(markers, &event->change);
    else if (event->kind == EVENT_PROCESS_TITLE)
        title_lives_take(&markers->titles, markers->tables, &event->change);
}

void markers_settle(struct markers *markers, uint64_t bytes)
{
    struct marker_budget budget = { .bytes = bytes / SHARE };
    for (size_t kind = 0; kind < MARKER_KINDS; kind++) {
        budget.each_bytes[kind] = each_bytes[kind];
        const bool life = kind == MARKER_TASK || kind == MARKER_THREAD || kind == MARKER_PROCESS ||
                          kind == MARKER_TITLE || kind == MARKER_SPAN;
        budget.least_bytes[kind] = life ? LIVES_BYTES : SMALL_BYTES / MARKER_KINDS;
    }
    if (budget.bytes < SMALL_BYTES)
        budget.bytes = SMALL_BYTES;
    for (uint32_t i = 0; i < markers->threads_room; i++)
        if (markers->threads[i])
            close_thread(markers, i, markers->threads[i]->last_ns + markers->threads[i]->width_ns);
    task_lives_settle(&markers->tasks, &markers->store);
    marker_store_settle(&markers->store, &budget);
}

void markers_free(struct markers *markers)
{
    for (size_t i = 0; i < markers->threads_room; i++)
        free(markers->threads[i]);
    free(markers->threads);
    free(markers->ended);
    free(markers->own_ticks);
    marker_store_free(&markers->store);
    stack_facts_free(&markers->facts);
    lock_waits_free(&markers->lock);
    task_lives_free(&markers->tasks);
    title_lives_free(&markers->titles);
    gaps_free(&markers->gaps);
}
