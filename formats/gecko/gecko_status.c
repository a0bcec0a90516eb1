/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"
#include "formats/model/attribute.h"

uint64_t gecko_status_width_units(const struct gecko *gecko, uint64_t stands_ns)
{
    const uint64_t width_ns = stands_ns ? stands_ns : gecko->tables->recording.interval_ns;
    return width_ns ? gecko_in_units(gecko, width_ns) : 1;
}

static void change_states(struct gecko *gecko, struct gecko_thread *thread, uint64_t time, uint32_t states)
{
    if (states == thread->states.last.stack)
        return;
    spool_add(&gecko->spool, &thread->states, (struct spool_sample){ .time = time, .stack = states });
    thread->seen |= states;
    gecko->seen |= states;
}

void gecko_status_take(struct gecko *gecko, struct gecko_thread *thread, const struct run *run, uint64_t time)
{
    /* The states in ticks in which the thread was absent or left out are unknown. */
    if (thread->samples.count && (run->fresh || thread->left_out)) {
        const uint64_t unseen = thread->samples.last.time + gecko_status_width_units(gecko, thread->stands_ns);
        change_states(gecko, thread, unseen < time ? unseen : time, 0);
        gecko_tasks_change(gecko, thread, unseen < time ? unseen : time, 0);
    }
    change_states(gecko, thread, time, gecko_state_markers_of(run->status));
    gecko_tasks_take(gecko, thread, run, time);
    thread->left_out = false;
}

void gecko_status_take_left_out(struct gecko *gecko, const struct left_out *left_out)
{
    const uint32_t host = left_out->thread < gecko->threads_room ? gecko_tasks_host(gecko, left_out->thread, 0) : 0;
    if (host < gecko->threads_room)
        gecko->threads[host].left_out = true;
}
