/* SPDX-License-Identifier: MIT */
#include "formats/compare/measure.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* What measuring works with. */
struct work {
    const struct compare *compare;
    const struct compare_run *run;
    const struct call_tree *tree;
    const struct compare_items *items;
    enum aggregate_sum weight;
    size_t slots;
    double *self, *total; /* by node, of one slice */
    uint32_t span;        /* slices of a neighbour */
    double *ring;         /* the slots of the latest 2 x span slices */
    double *wholes;       /* by slice */
};

static double *slice_slots(const struct work *work, uint32_t slice)
{
    return work->ring + slice % (2 * work->span) * work->slots;
}

/* ---- one slice ---- */

/* The index behind the sums of a slice that begin at `at`. */
static size_t end_of_slice(const struct slices *slices, size_t at, uint32_t slice)
{
    while (at < slices->count && slices->rows[at].slice == slice)
        at++;
    return at;
}

static void add_slice_sums(struct work *work, size_t from, size_t to)
{
    memset(work->self, 0, work->tree->count * sizeof(*work->self));
    for (size_t i = from; i < to; i++) {
        const struct slice_sum *sum = &work->run->slices.rows[i];
        const uint32_t node = work->tree->by_row[work->compare->by_key[sum->row]];
        if (node)
            work->self[node] += (double)sum->sums[work->weight];
    }
    memcpy(work->total, work->self, work->tree->count * sizeof(*work->total));
    for (size_t i = work->tree->count; i-- > 1;)
        work->total[work->tree->nodes[i].parent] += work->total[i];
}

/* Puts the sums of a slice into its slots. */
static void fill_slots(struct work *work, double *slots)
{
    const struct compare_items *items = work->items;
    memset(slots, 0, work->slots * sizeof(*slots));
    for (size_t i = 0; i < work->tree->count; i++) {
        double *slot = &slots[items->of_node[i] * SLOTS];
        slot[SLOT_SELF] += work->self[i];
        if (items->outermost[i])
            slot[SLOT_TOTAL] += work->total[i];
    }
}

/* ---- all slices ---- */

/* Adds up the squares of how much each neighbour differs from the one before, of the two that end with `slice`. */
static void add_squares(const struct work *work, uint32_t slice, const struct measured *measured, double *squares)
{
    const uint32_t span = work->span, first = slice + 1 - 2 * span;
    double more = 0; /* of the whole */
    for (uint32_t i = 0; i < span; i++)
        more += work->wholes[first + span + i] - work->wholes[first + i];
    for (size_t slot = SLOTS; slot < work->slots; slot++) {
        if (measured->sums[slot] <= 0)
            continue;
        double differs = -more * measured->sums[slot] / measured->whole;
        for (uint32_t i = 0; i < span; i++)
            differs += slice_slots(work, first + span + i)[slot] - slice_slots(work, first + i)[slot];
        squares[slot] += differs * differs;
    }
}

static void sum_up(struct work *work, struct measured *measured)
{
    add_slice_sums(work, 0, work->run->slices.count);
    fill_slots(work, measured->sums);
    measured->whole = work->total[0];
}

/* Half the mean square is the variance of a neighbour, and a run has `slices / span` of them. */
static void find_errors(struct work *work, struct measured *measured)
{
    const struct slices *slices = &work->run->slices;
    size_t at = 0;
    for (uint32_t slice = 0; slice < slices->used; slice++) {
        const size_t end = end_of_slice(slices, at, slice);
        add_slice_sums(work, at, end);
        work->wholes[slice] = work->total[0];
        fill_slots(work, slice_slots(work, slice));
        if (slice + 1 >= 2 * work->span)
            add_squares(work, slice, measured, measured->errors);
        at = end;
    }
    const double pairs = slices->used + 1 - 2 * (double)work->span;
    for (size_t slot = 0; slot < work->slots; slot++)
        measured->errors[slot] *= pairs > 0 ? slices->used / (2 * pairs * work->span) : 0;
}

struct measured measure_run(const struct compare *compare, const struct compare_run *run, const struct call_tree *tree,
                            const struct compare_items *items, enum aggregate_sum weight)
{
    const uint32_t span = run->slices.used >= MEASURE_PARTS ? run->slices.used / MEASURE_PARTS : 1;
    struct work work = {
        .compare = compare,
        .run = run,
        .tree = tree,
        .items = items,
        .weight = weight,
        .slots = items->count * SLOTS,
        .self = alloc_zeroed(tree->count, sizeof(double)),
        .total = alloc_zeroed(tree->count, sizeof(double)),
        .span = span,
        .ring = alloc_zeroed(2 * span * items->count * SLOTS, sizeof(double)),
        .wholes = alloc_zeroed((size_t)run->slices.used + 1, sizeof(double)),
    };
    struct measured measured = {
        .sums = alloc_zeroed(work.slots, sizeof(double)),
        .errors = alloc_zeroed(work.slots, sizeof(double)),
    };
    sum_up(&work, &measured);
    find_errors(&work, &measured);
    const double sum = run->totals[weight];
    measured.quantum = sum > 0 ? run->squares[weight] / sum : 0;
    free(work.self);
    free(work.total);
    free(work.ring);
    free(work.wholes);
    return measured;
}

void measured_free(struct measured *measured)
{
    free(measured->sums);
    free(measured->errors);
    *measured = (struct measured){ 0 };
}
