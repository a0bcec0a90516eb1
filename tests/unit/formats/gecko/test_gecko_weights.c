/* SPDX-License-Identifier: MIT */
/* How long samples stand for, as a profile for the Firefox Profiler shows it. */
#include "formats/gecko/gecko.h"

#include "formats/base/alloc.h"
#include "tests/fakes/profile_read.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL (10 * MS)
#define BEGINNING                                                                                                      \
    { EVENT_RECORDING, .recording = { .interval_ns = INTERVAL, .time_unit_ns = 200000 } },                             \
        PROCESS(1, 4242, "/home/u"), THREAD(1, 1, 4242, "python3"), THREAD(2, 1, 4243, "late"), STRING(1, "f"),        \
        STRING(2, "RESUME"), FUNCTION(1, 1, 0, 1), { EVENT_FRAME, .frame = { 1, 1, 1, 1, -1, -1, 2, 2, 0, 0, 0 } },    \
        FRAME(2, 1, 2)
#define BUSY (STATUS_RECORDED | STATUS_CPU_UNKNOWN | STATUS_GIL)

/* Ticks are left out before those at 50 and 80 ms, so that samples stand for three intervals. The main thread stays at
 * one instruction until it is gone; the other one comes late. */
static const struct event story[] = {
    BEGINNING,
    SAMPLE(10 * MS, 1, 0, 1),
    TICK(10 * MS),
    SAME(20 * MS, 1, 1),
    TICK(20 * MS),
    STANDS_SAME(50 * MS, 1, 1, 3 * INTERVAL),
    { EVENT_SAMPLE,
      .sample = { .count = 1, .thread = 2, .status = BUSY, .stands_ns = 3 * INTERVAL, .time_ns = 50 * MS } },
    TICK(50 * MS),
    STANDS_SAME(80 * MS, 1, 1, 3 * INTERVAL + 1),
    { EVENT_SAMPLE,
      .sample = { .count = 1, .thread = 2, .status = BUSY, .stands_ns = 3 * INTERVAL + 1, .time_ns = 80 * MS } },
    TICK(80 * MS),
    STANDS_SAME(90 * MS, 1, 1, INTERVAL),
    TICK(90 * MS),
};

/* All samples stand for an interval, whether the recording says so or not. */
static const struct event usual[] = {
    BEGINNING, SAMPLE(10 * MS, 1, 0, 1), TICK(10 * MS), STANDS_SAME(20 * MS, 1, 1, INTERVAL), TICK(20 * MS),
};

static void take(struct gecko *gecko, struct tables *tables, struct event event)
{
    assert_true(tables_take(tables, &event, NULL));
    assert_true(gecko_take(gecko, &event, NULL));
}

/* Of a story, and then many ticks in which thread 1 samples stand for one interval and for two in turn. */
static json_t *profile_of(const struct event *events, size_t count, size_t turns)
{
    char path[] = "/tmp/pyreel-gecko.XXXXXX";
    struct output output = { 0 };
    struct tables tables = { 0 };
    close(mkstemp(path));
    assert_true(output_open(&output, path, false, NULL));
    struct gecko *gecko = gecko_start(
        &tables, &output, (struct gecko_style){ .opcodes = GECKO_OPCODES_FRAMES, .markers = GECKO_MARKERS_ALL });
    for (size_t i = 0; i < count; i++)
        take(gecko, &tables, events[i]);
    for (size_t i = 0; i < turns; i++) {
        const uint64_t ns = (uint64_t)INTERVAL * (10 + i / 2 * 3 + i % 2 * 2);
        take(gecko, &tables, (struct event)STANDS_SAME(ns, 1, 1, (1 + i % 2) * INTERVAL));
        take(gecko, &tables, (struct event)TICK(ns));
    }
    assert_true(gecko_finish(gecko, NULL));
    gecko_drop(gecko);
    tables_free(&tables);
    assert_true(output_close(&output, NULL, NULL));
    return profile_load(path);
}

static const json_t *samples_of(const json_t *profile, size_t thread)
{
    return json_object_get(at(profile, "threads", thread), "samples");
}

static void assert_weights(const json_t *profile, size_t thread, const char *wanted)
{
    const json_t *samples = samples_of(profile, thread), *weights = json_object_get(samples, "weight");
    char text[256] = "";
    size_t used = 0;
    assert_string_equal(json_string_value(json_object_get(samples, "weightType")), "tracing-ms");
    assert_int_equal(json_array_size(weights), number(json_object_get(samples, "length")));
    for (size_t i = 0; i < json_array_size(weights); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %.9g",
                                 json_number_value(json_array_get(weights, i)));
    assert_string_equal(text, wanted);
}

static void samples_weigh_what_they_stand_for(void **state)
{
    (void)state;
    json_t *profile = profile_of(story, countof(story), 0);
    assert_weights(profile, 0, " 10 10 30 30 10");
    assert_weights(profile, 1, " 30 30");
    json_decref(profile);
}

static void intervals_are_counted(void **state)
{
    (void)state;
    json_t *profile = profile_of(usual, countof(usual), 0);
    assert_string_equal(json_string_value(json_object_get(samples_of(profile, 0), "weightType")), "samples");
    assert_true(json_is_null(json_object_get(samples_of(profile, 0), "weight")));
    json_decref(profile);
}

/* A sample lasts for as long as it stands: so does what the thread was doing, and the profile. */
static void markers_last_as_long(void **state)
{
    (void)state;
    static const char *const wanted[] = { "Opcode 10-100", "Holds GIL 50-110" };
    json_t *profile = profile_of(story, countof(story), 0);
    for (size_t thread = 0; thread < countof(wanted); thread++) {
        const json_t *markers = json_object_get(at(profile, "threads", thread), "markers");
        char text[128];
        assert_int_equal(number(json_object_get(markers, "length")), 1);
        snprintf(text, sizeof(text), "%s %g-%g", string(profile, at(markers, "name", 0)),
                 json_number_value(at(markers, "startTime", 0)), json_number_value(at(markers, "endTime", 0)));
        assert_string_equal(text, wanted[thread]);
    }
    const json_t *meta = json_object_get(profile, "meta");
    assert_true(json_number_value(json_object_get(meta, "profilingEndTime")) == 110.000001);
    json_decref(profile);
}

/* More weights than memory holds before they go to the spool's file. */
static void many_weights_are_all_there(void **state)
{
    (void)state;
    enum { TURNS = 400000 };
    json_t *profile = profile_of(story, countof(story), TURNS);
    const json_t *weights = json_object_get(samples_of(profile, 0), "weight");
    assert_int_equal(json_array_size(weights), 5 + TURNS);
    for (size_t i = 0; i < TURNS; i++)
        assert_true(json_number_value(json_array_get(weights, 5 + i)) == (i % 2 ? 20 : 10));
    json_decref(profile);
}

TEST_FILE(gecko_weights)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_weigh_what_they_stand_for),
        cmocka_unit_test(intervals_are_counted),
        cmocka_unit_test(markers_last_as_long),
        cmocka_unit_test(many_weights_are_all_there),
    };
    return run_all(tests);
}
