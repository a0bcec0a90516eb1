/* SPDX-License-Identifier: MIT */
#include "convert/filters/native_waits.h"

#include "formats/model/tables.h"

#define RAN_LEAST_NS 10000000u   /* a thread that ran for less says nothing */
#define RAN_MOST_NS  4000000000u /* what was long ago counts less and less */
#define BUSY         0.25        /* of a processor: less is no work for which a thread waits */

static uint64_t look_begin_ns(const struct run *look)
{
    return look->time_ns > look->wall_ns ? look->time_ns - look->wall_ns : 0;
}

/* The slot for a number. It has a later number when the time is too long ago. */
static struct native_slot *native_slot_at(struct native_process *process, uint64_t number)
{
    struct native_slot *slot = &process->slots[number % NATIVE_SLOTS];
    if (slot->number < number)
        *slot = (struct native_slot){ .number = number };
    return slot;
}

/* The part of a slot that lies between two moments. */
static double part_of_slot(uint64_t number, uint64_t from_ns, uint64_t to_ns)
{
    const uint64_t begin_ns = number * NATIVE_SLOT_NS, end_ns = begin_ns + NATIVE_SLOT_NS;
    return (double)((to_ns < end_ns ? to_ns : end_ns) - (from_ns > begin_ns ? from_ns : begin_ns)) / NATIVE_SLOT_NS;
}

static uint64_t first_slot(uint64_t from_ns, uint64_t to_ns)
{
    const uint64_t first = from_ns / NATIVE_SLOT_NS, last = to_ns / NATIVE_SLOT_NS;
    return last - first < NATIVE_SLOTS ? first : last - NATIVE_SLOTS + 1;
}

/* A thread runs for no less time than its CPU time: the first look at it comes late. */
void native_process_ran(struct native_process *process, const struct run *look)
{
    const uint64_t ran_ns = look->counted_ns > look->wall_ns ? look->counted_ns : look->wall_ns;
    const uint64_t to_ns = look->time_ns, from_ns = to_ns > ran_ns ? to_ns - ran_ns : 0;
    const double each_ns = (double)look->counted_ns * NATIVE_SLOT_NS / (double)(to_ns - from_ns);
    for (uint64_t number = first_slot(from_ns, to_ns); from_ns < to_ns && number * NATIVE_SLOT_NS < to_ns; number++) {
        struct native_slot *slot = native_slot_at(process, number);
        slot->cpu_ns += slot->number == number ? (uint64_t)(each_ns * part_of_slot(number, from_ns, to_ns)) : 0;
    }
}

/* The native threads' CPU time while a look's thread did what the look says. `takes`: as far as no other wait has it
 * yet, and now this one has. */
static uint64_t cpu_beside(struct native_process *process, const struct run *look, bool takes)
{
    const uint64_t from_ns = look_begin_ns(look), to_ns = look->time_ns;
    uint64_t cpu_ns = 0;
    for (uint64_t number = first_slot(from_ns, to_ns); process && number * NATIVE_SLOT_NS < to_ns; number++) {
        struct native_slot *slot = &process->slots[number % NATIVE_SLOTS];
        if (slot->number != number)
            continue;
        const uint64_t part_ns = (uint64_t)((double)slot->cpu_ns * part_of_slot(number, from_ns, to_ns));
        const uint64_t left_ns = takes ? slot->cpu_ns - slot->given_ns : part_ns;
        const uint64_t taken_ns = part_ns < left_ns ? part_ns : left_ns;
        slot->given_ns += takes ? taken_ns : 0;
        cpu_ns += taken_ns;
    }
    return cpu_ns;
}

void native_waiter_ran(struct native_waiter *waiter, struct native_process *process, const struct run *look)
{
    waiter->stack = STACK_LOST;
    waiter->ran_ns += look->wall_ns;
    waiter->ran_cpu_ns += cpu_beside(process, look, false);
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
    /* A wait goes on as long as the thread is at one place and uses no CPU time. */
    if (waiter->stack != look->stack || look->counted_ns > 0)
        waiter->wait_ns = waiter->wait_cpu_ns = 0;
    waiter->stack = look->stack;
    waiter->wait_ns += look->wall_ns;
    waiter->wait_cpu_ns += cpu_beside(process, look, false);
    if (!process || waiter->wait_ns == 0 || !waits_for_them(waiter))
        return;
    look->status |= STATUS_NATIVE_WAIT;
    look->native_ns = cpu_beside(process, look, true);
}
