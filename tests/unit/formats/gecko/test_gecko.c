/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko.h"

#include "formats/base/alloc.h"
#include "tests/fakes/profile_read.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A process that ends and another; a thread that is renamed; a sample without frames. */
static const struct event story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = 10 * MS, .time_unit_ns = 200000, .start_unix_ns = 1500 * MS } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "worker"),
    STRING(1, "<module>"),
    STRING(2, "na\xC3\xAFve \"f\""),
    STRING(3, "/home/u/a.py"),
    FUNCTION(1, 1, 3, 1),
    FUNCTION(2, 2, 3, 7),
    FRAME(1, 1, 3),
    { EVENT_FRAME, .frame = { 2, 2, 8, 8, 4, 7, 0, 0, 0, 0, 0 } },
    SAMPLE(10 * MS, 1, 0, 1, 2),
    SAMPLE(10 * MS, 2, 0, 2),
    TICK(10 * MS),
    SAME(20 * MS, 1, 1),
    SAME(20 * MS, 2, 0),
    TICK(20 * MS),
    { EVENT_THREAD_END, .change = { 2, 25 * MS, { 0 }, false } },
    SAMPLE(30400000, 1, 1, 2),
    TICK(30400000),
    { EVENT_END, .end = { END_TARGET, 40 * MS, 3, 5, 0, 0, 0 } },
};

/* What threads were doing: a main thread with everything there is, in a tick that fails for it, and absent from one;
 * one that is idle all the time; one that a mode leaves out; one of which nothing is known at first and at last. */
#define IDLE    STATUS_RECORDED
#define RUNS    (STATUS_RECORDED | STATUS_CPU)
#define WAITS   (STATUS_RECORDED | STATUS_GIL_WAIT)
#define BUSY    (RUNS | STATUS_GIL)
#define NO_TIME (STATUS_RECORDED | STATUS_CPU_UNKNOWN)
static const struct event status_story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = 10 * MS, .time_unit_ns = 200000 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "idle"),
    THREAD(3, 1, 4244, "left out"),
    THREAD(4, 1, 4245, "late"),
    STRING(1, "<module>"),
    STRING(2, "f"),
    STRING(3, "/home/u/a.py"),
    FUNCTION(1, 1, 3, 1),
    FUNCTION(2, 2, 3, 7),
    FRAME(1, 1, 3),
    FRAME(2, 2, 8),
    STATUS_SAMPLE(0, 1, 0, BUSY, 0, 1, 2),
    STATUS_SAMPLE(0, 2, 0, IDLE, 0, 1),
    STATUS_SAMPLE(0, 4, 0, 0, 0, 1),
    TICK(0),
    STATUS_SAME(10 * MS, 1, 2, IDLE | STATUS_GIL, 10 * MS),
    STATUS_SAME(10 * MS, 2, 1, IDLE, 0),
    STATUS_SAMPLE(10 * MS, 3, 0, RUNS, 0, 1),
    STATUS_SAME(10 * MS, 4, 1, 0, 0),
    TICK(10 * MS),
    STATUS_SAME(20 * MS, 1, 1, WAITS, 1 * MS),
    STATUS_SAME(20 * MS, 2, 1, IDLE, 0),
    STATUS_SAMPLE(20 * MS, 4, 1, RUNS, 40000, 2),
    TICK(20 * MS),
    FAILED(30 * MS, 1, FAILURE_CHANGED),
    STATUS_SAME(30 * MS, 2, 1, IDLE, 0),
    STATUS_SAME(30 * MS, 4, 2, RUNS, 40000),
    TICK(30 * MS),
    FAILED(40 * MS, 0, FAILURE_THREADS),
    TICK(40 * MS),
    STATUS_SAME(50 * MS, 1, 1, WAITS, 0),
    STATUS_SAME(50 * MS, 2, 1, IDLE, 0),
    LEFT_OUT(40 * MS, 3, 3, 15 * MS),
    STATUS_SAME(50 * MS, 3, 1, RUNS, 10 * MS),
    STATUS_SAME(50 * MS, 4, 2, 0, 0),
    TICK(50 * MS),
    STATUS_SAMPLE(60 * MS, 1, 1, BUSY | STATUS_EXCEPTION, 9 * MS, 2),
    STATUS_SAME(60 * MS, 2, 1, IDLE, 0),
    TICK(60 * MS),
    STATUS_SAME(70 * MS, 2, 1, IDLE, 0),
    TICK(70 * MS),
    { EVENT_SAMPLE, .sample = { .count = 1,
                                .thread = 1,
                                .keep = 2,
                                .time_ns = 80 * MS,
                                .status = BUSY,
                                .cpu_ns = 20 * MS,
                                .fresh = true } },
    STATUS_SAME(80 * MS, 2, 1, IDLE, 0),
    TICK(80 * MS),
    STATUS_SAME(90 * MS, 1, 0, IDLE, 0),
    STATUS_SAME(90 * MS, 2, 1, IDLE, 0),
    TICK(90 * MS),
    { EVENT_END, .end = { END_TARGET, 95 * MS, 10, 23, 0, 2, 0 } },
};

/* Only the lock was asked for. */
static const struct event gil_story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = 10 * MS, .time_unit_ns = 200000 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    STRING(1, "<module>"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 3),
    STATUS_SAMPLE(0, 1, 0, NO_TIME, 0, 1),
    TICK(0),
    STATUS_SAME(10 * MS, 1, 1, NO_TIME | STATUS_GIL, 0),
    TICK(10 * MS),
    MISSED(3),
    STATUS_SAME(50 * MS, 1, 1, NO_TIME | STATUS_GIL, 0),
    TICK(50 * MS),
    STATUS_SAME(60 * MS, 1, 1, NO_TIME, 0),
    TICK(60 * MS),
    { EVENT_END, .end = { END_TARGET, 60 * MS, 4, 4, 3, 0, 0 } },
};

/* The recorder paused from 20 to 500 ms: the look behind the pause is fresh. */
static const struct event paused_story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = 10 * MS, .time_unit_ns = 200000 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    STRING(1, "<module>"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 3),
    STATUS_SAMPLE(10 * MS, 1, 0, NO_TIME | STATUS_GIL, 0, 1),
    TICK(10 * MS),
    STATUS_SAME(20 * MS, 1, 1, NO_TIME | STATUS_GIL, 0),
    TICK(20 * MS),
    { EVENT_SAMPLE, .sample = { .count = 1,
                                .thread = 1,
                                .keep = 1,
                                .time_ns = 500 * MS,
                                .status = NO_TIME | STATUS_GIL,
                                .fresh = true } },
    TICK(500 * MS),
    STATUS_SAME(510 * MS, 1, 1, NO_TIME | STATUS_GIL, 0),
    TICK(510 * MS),
    { EVENT_END, .end = { END_TARGET, 510 * MS, 4, 4, 0, 0, 0 } },
};

static void take(struct gecko *gecko, struct tables *tables, struct event event)
{
    assert_true(tables_take(tables, &event, NULL));
    assert_true(gecko_take(gecko, &event, NULL));
}

/* Takes a story, and then the main thread without frames, `flips` ticks long off and on the CPU in turn. */
static json_t *write_styled(const struct event *events, size_t count, size_t flips, struct gecko_style style)
{
    char path[] = "/tmp/pyreel-gecko.XXXXXX";
    struct output output = { 0 };
    struct tables tables = { 0 };
    struct fault why = { 0 };
    close(mkstemp(path));
    assert_true(output_open(&output, path, false, NULL));
    struct gecko *gecko = gecko_start(&tables, &output, style);
    for (size_t i = 0; i < count; i++)
        take(gecko, &tables, events[i]);
    for (size_t i = 0; i < flips; i++) {
        const uint64_t ns = 10 * MS * (10 + i);
        take(gecko, &tables, (struct event)STATUS_SAME(ns, 1, 0, i % 2 ? RUNS : IDLE, 1 * MS));
        take(gecko, &tables, (struct event)TICK(ns));
    }
    if (!gecko_finish(gecko, &why))
        fail_msg("%s", why.text);
    gecko_drop(gecko);
    tables_free(&tables);
    assert_true(output_close(&output, NULL, NULL));
    return profile_load(path);
}

/* With a marker for each change of a state. */
static json_t *write_profile_of(const struct event *events, size_t count, size_t flips)
{
    return write_styled(events, count, flips, (struct gecko_style){ .markers = GECKO_MARKERS_ALL });
}

static json_t *write_profile(void)
{
    return write_profile_of(story, countof(story), 0);
}

/* Root first. */
static size_t put_stack(char *room, size_t size, const json_t *profile, const json_t *stack)
{
    if (json_is_null(stack))
        return 0;
    const size_t used = put_stack(room, size, profile, cell(profile, "stackTable", "prefix", number(stack)));
    const size_t frame = number(cell(profile, "stackTable", "frame", number(stack)));
    const size_t function = number(cell(profile, "frameTable", "func", frame));
    return used + (size_t)snprintf(room + used, size - used, " %s:%d",
                                   string(profile, cell(profile, "funcTable", "name", function)),
                                   (int)json_integer_value(cell(profile, "frameTable", "line", frame)));
}

static void assert_thread(const json_t *profile, size_t i, const char *wanted)
{
    const json_t *thread = json_array_get(json_object_get(profile, "threads"), i);
    const json_t *samples = json_object_get(thread, "samples");
    const size_t count = (size_t)json_integer_value(json_object_get(samples, "length"));
    char text[2048];
    size_t used = (size_t)snprintf(text, sizeof(text), "%s %d", json_string_value(json_object_get(thread, "pid")),
                                   (int)json_integer_value(json_object_get(thread, "tid")));
    assert_int_equal(json_array_size(json_object_get(samples, "stack")), count);
    assert_int_equal(json_array_size(json_object_get(samples, "time")), count);
    for (size_t k = 0; k < count; k++) {
        const double time = json_number_value(json_array_get(json_object_get(samples, "time"), k));
        used += (size_t)snprintf(text + used, sizeof(text) - used, ", %g:", time);
        used += put_stack(text + used, sizeof(text) - used, profile,
                          json_array_get(json_object_get(samples, "stack"), k));
    }
    assert_string_equal(text, wanted);
}

static void each_thread_has_its_samples(void **state)
{
    (void)state;
    json_t *profile = write_profile();
    assert_int_equal(json_array_size(json_object_get(profile, "threads")), 2);
    assert_thread(
        profile, 0,
        "4242 4242, 10: <module> a:3 na\xC3\xAFve \"f\":8, 20: <module> a:3, 30.4: <module> a:3 na\xC3\xAFve \"f\":8");
    assert_thread(profile, 1, "4242 4243, 10: na\xC3\xAFve \"f\":8, 20: <no Python frames>:0");
    const json_t *worker = json_array_get(json_object_get(profile, "threads"), 1);
    assert_string_equal(json_string_value(json_object_get(worker, "name")), "worker");
    assert_true(json_number_value(json_object_get(worker, "unregisterTime")) == 25);
    assert_true(json_is_false(json_object_get(worker, "isMainThread")));
    json_decref(profile);
}

/* The thread is outside Python at last, as a thread of C between two callbacks is. */
static void a_thread_without_a_name_is_called_by_its_work(void **state)
{
    (void)state;
    struct event unnamed[countof(story)];
    memcpy(unnamed, story, sizeof(story));
    assert_int_equal(unnamed[3].kind, EVENT_THREAD);
    unnamed[3].thread.name = unnamed[2].thread.name;
    json_t *profile = write_profile_of(unnamed, countof(unnamed), 0);
    const json_t *worker = json_array_get(json_object_get(profile, "threads"), 1);
    assert_string_equal(json_string_value(json_object_get(worker, "name")), "na\xC3\xAFve \"f\"");
    json_decref(profile);
}

static void tables_have_rows_of_one_length(void **state)
{
    (void)state;
    json_t *profile = write_profile();
    const char *name;
    json_t *table;
    json_object_foreach(json_object_get(profile, "shared"), name, table)
    {
        const char *column;
        json_t *rows;
        if (!json_is_object(table))
            continue;
        json_object_foreach(table, column, rows) if (json_is_array(rows) &&
                                                     json_array_size(rows) !=
                                                         (size_t)json_integer_value(json_object_get(table, "length")))
            fail_msg("%s.%s has %zu rows", name, column, json_array_size(rows));
    }
    const json_t *meta = json_object_get(profile, "meta");
    assert_int_equal(json_integer_value(json_object_get(meta, "preprocessedProfileVersion")), 64);
    assert_true(json_number_value(json_object_get(meta, "interval")) == 10);
    assert_true(json_number_value(json_object_get(meta, "startTime")) == 1500);
    json_decref(profile);
}

/* CPU times in ms, - where they are not known. */
static void assert_cpu(const json_t *profile, size_t i, const char *wanted)
{
    const json_t *samples = json_object_get(at(profile, "threads", i), "samples");
    const json_t *column = json_object_get(samples, "threadCPUDelta");
    char text[1024] = "";
    size_t used = 0;
    assert_int_equal(json_array_size(column), json_integer_value(json_object_get(samples, "length")));
    for (size_t k = 0; k < json_array_size(column); k++) {
        const json_t *delta = json_array_get(column, k);
        assert_true(json_is_integer(delta) || json_is_null(delta));
        const double ms = (double)json_integer_value(delta) / MS;
        used += (size_t)snprintf(text + used, sizeof(text) - used, json_is_null(delta) ? " -" : " %g", ms);
    }
    assert_string_equal(text, wanted);
}

static size_t put_marker(char *room, size_t size, const json_t *profile, const json_t *markers, size_t i)
{
    const json_t *data = json_array_get(json_object_get(markers, "data"), i);
    const json_t *cause = json_object_get(data, "cause");
    const char *name = string(profile, json_array_get(json_object_get(markers, "name"), i));
    const double start = json_number_value(json_array_get(json_object_get(markers, "startTime"), i));
    const double end = json_number_value(json_array_get(json_object_get(markers, "endTime"), i));
    assert_string_equal(json_string_value(json_object_get(data, "type")), name);
    assert_non_null(schema_of(profile, name));
    assert_int_equal(json_integer_value(json_array_get(json_object_get(markers, "phase"), i)), 1);
    char stack[256] = "";
    if (cause) {
        assert_true(json_number_value(json_object_get(cause, "time")) == start);
        put_stack(stack, sizeof(stack), profile, json_object_get(cause, "stack"));
    }
    return (size_t)snprintf(room, size, "%s %g-%g:%s\n", name, start, end, stack);
}

static void assert_markers(const json_t *profile, size_t i, const char *wanted)
{
    const json_t *markers = json_object_get(at(profile, "threads", i), "markers");
    const size_t count = (size_t)json_integer_value(json_object_get(markers, "length"));
    char text[4096] = "";
    size_t used = 0;
    const char *name;
    json_t *column;
    json_object_foreach((json_t *)markers, name, column)
    {
        if (json_is_array(column) && json_array_size(column) != count)
            fail_msg("%s has %zu rows", name, json_array_size(column));
    }
    for (size_t k = 0; k < count; k++)
        used += put_marker(text + used, sizeof(text) - used, profile, markers, k);
    assert_string_equal(text, wanted);
}

static void cpu_times_are_what_the_samples_say(void **state)
{
    (void)state;
    json_t *profile = write_profile_of(status_story, countof(status_story), 0);
    const json_t *units = json_object_get(json_object_get(profile, "meta"), "sampleUnits");
    assert_string_equal(json_string_value(json_object_get(units, "threadCPUDelta")), "ns");
    assert_cpu(profile, 0, " 0 10 1 0 9 20 0");
    assert_cpu(profile, 1, " 0 0 0 0 0 0 0 0 0");
    assert_cpu(profile, 2, " 0 10");
    assert_cpu(profile, 3, " - - 0 0.1 -"); /* Rounding does not add up. */
    json_decref(profile);
}

static void states_are_markers(void **state)
{
    (void)state;
    json_t *profile = write_profile_of(status_story, countof(status_story), 0);
    assert_markers(profile, 0,
                   "Waits for GIL 20-60: <module> a:3\n"
                   "Handles exception 60-70: <module> a:3 f:8\n"
                   "On CPU 0-10: <module> a:3 f:8\n"
                   "Holds GIL 0-20: <module> a:3 f:8\n"
                   "Off CPU 10-60: <module> a:3 f:8\n"
                   "Holds GIL 60-70: <module> a:3 f:8\n"
                   "On CPU 60-70: <module> a:3 f:8\n"
                   "Holds GIL 80-90: <module> a:3 f:8\n"
                   "On CPU 80-90: <module> a:3 f:8\n"
                   "Off CPU 90-100: <no Python frames>:0\n");
    assert_markers(profile, 1, "Off CPU 0-100: <module> a:3\n");
    assert_markers(profile, 2, "On CPU 10-20: <module> a:3\nOn CPU 50-60: <module> a:3\n");
    assert_markers(profile, 3, "On CPU 20-50: <module> a:3 f:8\n");
    assert_true(json_is_true(json_object_get(at(profile, "threads", 0), "showMarkersInTimeline")));
    assert_true(json_is_false(json_object_get(at(profile, "threads", 3), "showMarkersInTimeline")));
    json_decref(profile);
}

/* A thread that waits is at its function, and the wait is a frame below it. */
static void waiting_is_a_leaf(void **state)
{
    (void)state;
    json_t *profile = write_profile_of(status_story, countof(status_story), 0);
    assert_thread(profile, 0,
                  "4242 4242, 0: <module> a:3 f:8, 10: <module> a:3 f:8, 20: <module> a:3 [waiting for GIL]:0, "
                  "50: <module> a:3 [waiting for GIL]:0, 60: <module> a:3 f:8, 80: <module> a:3 f:8, "
                  "90: <no Python frames>:0 [idle]:0");
    assert_thread(profile, 2, "4242 4244, 10: <module> a:3, 50: <module> a:3");
    assert_thread(profile, 3,
                  "4242 4245, 0: <module> a:3, 10: <module> a:3, 20: <module> a:3 f:8, 30: <module> a:3 f:8, "
                  "50: <module> a:3 f:8");
    json_decref(profile);
}

/* The category of the first function with this name. */
static const char *category_of(const json_t *profile, const char *name)
{
    const json_t *functions = json_object_get(json_object_get(json_object_get(profile, "shared"), "frameTable"),
                                              "func");
    for (size_t i = 0; i < json_array_size(functions); i++) {
        if (strcmp(string(profile, cell(profile, "funcTable", "name", number(json_array_get(functions, i)))), name))
            continue;
        const json_t *categories = json_object_get(json_object_get(profile, "meta"), "categories");
        const json_t *category = json_array_get(categories, number(cell(profile, "frameTable", "category", i)));
        return json_string_value(json_object_get(category, "name"));
    }
    return "none";
}

static void waits_have_their_categories(void **state)
{
    (void)state;
    json_t *profile = write_profile_of(status_story, countof(status_story), 0);
    assert_string_equal(category_of(profile, "[idle]"), "Idle");
    assert_string_equal(category_of(profile, "[waiting for GIL]"), "Waiting");
    assert_string_equal(category_of(profile, "<no Python frames>"), "Other");
    assert_string_equal(category_of(profile, "f"), "Your code");
    json_decref(profile);
}

/* Rows exist only when they are used. */
static void no_row_is_unused(void **state)
{
    (void)state;
    json_t *profile = write_profile_of(gil_story, countof(gil_story), 0);
    const char *const tables[] = { "stackTable", "frameTable", "funcTable" };
    for (size_t i = 0; i < countof(tables); i++) {
        const json_t *table = json_object_get(json_object_get(profile, "shared"), tables[i]);
        assert_int_equal(json_integer_value(json_object_get(table, "length")), 1);
    }
    json_decref(profile);
}

/* A row about the recording as the viewer has it under "show more"; -1 if there is none. */
static json_int_t extra(const json_t *profile, const char *label)
{
    const json_t *groups = json_object_get(json_object_get(profile, "meta"), "extra");
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(json_array_get(groups, 0), "entries"), i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "label")), label) == 0)
            return json_integer_value(json_object_get(row, "value"));
    }
    return -1;
}

static void totals_are_told(void **state)
{
    (void)state;
    json_t *profile = write_profile_of(status_story, countof(status_story), 0);
    assert_int_equal(extra(profile, "Time with the GIL"), 40);
    assert_int_equal(extra(profile, "Time waiting for the GIL"), 30);
    assert_int_equal(extra(profile, "Time handling exceptions"), 10);
    assert_int_equal(extra(profile, "CPU time"), 65);
    assert_int_equal(extra(profile, "Left out by the mode"), 3);
    json_decref(profile);
}

static void the_lock_alone_says_nothing_of_the_cpu(void **state)
{
    (void)state;
    json_t *profile = write_profile_of(gil_story, countof(gil_story), 0);
    assert_markers(profile, 0, "No samples 10-50:\nHolds GIL 10-60: <module>:3\n");
    assert_null(json_object_get(json_object_get(at(profile, "threads", 0), "samples"), "threadCPUDelta"));
    assert_null(json_object_get(json_object_get(profile, "meta"), "sampleUnits"));
    assert_int_equal(extra(profile, "Time with the GIL"), 40);
    assert_int_equal(extra(profile, "CPU time"), -1);
    json_decref(profile);
}

static void a_pause_is_no_time_with_the_lock(void **state)
{
    (void)state;
    double held = 0;
    size_t i;
    const json_t *count;
    json_t *profile = write_profile_of(paused_story, countof(paused_story), 0);
    const json_t *counter = at(profile, "counters", 0);
    assert_string_equal(json_string_value(json_object_get(counter, "name")), "GIL held");
    json_array_foreach(json_object_get(json_object_get(counter, "samples"), "count"), i, count)
        held += json_number_value(count);
    assert_int_equal(held + .5, 40); /* four looks, of 10 ms each */
    json_decref(profile);
}

static void without_status_there_is_nothing_of_it(void **state)
{
    (void)state;
    json_t *profile = write_profile();
    for (size_t i = 0; i < 2; i++) {
        assert_markers(profile, i, "");
        assert_null(json_object_get(json_object_get(at(profile, "threads", i), "samples"), "threadCPUDelta"));
        assert_true(json_is_false(json_object_get(at(profile, "threads", i), "showMarkersInTimeline")));
    }
    const json_t *meta = json_object_get(profile, "meta");
    assert_true(json_is_array(json_object_get(meta, "markerSchema")));
    assert_int_equal(json_array_size(json_object_get(meta, "markerSchema")), 0);
    assert_null(json_object_get(meta, "sampleUnits"));
    assert_int_equal(extra(profile, "Left out by the mode"), -1);
    /* The strings of the recording, the name of the resource, and <module> a: no names of markers. */
    assert_int_equal(json_array_size(json_object_get(json_object_get(profile, "shared"), "stringArray")), 6);
    json_decref(profile);
}

/* More changes than the buffer of a thread holds. */
static void many_changes_are_many_markers(void **state)
{
    (void)state;
    const size_t flips = 40001, before = 10;
    json_t *profile = write_profile_of(status_story, countof(status_story), flips);
    const json_t *markers = json_object_get(at(profile, "threads", 0), "markers");
    /* The first one off the CPU continues the story's last. */
    assert_int_equal(json_integer_value(json_object_get(markers, "length")), before + flips - 1);
    for (size_t i = 1; i < flips; i++) {
        const double end = json_number_value(json_array_get(json_object_get(markers, "endTime"), before - 1 + i));
        assert_true(end == 10. * (double)(11 + i));
    }
    const json_t *cpu = json_object_get(json_object_get(at(profile, "threads", 0), "samples"), "threadCPUDelta");
    assert_int_equal(json_array_size(cpu), 7 + flips);
    assert_int_equal(json_integer_value(json_array_get(cpu, 6 + flips)), 1 * MS);
    json_decref(profile);
}

TEST_FILE(gecko)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_samples),
        cmocka_unit_test(a_thread_without_a_name_is_called_by_its_work),
        cmocka_unit_test(tables_have_rows_of_one_length),
        cmocka_unit_test(cpu_times_are_what_the_samples_say),
        cmocka_unit_test(states_are_markers),
        cmocka_unit_test(waiting_is_a_leaf),
        cmocka_unit_test(waits_have_their_categories),
        cmocka_unit_test(no_row_is_unused),
        cmocka_unit_test(totals_are_told),
        cmocka_unit_test(the_lock_alone_says_nothing_of_the_cpu),
        cmocka_unit_test(a_pause_is_no_time_with_the_lock),
        cmocka_unit_test(without_status_there_is_nothing_of_it),
        cmocka_unit_test(many_changes_are_many_markers),
    };
    return run_all(tests);
}
