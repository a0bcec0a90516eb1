/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/loop_steps.h"

#include "formats/base/alloc.h"
#include "formats/model/attribute.h"

#include <stdlib.h>

#define TURN_CPU_NS  30000    /* the CPU time of a turn of the loop whose callback sleeps, at least */
#define TURN_NS      10000    /* the time that a turn takes beside its callback, at least */
#define SURE_NS      20000000 /* callbacks of this length each would have taken more CPU time */
#define SHORT_NS     12000000 /* shorter callbacks do not block */
#define LOOKS_LEAST  3
#define BETWEEN_MOST 2          /* looks between two callbacks; more of them are a pause */
#define LOOKS_ENOUGH 300        /* to find the loop between two callbacks of a millisecond */
#define ONCE_NS      1000000000 /* a single series is this long at most, or has LOOKS_ENOUGH */

enum sureness { MAY_BE_SHORT, SURE };

static struct loop_count *count_of(struct loop_counts *counts, uint32_t function)
{
    counts->by_function = alloc_grow(counts->by_function, &counts->room, (size_t)function + 1,
                                     sizeof(*counts->by_function));
    return &counts->by_function[function];
}

/* Whether the CPU time says that the callback was not called again and again. */
static bool is_sure(const struct loop_step *step, uint64_t seen_ns, uint64_t cpu_unit_ns)
{
    return step->cpu_known && seen_ns / (1 + (step->cpu_ns + cpu_unit_ns) / TURN_CPU_NS) >= SURE_NS;
}

void loop_steps_close(struct loop_step *step, struct loop_counts *counts, uint32_t thread, uint64_t ns,
                      struct marker_store *store)
{
    if (!step->open)
        return;
    const uint64_t seen_ns = step->last_ns - step->start_ns, end_ns = ns > step->last_ns ? ns : step->last_ns;
    struct loop_count *count = count_of(counts, step->function);
    count->looks += step->looks;
    count->series++;
    count->seen_ns += seen_ns;
    count->cpu_ns += step->cpu_known ? step->cpu_ns : seen_ns;
    const struct marker marker = { .kind = MARKER_BLOCKED,
                                   .thread = thread,
                                   .start_ns = step->start_ns,
                                   .end_ns = end_ns,
                                   .weight = end_ns - step->start_ns,
                                   .stack = step->stack,
                                   .subject = step->task,
                                   .function = step->function,
                                   .count = is_sure(step, seen_ns, counts->cpu_unit_ns) ? SURE : MAY_BE_SHORT };
    if (seen_ns >= BLOCKED_LEAST_NS && step->looks >= LOOKS_LEAST)
        marker_store_add(store, &marker);
    *step = (struct loop_step){ .before = step->function, .before_task = step->task };
}

static void loop_steps_begin(struct loop_step *step, struct loop_counts *counts, const struct look *look,
                             uint32_t function)
{
    const struct run *run = look->run;
    if (step->before == function && step->before_task == run->task && step->between > 0 &&
        step->between <= BETWEEN_MOST)
        count_of(counts, function)->between++;
    *step = (struct loop_step){ .open = true,
                                .start_ns = look->ns,
                                .last_ns = look->ns,
                                .cpu_known = true,
                                .task = run->task,
                                .function = function,
                                .stack = run->stack,
                                .looks = 1 };
}

static void loop_steps_go_on(struct loop_step *step, const struct look *look)
{
    step->last_ns = look->ns;
    step->looks++;
    step->cpu_ns += look->run->counted_ns;
    step->cpu_known &= attribute_known(look->run->status, ATTRIBUTE_CPU_TIME);
}

/* Takes a look between two callbacks. A loop that sleeps in its selector pauses, which says nothing of callbacks. */
static void loop_steps_pause(struct loop_step *step, const struct look *look, enum loop_place place)
{
    const uint32_t status = look->run->status;
    const bool sleeps = attribute_known(status, ATTRIBUTE_CPU) && !attribute_is(status, ATTRIBUTE_CPU);
    if (place == LOOP_NONE || sleeps)
        step->before = 0;
    step->between++;
}

void loop_steps_take(struct loop_step *step, struct loop_counts *counts, const struct look *look,
                     struct marker_store *store)
{
    const struct stack_fact *fact = look->fact;
    const uint32_t task = look->run->task;
    /* A loop in C has no frames; its tasks are known. */
    const enum loop_place place = fact->loop == LOOP_NONE && task ? LOOP_CALLBACK : fact->loop;
    const uint32_t function = task && fact->coroutine ? fact->coroutine : fact->step;
    const bool busy = place == LOOP_CALLBACK && function;
    const bool same = busy && look->after && step->open && step->task == task && step->function == function;
    if (same) {
        loop_steps_go_on(step, look);
        return;
    }
    loop_steps_close(step, counts, look->thread, look->since_ns, store);
    if (!look->after)
        step->before = 0;
    if (busy)
        loop_steps_begin(step, counts, look, function);
    else
        loop_steps_pause(step, look, place);
}

bool loop_steps_stands(const struct loop_counts *counts, const struct marker *marker)
{
    if (marker->count == SURE || marker->function >= counts->room)
        return true;
    const struct loop_count *count = &counts->by_function[marker->function];
    if (count->seen_ns / (count->series + count->cpu_ns / TURN_CPU_NS) >= SHORT_NS)
        return true;
    if (count->between)
        return count->looks / count->between * TURN_NS >= SHORT_NS;
    return count->series > 1 || count->looks >= LOOKS_ENOUGH || marker->weight <= ONCE_NS;
}

void loop_steps_free(struct loop_counts *counts)
{
    free(counts->by_function);
    *counts = (struct loop_counts){ 0 };
}
