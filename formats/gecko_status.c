/* SPDX-License-Identifier: MIT */
#include "formats/gecko_parts.h"

#define CPU_LIMIT ((uint64_t)1 << 62) /* of a thread, in ns; a recording may claim anything */
#define CPU_BLANK 1u                  /* in the place of a stack: the CPU time is not known */

static uint64_t in_units(const struct gecko *gecko, uint64_t ns)
{
    return ns / gecko->unit_ns + (ns % gecko->unit_ns * 2 >= gecko->unit_ns);
}

uint64_t gecko_interval_units(const struct gecko *gecko)
{
    const uint64_t interval_ns = gecko->tables->recording.interval_ns;
    return interval_ns ? in_units(gecko, interval_ns) : 1;
}

/* Whether the thread was looked at in the tick before, too. */
static bool in_sequence(const struct gecko *gecko, const struct gecko_thread *thread)
{
    return gecko->tick - thread->tick <= 1;
}

static void add_cpu_ns(struct gecko_thread *thread, uint64_t ns)
{
    thread->cpu_ns = ns < CPU_LIMIT - thread->cpu_ns ? thread->cpu_ns + ns : CPU_LIMIT;
}

/* No bits at all: the thread was idle, or nobody asked. Which of them, other samples tell. */
static bool tells_cpu(const struct sample *sample)
{
    return (sample->status && !(sample->status & STATUS_CPU_UNKNOWN)) || sample->cpu_ns;
}

static void take_cpu(struct gecko *gecko, struct gecko_thread *thread, const struct sample *sample)
{
    add_cpu_ns(thread, sample->cpu_ns);
    const bool blank = sample->status & STATUS_CPU_UNKNOWN;
    if (thread->cpu.count == 0 && !tells_cpu(sample)) {
        thread->cpu_blank |= blank;
        return;
    }
    gecko->cpu_known |= tells_cpu(sample);
    if (thread->cpu.count == 0)
        thread->cpu_from = thread->samples.count;
    /* Rounded before differences are taken, as times are. */
    const struct spool_sample row = { in_units(gecko, thread->cpu_ns), blank ? CPU_BLANK : 0 };
    spool_add(&gecko->spool, &thread->cpu, row);
}

static void change_states(struct gecko *gecko, struct gecko_thread *thread, uint64_t time, uint32_t states)
{
    if (states == thread->states.last.stack)
        return;
    spool_add(&gecko->spool, &thread->states, (struct spool_sample){ .time = time, .stack = states });
    thread->seen |= states;
    gecko->seen |= states;
}

/* While a thread has no bits at all, it is only kept since when. */
static bool take_quiet(struct gecko_thread *thread, uint32_t bits, uint64_t time, bool follows)
{
    if (thread->states.count || bits)
        return false;
    if (!follows)
        thread->quiet_since = time;
    return true;
}

static void take_states(struct gecko *gecko, struct gecko_thread *thread, const struct sample *sample, uint64_t time,
                        bool follows)
{
    const uint32_t bits = sample->status & STATUS_BITS & ~(uint32_t)STATUS_CPU_UNKNOWN;
    const struct spool_column *samples = &thread->samples;
    if (take_quiet(thread, bits, time, follows))
        return;
    if (thread->states.count == 0 && follows && tells_cpu(sample) && !thread->cpu_blank)
        change_states(gecko, thread, thread->quiet_since, 1u << STATE_NO_CPU);
    const uint64_t unseen = samples->last.time + gecko_interval_units(gecko);
    if (!follows && samples->count)
        change_states(gecko, thread, unseen < time ? unseen : time, 0);
    change_states(gecko, thread, time, sample->status || gecko->cpu_known ? gecko_states_of(sample->status) : 0);
}

void gecko_take_status(struct gecko *gecko, struct gecko_thread *thread, const struct sample *sample, uint64_t time)
{
    /* What it did in ticks in which it was left out or absent, nobody knows. */
    const bool follows = thread->samples.count && in_sequence(gecko, thread);
    thread->tick = gecko->tick;
    take_cpu(gecko, thread, sample);
    take_states(gecko, thread, sample, time, follows);
}

/* Its next sample is given the time: the viewer spreads it over all that is between them. */
void gecko_take_left_out(struct gecko *gecko, const struct left_out *left_out)
{
    const struct tables *tables = gecko->tables;
    if (left_out->cpu_ns == 0 || left_out->thread >= tables->threads_count ||
        !tables->threads[left_out->thread].thread.number)
        return;
    add_cpu_ns(gecko_thread_make(gecko, left_out->thread), left_out->cpu_ns);
    gecko->cpu_known = true;
}

/* A tick in which a thread could not be read does not end what it was doing. */
void gecko_take_failed(struct gecko *gecko, const struct failed *failed)
{
    if (failed->thread == 0)
        gecko->blind = true;
    else if (failed->thread < gecko->threads_room && in_sequence(gecko, &gecko->threads[failed->thread]))
        gecko->threads[failed->thread].tick = gecko->tick;
}

void gecko_take_tick(struct gecko *gecko)
{
    gecko->tick += !gecko->blind;
    gecko->blind = false;
}

/* A cell is what was used since the row before, in ns. */
static void emit_cell(struct gecko *gecko, uint64_t units, bool blank)
{
    if (blank)
        emit_literal(&gecko->json, NULL, "null");
    else
        emit_integer(&gecko->json, NULL, (int64_t)(units * gecko->unit_ns));
}

void gecko_emit_cpu(struct gecko *gecko, const struct gecko_thread *thread, struct spool_reader *reader)
{
    if (!gecko->cpu_known)
        return;
    struct spool_sample row;
    uint64_t before = 0;
    const uint64_t quiet = thread->cpu.count ? thread->cpu_from : thread->samples.count;
    emit_open(&gecko->json, "threadCPUDelta", '[');
    for (uint64_t i = 0; i < quiet; i++)
        emit_cell(gecko, 0, thread->cpu_blank);
    for (spool_rewind(reader, &gecko->spool, &thread->cpu); spool_next(reader, &row); before = row.time)
        emit_cell(gecko, row.time - before, row.stack == CPU_BLANK);
    emit_close(&gecko->json, ']');
}
