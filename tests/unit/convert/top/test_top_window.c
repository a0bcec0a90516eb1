/* SPDX-License-Identifier: MIT */
#include "convert/top/window.h"

#include "tests/fakes/testing.h"

static void add(struct recent_window *window, uint32_t row, uint64_t second, uint64_t self)
{
    const struct window_sums sums = { .self = { [WINDOW_CPU] = self }, .total = { [WINDOW_CPU] = self } };
    window_add(window, row, second, &sums);
}

static uint64_t recent(const struct recent_window *window, uint32_t row)
{
    return window->rows[row].recent.self[WINDOW_CPU];
}

static uint64_t all(const struct recent_window *window, uint32_t row)
{
    return window->rows[row].all.total[WINDOW_CPU];
}

static void test_seconds_leave(void **state)
{
    (void)state;
    struct recent_window window = { .seconds = 3 };
    add(&window, 1, 1, 5);
    add(&window, 1, 2, 1);
    add(&window, 2, 2, 4);
    add(&window, 1, 4, 2);
    assert_int_equal(recent(&window, 1), 3); /* second 1 has left */
    assert_int_equal(all(&window, 1), 8);
    assert_int_equal(recent(&window, 2), 4);
    window_advance(&window, 5);
    assert_int_equal(recent(&window, 1), 2);
    assert_int_equal(recent(&window, 2), 0);
    assert_int_equal(all(&window, 2), 4);
    window_free(&window);
}

static void test_late(void **state)
{
    (void)state;
    struct recent_window window = { .seconds = 3 };
    add(&window, 0, 10, 1);
    add(&window, 0, 12, 2);
    add(&window, 0, 11, 4); /* late, and still in the window */
    add(&window, 0, 12, 8);
    add(&window, 0, 9, 16); /* too late for the window */
    assert_int_equal(recent(&window, 0), 15);
    assert_int_equal(all(&window, 0), 31);
    window_advance(&window, 13);
    assert_int_equal(recent(&window, 0), 14);
    window_advance(&window, 14);
    assert_int_equal(recent(&window, 0), 10);
    window_advance(&window, 15);
    assert_int_equal(recent(&window, 0), 0);
    window_free(&window);
}

static void test_far_jumps(void **state)
{
    (void)state;
    struct recent_window window = { .seconds = WINDOW_SECONDS_MOST };
    add(&window, 3, 5, 1);
    add(&window, 3, UINT64_MAX / 2, 2); /* a hostile time; the loop over seconds is bounded */
    assert_int_equal(recent(&window, 3), 2);
    add(&window, 3, 6, 4);
    assert_int_equal(recent(&window, 3), 2);
    assert_int_equal(all(&window, 3), 7);
    assert_int_equal(recent(&window, 0), 0);
    window_free(&window);
}

/* The logs of seconds are reused, so memory does not grow with time. */
static void test_memory(void **state)
{
    (void)state;
    struct recent_window window = { .seconds = 2 };
    for (uint64_t second = 0; second < 10000; second++)
        for (uint32_t i = 0; i < 10; i++)
            add(&window, i % 5, second, 1);
    assert_int_equal(recent(&window, 4), 4);
    assert_int_equal(all(&window, 4), 20000);
    assert_true(window.logs[0].room < 20 && window.logs[1].room < 20 && window.room < 20);
    window_free(&window);
}

TEST_FILE(top_window)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seconds_leave),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_far_jumps),
        cmocka_unit_test(test_memory),
    };
    return run_all(tests);
}
