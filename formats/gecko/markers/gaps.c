/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/gaps.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

static uint64_t missed_now(const struct gaps *gaps, const struct gap_process *process)
{
    return gaps->missed + process->own_missed;
}

static uint64_t failed_now(const struct gaps *gaps, const struct gap_process *process)
{
    return gaps->failed + process->own_failed;
}

static void add_gap(const struct gaps *gaps, const struct gap_process *process, const struct look *look,
                    struct marker_store *store)
{
    const uint64_t lasted_ns = look->ns - process->last_ns;
    const struct marker marker = { .kind = MARKER_GAP,
                                   .thread = process->thread ? process->thread : look->thread,
                                   .start_ns = process->last_ns,
                                   .end_ns = look->ns,
                                   .weight = lasted_ns,
                                   .count = (uint32_t)(missed_now(gaps, process) - process->missed),
                                   .failed = (uint32_t)(failed_now(gaps, process) - process->failed) };
    const uint64_t ticks = (uint64_t)marker.count + marker.failed;
    if (ticks == 0 || lasted_ns / 2 > (ticks + 1) * look->width_ns)
        return;
    if (lasted_ns >= GAP_LEAST_NS && lasted_ns >= GAP_LEAST_INTERVALS * look->width_ns)
        marker_store_add(store, &marker);
    else
        marker_store_leave_out(store, MARKER_GAP, lasted_ns);
}

static struct gap_process *gaps_process_of(struct gaps *gaps, uint32_t process)
{
    gaps->processes = alloc_grow(gaps->processes, &gaps->room, (size_t)process + 1, sizeof(*gaps->processes));
    return &gaps->processes[process];
}

void gaps_take_missed(struct gaps *gaps, uint32_t process, uint64_t ticks)
{
    if (process)
        gaps_process_of(gaps, process)->own_missed += ticks;
    else
        gaps->missed += ticks;
}

void gaps_take_failed(struct gaps *gaps, uint32_t process)
{
    if (process)
        gaps_process_of(gaps, process)->own_failed++;
    else
        gaps->failed++;
}

void gaps_take_thread(struct gaps *gaps, const struct thread *thread)
{
    if (thread->main && thread->interpreter == 0 && !thread->task)
        gaps_process_of(gaps, thread->process)->thread = thread->number;
}

void gaps_take(struct gaps *gaps, const struct look *look, const struct tables *tables, struct marker_store *store)
{
    struct gap_process *process = gaps_process_of(gaps, tables->threads[look->thread].thread.process);
    if (process->last_ns == look->ns)
        return;
    if (process->last_ns && look->ns > process->last_ns)
        add_gap(gaps, process, look, store);
    process->last_ns = look->ns;
    process->missed = missed_now(gaps, process);
    process->failed = failed_now(gaps, process);
}

void gaps_free(struct gaps *gaps)
{
    free(gaps->processes);
    *gaps = (struct gaps){ 0 };
}
