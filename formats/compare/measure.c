/* SPDX-License-Identifier: MIT */
#include "formats/compare/measure.h"

#include "formats/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for the sums of one slice, or of all. */
struct scratch {
    double *self, *total; /* by node */
    double *slots;
};

static struct scratch make_scratch(const struct measuring *measuring)
{
    return (struct scratch){ .self = alloc_zeroed(measuring->tree->count, sizeof(double)),
                             .total = alloc_zeroed(measuring->tree->count, sizeof(double)),
                             .slots = alloc_zeroed(measuring->items->count * SLOTS, sizeof(double)) };
}

static void free_scratch(struct scratch *scratch)
{
    free(scratch->self);
    free(scratch->total);
    free(scratch->slots);
}

/* ---- sums of some slices ---- */

static void add_to_nodes(const struct measuring *measuring, const struct slice_sum *sums, size_t count,
                         struct scratch *scratch)
{
    const struct call_tree *tree = measuring->tree;
    memset(scratch->self, 0, tree->count * sizeof(*scratch->self));
    for (size_t i = 0; i < count; i++) {
        const uint32_t node = tree->by_row[measuring->compare->by_key[sums[i].row]];
        if (node)
            scratch->self[node] += (double)sums[i].sums[measuring->weight];
    }
    memcpy(scratch->total, scratch->self, tree->count * sizeof(*scratch->total));
    for (size_t i = tree->count; i-- > 1;)
        scratch->total[tree->nodes[i].parent] += scratch->total[i];
}

/* Adds up the slots. Returns the sum of everything. */
static double measuring_add_up(const struct measuring *measuring, const struct slice_sum *sums, size_t count,
                               struct scratch *scratch)
{
    const struct compare_items *items = measuring->items;
    add_to_nodes(measuring, sums, count, scratch);
    memset(scratch->slots, 0, items->count * SLOTS * sizeof(*scratch->slots));
    for (size_t i = 0; i < measuring->tree->count; i++) {
        double *slot = &scratch->slots[items->of_node[i] * SLOTS];
        slot[SLOT_SELF] += scratch->self[i];
        if (items->outermost[i])
            slot[SLOT_TOTAL] += scratch->total[i];
    }
    return scratch->total[0];
}

static double busy_part(const struct compare_run *run)
{
    const double cpu_ns = run->totals[SUM_CPU_NS];
    return run->cpu_known && run->ready_ns > 0 ? fmax(1 - cpu_ns / run->ready_ns, 0) : 0;
}

struct measured measure_sums(const struct measuring *measuring, const struct compare_run *run)
{
    struct scratch scratch = make_scratch(measuring);
    struct measured measured = { .busy = busy_part(run), .cpu_s = run->totals[SUM_CPU_NS] / 1e9 };
    const double all = run->totals[measuring->weight];
    measured.quantum = all > 0 ? run->squares[measuring->weight] / all : 0;
    measured.whole = measuring_add_up(measuring, run->slices.rows, run->slices.count, &scratch);
    measured.sums = scratch.slots;
    scratch.slots = NULL;
    free_scratch(&scratch);
    return measured;
}

/* ---- errors ---- */

/* A row for each wanted slot, and one for the whole in front: the sum of all slices so far, behind each slice. */
struct measure_series {
    size_t slices; /* each row has one number more */
    size_t count;
    size_t *slots; /* by row */
    double *rows;
};

static double *series_row(const struct measure_series *series, size_t row)
{
    return series->rows + row * (series->slices + 1);
}

static struct measure_series make_series(const struct measuring *measuring, const struct compare_run *run,
                                         const bool *wanted)
{
    const size_t slots = measuring->items->count * SLOTS;
    struct measure_series series = { .slices = run->slices.used, .count = 1 };
    series.slots = alloc_zeroed(slots + 1, sizeof(*series.slots));
    for (size_t slot = SLOTS; slot < slots; slot++)
        if (wanted[slot])
            series.slots[series.count++] = slot;
    series.rows = alloc_zeroed(series.count * (series.slices + 1), sizeof(*series.rows));
    return series;
}

static void fill_series(struct measure_series *series, const struct measuring *measuring, const struct compare_run *run)
{
    const struct slices *slices = &run->slices;
    struct scratch scratch = make_scratch(measuring);
    size_t from = 0;
    for (uint32_t slice = 0; slice < slices->used; slice++) {
        size_t to = from;
        while (to < slices->count && slices->rows[to].slice == slice)
            to++;
        const double whole = measuring_add_up(measuring, slices->rows + from, to - from, &scratch);
        for (size_t row = 0; row < series->count; row++) {
            double *sums = series_row(series, row);
            sums[slice + 1] = sums[slice] + (row ? scratch.slots[series->slots[row]] : whole);
        }
        from = to;
    }
    free_scratch(&scratch);
}

/* The sum up to a slice. Behind the end, the run starts again: else what comes only at the start or the end of a run
 * would have one neighbour instead of two, and would look too certain. */
static double sum_to(const double *rest, size_t slices, size_t slice)
{
    return slice <= slices ? rest[slice] : rest[slices] + rest[slice - slices];
}

/* The variance of the whole row, from neighbours of `span` slices. Half the mean square of how much two neighbours
 * differ is the variance of one, and the row has `slices / span` of them. */
static double variance_at(const double *rest, size_t slices, size_t span)
{
    double squares = 0;
    for (size_t at = 0; at < slices; at++) {
        const double differs = sum_to(rest, slices, at + 2 * span) - 2 * sum_to(rest, slices, at + span) + rest[at];
        squares += differs * differs;
    }
    return squares / 2 / (double)span;
}

/* How often a slice has more than its share of the item, and the slice before has less. */
static size_t count_visits(const double *rest, size_t slices)
{
    size_t visits = slices > 0 && rest[1] > rest[0];
    for (size_t at = 1; at < slices; at++)
        visits += rest[at + 1] > rest[at] && rest[at] <= rest[at - 1];
    return visits;
}

/* The least of several estimates of one variance is too small; this factor makes up for that. */
#define LEAST_FACTOR 1.5

/* `rest` is the sum of x - p w so far. */
static double error_of(const double *rest, size_t slices)
{
    static const size_t parts[] = { 40, 32, 25, 20, 16, 13, 10, 8 };
    const size_t visits_few = 8;
    double least = INFINITY;
    if (slices < parts[0])
        return -1;
    if (count_visits(rest, slices) < visits_few)
        least = variance_at(rest, slices, 1);
    for (size_t i = 0; i < countof(parts); i++)
        least = fmin(least, LEAST_FACTOR * variance_at(rest, slices, slices / parts[i]));
    return least;
}

void measure_errors(struct measured *measured, const struct measuring *measuring, const struct compare_run *run,
                    const bool *wanted)
{
    const size_t slots = measuring->items->count * SLOTS;
    struct measure_series series = make_series(measuring, run, wanted);
    measured->errors = alloc_zeroed(slots, sizeof(*measured->errors));
    for (size_t slot = 0; slot < slots; slot++)
        measured->errors[slot] = -1;
    fill_series(&series, measuring, run);
    const double *whole = series_row(&series, 0);
    for (size_t row = 1; row < series.count; row++) {
        double *sums = series_row(&series, row);
        const double share = measured->whole > 0 ? measured->sums[series.slots[row]] / measured->whole : 0;
        for (size_t i = 0; i <= series.slices; i++)
            sums[i] -= share * whole[i];
        measured->errors[series.slots[row]] = error_of(sums, series.slices);
    }
    free(series.rows);
    free(series.slots);
}

void measured_free(struct measured *measured)
{
    free(measured->sums);
    free(measured->errors);
    *measured = (struct measured){ 0 };
}
