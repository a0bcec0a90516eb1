/* SPDX-License-Identifier: MIT */
/* CPU times in a profile for the Firefox Profiler, as the CPU owner places them on samples. */
#include "formats/gecko/gecko.h"

#include "formats/base/alloc.h"
#include "tests/fakes/profile_read.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDLE STATUS_RECORDED
#define RUNS (STATUS_RECORDED | STATUS_CPU)
#define LATE(thread_number, stack_number, cpu)                                                                         \
    {                                                                                                                  \
        EVENT_RUN, .run = {.count = 0, .thread = thread_number, .stack = stack_number, .cpu_ns = cpu }                 \
    }
#define PLACED(thread_number, state, cpu)                                                                              \
    {                                                                                                                  \
        EVENT_RUN, .run = {.count = 1, .thread = thread_number, .status = state, .cpu_ns = cpu }                       \
    }
#define BEGINNING                                                                                                      \
    { EVENT_RECORDING, .recording = { .interval_ns = 10 * MS, .time_unit_ns = 200000 } }, PROCESS(1, 4242, "/home/u"), \
        THREAD(1, 1, 4242, "python3"), THREAD(2, 1, 4243, "other"), STRING(1, "f"), STRING(2, "g"),                    \
        FUNCTION(1, 1, 0, 1), FUNCTION(2, 2, 0, 9), FRAME(1, 1, 2), FRAME(2, 2, 10)

/* f runs, g sleeps, f runs, g runs at last. Stack 1 is f, stack 2 is g. */
static const struct event looks[] = {
    BEGINNING,
    STATUS_SAMPLE(10 * MS, 1, 0, RUNS, 0, 1),
    STATUS_SAMPLE(10 * MS, 2, 0, RUNS, 0, 1),
    TICK(10 * MS),
    STATUS_SAMPLE(20 * MS, 1, 0, IDLE, 0, 2),
    STATUS_SAME(20 * MS, 2, 1, RUNS, 0),
    TICK(20 * MS),
    STATUS_SAMPLE(30 * MS, 1, 0, RUNS, 0, 1),
    TICK(30 * MS),
    STATUS_SAMPLE(40 * MS, 1, 0, RUNS, 0, 2),
    TICK(40 * MS),
};

/* The CPU times of each thread's samples, in the order of the samples, and what comes behind one. */
static const struct event placements[] = {
    PLACED(2, RUNS, 3 * MS), PLACED(1, RUNS, 4 * MS), PLACED(1, IDLE, 0),     PLACED(1, RUNS, 5 * MS),
    PLACED(1, RUNS, 8 * MS), PLACED(2, RUNS, 9 * MS), LATE(1, 1, 2 * MS + 4), LATE(1, 2, 6 * MS),
};

/* Gives a look with the CPU time of the thread's next placement, and the late CPU time behind this placement. */
static void give_look(struct gecko *gecko, struct event *look, const struct event *placed, size_t count, size_t number)
{
    size_t at = 0;
    for (size_t seen = 0; at < count; at++) {
        const bool own = placed[at].run.thread == look->run.thread && placed[at].run.count > 0;
        if (own && seen++ == number)
            break;
    }
    look->run.cpu_ns = at < count ? placed[at].run.cpu_ns : 0;
    assert_true(gecko_take(gecko, look, NULL));
    for (at++; at < count; at++) {
        if (placed[at].run.thread == look->run.thread && placed[at].run.count > 0)
            return;
        if (placed[at].run.thread == look->run.thread)
            assert_true(gecko_take(gecko, &placed[at], NULL));
    }
}

static json_t *profile_of(enum gecko_weight weight, const struct event *placed, size_t count)
{
    char path[] = "/tmp/pyreel-gecko.XXXXXX";
    struct output output = { 0 };
    struct tables tables = { 0 };
    size_t given[3] = { 0 };
    close(mkstemp(path));
    assert_true(output_open(&output, path, false, NULL));
    struct gecko *gecko = gecko_start(&tables, &output, (struct gecko_style){ .weight = weight });
    for (size_t i = 0; i < countof(looks); i++) {
        struct event event = looks[i];
        assert_true(tables_take(&tables, &event, NULL));
        if (event.kind == EVENT_RUN)
            give_look(gecko, &event, placed, count, given[event.run.thread]++);
        else
            assert_true(gecko_take(gecko, &event, NULL));
    }
    const struct event end = { EVENT_THREAD_END, .change = { 1, 45 * MS, { 0 }, false } };
    assert_true(gecko_take(gecko, &end, NULL));
    assert_true(gecko_knows_cpu(gecko));
    assert_true(gecko_finish(gecko, NULL));
    gecko_drop(gecko);
    tables_free(&tables);
    assert_true(output_close(&output, NULL, NULL));
    return profile_load(path);
}

/* The end of a thread may come before its last sample. */
static const struct event early_end[] = {
    PLACED(1, RUNS, 4 * MS), PLACED(1, IDLE, 0),      PLACED(1, RUNS, 5 * MS), LATE(1, 1, 2 * MS),
    PLACED(1, RUNS, 0),      PLACED(2, RUNS, 3 * MS), PLACED(2, RUNS, 9 * MS),
};

/* The numbers of a column of a thread's samples, divided by `by`. */
static void assert_column(const json_t *profile, size_t thread, const char *column, double by, const char *wanted)
{
    const json_t *samples = json_object_get(at(profile, "threads", thread), "samples");
    const json_t *cells = json_object_get(samples, column);
    char text[256] = "";
    size_t used = 0;
    assert_int_equal(json_array_size(cells), json_integer_value(json_object_get(samples, "length")));
    for (size_t i = 0; i < json_array_size(cells); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %g",
                                 json_number_value(json_array_get(cells, i)) / by);
    assert_string_equal(text, wanted);
}

/* The viewer ignores the first cell and cuts off what is more than 10 ms in another: of the 14 ms of the last cell, 3
 * go to the cell before, which has its own and the first cell's. */
static void cells_fit_between_samples(void **state)
{
    (void)state;
    json_t *profile = profile_of(GECKO_WEIGHT_USUAL, placements, countof(placements));
    assert_column(profile, 0, "threadCPUDelta", MS, " 0 5 10 10");
    assert_column(profile, 1, "threadCPUDelta", MS, " 2 10");
    json_decref(profile);
}

/* Weights are the placements. Late CPU time goes to the last sample with the stack. */
static void weights_are_placements(void **state)
{
    (void)state;
    json_t *profile = profile_of(GECKO_WEIGHT_CPU, placements, countof(placements));
    const json_t *samples = json_object_get(at(profile, "threads", 0), "samples");
    assert_string_equal(json_string_value(json_object_get(samples, "weightType")), "tracing-ms");
    assert_column(profile, 0, "weight", 1, " 4 0 7 14");
    assert_column(profile, 1, "weight", 1, " 3 9");
    json_decref(profile);
}

/* A damaged recording may end a thread behind each of its samples. */
static void late_placements_of_one_stack_are_one(void **state)
{
    (void)state;
    const size_t ends = 200000;
    struct event *placed = calloc(countof(looks) + ends, sizeof(*placed));
    for (size_t i = 0; i < 4; i++)
        placed[i] = (struct event)PLACED(1, RUNS, 0);
    for (size_t i = 0; i < ends; i++)
        placed[4 + i] = (struct event)LATE(1, 1 + i % 2, MS);
    json_t *profile = profile_of(GECKO_WEIGHT_CPU, placed, 4 + ends);
    assert_column(profile, 0, "weight", 1, " 0 0 100000 100000");
    json_decref(profile);
    free(placed);
}

/* Late CPU time of a state that no sample has makes no row of stacks. */
static const struct event late_state[] = {
    PLACED(1, RUNS, 4 * MS),
    PLACED(1, RUNS, 0),
    { EVENT_RUN, .run = { .count = 0, .thread = 1, .stack = 1, .status = IDLE, .cpu_ns = 2 * MS } },
};

static void late_placements_have_no_rows(void **state)
{
    (void)state;
    json_t *with = profile_of(GECKO_WEIGHT_CPU, late_state, countof(late_state));
    json_t *without = profile_of(GECKO_WEIGHT_CPU, late_state, countof(late_state) - 1);
    const json_t *rows = json_object_get(json_object_get(with, "shared"), "stackTable");
    assert_true(json_equal(rows, json_object_get(json_object_get(without, "shared"), "stackTable")));
    assert_true(json_object_size(rows) > 0);
    assert_column(with, 0, "weight", 1, " 4 0 0 2");
    json_decref(with);
    json_decref(without);
}

static void a_sample_behind_the_end_is_no_second_owner(void **state)
{
    (void)state;
    json_t *profile = profile_of(GECKO_WEIGHT_CPU, early_end, countof(early_end));
    assert_column(profile, 0, "weight", 1, " 4 0 7 0");
    assert_column(profile, 0, "threadCPUDelta", MS, " 0 0 10 1");
    json_decref(profile);
}

static void weights_are_what_the_user_wants(void **state)
{
    (void)state;
    json_t *profile = profile_of(GECKO_WEIGHT_WALL, placements, countof(placements));
    assert_column(profile, 0, "weight", 1, " 10 10 10 10");
    json_decref(profile);
    profile = profile_of(GECKO_WEIGHT_SAMPLES, placements, countof(placements));
    assert_true(json_is_null(json_object_get(json_object_get(at(profile, "threads", 0), "samples"), "weight")));
    json_decref(profile);
}

TEST_FILE(gecko_cpu)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_fit_between_samples),
        cmocka_unit_test(weights_are_placements),
        cmocka_unit_test(late_placements_of_one_stack_are_one),
        cmocka_unit_test(late_placements_have_no_rows),
        cmocka_unit_test(a_sample_behind_the_end_is_no_second_owner),
        cmocka_unit_test(weights_are_what_the_user_wants),
    };
    return run_all(tests);
}
