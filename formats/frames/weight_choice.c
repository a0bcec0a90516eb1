/* SPDX-License-Identifier: MIT */
#include "formats/frames/weight_choice.h"

#include "formats/frames/waiting.h"

static bool row_waits(const struct aggregate_row *row)
{
    return waiting_of_group(row->group) != WAITS_NOT;
}

static bool is_cpu_known(const struct aggregate *aggregate)
{
    return aggregate_cpu_first(aggregate_known(aggregate, SUM_CPU_NS), aggregate->samples);
}

struct weight_choice weight_choose(const struct aggregate *aggregate)
{
    bool waits = false, busy = false, cpu = false, wall = aggregate->samples == 0;
    for (size_t i = 0; i < aggregate->count; i++) {
        const struct aggregate_row *row = &aggregate->rows[i];
        const bool counts = row->sums[SUM_WALL_NS] > 0;
        waits |= row_waits(row);
        busy |= counts && !row_waits(row);
        wall |= counts;
        cpu |= row->sums[SUM_CPU_NS] > 0;
    }
    /* Without a sample, all CPU time is that of which no look is known. */
    if (cpu && (aggregate->samples == 0 || is_cpu_known(aggregate)))
        return (struct weight_choice){ .weight = SUM_CPU_NS };
    if (!wall)
        return (struct weight_choice){ .weight = SUM_SAMPLES };
    /* If everything waited, then waits are what there is to see. */
    return (struct weight_choice){ .weight = SUM_WALL_NS, .without_waits = waits && busy };
}

const char *weight_choice_label(const struct weight_choice *choice)
{
    return choice->without_waits ? "wall-clock time without waits" : sum_rows[choice->weight].label;
}

const char *weight_choice_reason(const struct aggregate *aggregate)
{
    return is_cpu_known(aggregate) ? "no CPU time was used" : "CPU time is not known";
}

size_t weight_take_busy(const struct aggregate *from, struct aggregate_row *to)
{
    size_t count = 0;
    for (size_t i = 0; i < from->count; i++)
        if (!row_waits(&from->rows[i]))
            to[count++] = from->rows[i];
    return count;
}
