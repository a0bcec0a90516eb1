/* SPDX-License-Identifier: MIT */
/* Which threads and which time a view opens with. */
#include "convert/viewer/spot.h"
#include "formats/base/alloc.h"

#include "tests/fakes/testing.h"

#include <string.h>

#define MS 1000000u

/* Tables with these stacks: 1 is main, 2 is main → an import, 3 is main → an import → main, 4 is main → <GC>. */
static struct text strings[] = {
    { "", 0 }, { "main", 4 }, { "app.py", 6 }, { "_load", 5 }, { "<frozen importlib._bootstrap>", 29 }, { "<GC>", 4 }
};
static struct function functions[] = { { 0 },
                                       { .number = 1, .name = 1, .file = 2 },
                                       { .number = 2, .name = 3, .file = 4 },
                                       { .number = 3, .name = 5, .kind = KIND_GC } };
static struct frame frames[] = {
    { 0 }, { .number = 1, .function = 1 }, { .number = 2, .function = 2 }, { .number = 3, .function = 3 }
};
static struct stack stacks[] = { { 0, 0 }, { 0, 1 }, { 1, 2 }, { 2, 1 }, { 1, 3 } };

static const struct tables tables = {
    .strings = strings,
    .functions = functions,
    .frames = frames,
    .stacks = stacks,
    .strings_count = countof(strings),
    .functions_count = countof(functions),
    .frames_count = countof(frames),
    .stacks_count = countof(stacks),
};

static void take(struct spot *spot, uint32_t thread, uint32_t stack, uint32_t status, uint64_t time_ms)
{
    const struct event event = { .kind = EVENT_RUN,
                                 .run = { .count = 1,
                                          .thread = thread,
                                          .stack = stack,
                                          .status = status,
                                          .time_ns = time_ms * MS,
                                          .stands_ns = 10 * MS } };
    spot_take(spot, &tables, &event, thread);
}

static void assert_spot(const struct spot *spot, uint64_t total, uint64_t from_ms, uint64_t to_ms)
{
    assert_int_equal(spot->total, total);
    assert_int_equal(spot->from_ns, from_ms * MS);
    assert_int_equal(spot->to_ns, to_ms * MS);
}

static void imports_are_below_frames_of_the_import_machinery(void **state)
{
    (void)state;
    struct spot spot = { .view = VIEW_IMPORTS };
    uint32_t threads[SPOT_THREADS];
    assert_non_null(spot_missing(&spot));
    take(&spot, 1, 1, 0, 10);
    take(&spot, 1, 3, 0, 20);
    take(&spot, 2, 2, 0, 30);
    take(&spot, 3, 4, 0, 40);
    take(&spot, 3, 0, 0, 50);
    const struct event late = { EVENT_RUN, .run = { .count = 0, .thread = 3, .stack = 3, .cpu_ns = MS } };
    spot_take(&spot, &tables, &late, 3); /* CPU time alone, which is no sample */
    assert_spot(&spot, 2, 20, 40);
    assert_int_equal(spot_threads(&spot, threads), 2);
    assert_int_equal(threads[0], 1);
    assert_int_equal(threads[1], 2);
    assert_null(spot_missing(&spot));
    spot_free(&spot);
}

static void samples_of_tasks_count_for_the_line_that_shows_them(void **state)
{
    (void)state;
    struct spot spot = { .view = VIEW_GC };
    uint32_t threads[SPOT_THREADS];
    const struct event event = { .kind = EVENT_RUN,
                                 .run = { .count = 1, .thread = 9, .stack = 4, .time_ns = 10 * MS } };
    spot_take(&spot, &tables, &event, 0);
    assert_non_null(spot_missing(&spot));
    spot_take(&spot, &tables, &event, 2);
    assert_int_equal(spot_threads(&spot, threads), 1);
    assert_int_equal(threads[0], 2);
    spot_free(&spot);
}

static void collections_have_their_frame(void **state)
{
    (void)state;
    struct spot spot = { .view = VIEW_GC };
    take(&spot, 1, 3, 0, 10);
    take(&spot, 1, 4, 0, 20);
    assert_spot(&spot, 1, 20, 30);
    spot_free(&spot);
}

static void waits_are_known_by_their_status(void **state)
{
    (void)state;
    struct spot spot = { .view = VIEW_GIL };
    take(&spot, 1, 1, STATUS_RECORDED | STATUS_GIL, 10);
    take(&spot, 1, 1, STATUS_GIL_WAIT, 20); /* a status that was not recorded */
    take(&spot, 7, 1, STATUS_RECORDED | STATUS_GIL_WAIT, 30);
    assert_spot(&spot, 1, 30, 40);
    spot_free(&spot);
}

static void wait_often(struct spot *spot, uint32_t thread, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        take(spot, thread, 1, STATUS_RECORDED | STATUS_GIL_WAIT, i);
}

static void threads_with_few_such_samples_are_left_out(void **state)
{
    (void)state;
    struct spot spot = { .view = VIEW_GIL };
    uint32_t threads[SPOT_THREADS];
    wait_often(&spot, 1, 9);
    wait_often(&spot, 5, 40);
    wait_often(&spot, 9, 10);
    assert_int_equal(spot_threads(&spot, threads), 2);
    assert_int_equal(threads[0], 5);
    assert_int_equal(threads[1], 9);
    spot_free(&spot);
}

static void no_more_threads_are_selected_than_there_is_room_for(void **state)
{
    (void)state;
    struct spot spot = { .view = VIEW_GIL };
    uint32_t threads[SPOT_THREADS];
    for (uint32_t thread = 1; thread <= 3 * SPOT_THREADS; thread++)
        wait_often(&spot, thread, thread == 25 ? 3 : 2);
    assert_int_equal(spot_threads(&spot, threads), SPOT_THREADS);
    assert_int_equal(threads[0], 25);
    assert_int_equal(threads[SPOT_THREADS - 1], SPOT_THREADS - 1);
    spot_free(&spot);
}

static void other_views_have_no_spot(void **state)
{
    (void)state;
    uint32_t threads[SPOT_THREADS];
    static const enum view views[] = { VIEW_NONE, VIEW_FLAME };
    for (size_t i = 0; i < countof(views); i++) {
        struct spot spot = { .view = views[i] };
        take(&spot, 1, 4, STATUS_RECORDED | STATUS_GIL_WAIT, 10);
        assert_int_equal(spot.total, 0);
        assert_int_equal(spot_threads(&spot, threads), 0);
        assert_null(spot_missing(&spot));
        spot_free(&spot);
    }
}

static void own_code_is_code_of_no_library(void **state)
{
    (void)state;
    uint32_t threads[SPOT_THREADS];
    struct spot spot = { .view = VIEW_MY_CODE };
    take(&spot, 1, 0, 0, 10);
    assert_non_null(spot_missing(&spot));
    take(&spot, 1, 2, 0, 20);
    assert_null(spot_missing(&spot));
    assert_int_equal(spot_threads(&spot, threads), 0);
    assert_spot(&spot, 0, 0, 0);
    spot_free(&spot);
}

static void imports_are_not_own_code(void **state)
{
    (void)state;
    struct stack only_import[] = { { 0, 0 }, { 0, 2 }, { 1, 3 } };
    struct tables without = tables;
    without.stacks = only_import;
    without.stacks_count = countof(only_import);
    struct spot spot = { .view = VIEW_MY_CODE };
    const struct event event = { .kind = EVENT_RUN, .run = { .count = 1, .thread = 1, .stack = 2 } };
    spot_take(&spot, &without, &event, 1);
    assert_non_null(spot_missing(&spot));
    spot_free(&spot);
}

TEST_FILE(spot)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports_are_below_frames_of_the_import_machinery),
        cmocka_unit_test(samples_of_tasks_count_for_the_line_that_shows_them),
        cmocka_unit_test(collections_have_their_frame),
        cmocka_unit_test(waits_are_known_by_their_status),
        cmocka_unit_test(threads_with_few_such_samples_are_left_out),
        cmocka_unit_test(no_more_threads_are_selected_than_there_is_room_for),
        cmocka_unit_test(other_views_have_no_spot),
        cmocka_unit_test(own_code_is_code_of_no_library),
        cmocka_unit_test(imports_are_not_own_code),
    };
    return run_all(tests);
}
