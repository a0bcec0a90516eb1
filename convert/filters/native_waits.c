/* SPDX-License-Identifier: MIT */
#include "convert/filters/native_waits.h"

#include "formats/model/tables.h"

#define RAN_LEAST_NS  10000000u   /* a thread that ran for less says nothing */
#define RAN_MOST_NS   4000000000u /* what was long ago counts less and less, ... */
#define WAITS_MOST_NS 500000000u  /* ... that of waits sooner */
#define BUSY          0.25        /* of a processor: less is no work for which a thread waits */

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

/* Returns the share of an amount that belongs to `part_ns` of `all_ns`. */
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

static void lately_add(struct native_lately *lately, struct native_process *process, const struct stretch *stretch,
                       uint64_t most_ns)
{
    lately->time_ns += stretch_ns(stretch);
    lately->cpu_ns += cpu_beside(process, stretch, false);
    if (lately->time_ns > most_ns) {
        lately->time_ns /= 2;
        lately->cpu_ns /= 2;
    }
}

static double lately_busy(const struct native_lately *lately)
{
    return lately->time_ns ? (double)lately->cpu_ns / (double)lately->time_ns : 0;
}

void native_waiter_ran(struct native_waiter *waiter, struct native_process *process, const struct run *look)
{
    const struct stretch stretch = stretch_before(look->time_ns, look->wall_ns);
    lately_add(&waiter->ran, process, &stretch, RAN_MOST_NS);
}

/* The waits of a thread at a place. */
static struct native_lately *waits_at(struct native_waiter *waiter, uint32_t stack)
{
    size_t least = 0;
    for (size_t i = 0; i < NATIVE_PLACES; i++) {
        if (waiter->places[i].stack == stack)
            return &waiter->places[i].waits;
        if (waiter->places[i].waits.time_ns < waiter->places[least].waits.time_ns)
            least = i;
    }
    waiter->places[least].stack = stack;
    waiter->places[least].waits = (struct native_lately){ 0 };
    return &waiter->places[least].waits;
}

void native_waiter_waits(struct native_waiter *waiter, struct native_process *process, struct run *look)
{
    const struct stretch stretch = stretch_before(look->time_ns, look->wall_ns);
    struct native_lately *waits = waits_at(waiter, look->stack);
    lately_add(waits, process, &stretch, WAITS_MOST_NS);
    const double busy = lately_busy(waits);
    if (busy < BUSY || waiter->ran.time_ns < RAN_LEAST_NS || lately_busy(&waiter->ran) >= busy / 2)
        return;
    look->status |= STATUS_NATIVE_WAIT;
    look->native_ns = cpu_beside(process, &stretch, true);
}
