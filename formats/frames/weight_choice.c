/* SPDX-License-Identifier: MIT */
#include "formats/frames/weight_choice.h"

#include "formats/base/alloc.h"
#include "formats/frames/waiting.h"

#include <stdlib.h>

static bool row_waits(const struct aggregate_row *row)
{
    return waiting_of_group(row->group) != WAITS_NOT;
}

static bool is_cpu_known(const struct aggregate *aggregate)
{
    return aggregate_cpu_first(aggregate_known(aggregate, SUM_CPU_NS), aggregate->samples);
}

/* The wall-clock time of the thread that has most. */
static uint64_t longest_wall_ns(const struct aggregate *aggregate)
{
    uint64_t *walls = NULL, longest = 0;
    size_t room = 0, count = 0;
    for (size_t i = 0; i < aggregate->count; i++) {
        const struct aggregate_row *row = &aggregate->rows[i];
        walls = alloc_grow(walls, &room, (size_t)row->thread + 1, sizeof(*walls));
        for (; count <= row->thread; count++)
            walls[count] = 0;
        walls[row->thread] += row->sums[SUM_WALL_NS];
        longest = walls[row->thread] > longest ? walls[row->thread] : longest;
    }
    free(walls);
    return longest;
}

struct weight_choice weight_choose(const struct aggregate *aggregate)
{
    bool waits = false, busy = false, wall = aggregate->samples == 0;
    uint64_t cpu_ns = 0, gil_ns = 0;
    for (size_t i = 0; i < aggregate->count; i++) {
        const struct aggregate_row *row = &aggregate->rows[i];
        const bool counts = row->sums[SUM_WALL_NS] > 0;
        waits |= row_waits(row) && counts;
        busy |= counts && !row_waits(row);
        wall |= counts;
        cpu_ns += row->sums[SUM_CPU_NS];
        gil_ns += row->sums[SUM_GIL_NS];
    }
    const bool cpu_known = aggregate->samples == 0 || is_cpu_known(aggregate);
    /* A program that held the GIL while others had the processors used little CPU time, too, and did not wait. */
    const uint64_t ran_ns = cpu_ns > gil_ns ? cpu_ns : gil_ns;
    if (cpu_ns && cpu_known && weight_mostly_waited(ran_ns, longest_wall_ns(aggregate)))
        return (struct weight_choice){ .weight = SUM_WALL_NS, .reason = "the program mostly waited" };
    /* Without a sample, all CPU time is that of which no look is known. */
    if (cpu_ns && cpu_known)
        return (struct weight_choice){ .weight = SUM_CPU_NS };
    const char *reason = is_cpu_known(aggregate) ? "no CPU time was used" : "CPU time is not known";
    if (!wall)
        return (struct weight_choice){ .weight = SUM_SAMPLES, .reason = reason };
    /* If everything waited, then waits are what there is to see. */
    return (struct weight_choice){ .weight = SUM_WALL_NS, .without_waits = waits && busy, .reason = reason };
}

const char *weight_choice_label(const struct weight_choice *choice)
{
    return choice->without_waits ? "wall-clock time without waits" : sum_rows[choice->weight].label;
}

size_t weight_take_busy(const struct aggregate *from, struct aggregate_row *to)
{
    size_t count = 0;
    for (size_t i = 0; i < from->count; i++)
        if (!row_waits(&from->rows[i]))
            to[count++] = from->rows[i];
    return count;
}
