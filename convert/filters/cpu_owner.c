/* SPDX-License-Identifier: MIT */
#include "convert/filters/cpu_owner.h"

#include "formats/base/alloc.h"
#include "formats/model/attribute.h"

#include <stdlib.h>

#define WAIT_NS     250000000u  /* a look waits for so long; the count's lag is some milliseconds of this */
#define WAIT_MOST   512         /* looks of one thread that may wait: 50 ms at 10 kHz */
#define EVENTS_MOST (1u << 17)  /* events that may wait: 256 ms of 500 threads at 1 kHz, and 32 MB */
#define OVERDUE_NS  2000000000u /* nothing waits longer for a look of a thread at which nobody looks any more */
#define KEPT_LOOKS  64          /* CPU time of at most so many looks is kept for later looks on a processor */

static struct cpu_thread *cpu_owner_thread_of(struct cpu_owner *owner, uint32_t thread)
{
    owner->threads = alloc_grow(owner->threads, &owner->room, (size_t)thread + 1, sizeof(*owner->threads));
    return &owner->threads[thread];
}

static void free_thread(struct cpu_thread *thread)
{
    free(thread->waiting);
    free(thread->given);
    *thread = (struct cpu_thread){ 0 };
}

/* Notes a look that was given with so much CPU time. The first look that had a processor takes the place of all others.
 */
static void note_given(struct cpu_thread *thread, const struct run *run, uint64_t cpu_ns)
{
    const bool ran = attribute_is(run->status, ATTRIBUTE_CPU);
    const uint64_t weight_ns = ran ? run->wall_ns : run->wall_ns - cpu_ns;
    if (weight_ns == 0 || (thread->ran && !ran))
        return;
    if (!thread->given)
        thread->given = alloc_zeroed(CPU_OWNER_LATEST, sizeof(*thread->given));
    if (ran && !thread->ran)
        thread->given_count = 0;
    thread->ran = ran;
    const struct cpu_given given = { run->stack, run->task, run->status, weight_ns };
    struct cpu_given *last = &thread->given[(thread->given_count - 1) % CPU_OWNER_LATEST];
    if (thread->given_count && last->stack == given.stack && last->task == given.task && last->status == given.status)
        last->weight_ns += weight_ns;
    else
        thread->given[thread->given_count++ % CPU_OWNER_LATEST] = given;
}

static void note_latest(struct cpu_thread *thread, const struct run *run)
{
    thread->latest = (struct cpu_given){ run->stack, run->task, run->status, 0 };
    thread->latest_ns = run->time_ns;
    thread->has_latest = true;
}

/* The part of `whole` that belongs to `part` of `all`. */
static uint64_t share_of(uint64_t whole, uint64_t part, uint64_t all)
{
    return all ? (uint64_t)((double)whole * (double)part / (double)all) : 0;
}

static struct cpu_event *cpu_owner_event(const struct cpu_owner *owner, uint64_t number)
{
    return &owner->events[number & (owner->events_room - 1)];
}

/* A look gets its CPU time. */
static void cpu_owner_place(struct cpu_thread *thread, struct run *look, uint64_t cpu_ns)
{
    look->cpu_ns = cpu_ns;
    thread->counted_ns -= cpu_ns;
    note_given(thread, look, cpu_ns);
    note_latest(thread, look);
}

/* The waiting looks get the CPU time that was counted meanwhile. Each look gets its share of what is left, so that
 * rounding loses nothing. */
static void settle(struct cpu_owner *owner, struct cpu_thread *thread)
{
    uint64_t left_ns = thread->counted_ns < thread->wall_ns ? thread->counted_ns : thread->wall_ns;
    for (size_t i = 0; i < thread->count; i++) {
        struct cpu_event *look = cpu_owner_event(owner, thread->waiting[i]);
        uint64_t cpu_ns = share_of(left_ns, look->event.run.wall_ns, thread->wall_ns);
        if (cpu_ns > left_ns)
            cpu_ns = left_ns;
        left_ns -= cpu_ns;
        thread->wall_ns -= look->event.run.wall_ns;
        cpu_owner_place(thread, &look->event.run, cpu_ns);
        look->waits = false;
    }
    thread->count = 0;
    thread->wall_ns = 0;
}

/* How much CPU time a look gets that had no processor: what is more than may be kept. */
static uint64_t surplus(const struct cpu_thread *thread, const struct run *run)
{
    const uint64_t kept_ns = KEPT_LOOKS * run->stands_ns;
    const uint64_t more_ns = thread->counted_ns > kept_ns ? thread->counted_ns - kept_ns : 0;
    return more_ns < run->wall_ns ? more_ns : run->wall_ns;
}

/* ---- events in their order ---- */

/* Whether an event defines something. Its texts are valid only now, and the tables have what it says already. */
static bool is_definition(const struct event *event)
{
    switch (event->kind) {
    case EVENT_RECORDING:
    case EVENT_PROCESS:
    case EVENT_PROCESS_TITLE:
    case EVENT_THREAD:
    case EVENT_THREAD_NAME:
    case EVENT_TASK:
    case EVENT_STRING:
    case EVENT_FUNCTION:
    case EVENT_FRAME:
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

/* Gives the events up to the first look that waits. */
static bool give_due(struct cpu_owner *owner, const struct sink *output, struct fault *why)
{
    bool good = true;
    for (; owner->first != owner->next && !cpu_owner_event(owner, owner->first)->waits; owner->first++)
        good = good && sink_take(output, &cpu_owner_event(owner, owner->first)->event, why);
    return good;
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

/* Whether the first event is a look that has waited too long when this event comes. A run comes up to a second after
 * its end. */
static bool is_overdue(const struct cpu_owner *owner, const struct event *event)
{
    const struct cpu_event *first = cpu_owner_event(owner, owner->first);
    const bool old = event->kind == EVENT_TICK && event->tick_ns > first->event.run.time_ns + OVERDUE_NS;
    return first->waits && (old || owner->next - owner->first >= EVENTS_MOST);
}

/* Gives an event, or has it wait behind the look that waits. */
static bool cpu_owner_pass(struct cpu_owner *owner, struct event *event, const struct sink *output, struct fault *why)
{
    if (owner->first == owner->next)
        return sink_take(output, event, why);
    cpu_owner_add(owner, event, false);
    if (is_overdue(owner, event))
        settle(owner, cpu_owner_thread_of(owner, cpu_owner_event(owner, owner->first)->event.run.thread));
    return give_due(owner, output, why);
}

static bool cpu_owner_take_look(struct cpu_owner *owner, struct event *event, const struct sink *output,
                                struct fault *why)
{
    struct run *look = &event->run;
    struct cpu_thread *thread = cpu_owner_thread_of(owner, look->thread);
    thread->counted_ns += look->cpu_ns;
    if (!attribute_is(look->status, ATTRIBUTE_CPU)) {
        settle(owner, thread);
        cpu_owner_place(thread, look, surplus(thread, look));
        return cpu_owner_pass(owner, event, output, why);
    }
    thread->waiting = alloc_grow(thread->waiting, &thread->room, thread->count + 1, sizeof(*thread->waiting));
    thread->waiting[thread->count++] = owner->next;
    thread->wall_ns += look->wall_ns;
    cpu_owner_add(owner, event, true);
    if (thread->wall_ns < WAIT_NS && thread->count < WAIT_MOST)
        return true;
    settle(owner, thread);
    return give_due(owner, output, why);
}

/* ---- the end of a thread ---- */

/* Gives CPU time to a look that was given before. */
static bool give_late(struct cpu_owner *owner, uint32_t number, const struct cpu_given *to, uint64_t cpu_ns,
                      const struct sink *output, struct fault *why)
{
    struct cpu_thread *thread = &owner->threads[number];
    struct event event = { .kind = EVENT_RUN,
                           .run = { .thread = number,
                                    .stack = to->stack,
                                    .task = to->task,
                                    .status = to->status,
                                    .time_ns = thread->latest_ns,
                                    .cpu_ns = cpu_ns } };
    thread->counted_ns -= cpu_ns;
    return cpu_ns == 0 || cpu_owner_pass(owner, &event, output, why);
}

static uint64_t weight_of(const struct cpu_thread *thread, uint32_t kept)
{
    uint64_t weight_ns = 0;
    for (uint32_t i = 1; i <= kept; i++)
        weight_ns += thread->given[(thread->given_count - i) % CPU_OWNER_LATEST].weight_ns;
    return weight_ns;
}

/* Gives what is left at a thread's end, to the latest look first. */
static bool give_rest(struct cpu_owner *owner, uint32_t number, const struct sink *output, struct fault *why)
{
    const struct cpu_thread *thread = &owner->threads[number];
    const uint32_t kept = thread->given_count < CPU_OWNER_LATEST ? thread->given_count : CPU_OWNER_LATEST;
    uint64_t weight_ns = weight_of(thread, kept);
    bool good = true;
    for (uint32_t i = 1; i <= kept && good; i++) {
        const struct cpu_given *given = &thread->given[(thread->given_count - i) % CPU_OWNER_LATEST];
        const uint64_t left_ns = thread->counted_ns;
        const uint64_t most_ns = thread->ran ? share_of(left_ns, given->weight_ns, weight_ns) : given->weight_ns;
        weight_ns -= given->weight_ns;
        good = give_late(owner, number, given, left_ns < most_ns ? left_ns : most_ns, output, why);
    }
    return good && give_late(owner, number, &thread->latest, thread->counted_ns, output, why);
}

static bool cpu_owner_end_thread(struct cpu_owner *owner, uint32_t number, const struct sink *output, struct fault *why)
{
    if (number >= owner->room)
        return true;
    struct cpu_thread *thread = &owner->threads[number];
    bool good = true;
    settle(owner, thread);
    if (thread->has_latest)
        good = give_rest(owner, number, output, why);
    else
        owner->unplaced_ns += thread->counted_ns;
    free_thread(thread);
    return good;
}

bool cpu_owner_take(struct cpu_owner *owner, struct event *event, const struct sink *output, struct fault *why)
{
    if (event->kind == EVENT_RUN)
        return cpu_owner_take_look(owner, event, output, why);
    if (event->kind == EVENT_LEFT_OUT) {
        struct cpu_thread *thread = cpu_owner_thread_of(owner, event->left_out.thread);
        thread->counted_ns += event->left_out.cpu_ns;
        settle(owner, thread);
    }
    if (event->kind == EVENT_THREAD_END && !cpu_owner_end_thread(owner, event->change.number, output, why))
        return false;
    return is_definition(event) ? sink_take(output, event, why) : cpu_owner_pass(owner, event, output, why);
}

bool cpu_owner_finish(struct cpu_owner *owner, const struct sink *output, struct fault *why)
{
    bool good = true;
    for (size_t i = 0; i < owner->room; i++)
        good = cpu_owner_end_thread(owner, (uint32_t)i, output, why) && good;
    return give_due(owner, output, why) && good;
}

void cpu_owner_free(struct cpu_owner *owner)
{
    for (size_t i = 0; i < owner->room; i++)
        free_thread(&owner->threads[i]);
    free(owner->threads);
    free(owner->events);
    *owner = (struct cpu_owner){ 0 };
}
