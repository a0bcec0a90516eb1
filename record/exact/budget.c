/* SPDX-License-Identifier: MIT */
#include "record/exact/budget.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIT_NS     100000000u /* the interval is fitted to the cost of ticks this often */
#define FIT_TICKS  4          /* fewer measured ticks do not count as a surprise */
#define MAKE_UP_NS 3e9        /* time in which an excess is made up, more or less */
#define SURPRISE   3          /* recent ticks that cost this many times the known cost: fit at once */
#define LARGE_PART 4          /* while no cost is known, a tick that takes more than 1/4 of its interval: fit at once */
#define GROWTH     8          /* most growth of the interval per fit, because a few ticks may mislead */
#define STEP       0.04       /* smallest relative change of the interval: each change takes space in the recording */
#define LONGEST_NS 1000000000u /* longest interval */
#define ROUND_NS   1000u       /* long intervals are multiples of this */
#define GAP_NS     100000u     /* least distance between two moments of a group, ... */
#define GAP_PART   8           /* ... or 1/8 of an interval, if that is less */

/* Rounds an interval down: a multiple of ROUND_NS takes fewer bytes in the recording. */
static uint64_t interval_rounded(double interval_ns)
{
    const uint64_t whole_ns = (uint64_t)interval_ns;
    return whole_ns > 100 * ROUND_NS ? whole_ns - whole_ns % ROUND_NS : whole_ns;
}

/* xorshift64*, whose high bits are of good quality. */
double budget_draw(struct budget *budget)
{
    uint64_t x = budget->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    budget->random = x;
    return (double)((x * UINT64_C(0x2545F4914F6CDD1D)) >> 11) / 9007199254740992.0;
}

/* ---- intervals ---- */

/* The number of intervals in the next group. The intervals of a group all have one length. So the first groups are
 * small, because the cost of ticks is not known yet, and so are those of long intervals, whose length is soon fitted
 * anew. */
static uint32_t group_size(const struct budget *budget)
{
    const uint64_t known = budget->drawn / 2, fitting = FIT_NS / (budget->interval_ns + 1);
    const uint64_t size = known < fitting ? known : fitting;
    return size < 1 ? 1 : size < BUDGET_GROUP ? (uint32_t)size : BUDGET_GROUP;
}

/* Draws the moments of a group, in rising order. The least distance between two moments has room for a cheap tick. */
static void draw_moments(struct budget *budget, struct interval_group *group)
{
    const uint64_t gap_ns = group->length_ns / GAP_PART < GAP_NS ? group->length_ns / GAP_PART : GAP_NS;
    const double room_ns = (double)((group->length_ns - gap_ns) * group->count);
    uint64_t *moments_ns = group->moments_ns;
    for (uint32_t i = 0; i < group->count; i++) {
        const uint64_t drawn_ns = (uint64_t)(budget_draw(budget) * room_ns);
        uint32_t at = i;
        for (; at > 0 && moments_ns[at - 1] > drawn_ns; at--)
            moments_ns[at] = moments_ns[at - 1];
        moments_ns[at] = drawn_ns;
    }
    for (uint32_t i = 0; i < group->count; i++)
        moments_ns[i] += group->begins_ns + gap_ns / 2 + i * gap_ns;
}

static void begin_group(struct budget *budget, uint64_t begins_ns)
{
    struct interval_group *group = &budget->group;
    *group = (struct interval_group){ .begins_ns = begins_ns, .length_ns = budget->interval_ns, .count = 1 };
    if (budget->even) {
        group->moments_ns[0] = begins_ns;
        return;
    }
    group->count = group_size(budget);
    draw_moments(budget, group);
}

static struct interval next_interval(struct budget *budget)
{
    struct interval_group *group = &budget->group;
    if (group->used == group->count)
        begin_group(budget, group->begins_ns + group->count * group->length_ns);
    const uint32_t i = group->used++;
    budget->drawn++;
    return (struct interval){ group->begins_ns + i * group->length_ns, group->length_ns, group->moments_ns[i] };
}

void budget_begin(struct budget *budget, uint64_t now_ns)
{
    begin_group(budget, now_ns);
    budget->present = next_interval(budget);
    for (size_t i = 0; i < MOMENTS_AHEAD; i++)
        budget->next[i] = next_interval(budget);
}

void budget_open(struct budget *budget, uint64_t now_ns)
{
    budget->interval_ns = budget->asked_ns;
    budget->fitted_ns = now_ns;
    if (getrandom(&budget->random, sizeof(budget->random), 0) != sizeof(budget->random))
        budget->random = now_ns;
    budget->random |= 1;
    budget_begin(budget, now_ns);
}

static void budget_go_on(struct budget *budget)
{
    budget->left_out += (double)budget->present.length_ns / (double)budget->asked_ns - 1;
    budget->present = budget->next[0];
    memmove(budget->next, budget->next + 1, (MOMENTS_AHEAD - 1) * sizeof(*budget->next));
    budget->next[MOMENTS_AHEAD - 1] = next_interval(budget);
}

struct moments budget_moments(const struct budget *budget)
{
    struct moments moments = { .due_ns = budget->present.moment_ns };
    for (size_t i = 0; i < MOMENTS_AHEAD; i++)
        moments.next_ns[i] = budget->next[i].moment_ns;
    return moments;
}

uint64_t budget_stands_ns(const struct budget *budget)
{
    return budget->present.length_ns == budget->asked_ns ? 0 : budget->present.length_ns;
}

uint64_t budget_left_out(const struct budget *budget)
{
    return (uint64_t)(budget->left_out + 0.5);
}

/* ---- how long intervals are ---- */

/* The interval at which ticks keep the limit. If ticks have exceeded the limit so far, the interval is longer. */
static double wanted_interval(const struct budget *budget)
{
    const double excess_ns = (double)budget->taken_ns - budget->allowed_ns;
    const double less = excess_ns > 0 ? 1 + excess_ns / (budget->limit * MAKE_UP_NS) : 1;
    const double wanted_ns = budget->cost_ns / budget->limit * less;
    return wanted_ns < LONGEST_NS ? wanted_ns : LONGEST_NS;
}

static double share_least(double a, double b)
{
    return a < b ? a : b;
}

static int compare_costs(const void *one, const void *another)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)another;
    return a < b ? -1 : a > b;
}

/* The median of the recent costs. */
static double typical_cost(const struct budget *budget)
{
    uint64_t costs_ns[BUDGET_COSTS];
    const size_t count = budget->costs < BUDGET_COSTS ? (size_t)budget->costs : BUDGET_COSTS;
    memcpy(costs_ns, budget->costs_ns, sizeof(costs_ns));
    qsort(costs_ns, count, sizeof(*costs_ns), compare_costs);
    return (double)costs_ns[count / 2];
}

static void fit(struct budget *budget, uint64_t now_ns)
{
    budget->cost_ns = typical_cost(budget);
    budget->recent_ns = budget->recent_ticks = 0;
    budget->allowed_ns += budget->limit * (double)(now_ns - budget->fitted_ns);
    budget->fitted_ns = now_ns;
    const double present_ns = (double)budget->interval_ns;
    const double wanted_ns = share_least(wanted_interval(budget), present_ns * GROWTH);
    if (wanted_ns <= (double)budget->asked_ns)
        budget->interval_ns = budget->asked_ns;
    else if (wanted_ns > present_ns * (1 + STEP) || wanted_ns < present_ns * (1 - STEP))
        budget->interval_ns = interval_rounded(wanted_ns);
}

static bool is_limited(const struct budget *budget)
{
    return budget->limit > 0 && budget->limit < 1;
}

double budget_load(const struct budget *budget)
{
    return budget->cost_ns / (double)budget->asked_ns;
}

void budget_share(struct budget *budget, double limit)
{
    if (!is_limited(budget))
        return;
    const bool less = limit < budget->limit;
    budget->limit = limit;
    const double wanted_ns = less ? wanted_interval(budget) : 0;
    if (wanted_ns > (double)budget->interval_ns * (1 + STEP))
        budget->interval_ns = interval_rounded(wanted_ns);
}

void budget_expect(struct budget *budget, double cost_ns)
{
    if (!is_limited(budget) || cost_ns <= 0)
        return;
    budget->cost_ns = cost_ns;
    if (cost_ns / budget->limit > (double)budget->asked_ns)
        budget->interval_ns = interval_rounded(share_least(cost_ns / budget->limit, LONGEST_NS));
}

static void budget_note(struct budget *budget, uint64_t took_ns, uint64_t now_ns)
{
    budget->taken_ns += took_ns;
    budget->costs_ns[budget->costs++ % BUDGET_COSTS] = took_ns;
    budget->recent_ns += took_ns;
    budget->recent_ticks++;
    const double mean_ns = (double)budget->recent_ns / (double)budget->recent_ticks;
    const bool known = budget->cost_ns > 0;
    const bool surprise = (budget->recent_ticks >= FIT_TICKS && mean_ns > SURPRISE * budget->cost_ns) ||
                          (!known && took_ns > budget->interval_ns / LARGE_PART);
    if (is_limited(budget) && (surprise || now_ns - budget->fitted_ns >= FIT_NS))
        fit(budget, now_ns);
}

uint64_t budget_pass(struct budget *budget, uint64_t took_ns, uint64_t now_ns, bool waited)
{
    uint64_t missed = 0;
    budget_note(budget, took_ns, now_ns);
    budget_go_on(budget);
    budget->skipped_ns = 0;
    for (; now_ns >= budget->present.moment_ns + (waited ? 0 : budget->present.length_ns); missed++) {
        budget->skipped_ns += budget->present.length_ns;
        budget_go_on(budget);
    }
    return missed;
}
