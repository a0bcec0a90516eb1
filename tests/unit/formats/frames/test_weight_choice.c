/* SPDX-License-Identifier: MIT */
#include "formats/frames/weight_choice.h"

#include "formats/frames/waiting.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define RAN    (STATUS_RECORDED | STATUS_CPU)
#define WAITED STATUS_RECORDED
#define UNSURE (STATUS_RECORDED | STATUS_CPU_UNKNOWN) /* neither CPU time nor waits are known */

/* Samples of which nothing but these members differs. */
struct look {
    uint32_t status;
    uint64_t count, wall_ns, cpu_ns;
};

static struct aggregate sum_of(const struct look *looks, size_t count)
{
    struct aggregate aggregate = { .group_of = waiting_group };
    for (size_t i = 0; i < count; i++) {
        const struct run run = { .thread = 1,
                                 .stack = (uint32_t)i + 1,
                                 .status = looks[i].status,
                                 .count = looks[i].count,
                                 .wall_ns = looks[i].wall_ns,
                                 .cpu_ns = looks[i].cpu_ns };
        aggregate_add_run(&aggregate, &run);
    }
    aggregate_sort(&aggregate);
    return aggregate;
}

static void the_weight_is_a_time_unless_there_is_none(void **state)
{
    (void)state;
    static const struct {
        struct look looks[2];
        enum aggregate_sum weight;
        bool without_waits;
        const char *label, *reason;
    } cases[] = {
        { { { RAN, 20, 200, 99 }, { WAITED, 80, 800, 1 } }, SUM_CPU_NS, false, "CPU time", NULL },
        { { { RAN, 20, 200, 98 }, { WAITED, 80, 800, 1 } },
          SUM_WALL_NS,
          false,
          "wall-clock time",
          "the program mostly waited" },
        { { { RAN, 95, 100, 99 }, { UNSURE, 5, 90, 0 } }, SUM_CPU_NS, false, "CPU time", NULL },
        { { { RAN, 94, 10, 9 }, { UNSURE, 6, 90, 0 } },
          SUM_WALL_NS,
          false,
          "wall-clock time",
          "CPU time is not known" },
        { { { WAITED, 9, 90, 0 }, { UNSURE, 9, 90, 0 } },
          SUM_WALL_NS,
          true,
          "wall-clock time without waits",
          "CPU time is not known" },
        { { { WAITED, 9, 90, 0 }, { UNSURE, 9, 0, 0 } },
          SUM_WALL_NS,
          false,
          "wall-clock time",
          "CPU time is not known" },
        { { { WAITED, 1, 90, 0 }, { WAITED, 1, 10, 0 } },
          SUM_WALL_NS,
          false,
          "wall-clock time",
          "no CPU time was used" },
        { { { RAN, 1, 90, 0 }, { WAITED, 1, 10, 0 } },
          SUM_WALL_NS,
          true,
          "wall-clock time without waits",
          "no CPU time was used" },
        { { { 0, 1, 10, 0 }, { 0, 1, 10, 0 } }, SUM_WALL_NS, false, "wall-clock time", "CPU time is not known" },
        { { { 0, 1, 0, 0 }, { RAN, 1, 0, 0 } }, SUM_SAMPLES, false, "samples", "CPU time is not known" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct aggregate aggregate = sum_of(cases[i].looks, 2);
        const struct weight_choice choice = weight_choose(&aggregate);
        assert_int_equal(choice.weight, cases[i].weight);
        assert_int_equal(choice.without_waits, cases[i].without_waits);
        assert_string_equal(weight_choice_label(&choice), cases[i].label);
        if (cases[i].reason)
            assert_string_equal(choice.reason, cases[i].reason);
        aggregate_free(&aggregate);
    }
    const struct aggregate empty = { 0 };
    assert_int_equal(weight_choose(&empty).weight, SUM_WALL_NS);
}

static void rows_that_waited_are_left_out_in_place(void **state)
{
    (void)state;
    static const struct look looks[] = {
        { WAITED, 1, 1, 0 }, { RAN, 1, 2, 0 }, { WAITED, 1, 3, 0 }, { UNSURE, 1, 4, 0 }
    };
    struct aggregate aggregate = sum_of(looks, 4);
    assert_int_equal(weight_take_busy(&aggregate, aggregate.rows), 2);
    assert_int_equal(aggregate.rows[0].sums[SUM_WALL_NS], 2);
    assert_int_equal(aggregate.rows[1].sums[SUM_WALL_NS], 4);
    aggregate_free(&aggregate);
}

TEST_FILE(weight_choice)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_weight_is_a_time_unless_there_is_none),
        cmocka_unit_test(rows_that_waited_are_left_out_in_place),
    };
    return run_all(tests);
}
