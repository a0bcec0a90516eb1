/* SPDX-License-Identifier: MIT */
#include "formats/compare/compare.h"

#include "formats/base/alloc.h"
#include "formats/frames/weight_choice.h"

#include <math.h>
#include <stdlib.h>

/* What makes two samples the same row: the fields in front of the sums of struct aggregate_row. */
#define KEY_NUMBERS 4

/* ---- taking ---- */

static struct compare_run *run_row(struct compare *compare, size_t run)
{
    compare->runs = alloc_grow(compare->runs, &compare->runs_room, run + 1, sizeof(*compare->runs));
    if (run >= compare->runs_count)
        compare->runs_count = run + 1;
    return &compare->runs[run];
}

size_t compare_run_of(const struct compare *compare, uint32_t thread)
{
    const uint32_t process = compare->tables->threads[thread].thread.process;
    size_t run = 0;
    while (run < compare->read && process >= compare->runs[run].processes)
        run++;
    return run;
}

static uint32_t key_number(struct compare *compare, const struct run *samples)
{
    const uint32_t group = compare->aggregate.group_of ? compare->aggregate.group_of(samples->status) : 0;
    const uint32_t key[KEY_NUMBERS] = { samples->thread, samples->task, samples->stack, group };
    bool added;
    return intern_number(&compare->keys, key, sizeof(key), &added);
}

static void compare_add_run(struct compare *compare, const struct run *samples)
{
    const uint64_t from_ns = compare->tables->recording.from_ns;
    const uint64_t time_ns = samples->time_ns > from_ns ? samples->time_ns - from_ns : 0;
    const uint64_t sums[SLICE_SUMS] = {
        [SUM_SAMPLES] = samples->count,
        [SUM_WALL_NS] = samples->wall_ns,
        [SUM_CPU_NS] = samples->cpu_ns,
    };
    struct compare_run *run = run_row(compare, compare_run_of(compare, samples->thread));
    run->samples += samples->count;
    run->cpu_known += attribute_known(samples->status, ATTRIBUTE_CPU_TIME) ? samples->count : 0;
    run->ready_ns += attribute_is(samples->status, ATTRIBUTE_CPU) ? (double)sums[SUM_WALL_NS] : 0;
    for (size_t i = 0; i < SLICE_SUMS; i++) {
        run->totals[i] += (double)sums[i];
        run->squares[i] += (double)sums[i] * (double)sums[i];
    }
    slices_add(&run->slices, key_number(compare, samples), time_ns, sums);
}

void compare_take(struct compare *compare, const struct event *event)
{
    if (event->kind == EVENT_RUN) {
        aggregate_add_run(&compare->aggregate, &event->run);
        compare_add_run(compare, &event->run);
    }
}

/* How much of the end of a recording is left out. */
static uint64_t left_out_ns(const struct compare *compare, const struct tables *recording)
{
    const uint64_t end_ns = tables_end_ns(recording);
    return compare->to_ns && end_ns > compare->to_ns ? end_ns - compare->to_ns : 0;
}

void compare_take_recording(struct compare *compare, const struct tables *recording, struct text name)
{
    struct compare_run *run = run_row(compare, compare->read);
    run->name = text_copy(name);
    run->side = compare->read < compare->before ? COMPARE_BEFORE : COMPARE_AFTER;
    run->processes = (uint32_t)compare->tables->processes_count;
    const uint64_t left_out = left_out_ns(compare, recording), duration_ns = tables_duration_ns(recording);
    run->whole = !recording->recording.attached && recording->end.reason == END_TARGET && left_out == 0;
    run->duration_ns = duration_ns > left_out ? duration_ns - left_out : 0;
    run->python_version = tables_first_process(recording)->python_version;
    compare->read++;
}

/* ---- the end of taking ---- */

static const char *side_name(enum compare_side side)
{
    return side == COMPARE_BEFORE ? "before" : "after";
}

static bool check_sides(const struct compare *compare, struct fault *why)
{
    uint64_t samples[COMPARE_SIDES] = { 0 };
    for (size_t i = 0; i < compare->read; i++)
        samples[compare->runs[i].side] += compare->runs[i].samples;
    for (enum compare_side side = 0; side < COMPARE_SIDES; side++)
        if (samples[side] == 0)
            return fault(why, "the side %s has no samples to compare", side_name(side));
    return true;
}

static void find_rows(struct compare *compare)
{
    compare->by_key = alloc_zeroed(compare->keys.count + 1, sizeof(*compare->by_key));
    for (size_t i = 0; i < compare->aggregate.count; i++) {
        const struct aggregate_row *row = &compare->aggregate.rows[i];
        const uint32_t key[KEY_NUMBERS] = { row->thread, row->task, row->stack, row->group };
        bool added;
        compare->by_key[intern_number(&compare->keys, key, sizeof(key), &added)] = (uint32_t)i;
    }
}

bool compare_end(struct compare *compare, struct fault *why)
{
    for (size_t i = 0; i < compare->runs_count; i++)
        slices_sort(&compare->runs[i].slices);
    aggregate_sort(&compare->aggregate);
    find_rows(compare);
    return check_sides(compare, why);
}

bool compare_is_whole(const struct compare *compare)
{
    bool whole = compare->tables->recording.from_ns == 0;
    for (size_t i = 0; i < compare->read; i++)
        whole &= compare->runs[i].whole;
    return whole;
}

bool compare_knows(const struct compare *compare, enum aggregate_sum sum)
{
    bool knows = true;
    for (size_t i = 0; i < compare->read && sum == SUM_CPU_NS; i++)
        knows &= compare->runs[i].cpu_known > 0 || compare->runs[i].samples == 0;
    return knows;
}

enum aggregate_sum compare_usual_weight(const struct compare *compare)
{
    bool waited = true;
    for (size_t i = 0; i < compare->read; i++)
        waited &= weight_mostly_waited((uint64_t)fmax(compare->runs[i].totals[SUM_CPU_NS], compare->runs[i].ready_ns),
                                       compare->runs[i].duration_ns);
    return compare_knows(compare, SUM_CPU_NS) && !waited ? SUM_CPU_NS : SUM_WALL_NS;
}

void compare_free(struct compare *compare)
{
    for (size_t i = 0; i < compare->runs_count; i++) {
        text_free(compare->runs[i].name);
        slices_free(&compare->runs[i].slices);
    }
    free(compare->runs);
    free(compare->by_key);
    aggregate_free(&compare->aggregate);
    intern_free(&compare->keys);
    *compare = (struct compare){ 0 };
}
