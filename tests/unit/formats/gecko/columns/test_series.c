/* SPDX-License-Identifier: MIT */
/* Curves of limited size: nothing of a sum is lost, and buckets widen. */
#include "formats/gecko/columns/series.h"

#include "tests/fakes/testing.h"

#include <math.h>
#include <stdio.h>

static struct series series_of(size_t limit, bool levels)
{
    return (struct series){ .limit = limit, .width_ns = 10, .levels = levels };
}

static void assert_values(const struct series *series, const char *wanted)
{
    char text[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < series->count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %g", series->values[i]);
    assert_string_equal(text, wanted);
}

static void amounts_are_spread_over_their_time(void **state)
{
    (void)state;
    struct series series = series_of(8, false);
    series_add(&series, 100, 110, 5);
    series_add(&series, 115, 135, 20);
    assert_values(&series, " 5 5 10 5");
    series_add(&series, 80, 105, 2); /* from before the beginning: in its first bucket */
    assert_values(&series, " 7 5 10 5");
    assert_int_equal(series_end(&series, 0), 110);
    assert_int_equal(series_end(&series, 3), 135);
    series_settle(&series);
    assert_values(&series, " 7 5 10 5");
    series_add(&series, 135, 142, 6);
    series_settle(&series);
    assert_int_equal(series_end(&series, 3), 142);
    series_free(&series);
}

static void no_two_buckets_end_at_one_time(void **state)
{
    (void)state;
    struct series series = series_of(4, true);
    series_note(&series, 100, 5);
    series_note(&series, 110, 7);
    assert_int_equal(series_end(&series, 0), series_end(&series, 1));
    series_settle(&series);
    assert_values(&series, " 7");
    assert_int_equal(series_end(&series, 0), 110);
    series_free(&series);
}

static void buckets_widen_when_the_series_is_full(void **state)
{
    (void)state;
    struct series series = series_of(4, false);
    for (uint64_t i = 0; i < 5; i++)
        series_add(&series, 10 * i, 10 * i + 10, (double)(1 + i));
    assert_values(&series, " 3 7 5");
    assert_int_equal(series.width_ns, 20);
    series_add(&series, 300, 310, 9);
    assert_values(&series, " 15 0 0 9");
    assert_int_equal(series.width_ns, 80);
    assert_int_equal(series_end(&series, 3), 310);
    series_free(&series);
}

static void levels_keep_their_peaks(void **state)
{
    (void)state;
    struct series series = series_of(2, true);
    series_note(&series, 100, 4);
    series_note(&series, 105, 3);
    series_note(&series, 119, 8);
    assert_values(&series, " 4 8");
    series_note(&series, 175, 1);
    assert_values(&series, " 8 1");
    series_note(&series, 400, 2);
    assert_values(&series, " 8 2");
    series_free(&series);
}

/* Times that no recording has. */
static void any_time_is_taken(void **state)
{
    (void)state;
    struct series series = series_of(100, false);
    series_add(&series, 0, 1, 1);
    series_add(&series, UINT64_MAX - 5, UINT64_MAX, 3);
    series_add(&series, 50, 40, 1);
    assert_true(series.count <= 100);
    double sum = 0;
    for (size_t i = 0; i < series.count; i++)
        sum += series.values[i];
    assert_true(fabs(sum - 5) < 1e-6);
    series_free(&series);
}

static void sums_stay(void **state)
{
    (void)state;
    struct series series = series_of(250, false);
    uint64_t dice = 7, now = 1000;
    double wanted = 0, sum = 0;
    for (unsigned i = 0; i < soak(20000); i++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        const uint64_t wide = 1 + (dice >> 33) % 50;
        series_add(&series, now, now + wide, (double)(dice >> 60));
        wanted += (double)(dice >> 60);
        now += wide;
    }
    for (size_t i = 0; i < series.count; i++)
        sum += series.values[i];
    assert_true(series.count <= 250 && series.count > 100);
    assert_true(fabs(sum - wanted) < wanted * 1e-9);
    assert_int_equal(series_end(&series, series.count - 1), now);
    series_free(&series);
}

/* Fractions would add up to other sums in another order. */
static void the_order_of_amounts_does_not_matter(void **state)
{
    (void)state;
    enum { AMOUNTS = 3000 };
    struct series forward = series_of(50, false), backward = series_of(50, false);
    series_begin(&forward, 0);
    series_begin(&backward, 0);
    for (uint64_t i = 0; i < AMOUNTS; i++) {
        const uint64_t back = AMOUNTS - 1 - i;
        series_add(&forward, 7 * i, 7 * i + 7 + i % 11, (double)(1000003 * (i % 13)));
        series_add(&backward, 7 * back, 7 * back + 7 + back % 11, (double)(1000003 * (back % 13)));
    }
    assert_int_equal(forward.count, backward.count);
    assert_int_equal(forward.width_ns, backward.width_ns);
    assert_memory_equal(forward.values, backward.values, forward.count * sizeof(*forward.values));
    series_free(&forward);
    series_free(&backward);
}

TEST_FILE(series)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_are_spread_over_their_time),
        cmocka_unit_test(no_two_buckets_end_at_one_time),
        cmocka_unit_test(buckets_widen_when_the_series_is_full),
        cmocka_unit_test(levels_keep_their_peaks),
        cmocka_unit_test(any_time_is_taken),
        cmocka_unit_test(sums_stay),
        cmocka_unit_test(the_order_of_amounts_does_not_matter),
    };
    return run_all(tests);
}
