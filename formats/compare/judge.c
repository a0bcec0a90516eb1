/* SPDX-License-Identifier: MIT */
#include "formats/compare/compare.h"

#include "formats/base/alloc.h"
#include "formats/compare/measure.h"
#include "formats/compare/student.h"

#include <math.h>
#include <stdlib.h>

/* What two runs of one program differ by, beyond the error of measuring each: standard deviations, as shares. Measured
 * with tests/bench/diff-alarms. */
#define ITEM_SPREAD 0.015 /* of an item's share of its run: layout in memory, hashes */
#define ITEM_SPREAD_BUSY                                                                                               \
    0.09 /* the same in one second of CPU time, if the machine was busy with something else all the time;              \
          * in a longer run the moments of both kinds mix */
#define ITEM_SPREAD_MOST  0.08
#define WHOLE_SPREAD      0.10 /* of a run's whole time: processors are not always equally fast */
#define WHOLE_SPREAD_BUSY 0.15

/* What is assumed counts as much as what so many degrees of freedom say. */
#define ASSUMED_FREEDOM       20.0 /* of items */
#define WHOLE_ASSUMED_FREEDOM 8.0

/* Numbers of recordings of each side that are tried out, for a difference that these recordings do not make sure. A
 * difference that is exactly at the bound is sure in half of all tries. */
static const uint32_t run_counts[] = { 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 40, 60, 80, COMPARE_RUNS_MOST };
#define FOUR_OF_FIVE 0.84 /* standard errors beyond the bound: sure in four of five tries */

/* An estimate for one side: its mean, and the variance of the mean. */
struct estimate {
    double mean, error;
};

struct judging {
    const struct compare *compare;
    const struct compare_style *style;
    struct judgement *judgement;
    size_t slots;
    struct measured *runs;                 /* by run */
    double whole[COMPARE_SIDES];           /* the time of all samples of a mean run */
    double all[COMPARE_SIDES];             /* the time of all samples of all runs */
    size_t count[COMPARE_SIDES];           /* runs that have samples */
    struct estimate *sides[COMPARE_SIDES]; /* by slot */
    bool *tested;                          /* by slot */
    double more[COMPARE_SIDES]; /* so many times as many runs as there are, all like these; 1: those that there are */
    double freedom;             /* of what runs of a side say about their spread */
    double excess;              /* how much larger the variance between runs is than assumed, over all items */
};

static struct judged *judged_of(struct judgement *judgement, size_t slot)
{
    struct judged_item *item = &judgement->items[slot / SLOTS];
    return slot % SLOTS == SLOT_SELF ? &item->self : &item->total;
}

static enum compare_side side_of(const struct judging *judging, size_t run)
{
    return judging->compare->runs[run].side;
}

/* ---- sums of the sides ---- */

static void add_up_runs(struct judging *judging)
{
    for (size_t run = 0; run < judging->compare->read; run++) {
        const enum compare_side side = side_of(judging, run);
        judging->all[side] += judging->runs[run].whole;
        judging->count[side] += judging->runs[run].whole > 0;
    }
    for (enum compare_side side = 0; side < COMPARE_SIDES; side++)
        judging->whole[side] = judging->count[side] ? judging->all[side] / (double)judging->count[side] : 0;
    const size_t runs = judging->count[COMPARE_BEFORE] + judging->count[COMPARE_AFTER];
    judging->freedom = runs > COMPARE_SIDES ? (double)(runs - COMPARE_SIDES) : 0;
}

/* The share of a slot in all runs of a side. */
static double slot_share(const struct judging *judging, enum compare_side side, size_t slot)
{
    double sum = 0;
    for (size_t run = 0; run < judging->compare->read; run++)
        sum += side_of(judging, run) == side ? judging->runs[run].sums[slot] : 0;
    return judging->all[side] > 0 ? sum / judging->all[side] : 0;
}

/* The shares of a slot on both sides. */
struct shares {
    double of[COMPARE_SIDES];
    double mean;
};

/* The variance of a share in one run, as the slices say and as a random draw of the samples would have. Short functions
 * are drawn at random, and of a slot with few samples the slices know little. A random draw is judged by the mean share
 * of both sides: a side that has few samples by chance would look too certain. */
static double error_in_run(const struct measured *run, size_t slot, const struct shares *shares)
{
    const double drawn_freedom = 6, few_samples = 20;
    const double quantum = run->quantum / run->whole;
    const double drawn = quantum * (shares->mean * (1 - shares->mean) + quantum);
    const double slices = run->errors[slot] / (run->whole * run->whole);
    const double samples = run->quantum > 0 ? run->sums[slot] / run->quantum : 0;
    const double slices_freedom = slices >= 0 ? MEASURE_FREEDOM * samples / (samples + few_samples) : 0;
    return (drawn_freedom * drawn + slices_freedom * slices) / (drawn_freedom + slices_freedom);
}

/* The variance that is assumed for the share of a slot in one run. */
static double assumed(const struct judging *judging, size_t number, size_t slot, const struct shares *shares)
{
    const struct measured *run = &judging->runs[number];
    const double busy = fmin(ITEM_SPREAD_BUSY / sqrt(fmax(run->cpu_s, 0.1)), ITEM_SPREAD_MOST) * run->busy;
    const double spread = (ITEM_SPREAD + busy) * shares->of[side_of(judging, number)];
    return error_in_run(run, slot, shares) + spread * spread;
}

/* How much larger the squares between the runs of a slot are than assumed, times their degrees of freedom. */
static double excess_of(const struct judging *judging, size_t slot, const struct shares *shares)
{
    double excess = 0;
    for (size_t i = 0; i < judging->compare->read; i++) {
        const struct measured *run = &judging->runs[i];
        if (run->whole <= 0 || judging->count[side_of(judging, i)] < 2)
            continue;
        const double differs = run->sums[slot] / run->whole - shares->of[side_of(judging, i)];
        excess += differs * differs / assumed(judging, i, slot, shares);
    }
    return excess;
}

static struct shares find_shares(const struct judging *judging, size_t slot)
{
    const double before = slot_share(judging, COMPARE_BEFORE, slot), after = slot_share(judging, COMPARE_AFTER, slot);
    return (struct shares){ { before, after }, (before + after) / 2 };
}

/* What all items together say about the spread. Items of one run depend on each other, so the sum of all counts as
 * little as a few items would. */
static void find_excess(struct judging *judging)
{
    double excess = 0, items = 0;
    for (size_t slot = SLOTS; slot < judging->slots && judging->freedom > 0; slot += SLOTS) {
        if (!judging->tested[slot])
            continue;
        const struct shares shares = find_shares(judging, slot);
        excess += excess_of(judging, slot, &shares);
        items++;
    }
    const double weight = items > 5 ? 5 : items, freedom = weight * judging->freedom;
    judging->excess = items ? (ASSUMED_FREEDOM + excess / items * weight) / (ASSUMED_FREEDOM + freedom) : 1;
}

static void estimate_slot(struct judging *judging, size_t slot)
{
    const struct shares shares = find_shares(judging, slot);
    const double excess = (ASSUMED_FREEDOM * judging->excess + excess_of(judging, slot, &shares)) /
                          (ASSUMED_FREEDOM + judging->freedom);
    for (enum compare_side side = 0; side < COMPARE_SIDES; side++) {
        double squares = 0;
        for (size_t i = 0; i < judging->compare->read; i++) {
            const struct measured *run = &judging->runs[i];
            if (side_of(judging, i) == side && run->whole > 0)
                squares += run->whole * run->whole * excess * assumed(judging, i, slot, &shares);
        }
        const double to_mean = judging->whole[side] / judging->all[side];
        judging->sides[side][slot] = (struct estimate){ shares.of[side] * judging->whole[side],
                                                        squares * to_mean * to_mean };
    }
}

/* ---- which slots are tested ---- */

static bool ratio_is_same(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/* Whether the total of an item is its self: then both are one question. */
static bool is_leaf(const struct judging *judging, size_t slot)
{
    const struct shares self = find_shares(judging, slot - slot % SLOTS);
    const struct shares total = find_shares(judging, slot - slot % SLOTS + SLOT_TOTAL);
    return ratio_is_same(self.of[COMPARE_BEFORE], total.of[COMPARE_BEFORE]) &&
           ratio_is_same(self.of[COMPARE_AFTER], total.of[COMPARE_AFTER]);
}

/* Whether a slot has all samples of both sides, as the total of main() may have. */
static bool is_whole(const struct judging *judging, size_t slot)
{
    const struct shares shares = find_shares(judging, slot);
    return ratio_is_same(shares.of[COMPARE_BEFORE], 1) && ratio_is_same(shares.of[COMPARE_AFTER], 1);
}

static void choose_tested(struct judging *judging)
{
    size_t tests = judging->judgement->by_time;
    for (size_t slot = SLOTS; slot < judging->slots; slot++) {
        const struct shares shares = find_shares(judging, slot);
        const double largest = fmax(shares.of[COMPARE_BEFORE], shares.of[COMPARE_AFTER]);
        judging->tested[slot] = largest > 0 && largest >= judging->style->least_share;
        const bool again = is_whole(judging, slot) || (slot % SLOTS == SLOT_TOTAL && is_leaf(judging, slot));
        tests += judging->tested[slot] && !again;
    }
    judging->judgement->tests = tests ? tests : 1;
}

/* What is estimated of a slot. */
static struct estimate estimate_of(const struct judging *judging, enum compare_side side, size_t slot)
{
    const struct estimate estimate = judging->sides[side][slot];
    return (struct estimate){ estimate.mean, estimate.error / judging->more[side] };
}

/* ---- the scale ---- */

/* The ratio of after to before of one self. */
struct ratio {
    double ratio, weight; /* the weight is the sum of both shares */
    double error;         /* variance of both shares */
    size_t slot;
};

struct scale {
    struct ratio *rows; /* sorted by ratio */
    size_t count;
};

static int by_ratio(const void *left, const void *right)
{
    const struct ratio *a = left, *b = right;
    return (a->ratio > b->ratio) - (a->ratio < b->ratio);
}

static void find_ratios(struct scale *scale, const struct judging *judging)
{
    const double *whole = judging->whole;
    scale->rows = alloc_zeroed(judging->slots / SLOTS + 1, sizeof(*scale->rows));
    for (size_t slot = SLOTS; slot < judging->slots; slot += SLOTS) {
        const struct estimate before = estimate_of(judging, COMPARE_BEFORE, slot);
        const struct estimate after = estimate_of(judging, COMPARE_AFTER, slot);
        const struct ratio row = {
            .ratio = before.mean > 0 ? after.mean / before.mean : INFINITY,
            .weight = before.mean / whole[COMPARE_BEFORE] + after.mean / whole[COMPARE_AFTER],
            .error = before.error / (whole[COMPARE_BEFORE] * whole[COMPARE_BEFORE]) +
                     after.error / (whole[COMPARE_AFTER] * whole[COMPARE_AFTER]),
            .slot = slot,
        };
        if (row.weight > 0)
            scale->rows[scale->count++] = row;
    }
    qsort(scale->rows, scale->count, sizeof(*scale->rows), by_ratio);
}

/* The scale, and its variance as a share of its square. */
struct scaled {
    double scale, error;
};

/* The ratio between two rows at which half of the weight is passed. Each row passes half of its weight at its ratio. */
static double ratio_between(const struct ratio *row, double passed, const struct ratio *next, double next_passed,
                            double half)
{
    if (!row || isinf(next->ratio))
        return row ? row->ratio : next->ratio;
    return row->ratio + (next->ratio - row->ratio) * (half - passed) / (next_passed - passed);
}

/* The weighted median of the ratios of all rows but one; slot 0: of all rows. A median stays where it is when some
 * functions have changed. False when no other row is there. */
static bool find_median(const struct scale *scale, size_t slot, struct scaled *scaled)
{
    double all = 0, error = 0, passed = 0, before = 0;
    const struct ratio *latest = NULL;
    for (size_t i = 0; i < scale->count; i++) {
        all += scale->rows[i].slot == slot ? 0 : scale->rows[i].weight;
        error += scale->rows[i].slot == slot ? 0 : scale->rows[i].error;
    }
    for (size_t i = 0; i < scale->count; i++) {
        const struct ratio *row = &scale->rows[i];
        if (row->slot == slot)
            continue;
        if (passed + row->weight / 2 >= all / 2) {
            /* The weights of both sides add up to 2. A median is worse than a mean by pi / 2. */
            *scaled = (struct scaled){ ratio_between(latest, before, row, passed + row->weight / 2, all / 2),
                                       M_PI / 2 * error * 4 / (all * all) };
            return scaled->scale > 0 && !isinf(scaled->scale);
        }
        before = passed + row->weight / 2;
        passed += row->weight;
        latest = row;
    }
    if (latest)
        *scaled = (struct scaled){ latest->ratio, M_PI / 2 * error * 4 / (all * all) };
    return latest && scaled->scale > 0 && !isinf(scaled->scale);
}

/* The variance that is assumed for the whole time of a run, as a share of its square: machines are not equally fast all
 * the time. */
static double assumed_whole(const struct measured *run)
{
    const double spread = WHOLE_SPREAD + WHOLE_SPREAD_BUSY * run->busy;
    return spread * spread;
}

/* The same for the mean of a side's runs. */
static double whole_error(const struct judging *judging, enum compare_side side)
{
    double error = 0;
    for (size_t i = 0; i < judging->compare->read; i++)
        error += side_of(judging, i) == side && judging->runs[i].whole > 0 ? assumed_whole(&judging->runs[i]) : 0;
    return error / (double)(judging->count[side] * judging->count[side]) / judging->more[side];
}

/* The scale for a slot: how much more all others have. By time, what is known beforehand counts, too: a machine is
 * about as fast as before. By work, nothing is known: a recording may be as long as its user wanted. */
static struct scaled scale_without(const struct judging *judging, const struct scale *scale, size_t slot)
{
    const double spread = whole_error(judging, COMPARE_BEFORE) + whole_error(judging, COMPARE_AFTER);
    struct scaled scaled;
    const bool known = find_median(scale, slot, &scaled);
    if (!judging->judgement->by_time)
        return known ? scaled : (struct scaled){ judging->whole[COMPARE_AFTER] / judging->whole[COMPARE_BEFORE], 0 };
    if (!known)
        return (struct scaled){ 1, spread };
    const double trust = spread / (spread + scaled.error);
    return (struct scaled){ exp(log(scaled.scale) * trust), scaled.error * trust };
}

/* ---- intervals ---- */

/* The lowest and the highest ratio of after to before that lie within `errors` standard errors (Fieller's interval). */
static double lowest_ratio(struct estimate before, struct estimate after, double errors)
{
    const double e2 = errors * errors;
    const double a = before.mean * before.mean - e2 * before.error, b = before.mean * after.mean;
    const double c = after.mean * after.mean - e2 * after.error;
    return c > 0 ? c / (b + sqrt(fmax(b * b - a * c, 0))) : 0;
}

static double highest_ratio(struct estimate before, struct estimate after, double errors)
{
    const double e2 = errors * errors;
    const double a = before.mean * before.mean - e2 * before.error, b = before.mean * after.mean;
    const double c = after.mean * after.mean - e2 * after.error;
    return a > 0 ? (b + sqrt(fmax(b * b - a * c, 0))) / a : INFINITY;
}

/* A side before that is scaled up to the side after. */
static struct estimate scaled_up(struct estimate estimate, double scale, double error)
{
    return (struct estimate){ estimate.mean * scale,
                              scale * scale * (estimate.error + estimate.mean * estimate.mean * error) };
}

static enum verdict judged_verdict(const struct judged *judged)
{
    if (!judged->tested)
        return VERDICT_SAME;
    return judged->low > 0 ? VERDICT_GREW : judged->high < 0 ? VERDICT_SHRANK : VERDICT_SAME;
}

/* By time, the scale may be anything from 1 to what the others say: what only one of both calls a change is none. */
static struct judged judging_judge(const struct judging *judging, struct estimate before, struct estimate after,
                                   struct scaled scaled, double errors)
{
    const bool by_time = judging->judgement->by_time;
    const double largest = by_time ? fmax(scaled.scale, 1) : scaled.scale;
    const double smallest = by_time ? fmin(scaled.scale, 1) : scaled.scale;
    struct judged judged = {
        .before = before.mean,
        .after = after.mean,
        .growth = before.mean > 0  ? after.mean / (before.mean * scaled.scale) - 1
                  : after.mean > 0 ? INFINITY
                                   : 0,
        .low = lowest_ratio(scaled_up(before, largest, scaled.error), after, errors) - 1,
        .high = highest_ratio(scaled_up(before, smallest, scaled.error), after, errors) - 1,
        .tested = true,
    };
    judged.verdict = judged_verdict(&judged);
    return judged;
}

static void judge_slots(const struct judging *judging, double errors)
{
    struct scale scale = { 0 };
    find_ratios(&scale, judging);
    judging->judgement->scale = scale_without(judging, &scale, 0).scale;
    for (size_t slot = SLOTS; slot < judging->slots; slot++) {
        const struct estimate before = estimate_of(judging, COMPARE_BEFORE, slot);
        const struct estimate after = estimate_of(judging, COMPARE_AFTER, slot);
        struct judged *judged = judged_of(judging->judgement, slot);
        *judged = (struct judged){ .before = before.mean, .after = after.mean, .low = -1, .high = INFINITY };
        if (is_whole(judging, slot))
            *judged = judging->judgement->whole;
        else if (judging->tested[slot])
            *judged = judging_judge(judging, before, after, scale_without(judging, &scale, slot - slot % SLOTS),
                                    errors);
    }
    free(scale.rows);
}

/* ---- more runs ---- */

/* Notes the slots whose difference so many runs of each side would make sure, if the difference is the true one and
 * runs vary as they do, or as is assumed of them. */
static void try_runs(struct judging *judging, uint32_t runs, double probability)
{
    struct scale scale = { 0 };
    const double freedom = ASSUMED_FREEDOM + 2 * (double)runs - COMPARE_SIDES;
    const double errors = student_upper(probability, freedom) + FOUR_OF_FIVE;
    for (enum compare_side side = 0; side < COMPARE_SIDES; side++)
        judging->more[side] = (double)runs / (double)judging->count[side];
    find_ratios(&scale, judging);
    for (size_t slot = SLOTS; slot < judging->slots; slot++) {
        struct judged *judged = judged_of(judging->judgement, slot);
        if (!judged->tested || judged->verdict != VERDICT_SAME || judged->runs || is_whole(judging, slot))
            continue;
        const struct judged then = judging_judge(judging, estimate_of(judging, COMPARE_BEFORE, slot),
                                                 estimate_of(judging, COMPARE_AFTER, slot),
                                                 scale_without(judging, &scale, slot - slot % SLOTS), errors);
        judged->runs = then.verdict != VERDICT_SAME ? runs : 0;
    }
    free(scale.rows);
}

static void find_runs(struct judging *judging, double probability)
{
    const size_t most = judging->count[COMPARE_BEFORE] > judging->count[COMPARE_AFTER] ? judging->count[COMPARE_BEFORE]
                                                                                       : judging->count[COMPARE_AFTER];
    for (size_t i = 0; i < countof(run_counts); i++)
        if (run_counts[i] > most)
            try_runs(judging, run_counts[i], probability);
}

/* ---- the whole ---- */

/* How much larger the variance between runs is than assumed. */
static double whole_excess(const struct judging *judging)
{
    double excess = WHOLE_ASSUMED_FREEDOM;
    for (size_t i = 0; i < judging->compare->read; i++) {
        const struct measured *run = &judging->runs[i];
        const double differs = run->whole / judging->whole[side_of(judging, i)] - 1;
        if (run->whole > 0 && judging->count[side_of(judging, i)] > 1)
            excess += differs * differs / assumed_whole(run);
    }
    return excess / (WHOLE_ASSUMED_FREEDOM + judging->freedom);
}

static struct estimate estimate_whole(const struct judging *judging, enum compare_side side)
{
    const double mean = judging->whole[side];
    return (struct estimate){ mean, mean * mean * whole_excess(judging) * whole_error(judging, side) };
}

static void judge_whole(const struct judging *judging, double probability)
{
    const struct estimate before = estimate_whole(judging, COMPARE_BEFORE);
    const struct estimate after = estimate_whole(judging, COMPARE_AFTER);
    const double errors = student_upper(probability, WHOLE_ASSUMED_FREEDOM + judging->freedom);
    struct judged *whole = &judging->judgement->whole;
    *whole = (struct judged){ .before = before.mean, .after = after.mean, .low = -1, .high = INFINITY };
    if (judging->judgement->by_time)
        *whole = judging_judge(judging, before, after, (struct scaled){ 1, 0 }, errors);
}

/* ---- all ---- */

static void measure_runs(struct judging *judging, const struct measuring *measuring)
{
    judging->runs = alloc_zeroed(judging->compare->read + 1, sizeof(*judging->runs));
    for (size_t i = 0; i < judging->compare->read; i++)
        judging->runs[i] = measure_sums(measuring, &judging->compare->runs[i]);
    add_up_runs(judging);
    choose_tested(judging);
    for (size_t i = 0; i < judging->compare->read; i++)
        measure_errors(&judging->runs[i], measuring, &judging->compare->runs[i], judging->tested);
}

static void free_all(struct judging *judging)
{
    for (size_t i = 0; i < judging->compare->read; i++)
        measured_free(&judging->runs[i]);
    free(judging->runs);
    free(judging->tested);
    for (enum compare_side side = 0; side < COMPARE_SIDES; side++)
        free(judging->sides[side]);
}

void compare_judge(const struct compare *compare, const struct call_tree *tree, const struct compare_items *items,
                   const struct compare_style *style, struct judgement *judgement)
{
    struct judging judging = {
        .compare = compare, .style = style, .judgement = judgement, .slots = items->count * SLOTS, .more = { 1, 1 }
    };
    *judgement = (struct judgement){ .items = alloc_zeroed(items->count, sizeof(*judgement->items)),
                                     .count = items->count,
                                     .by_time = style->by_time || (compare_is_whole(compare) && !style->by_work) };
    const struct measuring measuring = { compare, tree, items, style->weight };
    judging.tested = alloc_zeroed(judging.slots, sizeof(*judging.tested));
    for (enum compare_side side = 0; side < COMPARE_SIDES; side++)
        judging.sides[side] = alloc_zeroed(judging.slots, sizeof(*judging.sides[side]));
    measure_runs(&judging, &measuring);
    for (size_t i = 0; i < compare->read; i++)
        judgement->busy = fmax(judgement->busy, judging.runs[i].busy);
    judgement->whole_before = judging.whole[COMPARE_BEFORE];
    judgement->whole_after = judging.whole[COMPARE_AFTER];
    if (judging.all[COMPARE_BEFORE] > 0 && judging.all[COMPARE_AFTER] > 0) {
        find_excess(&judging);
        for (size_t slot = SLOTS; slot < judging.slots; slot++)
            estimate_slot(&judging, slot);
        const double probability = (1 - style->confidence) / 2 / (double)judgement->tests;
        judge_whole(&judging, probability);
        judgement->errors = student_upper(probability, ASSUMED_FREEDOM + judging.freedom);
        judgement->spread = ITEM_SPREAD * sqrt(judging.excess * (1 / (double)judging.count[COMPARE_BEFORE] +
                                                                 1 / (double)judging.count[COMPARE_AFTER]));
        judge_slots(&judging, judgement->errors);
        find_runs(&judging, probability);
    }
    free_all(&judging);
}

void judgement_free(struct judgement *judgement)
{
    free(judgement->items);
    *judgement = (struct judgement){ 0 };
}
