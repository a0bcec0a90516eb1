/* SPDX-License-Identifier: MIT */
/* Profiles in the raw format, and the numbers of what a thread uses. */
#include "formats/gecko/gecko.h"
#include "formats/gecko/raw/gecko_raw.h"
#include "formats/gecko/raw/numbering.h"

#include "tests/fakes/profile_read.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- numbers ---- */

static void test_numbers_are_given_in_the_order_of_first_use(void **state)
{
    struct numbering numbering = { 0 };
    (void)state;
    assert_false(numbering_has(&numbering, 4));
    assert_int_equal(numbering_number(&numbering, 4), 0);
    assert_int_equal(numbering_number(&numbering, 1000), 1);
    assert_int_equal(numbering_number(&numbering, 0), 2);
    assert_int_equal(numbering_number(&numbering, 1000), 1);
    assert_true(numbering_has(&numbering, 4));
    assert_false(numbering_has(&numbering, 3));
    assert_int_equal(numbering.count, 3);
    assert_int_equal(numbering.rows[1], 1000);
    numbering_free(&numbering);
}

static void test_the_next_thread_has_numbers_of_its_own(void **state)
{
    struct numbering numbering = { 0 };
    (void)state;
    numbering_number(&numbering, 7);
    numbering_number(&numbering, 8);
    numbering_reset(&numbering);
    assert_int_equal(numbering.count, 0);
    assert_false(numbering_has(&numbering, 7));
    assert_int_equal(numbering_number(&numbering, 8), 0);
    numbering_free(&numbering);
}

/* ---- profiles ---- */

/* Two threads and a further process. A function whose file ends in a number, one without a first line, one without a
 * file, one in a folder with a parenthesis. */
static const struct event story[] = {
    { EVENT_RECORDING, .recording = { .format_level = 1, .interval_ns = 10 * MS, .time_unit_ns = 200000 } },
    PROCESS(1, 4242, "/home/u"),
    PROCESS(2, 4300, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "worker"),
    THREAD(3, 2, 4300, "python3"),
    STRING(1, "main"),
    STRING(2, "/home/u/a.py"),
    STRING(3, "numbered"),
    STRING(4, "/home/u/b:12"),
    STRING(5, "unknown"),
    STRING(6, "bare"),
    STRING(7, "copied"),
    STRING(8, "/home/u/app (1)/c.py"),
    FUNCTION(1, 1, 2, 1),
    FUNCTION(2, 3, 4, 7),
    FUNCTION(3, 5, 2, 0),
    FUNCTION(4, 6, 0, 0),
    FUNCTION(5, 7, 8, 3),
    FRAME(1, 1, 3),
    FRAME(2, 2, 8),
    FRAME(3, 3, 0),
    FRAME(4, 4, 0),
    FRAME(5, 5, 4),
    STATUS_SAMPLE(10 * MS, 1, 0, STATUS_RECORDED | STATUS_CPU, 4 * MS, 1, 2),
    STATUS_SAMPLE(10 * MS, 2, 0, STATUS_RECORDED, 0, 1, 3),
    STATUS_SAMPLE(10 * MS, 3, 0, STATUS_RECORDED | STATUS_CPU, 5 * MS, 5, 4),
    TICK(10 * MS),
    STATUS_SAME(20 * MS, 1, 2, STATUS_RECORDED | STATUS_CPU, 6 * MS),
    STATUS_SAME(20 * MS, 2, 2, STATUS_RECORDED, 0),
    TICK(20 * MS),
};

static json_t *write_raw(void)
{
    char path[] = "/tmp/pyreel-gecko.XXXXXX";
    struct output output = { 0 };
    struct tables tables = { 0 };
    close(mkstemp(path));
    assert_true(output_open(&output, path, false, NULL));
    struct gecko *gecko = gecko_start(&tables, &output, (struct gecko_style){ .raw = true });
    for (size_t i = 0; i < countof(story); i++) {
        struct event event = story[i];
        assert_true(tables_take(&tables, &event, NULL));
        assert_true(gecko_take(gecko, &event, NULL));
        assert_true(gecko_take_placed(gecko, &event, NULL));
    }
    assert_true(gecko_finish(gecko, NULL));
    gecko_drop(gecko);
    tables_free(&tables);
    assert_true(output_close(&output, NULL, NULL));
    return profile_load(path);
}

/* Asserts what a member of a thread is, as JSON text. */
static void assert_member(const json_t *thread, const char *key, const char *wanted)
{
    char *text = json_dumps(json_object_get(thread, key), JSON_COMPACT | JSON_ENCODE_ANY);
    assert_string_equal(text, wanted);
    free(text);
}

static void assert_rows(const json_t *thread, const char *table, const char *wanted)
{
    assert_member(json_object_get(thread, table), "data", wanted);
}

static void test_a_thread_has_what_it_uses(void **state)
{
    json_t *profile = write_raw();
    const json_t *thread = at(profile, "threads", 0);
    (void)state;
    assert_member(thread, "name", "\"" GECKO_RAW_MAIN "\"");
    assert_member(thread, "pid", "4242");
    /* The viewer ignores the CPU time of the first row: the second one has all. */
    assert_rows(thread, "samples", "[[1,10,0,0],[1,20,0,10000000]]");
    assert_rows(thread, "stackTable", "[[null,0],[0,1]]");
    assert_rows(thread, "frameTable", "[[0,false,null,null,3,null,1,0],[1,false,null,null,8,null,1,0]]");
    assert_member(thread, "stringTable", "[\"main (/home/u/a.py:1)\",\"numbered (/home/u/b:12:7:1)\"]");
    json_decref(profile);
}

static void test_each_thread_has_tables_of_its_own(void **state)
{
    json_t *profile = write_raw();
    const json_t *thread = at(profile, "threads", 1);
    (void)state;
    assert_member(thread, "name", "\"worker\"");
    assert_rows(thread, "samples", "[[2,10,0,0],[2,20,0,0]]");
    assert_rows(thread, "stackTable", "[[null,0],[0,1],[1,2]]");
    assert_member(thread, "stringTable", "[\"main (/home/u/a.py:1)\",\"unknown (/home/u/a.py:0)\",\"[idle]\"]");
    json_decref(profile);
}

static void test_a_further_process_is_a_profile_within(void **state)
{
    json_t *profile = write_raw();
    const json_t *process = at(profile, "processes", 0);
    const json_t *thread = at(process, "threads", 0);
    (void)state;
    assert_int_equal(json_array_size(json_object_get(profile, "threads")), 2);
    assert_int_equal(json_array_size(json_object_get(profile, "processes")), 1);
    assert_member(json_object_get(process, "meta"), "version", GECKO_RAW_VERSION);
    assert_member(thread, "pid", "4300");
    assert_member(thread, "stringTable", "[\"copied (/home/u/app\xC2\xA0(1)/c.py:3)\",\"bare\"]");
    assert_null(json_object_get(json_object_get(profile, "meta"), "preprocessedProfileVersion"));
    json_decref(profile);
}

TEST_FILE(gecko_raw)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_given_in_the_order_of_first_use),
        cmocka_unit_test(test_the_next_thread_has_numbers_of_its_own),
        cmocka_unit_test(test_a_thread_has_what_it_uses),
        cmocka_unit_test(test_each_thread_has_tables_of_its_own),
        cmocka_unit_test(test_a_further_process_is_a_profile_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
