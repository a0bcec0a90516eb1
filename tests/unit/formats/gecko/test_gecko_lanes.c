/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_lanes.h"

#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DURATION 1000

static char names[100][40];

/* A thread with a number in its name. */
static struct lane_thread worker(unsigned number, uint64_t first, uint64_t last)
{
    snprintf(names[number], sizeof(names[number]), "Thread-%u (work)", number);
    return (struct lane_thread){
        .process = 1, .name = { names[number], strlen(names[number]) }, .first = first, .last = last
    };
}

static void threads_that_follow_each_other_share_a_lane(void **state)
{
    (void)state;
    struct lane_thread threads[20];
    for (unsigned i = 0; i < 20; i++) /* two live at a time */
        threads[i] = worker(i, 10 * i, 10 * i + 15);
    lanes_assign(threads, 20, DURATION);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(threads[i].lane, i % 2);
        assert_int_equal(threads[i].place, i % 2 + 1);
        assert_int_equal(threads[i].lanes, 2);
    }
}

static void no_two_samples_of_a_lane_have_one_time(void **state)
{
    (void)state;
    struct lane_thread threads[6];
    for (unsigned i = 0; i < 6; i++)
        threads[i] = worker(i, 10 * i, 10 * (i + 1)); /* each begins when the one before has its last sample */
    lanes_assign(threads, 6, DURATION);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(threads[i].lane, i % 2);
}

/* Thread 1100 ends first, but its lane is one of those that are not searched. A damaged recording may have a million
 * threads at one time. */
static void a_free_lane_is_searched_among_the_first(void **state)
{
    (void)state;
    const size_t count = LANES_SEARCHED + 200;
    struct lane_thread *threads = calloc(count + 2, sizeof(*threads));
    for (size_t i = 0; i < count + 2; i++)
        threads[i] = (struct lane_thread){ .process = 1, .name = TEXT("work"), .first = 1, .last = 20 };
    threads[1100].last = 5;
    threads[count].first = 10;
    threads[3].last = 5;
    threads[count + 1].first = 10;
    lanes_assign(threads, count + 2, DURATION);
    assert_int_equal(threads[count].lane, 3);
    assert_int_equal(threads[count + 1].lane, count + 1);
    assert_int_equal(threads[count + 1].place, count + 1);
    free(threads);
}

static void few_threads_have_a_line_each(void **state)
{
    (void)state;
    struct lane_thread threads[LANE_THREADS_LEAST - 1];
    for (unsigned i = 0; i < LANE_THREADS_LEAST - 1; i++)
        threads[i] = worker(i, 20 * i, 20 * i + 10);
    lanes_assign(threads, LANE_THREADS_LEAST - 1, DURATION);
    for (size_t i = 0; i < LANE_THREADS_LEAST - 1; i++) {
        assert_int_equal(threads[i].lane, i);
        assert_int_equal(threads[i].lanes, 0);
    }
}

static void long_lives_and_other_kinds_stay_alone(void **state)
{
    (void)state;
    struct lane_thread threads[10];
    for (unsigned i = 0; i < 10; i++)
        threads[i] = worker(i, 20 * i, 20 * i + 10);
    threads[3].last = threads[3].first + DURATION / LANE_LIFE_MOST + 1; /* a long life */
    threads[4].alone = true;
    threads[5].process = 2;
    threads[6].interpreter = 1;
    threads[7].name = TEXT("Thread-7 (other)");
    lanes_assign(threads, 10, DURATION);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(threads[i].lane, i >= 3 && i <= 7 ? i : 0);
}

static void pools_that_live_together_have_a_line_each(void **state)
{
    (void)state;
    struct lane_thread threads[8];
    for (unsigned i = 0; i < 8; i++)
        threads[i] = worker(i, i, 200);
    lanes_assign(threads, 8, DURATION);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(threads[i].lane, i);
}

TEST_FILE(gecko_lanes)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_follow_each_other_share_a_lane),
        cmocka_unit_test(no_two_samples_of_a_lane_have_one_time),
        cmocka_unit_test(a_free_lane_is_searched_among_the_first),
        cmocka_unit_test(few_threads_have_a_line_each),
        cmocka_unit_test(long_lives_and_other_kinds_stay_alone),
        cmocka_unit_test(pools_that_live_together_have_a_line_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
