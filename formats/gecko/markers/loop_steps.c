/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/loop_steps.h"

static bool step_is_long(const struct loop_step *step, uint64_t next_ns)
{
    const uint64_t sure_ns = step->last_ns - step->since_ns;
    const uint64_t most_ns = next_ns - step->since_ns + 2 * step->width_ns;
    return sure_ns >= BLOCKED_LEAST_NS ||
           (step->looks > 1 && sure_ns >= BLOCKED_SURE_NS && most_ns >= 2 * BLOCKED_LEAST_NS);
}

void loop_steps_close(struct loop_step *step, uint32_t thread, uint64_t ns, struct marker_store *store)
{
    const uint64_t next_ns = step->next_ns ? step->next_ns : ns > step->last_ns ? ns : step->last_ns;
    const struct marker marker = { .kind = MARKER_BLOCKED,
                                   .thread = thread,
                                   .start_ns = step->since_ns,
                                   .end_ns = step->last_ns,
                                   .weight = step->last_ns - step->since_ns,
                                   .stack = step->stack,
                                   .subject = step->task,
                                   .function = step->function };
    if (step->since_ns && step_is_long(step, next_ns))
        marker_store_add(store, &marker);
    *step = (struct loop_step){ 0 };
}

static void loop_steps_begin(struct loop_step *step, const struct look *look)
{
    *step = (struct loop_step){ .since_ns = look->run->callback_ns,
                                .looks = look->last_ns > look->run->callback_ns,
                                .task = look->run->task,
                                .stack = look->run->stack };
}

void loop_steps_take(struct loop_step *step, const struct look *look, struct marker_store *store)
{
    const uint64_t since_ns = look->run->callback_ns;
    if (since_ns == 0 || since_ns > look->ns) { /* a later look may prove that the callback went on */
        if (step->since_ns && !step->next_ns)
            step->next_ns = look->since_ns > step->last_ns ? look->since_ns : step->last_ns;
        return;
    }
    if (since_ns != step->since_ns) {
        loop_steps_close(step, look->thread, look->since_ns, store);
        loop_steps_begin(step, look);
    }
    if (!step->function) /* a look may find the loop right before its call, or right behind it */
        step->function = look->run->task && look->fact->coroutine ? look->fact->coroutine : look->fact->step;
    step->last_ns = look->ns;
    step->width_ns = look->width_ns;
    step->next_ns = 0;
    step->looks += look->run->count;
}
