/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/lock_waits.h"

#include "formats/base/alloc.h"
#include "formats/model/attribute.h"

#include <stdlib.h>

static const struct lock_holder *most(const struct lock_wait *wait)
{
    const struct lock_holder *best = &wait->holders[0];
    for (size_t i = 1; i < LOCK_HOLDERS; i++)
        if (wait->holders[i].looks > best->looks)
            best = &wait->holders[i];
    return best;
}

void lock_waits_close(struct lock_wait *wait, uint32_t thread, uint64_t ns, struct marker_store *store,
                      uint64_t least_ns)
{
    if (!wait->open)
        return;
    const uint64_t lasted_ns = ns > wait->start_ns ? ns - wait->start_ns : 0;
    const struct lock_holder *holder = most(wait);
    const struct marker marker = { .kind = MARKER_GIL_WAIT,
                                   .thread = thread,
                                   .start_ns = wait->start_ns,
                                   .end_ns = wait->start_ns + lasted_ns,
                                   .weight = lasted_ns,
                                   .stack = wait->stack,
                                   .subject = holder->thread,
                                   .function = holder->function };
    if (lasted_ns >= least_ns)
        marker_store_add(store, &marker);
    else
        marker_store_leave_out(store, MARKER_GIL_WAIT, lasted_ns);
    *wait = (struct lock_wait){ 0 };
}

void lock_waits_add_waiter(struct lock_tick *tick, uint32_t thread)
{
    tick->waiters = alloc_grow(tick->waiters, &tick->waiters_room, tick->waiters_count + 1, sizeof(*tick->waiters));
    tick->waiters[tick->waiters_count++] = thread;
}

void lock_waits_add_holder(struct lock_tick *tick, uint32_t thread, uint32_t stack)
{
    tick->held = alloc_grow(tick->held, &tick->held_room, tick->held_count + 1, sizeof(*tick->held));
    tick->held[tick->held_count++] = (struct lock_held){ thread, stack };
}

void lock_waits_take(struct lock_tick *tick, struct lock_wait *wait, const struct look *look,
                     struct marker_store *store, uint64_t least_ns)
{
    const uint32_t status = look->run->status;
    const bool waits = attribute_is(status, ATTRIBUTE_GIL_WAIT);
    if (attribute_is(status, ATTRIBUTE_GIL))
        lock_waits_add_holder(tick, look->thread, look->run->stack);
    if (!waits || !look->after)
        lock_waits_close(wait, look->thread, look->since_ns, store, least_ns);
    if (!waits)
        return;
    if (!wait->open)
        *wait = (struct lock_wait){ .open = true, .start_ns = look->ns, .stack = look->run->stack };
    lock_waits_add_waiter(tick, look->thread);
}

/* The holder in the waiter's interpreter. An interpreter without a lock of its own shares that of another interpreter
 * of its process. */
const struct lock_held *lock_waits_holder(const struct lock_tick *tick, const struct tables *tables, uint32_t waiter)
{
    const struct lock_held *found = NULL;
    const struct thread *waits = &tables->threads[waiter].thread;
    for (size_t i = 0; i < tick->held_count; i++) {
        const struct thread *holds = &tables->threads[tick->held[i].thread].thread;
        if (holds->process != waits->process || tick->held[i].thread == waiter)
            continue;
        if (holds->interpreter == waits->interpreter)
            return &tick->held[i];
        found = &tick->held[i];
    }
    return found;
}

/* The function that most looks found: each other function takes one from its lead. */
static void note_function(struct lock_holder *holder, uint32_t function)
{
    if (holder->lead == 0)
        holder->function = function;
    holder->lead += holder->function == function ? 1 : -1u;
}

void lock_waits_note(struct lock_wait *wait, const struct lock_held *held, const struct tables *tables)
{
    for (size_t i = 0; i < LOCK_HOLDERS && wait->open; i++) {
        struct lock_holder *holder = &wait->holders[i];
        if (holder->looks && holder->thread != held->thread)
            continue;
        holder->thread = held->thread;
        holder->looks++;
        note_function(holder, look_leaf(tables, held->stack));
        return;
    }
}

void lock_waits_free(struct lock_tick *tick)
{
    free(tick->waiters);
    free(tick->held);
    *tick = (struct lock_tick){ 0 };
}
