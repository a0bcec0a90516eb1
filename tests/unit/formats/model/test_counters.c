/* SPDX-License-Identifier: MIT */
#include "formats/model/counters.h"

#include "formats/base/alloc.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set(struct counters *list, const char *name, uint64_t value)
{
    struct fault why = { 0 };
    if (!counters_set(list, text_of(name), value, &why))
        fail_msg("%s: %s", name, why.text);
}

/* The line has a label, the value, and behind the value what it is compared with. */
static void assert_line(const struct counters *list, size_t row, const char *value, const char *compared)
{
    char *line = counters_line(list, row);
    const char *at = strstr(line, value);
    assert_true(at && at > line && at[-1] == ' ');
    const char *behind = at + strlen(value);
    assert_string_equal(behind + strspn(behind, " "), compared);
    free(line);
}

static void the_later_value_holds(void **state)
{
    (void)state;
    struct counters list = { 0 };
    set(&list, "reads", 1);
    set(&list, "reads_of_code", 2);
    set(&list, "read", 3);
    set(&list, "reads", UINT64_MAX);
    assert_int_equal(list.count, 3);
    assert_true(counters_get(&list, "reads") == UINT64_MAX);
    assert_int_equal(counters_get(&list, "reads_of_code"), 2);
    assert_int_equal(counters_get(&list, "read"), 3);
    assert_int_equal(counters_get(&list, "rea"), 0);
    assert_text(list.rows[0].name, "reads");
    counters_free(&list);
    assert_int_equal(list.count, 0);
}

static void what_is_no_name_is_refused(void **state)
{
    (void)state;
    static const char long_name[] = "a2345678901234567890123456789012345678901234567890123456789_1234";
    static const struct {
        struct text name;
        bool good;
    } rows[] = {
        { T("a"), true },
        { T("_9z"), true },
        { { long_name, 64 }, true },
        { { "a23456789012345678901234567890123456789012345678901234567890_1234", 65 }, false },
        { T(""), false },
        { { NULL, 0 }, false },
        { T("Reads"), false },
        { T("a b"), false },
        { T("a\nb"), false },
        { T("a\0b"), false },
        { T("\xC3\xA9"), false },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct counters list = { 0 };
        struct fault why = { 0 };
        assert_int_equal(counters_set(&list, rows[i].name, 1, &why), rows[i].good);
        assert_int_equal(why.text[0] == '\0', rows[i].good);
        assert_int_equal(list.count, rows[i].good);
        counters_free(&list);
    }
}

static void there_are_not_too_many(void **state)
{
    (void)state;
    struct counters list = { 0 };
    struct fault why = { 0 };
    char name[16];
    for (int i = 0; i < COUNTERS_LIMIT; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        set(&list, name, 7);
    }
    assert_false(counters_set(&list, TEXT("one_more"), 7, &why));
    assert_non_null(strstr(why.text, "128"));
    set(&list, "f127", 8); /* a known one can be told again */
    assert_int_equal(list.count, COUNTERS_LIMIT);
    counters_free(&list);
}

static void lines_have_words_and_are_compared(void **state)
{
    (void)state;
    struct counters list = { 0 };
    set(&list, "samples", 2000);
    set(&list, "cache_full", 900);
    set(&list, "cache_partial", 90);
    set(&list, "cache_missed", 10);
    set(&list, "reads", 3000);
    set(&list, "of_a_later_version", UINT64_MAX);
    assert_line(&list, 0, "2000", "");
    assert_line(&list, 1, "900", "90.0 %");
    assert_line(&list, 4, "3000", "1.50 per sample");
    assert_line(&list, 5, "18446744073709551615", "");
    counters_free(&list);
}

static void nothing_is_compared_with_nothing(void **state)
{
    (void)state;
    struct counters list = { 0 };
    set(&list, "cache_full", 0);
    set(&list, "reads", 7);
    assert_line(&list, 0, "0", "");
    assert_line(&list, 1, "7", "");
    counters_free(&list);
}

/* A recording has a few counters early, and all of them at its end. */
static void the_order_is_that_of_the_wordings(void **state)
{
    (void)state;
    static const char *const orders[][5] = { { "samples", "samples_live", "reads", "later_2", "later_1" },
                                             { "later_2", "reads", "samples", "later_1", "samples_live" },
                                             { "reads", "later_2", "samples_live", "later_1", "samples" } };
    for (size_t i = 0; i < countof(orders); i++) {
        struct counters list = { 0 };
        for (size_t j = 0; j < countof(orders[i]); j++)
            set(&list, orders[i][j], j);
        for (size_t j = 0; j < countof(orders[0]); j++)
            assert_string_equal(list.rows[j].name.bytes, orders[0][j]);
        counters_free(&list);
    }
}

TEST_FILE(counters)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_later_value_holds),
        cmocka_unit_test(what_is_no_name_is_refused),
        cmocka_unit_test(there_are_not_too_many),
        cmocka_unit_test(lines_have_words_and_are_compared),
        cmocka_unit_test(nothing_is_compared_with_nothing),
        cmocka_unit_test(the_order_is_that_of_the_wordings),
    };
    return run_all(tests);
}
