/* SPDX-License-Identifier: MIT */
#include "formats/flame/flame_difference.h"

#include "formats/base/alloc.h"
#include "formats/flame/flame_facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums of both sides ---- */

static size_t count_runs(const struct compare *compare, enum compare_side side)
{
    size_t count = 0;
    for (size_t i = 0; i < compare->read; i++)
        count += compare->runs[i].side == side && compare->runs[i].samples > 0;
    return count ? count : 1;
}

static uint64_t rounded(double amount)
{
    return amount > 0 ? (uint64_t)(amount + 0.5) : 0;
}

/* Replaces the selves. Only sums of whole nodes are rounded. */
static void split_selves(const struct flame_difference *difference, struct call_tree *tree)
{
    const struct compare *compare = difference->compare;
    double(*sides)[COMPARE_SIDES] = alloc_zeroed(tree->count, sizeof(*sides));
    for (size_t i = 0; i < compare->aggregate.count; i++) {
        const struct aggregate_row *row = &compare->aggregate.rows[i];
        const enum compare_side side = compare->runs[compare_run_of(compare, row->thread)].side;
        sides[tree->by_row[i]][side] += (double)row->sums[difference->weight];
    }
    for (size_t i = 1; i < tree->count; i++) {
        struct call_node *node = &tree->nodes[i];
        const double scale = difference->judgement.scale > 0 ? difference->judgement.scale : 1;
        const double before = sides[i][COMPARE_BEFORE] * scale / (double)difference->runs[COMPARE_BEFORE];
        const double after = sides[i][COMPARE_AFTER] / (double)difference->runs[COMPARE_AFTER];
        memset(node->self, 0, sizeof(node->self));
        node->self[difference->weight] = rounded(after);
        node->self[SUM_BEFORE] = rounded(before);
    }
    free(sides);
}

static void flame_difference_add_up_totals(struct call_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        memcpy(tree->nodes[i].total, tree->nodes[i].self, sizeof(tree->nodes[i].total));
    for (size_t i = tree->count; i-- > 1;)
        for (size_t sum = 0; sum < SUMS; sum++)
            tree->nodes[tree->nodes[i].parent].total[sum] += tree->nodes[i].total[sum];
}

void flame_difference_find(struct flame_difference *difference, const struct compare *compare, struct call_tree *tree,
                           enum aggregate_sum weight)
{
    const struct compare_style style = { .weight = weight,
                                         .confidence = FLAME_CONFIDENCE,
                                         .least_share = FLAME_LEAST_SHARE };
    struct compare_items items = compare_items_of_codes(tree);
    *difference = (struct flame_difference){ .compare = compare, .weight = weight };
    for (enum compare_side side = 0; side < COMPARE_SIDES; side++)
        difference->runs[side] = count_runs(compare, side);
    compare_judge(compare, tree, &items, &style, &difference->judgement);
    compare_items_free(&items);
    split_selves(difference, tree);
    flame_difference_add_up_totals(tree);
}

/* ---- noise ---- */

/* What a sample of a mean run stands for. */
static double quantum_of(const struct flame_difference *difference, enum compare_side side)
{
    const struct compare *compare = difference->compare;
    double totals = 0, squares = 0;
    for (size_t i = 0; i < compare->read; i++) {
        if (compare->runs[i].side != side)
            continue;
        totals += compare->runs[i].totals[difference->weight];
        squares += compare->runs[i].squares[difference->weight];
    }
    return totals > 0 ? squares / totals : 0;
}

/* The variance for each unit of time, if samples were independent of each other. */
static void find_noise(const struct flame_difference *difference, double noise[COMPARE_SIDES])
{
    const double scale = difference->judgement.scale;
    noise[COMPARE_BEFORE] = scale * quantum_of(difference, COMPARE_BEFORE) / (double)difference->runs[COMPARE_BEFORE];
    noise[COMPARE_AFTER] = quantum_of(difference, COMPARE_AFTER) / (double)difference->runs[COMPARE_AFTER];
}

/* How many times larger the variance of an amount is than if samples were independent, by the bound on the side of "no
 * growth", on which the verdict depends. Below 0: not known. */
static double dispersion_of(const struct flame_difference *difference, const struct judged *judged,
                            const double noise[COMPARE_SIDES])
{
    const struct judgement *judgement = &difference->judgement;
    const double before = judged->before * judgement->scale;
    if (!judged->tested || before <= 0 || isinf(judged->high) || judgement->errors <= 0)
        return -1;
    const double to_bound = judged->growth > 0 ? judged->growth - judged->low : judged->high - judged->growth;
    const double error = to_bound * before / judgement->errors;
    const double spread = judgement->spread * (before + judged->after) / 2;
    const double drawn = noise[COMPARE_BEFORE] * before + noise[COMPARE_AFTER] * judged->after;
    return drawn > 0 ? fmax(error * error - spread * spread, 0) / drawn : -1;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The dispersion that most functions stay below, for boxes that are no whole function. Never below that of independent
 * samples. */
static double common_dispersion(const struct flame_difference *difference, const double noise[COMPARE_SIDES])
{
    const struct judgement *judgement = &difference->judgement;
    double *all = alloc_zeroed(judgement->count * 2 + 1, sizeof(*all));
    size_t count = 0;
    for (size_t i = 1; i < judgement->count; i++) {
        const double self = dispersion_of(difference, &judgement->items[i].self, noise);
        const double total = dispersion_of(difference, &judgement->items[i].total, noise);
        if (self >= 0)
            all[count++] = self;
        if (total >= 0)
            all[count++] = total;
    }
    qsort(all, count, sizeof(*all), by_value);
    const double dispersion = count ? all[count * 9 / 10] : 1;
    free(all);
    return fmax(dispersion, 1);
}

/* ---- output ---- */

/* JSON has no number for what a recording with absurd times comes to. */
static void flame_difference_emit_real(struct json_emitter *json, const char *key, double value)
{
    emit_value(json, key, json_real(isfinite(value) ? value : 0));
}

static void emit_noise(struct json_emitter *json, const struct flame_difference *difference)
{
    double noise[COMPARE_SIDES];
    find_noise(difference, noise);
    const double dispersion = common_dispersion(difference, noise);
    emit_open(json, "noise", '{');
    flame_difference_emit_real(json, "z", difference->judgement.errors);
    flame_difference_emit_real(json, "before", noise[COMPARE_BEFORE] * dispersion);
    flame_difference_emit_real(json, "after", noise[COMPARE_AFTER] * dispersion);
    flame_difference_emit_real(json, "spread", difference->judgement.spread);
    emit_close(json, '}');
}

static void emit_bound(struct json_emitter *json, const char *key, double value, bool known)
{
    if (known)
        flame_difference_emit_real(json, key, value);
    else
        emit_value(json, key, json_null());
}

/* Writes what is said of a self or a total. What had nothing, or next to nothing, before has a verdict, and no bounds
 * in time: its growth has no highest value. */
static void emit_judged(struct json_emitter *json, const struct flame_difference *difference, uint32_t function,
                        const char *by, const struct judged *judged)
{
    static const char *const words[VERDICTS] = {
        [VERDICT_SAME] = "same", [VERDICT_GREW] = "grew", [VERDICT_SHRANK] = "shrank"
    };
    const double before = judged->before * difference->judgement.scale;
    const bool bounded = before > 0 && !isinf(judged->high);
    if (!judged->tested)
        return;
    emit_open(json, NULL, '{');
    emit_integer(json, "function", function);
    emit_text(json, "by", text_of(by));
    flame_difference_emit_real(json, "before", before);
    flame_difference_emit_real(json, "after", judged->after);
    emit_bound(json, "low", judged->low * before, bounded);
    emit_bound(json, "high", judged->high * before, bounded);
    emit_text(json, "verdict", text_of(words[judged->verdict]));
    emit_close(json, '}');
}

/* "baseline", or "3 runs". */
static void emit_title(struct json_emitter *json, const char *key, const struct flame_difference *difference,
                       enum compare_side side)
{
    const struct compare *compare = difference->compare;
    size_t count = 0, latest = 0;
    for (size_t i = 0; i < compare->read; i++) {
        count += compare->runs[i].side == side;
        latest = compare->runs[i].side == side ? i : latest;
    }
    if (count > 1)
        emit_value(json, key, json_sprintf("%zu runs", count));
    else
        emit_text(json, key, compare->runs[latest].name);
}

static void emit_scale(struct json_emitter *json, const struct flame_difference *difference)
{
    const double scale = difference->judgement.scale, percent = fabs(scale - 1) * 100;
    const char *what = difference->judgement.by_time ? "The times of a whole run are compared"
                                                     : "The shares of a recording are compared";
    flame_difference_emit_real(json, "scale", scale);
    if (percent < 0.05)
        emit_value(json, "scaled", json_sprintf("%s.", what));
    else
        emit_value(json, "scaled",
                   json_sprintf("%s. Most of the program has %.1f %% %s after, so before counts %.4g times.", what,
                                percent, scale > 1 ? "more" : "less", scale));
}

void flame_difference_emit(struct json_emitter *json, const struct flame_difference *difference,
                           const uint32_t *functions)
{
    emit_title(json, "before_title", difference, COMPARE_BEFORE);
    emit_title(json, "after_title", difference, COMPARE_AFTER);
    emit_text(json, "weight", text_of(sum_rows[difference->weight].name));
    emit_scale(json, difference);
    flame_difference_emit_real(json, "confidence", FLAME_CONFIDENCE);
    emit_noise(json, difference);
    emit_open(json, "functions", '[');
    for (size_t i = 1; i < difference->judgement.count; i++) {
        if (!functions[i])
            continue;
        emit_judged(json, difference, functions[i] - 1, "self", &difference->judgement.items[i].self);
        emit_judged(json, difference, functions[i] - 1, "total", &difference->judgement.items[i].total);
    }
    emit_close(json, ']');
}

/* ---- facts ---- */

/* The first process of the first run of a side. */
static const struct process *flame_difference_process_of(const struct compare *compare, enum compare_side side)
{
    for (size_t i = 0; i < compare->read; i++) {
        const uint32_t first = i ? compare->runs[i - 1].processes : 1;
        if (compare->runs[i].side == side && first < compare->tables->processes_count)
            return &compare->tables->processes[first].process;
    }
    return tables_first_process(compare->tables);
}

static void emit_sides(struct json_emitter *json, const char *name, struct text before, struct text after)
{
    char after_name[64];
    snprintf(after_name, sizeof(after_name), "%s after", name);
    flame_facts_emit_one(json, name, before);
    if (!text_equal(before, after))
        flame_facts_emit_one(json, after_name, after);
}

static uint64_t flame_difference_count_samples(const struct compare *compare, enum compare_side side)
{
    uint64_t count = 0;
    for (size_t i = 0; i < compare->read; i++)
        count += compare->runs[i].side == side ? compare->runs[i].samples : 0;
    return count;
}

void flame_difference_emit_facts(struct json_emitter *json, const struct flame_difference *difference,
                                 const char *filters)
{
    const struct compare *compare = difference->compare;
    const struct process *before = flame_difference_process_of(compare, COMPARE_BEFORE),
                         *after = flame_difference_process_of(compare, COMPARE_AFTER);
    char before_python[48] = "CPython ", after_python[48] = "CPython ";
    const size_t version_at = strlen(before_python);
    event_python_version_text(before_python + version_at, before->python_version);
    event_python_version_text(after_python + version_at, after->python_version);
    emit_open(json, "facts", '[');
    emit_sides(json, "Command", before->command, after->command);
    if (compare->one_script)
        flame_facts_emit_one(json, "Main scripts", TEXT("compared as one file, although their names differ"));
    emit_sides(json, "Python", text_of(before_python), text_of(after_python));
    flame_facts_emit_formatted(json, "Samples", "%" PRIu64 " before, %" PRIu64 " after",
                               flame_difference_count_samples(compare, COMPARE_BEFORE),
                               flame_difference_count_samples(compare, COMPARE_AFTER));
    if (filters)
        flame_facts_emit_one(json, "Only", text_of(filters));
    emit_close(json, ']');
}

void flame_difference_free(struct flame_difference *difference)
{
    judgement_free(&difference->judgement);
}
