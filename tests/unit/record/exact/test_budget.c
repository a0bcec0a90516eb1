/* SPDX-License-Identifier: MIT */
/* Ticks by a clock of our own: when they are due, and how many of them there are. */
#include "record/exact/budget.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <math.h>

#define US    UINT64_C(1000)
#define MS    UINT64_C(1000000)
#define S     UINT64_C(1000000000)
#define START (1000 * S)

/* A recorder without the program. */
struct run {
    struct budget budget;
    uint64_t now_ns;
    uint64_t taken_ns, ticks, missed;
    uint64_t stood_ns; /* what all samples stand for */
};

static struct run begin(uint64_t asked_ns, double limit, bool even)
{
    struct run run = { .budget = { .asked_ns = asked_ns, .limit = limit, .even = even }, .now_ns = START };
    budget_open(&run.budget, START);
    run.budget.random = 4711; /* the same each time */
    return run;
}

/* A tick that takes so much from the program, and may wait as long again before it is over. Returns when it was. */
static uint64_t tick(struct run *run, uint64_t took_ns, uint64_t waited_ns)
{
    const uint64_t due_ns = budget_moments(&run->budget).due_ns;
    const uint64_t stands_ns = budget_stands_ns(&run->budget);
    run->now_ns = (due_ns > run->now_ns ? due_ns : run->now_ns);
    const uint64_t at_ns = run->now_ns;
    run->now_ns += took_ns + waited_ns;
    run->taken_ns += took_ns;
    run->ticks++;
    run->stood_ns += stands_ns ? stands_ns : run->budget.asked_ns;
    run->missed += budget_pass(&run->budget, took_ns, run->now_ns, false);
    return at_ns;
}

static void run_for(struct run *run, uint64_t cost_ns, uint64_t time_ns)
{
    for (const uint64_t end_ns = run->now_ns + time_ns; run->now_ns < end_ns;)
        tick(run, cost_ns, 0);
}

/* ---- moments ---- */

#define BINS  20
#define DRAWS 40000

/* Goes on until groups have their full size. Returns the first interval of a group. */
static struct interval reach_full_groups(struct run *run)
{
    while (run->budget.drawn < 4 * BUDGET_GROUP || run->budget.present.begins_ns != run->budget.group.begins_ns)
        tick(run, 0, 0);
    return run->budget.present;
}

static void draws_cover_their_group_evenly(void **state)
{
    (void)state;
    struct run run = begin(MS, 0, false);
    unsigned bins[BINS] = { 0 };
    const uint64_t begins_ns = reach_full_groups(&run).begins_ns;
    uint64_t before_ns = 0;
    for (unsigned i = 0; i < DRAWS; i++) {
        const uint64_t group_ns = begins_ns + i / BUDGET_GROUP * BUDGET_GROUP * MS;
        assert_int_equal(run.budget.present.begins_ns, begins_ns + i * MS);
        const uint64_t at_ns = tick(&run, 0, 0);
        assert_in_range(at_ns, group_ns, group_ns + BUDGET_GROUP * MS - 1);
        assert_true(at_ns >= before_ns + 100 * US);
        before_ns = at_ns;
        bins[(at_ns - group_ns) * BINS / (BUDGET_GROUP * MS)]++;
    }
    /* Six standard deviations, and the gap between two ticks, half of which is at each end of a group. */
    for (unsigned i = 0; i < BINS; i++)
        assert_in_range(bins[i], 0.8 * DRAWS / BINS, 1.15 * DRAWS / BINS);
}

/* However long the last tick is ago, the next one is nearly as far away as ever: one in each interval would never be
 * more than two intervals after the last one, and moments without memory in 13.5 % of times. */
static void what_was_tells_little_of_what_comes(void **state)
{
    (void)state;
    struct run run = begin(MS, 0, false);
    reach_full_groups(&run);
    uint64_t before_ns = tick(&run, 0, 0);
    unsigned long_gaps = 0;
    for (unsigned i = 0; i < DRAWS; i++) {
        const uint64_t at_ns = tick(&run, 0, 0);
        long_gaps += at_ns - before_ns > 2 * MS;
        before_ns = at_ns;
    }
    assert_in_range(long_gaps, 0.09 * DRAWS, 0.14 * DRAWS);
}

static void two_runs_draw_different_moments(void **state)
{
    (void)state;
    struct budget a = { .asked_ns = S }, b = { .asked_ns = S };
    budget_open(&a, START);
    budget_open(&b, START);
    unsigned same = 0;
    for (int i = 0; i < 8; i++) {
        same += budget_moments(&a).due_ns == budget_moments(&b).due_ns;
        budget_pass(&a, 0, a.present.begins_ns, false);
        budget_pass(&b, 0, b.present.begins_ns, false);
    }
    assert_in_range(same, 0, 1);
}

static void without_jitter_they_are_at_fixed_distances(void **state)
{
    (void)state;
    struct run run = begin(MS, 0, true);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(tick(&run, 100 * US, 0), START + i * MS);
    assert_int_equal(run.missed, 0);
}

/* ---- ticks that were slept over ---- */

static void intervals_that_ended_without_a_tick_are_missed_once(void **state)
{
    (void)state;
    struct run run = begin(MS, 0, true);
    tick(&run, 0, 0);
    assert_int_equal(run.missed, 0);
    tick(&run, 0, 7 * MS + MS / 2); /* due at 1, over at 8.5: 2 to 7 have ended, 8 has not */
    assert_int_equal(run.missed, 6);
    assert_int_equal(run.budget.skipped_ns, 6 * MS);
    assert_int_equal(run.budget.present.begins_ns, START + 8 * MS);
    assert_int_equal(tick(&run, 0, 0), START + 8 * MS + MS / 2); /* late, and made */
    assert_int_equal(tick(&run, 0, 0), START + 9 * MS);
    assert_int_equal(run.missed, 6);
    assert_int_equal(run.ticks, 4);
}

/* All moments that fell into a wait, and no other one. */
static void a_wait_has_the_moments_that_fell_into_it(void **state)
{
    (void)state;
    struct run run = begin(MS, 0, false);
    uint64_t ticks = 0, end_ns = START;
    for (int i = 0; i < 10000; i++) {
        end_ns = run.budget.present.moment_ns + 3 * MS + MS / 4;
        const uint64_t passed = budget_pass(&run.budget, 0, end_ns, true);
        assert_int_equal(run.budget.skipped_ns, passed * MS);
        assert_true(run.budget.present.moment_ns > end_ns);
        ticks += passed + 1;
    }
    assert_in_range(ticks * MS, end_ns - START - BUDGET_GROUP * MS, end_ns - START + BUDGET_GROUP * MS);
}

static void a_tick_may_be_an_interval_late(void **state)
{
    (void)state;
    struct run run = begin(MS, 0, false);
    for (int i = 0; i < 10000; i++) {
        const uint64_t next_ns = run.budget.next[0].moment_ns;
        assert_int_equal(budget_pass(&run.budget, 0, next_ns + MS - 1, false), 0);
        assert_int_equal(run.budget.present.moment_ns, next_ns);
        const uint64_t after_ns = run.budget.next[0].moment_ns;
        assert_in_range(budget_pass(&run.budget, 0, after_ns + MS, false), 1, BUDGET_GROUP);
        assert_true(run.budget.present.moment_ns > after_ns);
    }
}

static void every_interval_has_a_tick_or_is_missed(void **state)
{
    (void)state;
    for (unsigned even = 0; even < 2; even++) {
        struct run run = begin(MS, 0, even);
        for (uint64_t i = 0; i < 5000; i++)
            tick(&run, 0, i * 7919 % 5000 * US);
        assert_true(run.missed > 1000);
        assert_int_equal(run.budget.present.begins_ns, START + (run.ticks + run.missed) * MS);
        const uint64_t apart_ns = even ? MS : BUDGET_GROUP * MS;
        assert_in_range(run.now_ns, run.budget.present.begins_ns - apart_ns, run.budget.present.begins_ns + apart_ns);
    }
}

/* ---- the limit ---- */

static const uint64_t costs_ns[] = { 5 * US, 12 * US, 30 * US, 75 * US, 200 * US, 1 * MS, 5 * MS };
static const double limits[] = { 0.002, 0.01, 0.05 };

/* What was taken, of the limit: never more than a little above, nor much less while there are ticks to be had. */
static void what_is_taken_stays_at_the_limit(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(costs_ns) * countof(limits) * 2; i++) {
        const uint64_t cost_ns = costs_ns[i / 2 / countof(limits)], asked_ns = i % 2 ? MS : MS / 10;
        const double limit = limits[i / 2 % countof(limits)];
        struct run run = begin(asked_ns, limit, false);
        run_for(&run, cost_ns, 200 * S);
        const double share = (double)run.taken_ns / (double)(run.now_ns - START);
        const double least = fmin(limit, (double)cost_ns / (double)asked_ns);
        if (least < 0.9 * limit && run.budget.interval_ns != asked_ns)
            fail_msg("%lu ns at %g: ticks were left out for nothing", cost_ns, limit);
        if ((double)cost_ns / limit > 0.98e9)
            continue; /* an interval is never longer than a second */
        const double excess = (double)run.taken_ns - limit * (double)(run.now_ns - START);
        if (share > 1.03 * limit || excess > 0.75 * limit * (double)S || share < 0.93 * least)
            fail_msg("%lu ns each %lu: %g was taken, of %g", cost_ns, asked_ns, share, limit);
    }
}

/* The cost varies by much, and the limit is that of the mean. */
static void costs_that_vary_count_by_their_mean(void **state)
{
    (void)state;
    struct run run = begin(MS, 0.01, false);
    for (uint64_t i = 0; run.now_ns < START + 200 * S; i++)
        tick(&run, i % 10 == 0 ? 200 * US : 10 * US, 0);
    const double share = (double)run.taken_ns / (double)(run.now_ns - START);
    assert_true(share < 0.0105 && share > 0.008);
}

/* A surprise is not paid for with a second of the program's time. */
static void a_rise_is_answered_at_once(void **state)
{
    (void)state;
    struct run run = begin(MS, 0.01, false);
    run_for(&run, 8 * US, 10 * S);
    assert_int_equal(run.budget.interval_ns, MS);
    const uint64_t ticks = run.ticks;
    run_for(&run, 2 * MS, S);
    assert_true(run.ticks - ticks < 30);
    assert_true(run.budget.interval_ns > 100 * MS);
}

/* Ticks that each take more than an interval are not many before intervals are long enough. */
static void the_first_dear_ticks_miss_few(void **state)
{
    (void)state;
    struct run run = begin(MS, 0.01, false);
    for (int i = 0; i < 12; i++)
        tick(&run, 900 * US, 900 * US);
    assert_in_range(run.missed, 0, 2); /* 0 for some first moments, which are drawn before the seed is set */
}

static void when_costs_fall_ticks_come_back(void **state)
{
    (void)state;
    struct run run = begin(MS, 0.01, false);
    run_for(&run, MS, 20 * S);
    assert_true(run.budget.interval_ns > 90 * MS);
    run_for(&run, 5 * US, 20 * S);
    assert_int_equal(run.budget.interval_ns, MS);
    for (int i = 0; i < 2 * BUDGET_GROUP; i++)
        tick(&run, 0, 0); /* these moments were drawn before */
    assert_int_equal(budget_stands_ns(&run.budget), 0);
}

static void without_a_limit_no_tick_is_left_out(void **state)
{
    (void)state;
    static const double no_limits[] = { 0, 1 };
    for (size_t limit = 0; limit < countof(no_limits); limit++) {
        struct run run = begin(MS, no_limits[limit], false);
        for (int i = 0; i < 20000; i++) {
            tick(&run, 100 * US, 0);
            assert_int_equal(run.budget.interval_ns, MS);
            assert_int_equal(budget_stands_ns(&run.budget), 0);
        }
        assert_int_equal(run.missed, 0);
        assert_int_equal(budget_left_out(&run.budget), 0);
    }
}

/* ---- what samples stand for ---- */

/* The time that a sample stands for is the interval that its tick was drawn in, also when that is fitted right after.
 */
static void samples_stand_for_the_interval_they_were_drawn_in(void **state)
{
    (void)state;
    struct run run = begin(MS, 0.01, false);
    unsigned changes = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        const uint64_t interval_ns = run.budget.present.length_ns, begins_ns = run.budget.present.begins_ns;
        const uint64_t moment_ns = run.budget.present.moment_ns;
        const uint64_t stands_ns = budget_stands_ns(&run.budget), missed = run.missed;
        assert_int_equal(stands_ns, interval_ns == MS ? 0 : interval_ns);
        const uint64_t at_ns = tick(&run, (5 + i / 2000 * 10) * US, i % 100 == 0 ? 30 * MS : 0);
        assert_true(at_ns >= moment_ns);
        if (run.missed == missed)
            assert_int_equal(run.budget.present.begins_ns, begins_ns + interval_ns);
        changes += run.budget.present.length_ns != interval_ns;
    }
    assert_in_range(changes, 5, 2000);
}

static void what_samples_stand_for_adds_up_to_the_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(costs_ns) && costs_ns[i] <= MS;
         i++) { /* a longer one than an interval misses some */
        struct run run = begin(MS, 0.01, false);
        run_for(&run, costs_ns[i], 30 * S);
        assert_int_equal(run.missed, 0);
        assert_int_equal(run.stood_ns, run.budget.present.begins_ns - START);
        assert_in_range(run.stood_ns, run.now_ns - START - S, run.now_ns - START + S);
    }
}

static void what_was_left_out_adds_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(costs_ns); i++) {
        struct run run = begin(MS, 0.01, false);
        for (uint64_t n = 0; run.now_ns < START + 30 * S; n++)
            tick(&run, costs_ns[i] * (1 + n / 100 % 3), n % 50 == 0 ? 20 * MS : 0);
        const uint64_t asked = (run.budget.present.begins_ns - START) / MS;
        const uint64_t told = run.ticks + run.missed + budget_left_out(&run.budget);
        assert_in_range(told, asked - 1, asked + 1);
    }
}

TEST_FILE(budget)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_cover_their_group_evenly),
        cmocka_unit_test(what_was_tells_little_of_what_comes),
        cmocka_unit_test(two_runs_draw_different_moments),
        cmocka_unit_test(without_jitter_they_are_at_fixed_distances),
        cmocka_unit_test(intervals_that_ended_without_a_tick_are_missed_once),
        cmocka_unit_test(a_wait_has_the_moments_that_fell_into_it),
        cmocka_unit_test(a_tick_may_be_an_interval_late),
        cmocka_unit_test(every_interval_has_a_tick_or_is_missed),
        cmocka_unit_test(what_is_taken_stays_at_the_limit),
        cmocka_unit_test(costs_that_vary_count_by_their_mean),
        cmocka_unit_test(a_rise_is_answered_at_once),
        cmocka_unit_test(the_first_dear_ticks_miss_few),
        cmocka_unit_test(when_costs_fall_ticks_come_back),
        cmocka_unit_test(without_a_limit_no_tick_is_left_out),
        cmocka_unit_test(samples_stand_for_the_interval_they_were_drawn_in),
        cmocka_unit_test(what_samples_stand_for_adds_up_to_the_time),
        cmocka_unit_test(what_was_left_out_adds_up),
    };
    return run_all(tests);
}
