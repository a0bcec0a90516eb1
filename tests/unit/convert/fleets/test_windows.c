/* SPDX-License-Identifier: MIT */
/* Windows of a recording: which look counts in which window, when a window is due, and names of files. */
#include "convert/fleets/windows.h"

#include "formats/base/text.h"
#include "formats/model/aggregate.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

#define SECOND ((uint64_t)1000 * MS)
#define START  (1000 * SECOND + 700 * MS) /* the recording begins 0.7 s into a window of a second */

static void look(struct windows *windows, uint64_t time_ms)
{
    const struct run run = { .count = 1, .thread = 1, .stack = 1, .time_ns = time_ms * MS, .wall_ns = 1 };
    windows_add_run(windows, &run);
}

static void add_counts(void *aggregate, const struct run *run)
{
    aggregate_add_run(aggregate, run);
}

static void free_counts(void *aggregate)
{
    aggregate_free(aggregate);
}

static const struct window_kind counts = { sizeof(struct aggregate), NULL, add_counts, free_counts };

static struct windows begin(uint64_t every_ns)
{
    struct windows windows = { .every_ns = every_ns, .kind = &counts };
    windows_begin(&windows, START);
    return windows;
}

/* Takes the next window, and compares it: when it begins by the clock, its part of the recording, its samples. */
static void assert_next(struct windows *windows, uint64_t due_ns, uint64_t start_s, uint64_t from_ms, uint64_t to_ms,
                        uint64_t samples)
{
    struct window *window = windows_next(windows, due_ns);
    assert_non_null(window);
    assert_int_equal(window->start_unix_ns, start_s * SECOND);
    assert_int_equal(window->from_ns, from_ms * MS);
    assert_int_equal(window->to_ns, to_ms * MS);
    const struct aggregate *aggregate = window->content;
    assert_int_equal(aggregate->samples, samples);
    window_free(windows, window);
}

static void windows_are_aligned_to_the_clock(void **state)
{
    (void)state;
    struct windows windows = begin(SECOND);
    look(&windows, 0);
    look(&windows, 299);
    look(&windows, 300);
    look(&windows, 1299);
    look(&windows, 5300); /* a gap: windows without samples do not exist */
    assert_next(&windows, UINT64_MAX, 1000, 0, 300, 2);
    assert_next(&windows, UINT64_MAX, 1001, 300, 1300, 2);
    assert_next(&windows, UINT64_MAX, 1006, 5300, 6300, 1);
    assert_null(windows_next(&windows, UINT64_MAX));
    windows_free(&windows);
}

static void a_window_is_due_when_the_next_one_begins(void **state)
{
    (void)state;
    struct windows windows = begin(SECOND);
    look(&windows, 100);
    look(&windows, 400);
    assert_int_equal(windows_due_ns(&windows, 300 * MS - 1), 0);
    assert_int_equal(windows_due_ns(&windows, 300 * MS), 300 * MS);
    look(&windows, 200); /* late, and in time */
    assert_next(&windows, 300 * MS, 1000, 0, 300, 2);
    assert_null(windows_next(&windows, 300 * MS));
    assert_int_equal(windows_due_ns(&windows, 300 * MS), 0);
    assert_int_equal(windows_due_ns(&windows, 7 * SECOND), 6 * SECOND + 300 * MS);
    assert_next(&windows, 6 * SECOND + 300 * MS, 1001, 300, 1300, 1);
    assert_null(windows_next(&windows, 6 * SECOND + 300 * MS));
    look(&windows, 250); /* its window was given: the oldest open window gets it */
    assert_next(&windows, UINT64_MAX, 1007, 6300, 7300, 1);
    windows_free(&windows);
}

static void late_cpu_time_is_no_sample(void **state)
{
    (void)state;
    struct windows windows = begin(SECOND);
    const struct run late = { .count = 0, .thread = 1, .stack = 1, .time_ns = 100 * MS, .cpu_ns = 5 };
    windows_add_run(&windows, &late);
    struct window *window = windows_next(&windows, UINT64_MAX);
    struct aggregate *aggregate = window->content;
    aggregate_sort(aggregate);
    assert_int_equal(aggregate->samples, 0);
    assert_int_equal(aggregate->count, 1);
    assert_int_equal(aggregate->rows[0].sums[SUM_CPU_NS], 5);
    window_free(&windows, window);
    look(&windows, 100);
    windows_free(&windows); /* with an open window */
}

static void files_are_named_by_the_time_of_their_window(void **state)
{
    (void)state;
    char *name = windows_file_name("out/app-%Y%m%dT%H%M%S.pb.gz", (uint64_t)1795597560 * SECOND + 999 * MS);
    assert_string_equal(name, "out/app-20261125T090600.pb.gz");
    free(name);
    char longest[8192];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    assert_null(windows_file_name(longest, SECOND));
}

static void each_window_has_a_name_of_its_own(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        uint64_t every_s;
        const char *said; /* NULL: the pattern fits */
    } cases[] = {
        { "app-%Y%m%dT%H%M%S.pb.gz", 1, NULL },
        { "%Y/%j/%T", 1, NULL },
        { "app-%s", 15, NULL },
        { "app-%F-%H", 3600, NULL },
        { "app-%F-%H", 900, "two windows in a row one name" },
        { "app-%F-%S", 15, "a minute apart one name" },
        { "app-%F-%M%S", 15, "an hour apart one name" },
        { "app-%F-%I%M%S", 15, "12 hours apart one name" },
        { "app-%H%M%S", 15, "a day apart one name" },
        { "app-%A-%H%M%S", 15, "a week apart one name" },
        { "app-%Y-%d-%H%M%S", 15, "a month apart one name" },
        { "app-%m%d-%H%M%S", 15, "a year apart one name" },
        { "app-%M", 60, "an hour apart one name" },
        { "app.pb.gz", 15, "name the files by their time" },
        { NULL, 15, "name the files by their time" },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct fault why = { 0 };
        const bool fits = windows_pattern_fits(cases[i].pattern, cases[i].every_s * SECOND, &why);
        assert_int_equal(fits, !cases[i].said);
        if (cases[i].said && !strstr(why.text, cases[i].said))
            fail_msg("%s: %s", cases[i].pattern, why.text);
    }
}

TEST_FILE(windows)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_aligned_to_the_clock),
        cmocka_unit_test(a_window_is_due_when_the_next_one_begins),
        cmocka_unit_test(late_cpu_time_is_no_sample),
        cmocka_unit_test(files_are_named_by_the_time_of_their_window),
        cmocka_unit_test(each_window_has_a_name_of_its_own),
    };
    return run_all(tests);
}
