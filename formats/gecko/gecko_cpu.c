/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_cpu.h"

#include "formats/base/alloc.h"
#include "formats/gecko/columns/cells.h"
#include "formats/model/attribute.h"

#include <stdlib.h>

#define CPU_LIMIT ((uint64_t)1 << 62) /* limit of a thread's CPU time in ns; a damaged recording may claim anything */

/* ---- placements ---- */

/* A sum of CPU time, in ns and in units. The sum is rounded, so errors do not add up. */
static void gecko_cpu_add(const struct gecko *gecko, struct gecko_sum *sum, uint64_t ns)
{
    if (ns == 0)
        return;
    sum->ns = ns < CPU_LIMIT - sum->ns ? sum->ns + ns : CPU_LIMIT;
    sum->units = gecko_in_units(gecko, sum->ns);
}

static enum cell_kind gecko_cpu_kind_of(uint32_t status)
{
    if (!attribute_known(status, ATTRIBUTE_CPU_TIME))
        return CELL_BLANK;
    return attribute_is(status, ATTRIBUTE_CPU) ? CELL_RAN : CELL_SLEPT;
}

void gecko_cpu_take(struct gecko *gecko, struct gecko_thread *thread, const struct run *run)
{
    const enum cell_kind kind = gecko_cpu_kind_of(run->status);
    gecko_cpu_add(gecko, &thread->cpu_sum, run->cpu_ns);
    if (thread->cpu.count == 0 && kind == CELL_BLANK)
        return;
    if (thread->cpu.count == 0)
        thread->cpu_from = thread->samples.count - 1;
    gecko->cpu_known = true;
    spool_add(&gecko->spool, &thread->cpu, (struct spool_sample){ thread->cpu_sum.units, kind });
}

void gecko_cpu_take_late(struct gecko *gecko, const struct run *run)
{
    /* A task used the time while the task ran, whatever its latest look says. */
    const uint32_t host = gecko_tasks_host(gecko, run->thread, run->status & ~(uint32_t)STATUS_TASK_WAITS);
    if (!host)
        return;
    struct gecko_thread *thread = gecko_thread_make(gecko, host);
    thread->late = alloc_grow(thread->late, &thread->late_room, thread->late_count + 1, sizeof(*thread->late));
    const uint64_t before = thread->late_sum.units;
    gecko_cpu_add(gecko, &thread->late_sum, run->cpu_ns);
    thread->late[thread->late_count++] = (struct gecko_late){ .stack = gecko_leaves_find(gecko, run),
                                                              .units = thread->late_sum.units - before };
}

uint64_t gecko_cpu_of(const struct gecko *gecko, uint32_t number)
{
    const struct gecko_thread *thread = gecko_thread(gecko, number);
    return thread->cpu_sum.ns + thread->late_sum.ns;
}

void gecko_cpu_drop(struct gecko_thread *thread)
{
    spool_drop(&thread->cpu);
    free(thread->late);
}

/* ---- cells ---- */

static int by_sample(const void *left, const void *right)
{
    const struct gecko_late *a = left, *b = right;
    return (a->sample > b->sample) - (a->sample < b->sample);
}

static int by_stack(const void *left, const void *right)
{
    const struct gecko_late *a = left, *b = right;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

/* Makes one late placement of all that have one stack. A damaged recording may end a thread as often as it likes. */
static void join_late(struct gecko_thread *thread)
{
    size_t count = 0;
    qsort(thread->late, thread->late_count, sizeof(*thread->late), by_stack);
    for (size_t i = 0; i < thread->late_count; i++) {
        if (count && thread->late[count - 1].stack == thread->late[i].stack)
            thread->late[count - 1].units += thread->late[i].units;
        else
            thread->late[count++] = thread->late[i];
    }
    thread->late_count = count;
}

/* Notes which stacks the late placements of a thread have, or forgets that. */
static void note_late(struct gecko_cpu_writer *writer, const struct gecko_thread *thread, bool late)
{
    for (size_t i = 0; i < thread->late_count; i++) {
        const size_t code = thread->late[i].stack;
        writer->late = alloc_grow(writer->late, &writer->late_room, code + 1, sizeof(*writer->late));
        writer->late[code] = late ? (uint32_t)i + 1 : 0;
    }
}

/* Finds the sample of each late placement. */
static void place_late(struct gecko *gecko, uint32_t number, struct gecko_cpu_writer *writer)
{
    struct spool_reader *reader = &writer->samples;
    if (gecko_thread(gecko, number)->late_count == 0)
        return;
    struct gecko_thread *thread = gecko_thread_make(gecko, number);
    struct spool_sample sample;
    join_late(thread);
    note_late(writer, thread, true);
    for (size_t i = 0; i < thread->late_count; i++)
        thread->late[i].sample = thread->samples.count ? thread->samples.count - 1 : 0;
    spool_rewind(reader, &gecko->spool, &thread->samples);
    for (uint64_t at = 0; spool_next(reader, &sample); at++) {
        const uint32_t late = sample.stack < writer->late_room ? writer->late[sample.stack] : 0;
        if (late)
            thread->late[late - 1].sample = at;
    }
    note_late(writer, thread, false);
    qsort(thread->late, thread->late_count, sizeof(*thread->late), by_sample);
}

/* A thread's samples with their placements, one after the other. */
struct placements {
    struct gecko_cpu_writer *writer;
    const struct gecko_thread *thread;
    struct spool_sample sample;
    uint64_t number; /* of the next sample */
    size_t late;     /* late placements so far */
    uint64_t cpu;    /* placed on `sample` */
    enum cell_kind kind;
};

static struct placements placements_of(struct gecko *gecko, uint32_t number, struct gecko_cpu_writer *writer)
{
    place_late(gecko, number, writer);
    const struct gecko_thread *thread = gecko_thread(gecko, number);
    spool_rewind(&writer->samples, &gecko->spool, &thread->samples);
    spool_rewind(&writer->placed, &gecko->spool, &thread->cpu);
    return (struct placements){ .writer = writer, .thread = thread };
}

static inline bool gecko_cpu_next(struct placements *p)
{
    struct gecko_cpu_writer *writer = p->writer;
    const struct gecko_thread *thread = p->thread;
    const uint64_t before = writer->placed.last.time;
    struct spool_sample row;
    if (!spool_next(&writer->samples, &p->sample))
        return false;
    const bool known = p->number >= thread->cpu_from && spool_next(&writer->placed, &row);
    p->kind = known ? (enum cell_kind)row.stack : CELL_BLANK;
    p->cpu = known ? row.time - before : 0;
    for (; p->late < thread->late_count && thread->late[p->late].sample == p->number; p->late++)
        p->cpu += thread->late[p->late].units;
    p->number++;
    return true;
}

void gecko_cpu_begin_line(struct gecko_cpu_writer *writer)
{
    writer->begun = false;
}

/* The room of a thread's first cell. The viewer has no time for the first cell of a line. Behind another thread, the
 * cell has the time since that thread's last sample; the thread did not live all of this time. */
static uint64_t first_room(const struct gecko *gecko, const struct gecko_cpu_writer *writer, uint64_t time)
{
    const uint64_t interval = gecko_status_width_units(gecko, 0);
    const uint64_t since = writer->begun && time > writer->time ? time - writer->time : 0;
    return since < interval ? since : interval;
}

/* The times of the first and the last sample of a thread that are in the profile. */
static void find_ends(struct gecko *gecko, const struct thinning *thinning, struct spool_reader *reader,
                      uint64_t *first, uint64_t *last)
{
    const struct gecko_thread *thread = gecko_thread(gecko, thinning->thread);
    *first = thread->first;
    *last = thread->samples.last.time;
    if (thinning->every == 1)
        return;
    struct spool_sample sample;
    uint64_t kept = 0, number = 0;
    for (spool_rewind(reader, &gecko->spool, &thread->samples); spool_next(reader, &sample); number++) {
        if (!thinning_keeps(thinning, number))
            continue;
        *first = kept++ ? *first : sample.time;
        *last = sample.time;
    }
}

/* Equal cells that are not written yet. */
struct cell_run {
    struct gecko *gecko;
    struct cell cell;
    uint64_t count;
};

static void emit_run(struct cell_run *run)
{
    if (run->cell.kind != CELL_BLANK)
        emit_again(&run->gecko->json, run->cell.cpu * run->gecko->unit_ns, run->count);
    else
        for (uint64_t i = 0; i < run->count; i++)
            emit_literal(&run->gecko->json, NULL, "null");
    run->count = 0;
}

/* Takes a cell. Most cells are as the one before. */
static void take_cell(void *self, const struct cell *cell)
{
    struct cell_run *run = self;
    const bool same = cell->cpu == run->cell.cpu && (cell->kind == CELL_BLANK) == (run->cell.kind == CELL_BLANK);
    if (!same) {
        emit_run(run);
        run->cell = *cell;
    }
    run->count++;
}

/* A sample that does not stay gives its CPU time to the next sample that stays, for the viewer draws the CPU time since
 * the sample before. The last sample that stays also has the CPU time behind it. */
void gecko_cpu_emit_cells(struct gecko *gecko, uint32_t number, struct gecko_cpu_writer *writer)
{
    const struct gecko_thread *thread = gecko_thread(gecko, number);
    const struct thinning thinning = gecko_thinning(gecko, number);
    struct cell_run run = { .gecko = gecko };
    struct cells cells = { .give = take_cell, .self = &run };
    uint64_t first, last, cpu = 0;
    bool begun = false;
    enum cell_kind kind = CELL_BLANK;
    find_ends(gecko, &thinning, &writer->samples, &first, &last);
    const uint64_t room = first_room(gecko, writer, first);
    struct placements p = placements_of(gecko, number, writer);
    cells_begin(&cells, thread->cpu_sum.units + thread->late_sum.units, room + last - first);
    while (gecko_cpu_next(&p)) {
        cpu += p.cpu;
        kind = p.kind < kind ? p.kind : kind;
        if (!thinning_keeps(&thinning, p.number - 1))
            continue;
        cells_add(&cells, cpu, begun ? p.sample.time - writer->time : room, kind);
        writer->time = p.sample.time;
        writer->begun = begun = true;
        cpu = 0;
        kind = CELL_BLANK;
    }
    cells_end(&cells, cpu);
    emit_run(&run);
}

void gecko_cpu_emit_weights(struct gecko *gecko, uint32_t number, struct gecko_cpu_writer *writer)
{
    const struct thinning thinning = gecko_thinning(gecko, number);
    for (struct placements p = placements_of(gecko, number, writer); gecko_cpu_next(&p);)
        if (thinning_keeps(&thinning, p.number - 1))
            emit_decimal(&gecko->json, NULL, p.cpu * thinning_factor(&thinning, p.number - 1), gecko->digits);
}

void gecko_cpu_writer_free(struct gecko_cpu_writer *writer)
{
    spool_reader_free(&writer->samples);
    spool_reader_free(&writer->placed);
    free(writer->late);
}
