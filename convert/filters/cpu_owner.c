/* SPDX-License-Identifier: MIT */
#include "convert/filters/cpu_owner.h"

#include "formats/base/alloc.h"
#include "formats/frames/waiting.h"

#include <stdlib.h>

#define WINDOW_LOOKS    16         /* if looks are rare, a window is as long as the distance of so many looks, ... */
#define WINDOWS_MOST    8          /* ... and at most as so many other windows */
#define EVENTS_MOST     (1u << 17) /* events that may wait: 256 ms of 500 threads at 1 kHz, and 32 MB */
#define UNCOUNTED_LOOKS 2          /* what a thread used may be counted so many looks later */
#define KEPT_LOOKS      8          /* CPU time of at most so many looks is kept for later looks */
#define LONG_LOOKS      64         /* the last moment of a thread with so many looks is a small part of its life */
#define TAIL_LOOKS      3 /* a thread that ended was seen in one look of so many that its kind is worth, at least */

static struct cpu_thread *cpu_owner_thread_of(struct cpu_owner *owner, uint32_t thread)
{
    owner->threads = alloc_grow(owner->threads, &owner->room, (size_t)thread + 1, sizeof(*owner->threads));
    return &owner->threads[thread];
}

static struct cpu_pool *cpu_owner_pool_of(struct cpu_owner *owner, uint32_t process)
{
    owner->pools = alloc_grow(owner->pools, &owner->pools_room, (size_t)process + 1, sizeof(*owner->pools));
    return &owner->pools[process];
}

/* A thread that takes part in the closing of the window. */
static struct cpu_thread *cpu_owner_activate(struct cpu_owner *owner, uint32_t number)
{
    struct cpu_thread *thread = cpu_owner_thread_of(owner, number);
    if (thread->active)
        return thread;
    owner->active = alloc_grow(owner->active, &owner->active_room, owner->active_count + 1, sizeof(*owner->active));
    owner->active[owner->active_count++] = number;
    thread->active = true;
    return thread;
}

/* The part of `whole` that belongs to `part` of `all`. */
static uint64_t share_of(uint64_t whole, uint64_t part, uint64_t all)
{
    const uint64_t share = all ? (uint64_t)((double)whole * (double)part / (double)all) : 0;
    return share < whole ? share : whole;
}

/* ---- events in their order ---- */

static struct cpu_event *cpu_owner_event(const struct cpu_owner *owner, uint64_t number)
{
    return &owner->events[number & (owner->events_room - 1)];
}

/* Whether an event defines something. Its texts are valid only now, and the tables have what it says already. */
static bool is_definition(const struct event *event)
{
    switch (event->kind) {
    case EVENT_RECORDING:
    case EVENT_PROCESS:
    case EVENT_PROCESS_TITLE:
    case EVENT_PROCESS_ATTRIBUTES:
    case EVENT_THREAD:
    case EVENT_THREAD_NAME:
    case EVENT_TASK:
    case EVENT_STRING:
    case EVENT_FUNCTION:
    case EVENT_FRAME:
    case EVENT_MODULE:
    case EVENT_COUNTER:
    case EVENT_SERIAL:
        return true;
    default:
        return false;
    }
}

static void cpu_owner_make_room(struct cpu_owner *owner)
{
    const size_t room = owner->events_room ? owner->events_room * 2 : 64;
    struct cpu_event *events = alloc_zeroed(room, sizeof(*events));
    for (uint64_t number = owner->first; number != owner->next; number++)
        events[number & (room - 1)] = *cpu_owner_event(owner, number);
    free(owner->events);
    owner->events = events;
    owner->events_room = room;
}

static void cpu_owner_add(struct cpu_owner *owner, const struct event *event, bool waits)
{
    if (owner->next - owner->first == owner->events_room)
        cpu_owner_make_room(owner);
    struct cpu_event *added = cpu_owner_event(owner, owner->next++);
    added->waits = waits;
    if (event->kind == EVENT_RUN) { /* most events; the largest event is three times as large */
        added->event.kind = EVENT_RUN;
        added->event.run = event->run;
    } else {
        added->event = *event;
    }
}

/* Gives the events up to the first look that waits. */
static bool give_due(struct cpu_owner *owner, const struct sink *output, struct fault *why)
{
    bool good = true;
    for (; owner->first != owner->next && !cpu_owner_event(owner, owner->first)->waits; owner->first++)
        good = good && sink_take(output, &cpu_owner_event(owner, owner->first)->event, why);
    return good;
}

/* Whether a look saw its thread run. */
static bool look_ran(const struct run *look)
{
    return attribute_is(look->status, ATTRIBUTE_CPU) && !attribute_is(look->status, ATTRIBUTE_READY) && look->count > 0;
}

/* ---- shares ---- */

/* Whether a look at a thread found what the look before it found. */
static bool same_place(const struct run *look, const struct run *before)
{
    return look->stack == before->stack && look->task == before->task && look->status == before->status &&
           span_ids_equal(look->span, before->span);
}

/* Where the looks at one place end that begin with the look `from` of those that wait. */
static size_t cpu_owner_visit_end(const struct cpu_owner *owner, const struct cpu_thread *thread, size_t from)
{
    size_t end = from + 1;
    while (end < thread->count && cpu_owner_event(owner, thread->waiting[end])->goes_on)
        end++;
    return end;
}

/* Sets the weights of the looks that wait. A visit to a place has the same weight whether the reader gave its looks one
 * by one or as runs. */
static void cpu_owner_weigh(const struct cpu_owner *owner, struct cpu_thread *thread)
{
    thread->weight_ns = 0;
    for (size_t from = 0, end; from < thread->count; from = end) {
        uint64_t wall_ns = 0, most_ns = UNCOUNTED_LOOKS * thread->latest.stands_ns;
        end = cpu_owner_visit_end(owner, thread, from);
        for (size_t i = from; i < end; i++) {
            const struct run *look = &cpu_owner_event(owner, thread->waiting[i])->event.run;
            wall_ns += look->wall_ns;
            most_ns += look->cpu_ns;
        }
        uint64_t left_ns = wall_ns < most_ns ? wall_ns : most_ns;
        thread->weight_ns += left_ns;
        for (size_t i = from; i < end; i++) {
            struct cpu_event *event = cpu_owner_event(owner, thread->waiting[i]);
            event->weight_ns = share_of(left_ns, event->event.run.wall_ns, wall_ns);
            wall_ns -= event->event.run.wall_ns;
            left_ns -= event->weight_ns;
        }
    }
}

/* Gives a share of *left_ns to each look of the thread that waits, and takes the looks' weight from *weight_ns. Each
 * look gets its share of what is left, so that rounding loses nothing. */
static void give_shares(struct cpu_owner *owner, struct cpu_thread *thread, uint64_t *left_ns, uint64_t *weight_ns)
{
    for (size_t i = 0; i < thread->count; i++) {
        struct cpu_event *look = cpu_owner_event(owner, thread->waiting[i]);
        look->event.run.cpu_ns = share_of(*left_ns, look->weight_ns, *weight_ns);
        *left_ns -= look->event.run.cpu_ns;
        *weight_ns -= look->weight_ns;
        look->waits = false;
    }
    thread->count = 0;
    thread->weight_ns = 0;
}

/* Gives CPU time to a stack outside of a look. */
static void give_alone(struct cpu_owner *owner, uint32_t number, const struct run *to, uint64_t cpu_ns)
{
    const struct event event = { .kind = EVENT_RUN,
                                 .run = { .thread = number,
                                          .stack = to->stack,
                                          .task = to->task,
                                          .status = to->status,
                                          .span = to->span,
                                          .time_ns = to->time_ns,
                                          .cpu_ns = cpu_ns } };
    if (cpu_ns > 0)
        cpu_owner_add(owner, &event, false);
}

/* Gives CPU time of a thread that no look can have. */
static void give_unseen(struct cpu_owner *owner, uint32_t number, uint64_t cpu_ns)
{
    const struct cpu_thread *thread = &owner->threads[number];
    const struct cpu_pool *pool = cpu_owner_pool_of(owner, thread->process);
    struct run to = thread->ran.stands_ns ? thread->ran : thread->latest;
    to.time_ns = thread->latest.stands_ns ? thread->latest.time_ns : pool->time_ns;
    if (pool->stack && thread->stacks != 1)
        to = (struct run){
            .stack = pool->stack, .status = STATUS_RECORDED | STATUS_CPU, .time_ns = to.time_ns, .stands_ns = 1
        };
    if (to.stands_ns)
        give_alone(owner, number, &to, cpu_ns);
    else
        owner->unplaced_ns += cpu_ns;
}

/* ---- the end of a window ---- */

/* Shares the CPU time of a thread that lives on among its own looks. */
static void settle_living(struct cpu_owner *owner, uint32_t number)
{
    struct cpu_thread *thread = &owner->threads[number];
    const uint64_t kept_ns = KEPT_LOOKS * thread->latest.stands_ns;
    if (thread->count > 0 && thread->weight_ns == 0) { /* looks that stand for no time get nothing */
        uint64_t none_ns = 0, no_weight_ns = 0;
        give_shares(owner, thread, &none_ns, &no_weight_ns);
    }
    if (thread->weight_ns > 0) {
        give_shares(owner, thread, &thread->counted_ns, &thread->weight_ns);
    } else if (thread->latest.stands_ns && thread->counted_ns > kept_ns) {
        give_unseen(owner, number, thread->counted_ns - kept_ns);
        thread->counted_ns = kept_ns;
    }
}

/* Whether a thread that ended lived long enough that its looks say that it did not run, or hardly. */
static bool never_ran(const struct cpu_thread *thread)
{
    return thread->ran.stands_ns == 0 && thread->looks > KEPT_LOOKS;
}

/* Whether the looks at a thread that ended are enough to share out its own CPU time, but for its last moment: the
 * thread lived long, or was for some time at one place only, as a native thread is. */
static bool is_known(const struct cpu_thread *thread)
{
    return thread->weight_ns > 0 && thread->looks >= (thread->stacks == 1 ? KEPT_LOOKS : LONG_LOOKS);
}

/* Adds a thread that ended to its process. */
static void pool_thread(struct cpu_owner *owner, uint32_t number)
{
    struct cpu_thread *thread = &owner->threads[number];
    struct cpu_pool *pool = cpu_owner_pool_of(owner, thread->process);
    if (pool->entry == 0 || never_ran(thread)) {
        settle_living(owner, number);
        give_unseen(owner, number, thread->counted_ns);
    } else if (is_known(thread)) {
        settle_living(owner, number);
        thread->tail_ns = thread->latest.stands_ns;
        pool->weight_ns += thread->tail_ns;
        pool->most_ns += TAIL_LOOKS * thread->latest.stands_ns;
    } else {
        pool->left_ns += thread->counted_ns;
        pool->weight_ns += thread->weight_ns;
        pool->most_ns += thread->weight_ns > 0 ? TAIL_LOOKS * thread->latest.stands_ns : 0;
    }
    thread->counted_ns = 0;
}

/* Gives a thread that ended its share of what the threads of its process share. */
static void give_pooled(struct cpu_owner *owner, uint32_t number)
{
    struct cpu_thread *thread = &owner->threads[number];
    struct cpu_pool *pool = &owner->pools[thread->process];
    if (thread->tail_ns > 0) {
        const uint64_t share_ns = share_of(pool->left_ns, thread->tail_ns, pool->weight_ns);
        give_alone(owner, number, &thread->ran, share_ns);
        pool->left_ns -= share_ns;
        pool->weight_ns -= thread->tail_ns;
    }
    give_shares(owner, thread, &pool->left_ns, &pool->weight_ns);
}

/* Adds the rest of a process to what its threads that ended share, as far as their looks can stand for the rest.
 * Without such looks, all is kept for the next window. */
static void pool_rest(struct cpu_owner *owner, uint32_t process)
{
    struct cpu_pool *pool = &owner->pools[process];
    if (pool->weight_ns == 0) {
        pool->rest_ns += pool->left_ns;
        pool->left_ns = 0;
        return;
    }
    const uint64_t taken_ns = pool->rest_ns < pool->most_ns ? pool->rest_ns : pool->most_ns;
    pool->left_ns += taken_ns;
    pool->rest_ns -= taken_ns;
}

/* Gives away the rest of a process that the looks do not stand for: all but `kept_ns`. */
static void give_rest(struct cpu_owner *owner, struct cpu_pool *pool, uint64_t kept_ns)
{
    pool->most_ns = pool->left_ns = pool->weight_ns = 0;
    if (pool->entry == 0 || pool->rest_ns <= kept_ns)
        return;
    give_unseen(owner, pool->entry, pool->rest_ns - kept_ns);
    pool->rest_ns = kept_ns;
}

/* Adds a look at a thread that may wait for native threads. A task that waits has no thread: the thread that works for
 * it may wait for them. */
static void cpu_owner_add_waiter(struct cpu_owner *owner, struct run *look)
{
    if (attribute_is(look->status, ATTRIBUTE_TASK_WAITS))
        return;
    struct cpu_thread *thread = &owner->threads[look->thread];
    struct native_process *natives = cpu_owner_pool_of(owner, thread->process)->natives;
    if (waiting_of(look->status) == WAITS_IDLE)
        native_waiter_waits(&thread->waiter, natives, look);
    else if (look_ran(look))
        native_waiter_ran(&thread->waiter, natives, look);
}

/* Tells the waits for native threads. */
static void settle_waits(struct cpu_owner *owner)
{
    for (size_t i = 0; i < owner->beside_count; i++) {
        struct cpu_event *event = cpu_owner_event(owner, owner->beside[i]);
        cpu_owner_add_waiter(owner, &event->event.run);
        event->waits &= look_ran(&event->event.run); /* which waits for its CPU time */
    }
    owner->beside_count = 0;
}

static void close_window(struct cpu_owner *owner, bool last)
{
    size_t kept = 0;
    settle_waits(owner);
    for (size_t i = 0; i < owner->active_count; i++)
        cpu_owner_weigh(owner, &owner->threads[owner->active[i]]);
    for (size_t i = 0; i < owner->active_count; i++)
        if (owner->threads[owner->active[i]].ended)
            pool_thread(owner, owner->active[i]);
        else
            settle_living(owner, owner->active[i]);
    for (uint32_t process = 0; process < owner->pools_room; process++)
        pool_rest(owner, process);
    for (size_t i = 0; i < owner->active_count; i++) {
        const uint32_t number = owner->active[i];
        struct cpu_thread *thread = &owner->threads[number];
        if (thread->ended) {
            give_pooled(owner, number);
            free(thread->waiting);
            *thread = (struct cpu_thread){ .process = thread->process };
        } else if (thread->counted_ns > 0) {
            owner->active[kept++] = number;
        } else {
            thread->active = false;
        }
    }
    owner->active_count = kept;
    for (size_t process = 0; process < owner->pools_room; process++)
        give_rest(owner, &owner->pools[process], last ? 0 : KEPT_LOOKS * owner->stands_ns);
}

/* Few looks are a poor draw of what ran between them. So a window of a slow recording is longer. */
static uint64_t window_length_ns(const struct cpu_owner *owner)
{
    const uint64_t windows = owner->stands_ns / (CPU_WINDOW_NS / WINDOW_LOOKS);
    if (owner->live || windows <= 1)
        return CPU_WINDOW_NS;
    return (windows < WINDOWS_MOST ? windows : WINDOWS_MOST) * CPU_WINDOW_NS;
}

/* Whether the window is over when this event comes. Another recording that is merged may begin earlier. */
static bool window_is_over(struct cpu_owner *owner, const struct event *event)
{
    if (owner->next - owner->first >= EVENTS_MOST)
        return true;
    if (event->kind != EVENT_TICK)
        return false;
    const uint64_t length_ns = window_length_ns(owner), end_ns = (event->tick_ns / length_ns + 1) * length_ns;
    if (owner->window_ns == 0)
        owner->window_ns = end_ns;
    const bool over = event->tick_ns >= owner->window_ns || end_ns + WINDOWS_MOST * CPU_WINDOW_NS < owner->window_ns;
    owner->window_ns = over ? end_ns : owner->window_ns;
    return over;
}

/* ---- events ---- */

/* A look at a thread of a process with native threads: the end of the window tells for whom the thread waited. */
static bool cpu_owner_beside(struct cpu_owner *owner, const struct run *look)
{
    const struct cpu_thread *thread = &owner->threads[look->thread];
    if (thread->native || look->count == 0 || !cpu_owner_pool_of(owner, thread->process)->natives)
        return false;
    owner->beside = alloc_grow(owner->beside, &owner->beside_room, owner->beside_count + 1, sizeof(*owner->beside));
    owner->beside[owner->beside_count++] = owner->next;
    return true;
}

/* Adds a look at a native thread; and one at another thread, as long as no native thread has run. */
static void take_native(struct cpu_owner *owner, struct cpu_thread *thread, const struct run *look)
{
    struct cpu_pool *pool = cpu_owner_pool_of(owner, thread->process);
    if (!thread->native && !pool->natives) {
        struct run unchanged = *look; /* without native threads, no look is a wait for them */
        cpu_owner_add_waiter(owner, &unchanged);
    }
    if (!thread->native || (look->counted_ns == 0 && !look_ran(look)))
        return;
    if (!pool->natives)
        pool->natives = alloc_zeroed(1, sizeof(*pool->natives));
    native_process_ran(pool->natives, look);
}

static bool cpu_owner_is_native(const struct cpu_owner *owner, uint32_t stack)
{
    return owner->tables && tables_is_native(owner->tables, stack);
}

static void take_look(struct cpu_owner *owner, const struct event *event)
{
    const struct run *look = &event->run;
    const bool ran = look_ran(look);
    struct cpu_thread *thread = cpu_owner_thread_of(owner, look->thread);
    if (look->cpu_ns > 0 || ran)
        cpu_owner_activate(owner, look->thread);
    thread->native = cpu_owner_is_native(owner, look->stack);
    take_native(owner, thread, look);
    /* The C functions of a native thread are one place: none of them waits for the lock. */
    if (thread->stacks < 2 && (thread->stacks == 0 || (!thread->native && thread->latest.stack != look->stack)))
        thread->stacks++;
    const bool goes_on = thread->count > 0 && same_place(look, &thread->latest);
    thread->counted_ns += look->cpu_ns;
    thread->latest = *look;
    thread->looks += look->count;
    owner->stands_ns = look->stands_ns;
    cpu_owner_add(owner, event, cpu_owner_beside(owner, look) || ran);
    struct cpu_event *added = cpu_owner_event(owner, owner->next - 1);
    added->goes_on = goes_on;
    if (!ran) {
        added->event.run.cpu_ns = 0;
        return;
    }
    thread->ran = *look;
    thread->waiting = alloc_grow(thread->waiting, &thread->room, thread->count + 1, sizeof(*thread->waiting));
    thread->waiting[thread->count++] = owner->next - 1;
}

static void take_thread(struct cpu_owner *owner, const struct thread *given)
{
    struct cpu_thread *thread = cpu_owner_thread_of(owner, given->number);
    thread->process = given->process;
    struct cpu_pool *pool = cpu_owner_pool_of(owner, given->process);
    if (thread_is_rest(given))
        pool->entry = given->number;
}

static void take_left_out(struct cpu_owner *owner, const struct left_out *left_out)
{
    const struct cpu_thread *thread = cpu_owner_thread_of(owner, left_out->thread);
    struct cpu_pool *pool = cpu_owner_pool_of(owner, thread->process);
    if (pool->entry != left_out->thread) {
        cpu_owner_activate(owner, left_out->thread)->counted_ns += left_out->cpu_ns;
        return;
    }
    pool->time_ns = left_out->time_ns;
    if (left_out->stack) {
        pool->stack = left_out->stack;
        give_unseen(owner, left_out->thread, left_out->cpu_ns);
    } else {
        pool->rest_ns += left_out->cpu_ns;
    }
}

bool cpu_owner_take(struct cpu_owner *owner, struct event *event, const struct sink *output, struct fault *why)
{
    if (event->kind == EVENT_THREAD)
        take_thread(owner, &event->thread);
    if (is_definition(event))
        return sink_take(output, event, why);
    if (event->kind == EVENT_LEFT_OUT)
        take_left_out(owner, &event->left_out);
    if (event->kind == EVENT_THREAD_END && event->change.number < owner->room &&
        owner->threads[event->change.number].latest.stands_ns)
        cpu_owner_activate(owner, event->change.number)->ended = true;
    const bool over = window_is_over(owner, event);
    if (event->kind == EVENT_RUN)
        take_look(owner, event);
    else if (owner->first == owner->next && !over)
        return sink_take(output, event, why);
    else
        cpu_owner_add(owner, event, false);
    if (over)
        close_window(owner, false);
    return give_due(owner, output, why);
}

bool cpu_owner_finish(struct cpu_owner *owner, const struct sink *output, struct fault *why)
{
    for (uint32_t i = 0; i < owner->room; i++)
        if (owner->threads[i].latest.stands_ns || owner->threads[i].counted_ns)
            cpu_owner_activate(owner, i)->ended = true;
    close_window(owner, true);
    return give_due(owner, output, why);
}

void cpu_owner_free(struct cpu_owner *owner)
{
    for (size_t i = 0; i < owner->room; i++)
        free(owner->threads[i].waiting);
    for (size_t i = 0; i < owner->pools_room; i++)
        free(owner->pools[i].natives);
    free(owner->beside);
    free(owner->threads);
    free(owner->pools);
    free(owner->active);
    free(owner->events);
    *owner = (struct cpu_owner){ 0 };
}
