/* SPDX-License-Identifier: MIT */
#include "formats/gecko.h"

#include "formats/alloc.h"
#include "tests/story.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A process that ends and another; a thread that is renamed; a sample without frames. */
static const struct event story[] = {
    { EVENT_RECORDING, .recording = { .format_version = 1,
                                      .interval_ns = 10 * MS,
                                      .time_unit_ns = 200000,
                                      .start_unix_ns = 1500 * MS } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "worker"),
    STRING(1, "<module>"),
    STRING(2, "na\xC3\xAFve \"f\""),
    STRING(3, "/home/u/a.py"),
    FUNCTION(1, 1, 3, 1),
    FUNCTION(2, 2, 3, 7),
    FRAME(1, 1, 3),
    { EVENT_FRAME, .frame = { 2, 2, 8, 8, 4, 7 } },
    SAMPLE(10 * MS, 1, 0, 1, 2),
    SAMPLE(10 * MS, 2, 0, 2),
    TICK(10 * MS),
    SAME(20 * MS, 1, 1),
    SAME(20 * MS, 2, 0),
    TICK(20 * MS),
    { EVENT_THREAD_END, .change = { 2, 25 * MS, { 0 } } },
    SAMPLE(30400000, 1, 1, 2),
    TICK(30400000),
    { EVENT_END, .end = { END_TARGET, 40 * MS, 3, 5, 0, 0, 0 } },
};

static json_t *write_profile(void)
{
    char path[] = "/tmp/pyreel-gecko.XXXXXX";
    struct output output = { 0 };
    struct tables tables = { 0 };
    struct fault why = { 0 };
    close(mkstemp(path));
    assert_true(output_open(&output, path, false, NULL));
    struct gecko *gecko = gecko_start(&tables, &output);
    for (size_t i = 0; i < countof(story); i++) {
        struct event event = story[i];
        assert_true(tables_take(&tables, &event, NULL));
        assert_true(gecko_take(gecko, &event, NULL));
    }
    if (!gecko_finish(gecko, &why))
        fail_msg("%s", why.text);
    gecko_drop(gecko);
    tables_free(&tables);
    assert_true(output_close(&output, NULL, NULL));
    json_error_t error;
    json_t *profile = json_load_file(path, 0, &error);
    unlink(path);
    if (!profile)
        fail_msg("line %d column %d: %s", error.line, error.column, error.text);
    return profile;
}

/* An entry of a column of a table that threads share. */
static json_t *entry(const json_t *profile, const char *table, const char *column, json_int_t row)
{
    const json_t *columns = json_object_get(json_object_get(profile, "shared"), table);
    json_t *value = json_array_get(json_object_get(columns, column), (size_t)row);
    if (!value)
        fail_msg("%s.%s has no row %d", table, column, (int)row);
    return value;
}

static const char *string(const json_t *profile, const json_t *number)
{
    const json_t *strings = json_object_get(json_object_get(profile, "shared"), "stringArray");
    const char *value = json_string_value(json_array_get(strings, (size_t)json_integer_value(number)));
    assert_non_null(value);
    return value;
}

/* Root first. */
static size_t put_stack(char *room, size_t size, const json_t *profile, const json_t *stack)
{
    if (json_is_null(stack))
        return 0;
    const json_int_t row = json_integer_value(stack);
    const size_t used = put_stack(room, size, profile, entry(profile, "stackTable", "prefix", row));
    const json_int_t frame = json_integer_value(entry(profile, "stackTable", "frame", row));
    const json_int_t function = json_integer_value(entry(profile, "frameTable", "func", frame));
    return used + (size_t)snprintf(room + used, size - used, " %s:%d",
                                   string(profile, entry(profile, "funcTable", "name", function)),
                                   (int)json_integer_value(entry(profile, "frameTable", "line", frame)));
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
        "4242 4242, 10: <module>:3 na\xC3\xAFve \"f\":8, 20: <module>:3, 30.4: <module>:3 na\xC3\xAFve \"f\":8");
    assert_thread(profile, 1, "4242 4243, 10: na\xC3\xAFve \"f\":8, 20: <no Python frames>:0");
    const json_t *worker = json_array_get(json_object_get(profile, "threads"), 1);
    assert_string_equal(json_string_value(json_object_get(worker, "name")), "worker");
    assert_true(json_number_value(json_object_get(worker, "unregisterTime")) == 25);
    assert_true(json_is_false(json_object_get(worker, "isMainThread")));
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_samples),
        cmocka_unit_test(tables_have_rows_of_one_length),
    };
    return run_all(tests);
}
