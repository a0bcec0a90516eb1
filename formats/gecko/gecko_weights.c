/* SPDX-License-Identifier: MIT */
/* The weights of samples: which they are, and those that are wall-clock times (formats/model/wall.h). The weights of a
 * thread add up to the wall-clock time of the thread. */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"
#include "formats/gecko/gecko_cpu.h"

#include <string.h>

enum gecko_weight gecko_weight_named(const char *name)
{
    static const char *const names[] = {
        [GECKO_WEIGHT_SAMPLES] = "samples", [GECKO_WEIGHT_WALL] = "wall", [GECKO_WEIGHT_CPU] = "cpu"
    };
    for (size_t i = GECKO_WEIGHT_SAMPLES; i < countof(names); i++)
        if (strcmp(names[i], name) == 0)
            return (enum gecko_weight)i;
    return GECKO_WEIGHT_USUAL;
}

/* The column has the total time of all samples so far. Then consecutive samples with the same weight have the same
 * step, and the spool stores them as one count. */
void gecko_weights_take(struct gecko *gecko, struct gecko_thread *thread, const struct run *run)
{
    if (thread->interval_ns == 0)
        thread->interval_ns = tables_interval_ns(gecko->tables, run->thread);
    const uint64_t interval_ns = thread->interval_ns;
    const bool usual = run->stands_ns == interval_ns;
    thread->stands_ns = usual ? 0 : run->stands_ns;
    gecko->weighted |= !usual;
    if (thread->weights.count == 0 && run->wall_ns == interval_ns)
        return;
    if (thread->weights.count == 0)
        thread->weights_from = thread->samples.count;
    const struct spool_sample row = { .time = thread->weights.last.time + run->wall_ns };
    spool_add(&gecko->spool, &thread->weights, row);
}

static bool uses_cpu(const struct gecko *gecko)
{
    for (size_t i = 0; i < gecko->threads_room; i++)
        if (gecko_cpu_of(gecko, (uint32_t)i) > 0)
            return true;
    return false;
}

void gecko_weights_choose(struct gecko *gecko)
{
    if (gecko->style.weight == GECKO_WEIGHT_USUAL && gecko_totals_know_cpu(gecko) && uses_cpu(gecko))
        gecko->style.weight = GECKO_WEIGHT_CPU;
}

bool gecko_weights_are_times(const struct gecko *gecko)
{
    const bool differ = gecko->weighted || tables_intervals_differ(gecko->tables);
    return gecko->style.weight >= GECKO_WEIGHT_WALL || (gecko->style.weight == GECKO_WEIGHT_USUAL && differ);
}

bool gecko_has_weights(const struct gecko *gecko)
{
    return gecko->every > 1 || gecko_weights_are_times(gecko);
}

void gecko_weights_emit_counts(struct gecko *gecko, uint32_t thread)
{
    const struct thinning thinning = gecko_thinning(gecko, thread);
    for (uint64_t i = 0; i < thinning.count; i += thinning.every)
        emit_integer(&gecko->json, NULL, (int64_t)thinning_factor(&thinning, i));
}

/* A thread's weights while they are written. */
struct weighing {
    struct thinning thinning;
    uint64_t number; /* of the next sample */
    uint64_t units;  /* the time of all samples so far, rounded, so errors do not add up */
};

/* Writes the weight of the next sample, if the sample stays: the part of the thread's time up to `ns` that no sample
 * before has. */
static void emit_weight(struct gecko *gecko, struct weighing *weighing, uint64_t ns)
{
    const uint64_t before = weighing->units;
    weighing->units = gecko_in_units(gecko, ns);
    if (thinning_keeps(&weighing->thinning, weighing->number)) {
        const uint64_t factor = thinning_factor(&weighing->thinning, weighing->number);
        emit_decimal(&gecko->json, NULL, (weighing->units - before) * factor, gecko->digits);
    }
    weighing->number++;
}

void gecko_weights_emit_cells(struct gecko *gecko, uint32_t number, struct spool_reader *reader)
{
    const struct gecko_thread *thread = gecko_thread(gecko, number);
    const uint64_t usual = thread->weights.count ? thread->weights_from : thread->samples.count;
    const uint64_t usual_ns = number ? tables_interval_ns(gecko->tables, number) : 0;
    struct weighing weighing = { .thinning = gecko_thinning(gecko, number) };
    struct spool_sample row;
    for (uint64_t i = 1; i <= usual; i++)
        emit_weight(gecko, &weighing, i * usual_ns);
    for (spool_rewind(reader, &gecko->spool, &thread->weights); spool_next(reader, &row);)
        emit_weight(gecko, &weighing, usual * usual_ns + row.time);
}
