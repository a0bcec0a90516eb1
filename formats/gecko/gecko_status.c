/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"
#include "formats/model/attribute.h"

#define CPU_LIMIT ((uint64_t)1 << 62) /* limit of a thread's CPU time in ns; a damaged recording may claim anything */
#define CPU_BLANK 1u                  /* value of .stack in the column: the CPU time is unknown */

static uint64_t in_units(const struct gecko *gecko, uint64_t ns)
{
    return ns / gecko->unit_ns + (ns % gecko->unit_ns * 2 >= gecko->unit_ns);
}

uint64_t gecko_status_width_units(const struct gecko *gecko, uint64_t stands_ns)
{
    const uint64_t width_ns = stands_ns ? stands_ns : gecko->tables->recording.interval_ns;
    return width_ns ? in_units(gecko, width_ns) : 1;
}

/* Whether there was a look at the thread in the tick before, too. */
static bool in_sequence(const struct gecko *gecko, const struct gecko_thread *thread)
{
    return gecko->tick - thread->tick <= 1;
}

static void add_cpu_ns(struct gecko_thread *thread, uint64_t ns)
{
    thread->cpu_ns = ns < CPU_LIMIT - thread->cpu_ns ? thread->cpu_ns + ns : CPU_LIMIT;
}

static void take_cpu(struct gecko *gecko, struct gecko_thread *thread, const struct sample *sample)
{
    const bool known = attribute_known(sample->status, ATTRIBUTE_CPU_TIME);
    add_cpu_ns(thread, sample->cpu_ns);
    if (thread->cpu.count == 0 && !known)
        return;
    if (thread->cpu.count == 0)
        thread->cpu_from = thread->samples.count;
    gecko->cpu_known = true;
    /* rounded before differences are taken, as times are */
    const struct spool_sample row = { in_units(gecko, thread->cpu_ns), known ? 0 : CPU_BLANK };
    spool_add(&gecko->spool, &thread->cpu, row);
}

static void change_states(struct gecko *gecko, struct gecko_thread *thread, uint64_t time, uint32_t states)
{
    if (states == thread->states.last.stack || gecko->style.markers != GECKO_MARKERS_ALL)
        return;
    spool_add(&gecko->spool, &thread->states, (struct spool_sample){ .time = time, .stack = states });
    thread->seen |= states;
    gecko->seen |= states;
}

void gecko_status_take(struct gecko *gecko, struct gecko_thread *thread, const struct sample *sample, uint64_t time)
{
    /* The states in ticks in which the thread was absent or left out are unknown. */
    if (thread->samples.count && !in_sequence(gecko, thread)) {
        const uint64_t unseen = thread->samples.last.time + gecko_status_width_units(gecko, thread->stands_ns);
        change_states(gecko, thread, unseen < time ? unseen : time, 0);
        gecko_tasks_change(gecko, thread, unseen < time ? unseen : time, 0);
    }
    change_states(gecko, thread, time, gecko_state_markers_of(sample->status));
    gecko_tasks_take(gecko, thread, sample, time);
    take_cpu(gecko, thread, sample);
    thread->tick = gecko->tick;
}

/* Adds the CPU time of ticks that the mode left out to the thread's next sample. The viewer spreads it over the time
 * between the samples. */
void gecko_status_take_left_out(struct gecko *gecko, const struct left_out *left_out)
{
    const struct tables *tables = gecko->tables;
    if (left_out->thread < tables->threads_count && tables->threads[left_out->thread].thread.number)
        add_cpu_ns(gecko_thread_make(gecko, gecko_tasks_host(gecko, left_out->thread, 0)), left_out->cpu_ns);
}

/* A tick in which the thread could not be read does not end its states. */
void gecko_status_take_failed(struct gecko *gecko, const struct failed *failed)
{
    if (failed->thread == 0)
        gecko->blind = true;
    else if (failed->thread < gecko->threads_room && in_sequence(gecko, &gecko->threads[failed->thread]))
        gecko->threads[failed->thread].tick = gecko->tick;
}

void gecko_status_take_tick(struct gecko *gecko)
{
    gecko->tick += !gecko->blind;
    gecko->blind = false;
}

/* Writes cells of the column: the CPU time in ns since the row before. */
static void emit_cells(struct gecko *gecko, uint64_t units, bool blank, uint64_t count)
{
    if (!blank)
        emit_again(&gecko->json, units * gecko->unit_ns, count);
    for (; blank && count > 0; count--)
        emit_literal(&gecko->json, NULL, "null");
}

bool gecko_status_has_cpu(const struct gecko *gecko)
{
    return gecko->cpu_known;
}

void gecko_status_emit_cpu(struct gecko *gecko, uint32_t number, struct spool_reader *reader)
{
    const struct gecko_thread *thread = gecko_thread(gecko, number);
    struct spool_sample row;
    uint64_t before = 0;
    const uint64_t blank = thread->cpu.count ? thread->cpu_from : thread->samples.count;
    emit_cells(gecko, 0, true, blank);
    for (spool_rewind(reader, &gecko->spool, &thread->cpu); spool_next(reader, &row); before = reader->last.time)
        emit_cells(gecko, row.time - before, row.stack == CPU_BLANK, 1 + spool_pass_same(reader));
}
