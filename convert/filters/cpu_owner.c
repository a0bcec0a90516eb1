/* SPDX-License-Identifier: MIT */
#include "convert/filters/cpu_owner.h"

#include "formats/base/alloc.h"
#include "formats/model/attribute.h"

#include <stdlib.h>

#define WAIT_MOST  512 /* looks of one thread that may wait: 50 ms at 10 kHz, and 50 kB */
#define KEPT_LOOKS 64  /* CPU time of at most so many looks is kept for later looks on a processor */

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
static void note_given(struct cpu_thread *thread, const struct sample *sample, uint64_t cpu_ns)
{
    const bool ran = attribute_is(sample->status, ATTRIBUTE_CPU);
    const uint64_t weight_ns = ran ? sample->wall_ns : sample->wall_ns - cpu_ns;
    if (weight_ns == 0 || (thread->ran && !ran))
        return;
    if (!thread->given)
        thread->given = alloc_zeroed(CPU_OWNER_LATEST, sizeof(*thread->given));
    if (ran && !thread->ran)
        thread->given_count = 0;
    thread->ran = ran;
    const struct cpu_given given = { sample->stack, sample->task, sample->status, weight_ns };
    struct cpu_given *last = &thread->given[(thread->given_count - 1) % CPU_OWNER_LATEST];
    if (thread->given_count && last->stack == given.stack && last->task == given.task && last->status == given.status)
        last->weight_ns += weight_ns;
    else
        thread->given[thread->given_count++ % CPU_OWNER_LATEST] = given;
}

/* Gives a look with its CPU time. */
static bool cpu_owner_give(struct cpu_thread *thread, struct event *look, uint64_t cpu_ns, const struct sink *output,
                           struct fault *why)
{
    struct sample *sample = &look->sample;
    sample->cpu_ns = cpu_ns;
    thread->counted_ns -= cpu_ns;
    note_given(thread, sample, cpu_ns);
    return sink_take(output, look, why);
}

static void note_latest(struct cpu_thread *thread, const struct sample *sample)
{
    thread->latest = (struct cpu_given){ sample->stack, sample->task, sample->status, 0 };
    thread->latest_ns = sample->time_ns;
    thread->has_latest = true;
}

/* The part of `whole` that belongs to `part` of `all`. */
static uint64_t share_of(uint64_t whole, uint64_t part, uint64_t all)
{
    return all ? (uint64_t)((double)whole * (double)part / (double)all) : 0;
}

/* Gives the waiting looks, with the CPU time that was counted meanwhile. Each look gets its share of what is left, so
 * that rounding loses nothing. */
static bool settle(struct cpu_thread *thread, const struct sink *output, struct fault *why)
{
    if (thread->count == 0)
        return true;
    uint64_t left_ns = thread->counted_ns < thread->wall_ns ? thread->counted_ns : thread->wall_ns;
    struct event look; /* not zeroed before: this runs millions of times */
    look.kind = EVENT_SAMPLE;
    bool good = true;
    for (size_t i = 0; i < thread->count; i++) {
        look.sample = thread->waiting[i];
        uint64_t cpu_ns = share_of(left_ns, look.sample.wall_ns, thread->wall_ns);
        if (cpu_ns > left_ns)
            cpu_ns = left_ns;
        left_ns -= cpu_ns;
        thread->wall_ns -= look.sample.wall_ns;
        good = good && cpu_owner_give(thread, &look, cpu_ns, output, why);
    }
    note_latest(thread, &thread->waiting[thread->count - 1]);
    thread->count = 0;
    thread->wall_ns = 0;
    return good;
}

/* How much CPU time a look gets that had no processor: what is more than may be kept. */
static uint64_t surplus(const struct cpu_thread *thread, const struct sample *sample)
{
    const uint64_t kept_ns = KEPT_LOOKS * sample->stands_ns;
    const uint64_t more_ns = thread->counted_ns > kept_ns ? thread->counted_ns - kept_ns : 0;
    return more_ns < sample->wall_ns ? more_ns : sample->wall_ns;
}

static bool cpu_owner_take_look(struct cpu_owner *owner, struct event *look, const struct sink *output,
                                struct fault *why)
{
    const struct sample *sample = &look->sample;
    struct cpu_thread *thread = cpu_owner_thread_of(owner, sample->thread);
    thread->counted_ns += sample->cpu_ns;
    if (!attribute_is(sample->status, ATTRIBUTE_CPU)) {
        const bool good = settle(thread, output, why);
        note_latest(thread, sample);
        return good && cpu_owner_give(thread, look, surplus(thread, sample), output, why);
    }
    thread->waiting = alloc_grow(thread->waiting, &thread->room, thread->count + 1, sizeof(*thread->waiting));
    thread->waiting[thread->count++] = *sample;
    thread->wall_ns += sample->wall_ns;
    return (thread->wall_ns < CPU_OWNER_WAIT_NS && thread->count < WAIT_MOST) || settle(thread, output, why);
}

/* Gives CPU time to a look that was given before. */
static bool give_late(struct cpu_owner *owner, uint32_t number, const struct cpu_given *to, uint64_t cpu_ns,
                      const struct sink *output, struct fault *why)
{
    struct cpu_thread *thread = &owner->threads[number];
    struct event event = { .kind = EVENT_SAMPLE,
                           .sample = { .thread = number,
                                       .stack = to->stack,
                                       .task = to->task,
                                       .status = to->status,
                                       .time_ns = thread->latest_ns,
                                       .cpu_ns = cpu_ns } };
    thread->counted_ns -= cpu_ns;
    return cpu_ns == 0 || sink_take(output, &event, why);
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
    bool good = settle(thread, output, why);
    if (thread->has_latest)
        good = good && give_rest(owner, number, output, why);
    else
        owner->unplaced_ns += thread->counted_ns;
    free_thread(thread);
    return good;
}

bool cpu_owner_take(struct cpu_owner *owner, struct event *event, const struct sink *output, struct fault *why)
{
    if (event->kind == EVENT_SAMPLE)
        return cpu_owner_take_look(owner, event, output, why);
    if (event->kind == EVENT_LEFT_OUT) {
        struct cpu_thread *thread = cpu_owner_thread_of(owner, event->left_out.thread);
        thread->counted_ns += event->left_out.cpu_ns;
        if (!settle(thread, output, why))
            return false;
    }
    if (event->kind == EVENT_THREAD_END && !cpu_owner_end_thread(owner, event->change.number, output, why))
        return false;
    return sink_take(output, event, why);
}

bool cpu_owner_settle(struct cpu_owner *owner, uint64_t before_ns, const struct sink *output, struct fault *why)
{
    bool good = true;
    for (size_t i = 0; i < owner->room && good; i++) {
        struct cpu_thread *thread = &owner->threads[i];
        if (thread->count > 0 && thread->waiting[0].time_ns < before_ns)
            good = settle(thread, output, why);
    }
    return good;
}

bool cpu_owner_finish(struct cpu_owner *owner, const struct sink *output, struct fault *why)
{
    bool good = true;
    for (size_t i = 0; i < owner->room; i++)
        good = cpu_owner_end_thread(owner, (uint32_t)i, output, why) && good;
    return good;
}

void cpu_owner_free(struct cpu_owner *owner)
{
    for (size_t i = 0; i < owner->room; i++)
        free_thread(&owner->threads[i]);
    free(owner->threads);
    *owner = (struct cpu_owner){ 0 };
}
