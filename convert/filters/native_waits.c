/* SPDX-License-Identifier: MIT */
#include "convert/filters/native_waits.h"

#include "formats/model/tables.h"

#define RAN_LEAST_NS 10000000u   /* a thread that ran for less says nothing */
#define RAN_MOST_NS  4000000000u /* what was long ago counts less and less */
#define BUSY         0.25        /* of a processor: less is no work for which a thread waits */

/* A part of the time: the latest slots at most. A recording may say any times, so no sum here may be too large. */
struct stretch {
    uint64_t from_ns, to_ns;
};

static struct stretch stretch_before(uint64_t to_ns, uint64_t length_ns)
{
    const uint64_t most_ns = (NATIVE_SLOTS - 1) * NATIVE_SLOT_NS, taken_ns = length_ns < most_ns ? length_ns : most_ns;
    return (struct stretch){ .from_ns = to_ns > taken_ns ? to_ns - taken_ns : 0, .to_ns = to_ns };
}

static uint64_t stretch_ns(const struct stretch *stretch)
{
    return stretch->to_ns - stretch->from_ns;
}

/* How much of a slot that the stretch touches lies in the stretch. */
static uint64_t stretch_in_slot_ns(const struct stretch *stretch, uint64_t number)
{
    const uint64_t begin_ns = number * NATIVE_SLOT_NS;
    const uint64_t to_ns = stretch->to_ns - begin_ns < NATIVE_SLOT_NS ? stretch->to_ns - begin_ns : NATIVE_SLOT_NS;
    return to_ns - (stretch->from_ns > begin_ns ? stretch->from_ns - begin_ns : 0);
}

/* What `part_ns` of `all_ns` gets of an amount. */
static uint64_t native_part_of(uint64_t amount_ns, uint64_t part_ns, uint64_t all_ns)
{
    return part_ns < all_ns ? (uint64_t)((double)amount_ns * ((double)part_ns / (double)all_ns)) : amount_ns;
}

/* The slot for a number. It has a later number when the time is too long ago. */
static struct native_slot *native_slot_at(struct native_process *process, uint64_t number)
{
    struct native_slot *slot = &process->slots[number % NATIVE_SLOTS];
    if (slot->number < number)
        *slot = (struct native_slot){ .number = number };
    return slot;
}

/* A thread runs for no less time than its CPU time: the first look at it comes late. */
void native_process_ran(struct native_process *process, const struct run *look)
{
    const uint64_t ran_ns = look->counted_ns > look->wall_ns ? look->counted_ns : look->wall_ns;
    const uint64_t recorded_ns = look->time_ns < ran_ns ? look->time_ns : ran_ns;
    const struct stretch stretch = stretch_before(look->time_ns, ran_ns);
    const uint64_t cpu_ns = native_part_of(look->counted_ns, stretch_ns(&stretch), recorded_ns);
    for (uint64_t number = stretch.from_ns / NATIVE_SLOT_NS; number <= stretch.to_ns / NATIVE_SLOT_NS; number++) {
        struct native_slot *slot = native_slot_at(process, number);
        if (slot->number == number)
            slot->cpu_ns += native_part_of(cpu_ns, stretch_in_slot_ns(&stretch, number), stretch_ns(&stretch));
    }
}

/* The native threads' CPU time in a stretch. `takes`: as far as no other wait has it yet, and now this one has. */
static uint64_t cpu_beside(struct native_process *process, const struct stretch *stretch, bool takes)
{
    uint64_t cpu_ns = 0;
    for (uint64_t number = stretch->from_ns / NATIVE_SLOT_NS; process && number <= stretch->to_ns / NATIVE_SLOT_NS;
         number++) {
        struct native_slot *slot = &process->slots[number % NATIVE_SLOTS];
        if (slot->number != number)
            continue;
        const uint64_t part_ns = native_part_of(slot->cpu_ns, stretch_in_slot_ns(stretch, number), NATIVE_SLOT_NS);
        const uint64_t left_ns = takes ? slot->cpu_ns - slot->given_ns : part_ns;
        const uint64_t taken_ns = part_ns < left_ns ? part_ns : left_ns;
        slot->given_ns += takes ? taken_ns : 0;
        cpu_ns += taken_ns;
    }
    return cpu_ns;
}

void native_waiter_ran(struct native_waiter *waiter, struct native_process *process, const struct run *look)
{
    const struct stretch stretch = stretch_before(look->time_ns, look->wall_ns);
    waiter->stack = STACK_LOST;
    waiter->ran_ns += stretch_ns(&stretch);
    waiter->ran_cpu_ns += cpu_beside(process, &stretch, false);
    if (waiter->ran_ns > RAN_MOST_NS) {
        waiter->ran_ns /= 2;
        waiter->ran_cpu_ns /= 2;
    }
}

/* Whether the native threads work while the thread waits, and less while it runs. */
static bool waits_for_them(const struct native_waiter *waiter)
{
    const double waiting = (double)waiter->wait_cpu_ns / (double)waiter->wait_ns;
    return waiting >= BUSY && waiter->ran_ns >= RAN_LEAST_NS &&
           (double)waiter->ran_cpu_ns / (double)waiter->ran_ns < waiting / 2;
}

void native_waiter_waits(struct native_waiter *waiter, struct native_process *process, struct run *look)
{
    const struct stretch stretch = stretch_before(look->time_ns, look->wall_ns);
    /* A wait goes on as long as the thread is at one place and uses no CPU time. */
    if (waiter->stack != look->stack || look->counted_ns > 0)
        waiter->wait_ns = waiter->wait_cpu_ns = 0;
    waiter->stack = look->stack;
    waiter->wait_ns += stretch_ns(&stretch);
    waiter->wait_cpu_ns += cpu_beside(process, &stretch, false);
    if (!process || waiter->wait_ns == 0 || !waits_for_them(waiter))
        return;
    look->status |= STATUS_NATIVE_WAIT;
    look->native_ns = cpu_beside(process, &stretch, true);
}
