/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_overhead.h"

#include "tests/fakes/testing.h"

#define MS 1000000u

static void take_measure(struct gecko_overhead *overhead, uint32_t process, uint64_t time_ns, uint64_t cpu_ns)
{
    const struct measure measure = { .process = process, .time_ns = time_ns, .recorder_cpu_ns = cpu_ns };
    gecko_overhead_take_measure(overhead, &measure);
}

static void the_cost_of_a_tick_is_measured(void **state)
{
    (void)state;
    struct gecko_overhead overhead = { 0 };
    take_measure(&overhead, 1, 0, 5 * MS); /* the start of the recorder is no cost of a tick */
    for (unsigned i = 1; i <= 10; i++)
        gecko_overhead_take_tick(&overhead, 0, i * MS);
    take_measure(&overhead, 1, 10 * MS, 6 * MS); /* 0.1 ms for each of 10 ticks */
    take_measure(&overhead, 1, 20 * MS, 7 * MS); /* no tick: counted with the next measure */
    for (unsigned i = 0; i < 5; i++)
        gecko_overhead_take_tick(&overhead, 0, (12 + 2 * i) * MS);
    take_measure(&overhead, 1, 30 * MS, 8 * MS); /* 0.4 ms for each of 5 ticks */
    const struct gecko_recorder *recorder = &overhead.recorders[1];
    assert_float_equal(recorder->tick_us.least, 100, 0.001);
    assert_float_equal(recorder->tick_us.most, 400, 0.001);
    assert_float_equal(recorder->tick_us.sum / (double)recorder->tick_us.count, 200, 0.001);
    assert_int_equal(recorder->tick_us.count, 15);
    assert_float_equal(recorder->used_us, 3000, 0.001);
    assert_int_equal(recorder->latest_ns - recorder->first_ns, 30 * MS);
    assert_float_equal(overhead.interval_us.least, 1000, 0.001);
    assert_float_equal(overhead.interval_us.most, 2000, 0.001);
    gecko_overhead_free(&overhead);
}

static void unknown_costs_and_other_recorders_are_no_cost(void **state)
{
    (void)state;
    struct gecko_overhead overhead = { 0 };
    gecko_overhead_take_tick(&overhead, 0, 50 * MS);
    take_measure(&overhead, 1, 50 * MS, MEASURE_UNKNOWN);
    take_measure(&overhead, 0, 50 * MS, 1);
    assert_int_equal(overhead.room, 0);
    take_measure(&overhead, 2, 50 * MS, 9 * MS);
    gecko_overhead_take_tick(&overhead, 0, 1 * MS); /* of the next recording */
    assert_int_equal(overhead.interval_us.count, 0);
    take_measure(&overhead, 2, 60 * MS, 1 * MS); /* nonsense: CPU time goes back */
    assert_int_equal(overhead.recorders[2].tick_us.count, 0);
    gecko_overhead_free(&overhead);
}

TEST_FILE(gecko_overhead)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_of_a_tick_is_measured),
        cmocka_unit_test(unknown_costs_and_other_recorders_are_no_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
