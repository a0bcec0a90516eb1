/* SPDX-License-Identifier: MIT */
#include "formats/exchange/marshal.h"

#include "formats/base/alloc.h"
#include "formats/exchange/pstats.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is written by `write`. */
static struct bytes written(void (*write)(struct output *to))
{
    struct output output = { 0 };
    struct fault why = { 0 };
    const int fd = memory_file("", 0);
    output_open_fd(&output, dup(fd), "memory", false);
    write(&output);
    assert_true(output_close(&output, NULL, &why));
    return file_bytes(fd);
}

static void assert_bytes(void (*write)(struct output *to), const char *wanted, size_t size)
{
    struct bytes bytes = written(write);
    assert_int_equal(bytes.size, size);
    assert_memory_equal(bytes.at, wanted, size);
    bytes_free(&bytes);
}

#define ASSERT_BYTES(write, literal) assert_bytes(write, literal, sizeof(literal) - 1)

static void numbers(struct output *to)
{
    marshal_number(to, 0);
    marshal_number(to, 258);
    marshal_number(to, INT32_MAX);
    marshal_number(to, (uint64_t)INT32_MAX + 1);
    marshal_number(to, UINT64_MAX);
}

/* As marshal.dumps(n, 2) of CPython 3.11 has them. */
static void test_numbers(void **state)
{
    (void)state;
    ASSERT_BYTES(numbers, "i\0\0\0\0"
                          "i\2\1\0\0"
                          "i\xFF\xFF\xFF\x7F"
                          "l\3\0\0\0\0\0\0\0\2\0"
                          "l\5\0\0\0\xFF\x7F\xFF\x7F\xFF\x7F\xFF\x7F\x0F\0");
}

static void texts(struct output *to)
{
    marshal_text(to, TEXT(""));
    marshal_text(to, TEXT("work"));
    marshal_text(to, TEXT("\xC3\xA9"));
}

static void test_texts(void **state)
{
    (void)state;
    ASSERT_BYTES(texts, "z\0z\4worku\2\0\0\0\xC3\xA9");
}

static void long_text(struct output *to)
{
    char text[256];
    memset(text, 'a', sizeof(text));
    marshal_text(to, (struct text){ text, sizeof(text) - 1 });
    marshal_text(to, (struct text){ text, sizeof(text) });
}

static void test_long_texts(void **state)
{
    (void)state;
    struct bytes bytes = written(long_text);
    assert_int_equal(bytes.size, 2 + 255 + 5 + 256);
    assert_memory_equal(bytes.at,
                        "z\xFF"
                        "a",
                        3);
    assert_memory_equal(bytes.at + 257, "u\0\1\0\0a", 6);
    bytes_free(&bytes);
}

static void others(struct output *to)
{
    marshal_begin_dict(to);
    marshal_begin_tuple(to, 1);
    marshal_float(to, 1.5);
    marshal_end_dict(to);
}

static void test_others(void **state)
{
    (void)state;
    ASSERT_BYTES(others, "{)\1g\0\0\0\0\0\0\xF8\x3F"
                         "0");
}

/* ---- a file for pstats ---- */

/* <module> calls f, f calls f, and <GC> runs in f. */
static const struct event story[] = {
    ONE_THREAD_BEGINS,
    STRING(3, "f"),
    STRING(4, "<GC>"),
    FUNCTION(2, 3, 2, 7),
    SYNTHETIC(3, 4, KIND_GC),
    FRAME(2, 2, 8),
    FRAME(3, 3, 0),
    SAMPLE(100 * MS, 1, 0, 1, 2, 2),
    SAMPLE(200 * MS, 1, 3, 3),
    SAMPLE(300 * MS, 1, 1, 2),
};

static void whole_file(struct output *to)
{
    const struct pstats_style style = { 0 };
    struct tables tables = { 0 };
    struct aggregate aggregate = { 0 };
    struct fault why = { 0 };
    for (size_t i = 0; i < countof(story); i++) {
        struct event event = story[i];
        assert_true(tables_take(&tables, &event, &why));
        if (event.kind == EVENT_RUN)
            aggregate_add_run(&aggregate, &event.run);
    }
    aggregate_sort(&aggregate);
    assert_true(pstats_write(to, &tables, &aggregate, &style));
    aggregate_free(&aggregate);
    tables_free(&tables);
}

#define NUMBER(low)  "i" low "\0\0\0"
#define MODULE(line) ")\3z\4a.py" NUMBER(line) "z\x08<module>"
#define F(line)      ")\3z\4a.py" NUMBER(line) "z\1f"
#define GC           ")\3z\1~" NUMBER("\0") "z\4<GC>"
#define ZERO         "g\0\0\0\0\0\0\0\0"
#define TENTH        "g\x9A\x99\x99\x99\x99\x99\xB9\x3F"
#define FIFTH        "g\x9A\x99\x99\x99\x99\x99\xC9\x3F"
#define THREE_TENTHS "g\x33\x33\x33\x33\x33\x33\xD3\x3F"

/* A recursive function and a recursive call count once in a sample. */
static void test_a_sample_counts_once(void **state)
{
    (void)state;
    ASSERT_BYTES(whole_file, "{" MODULE("\1") ")\5" NUMBER("\0") NUMBER("\3") ZERO THREE_TENTHS
                 "{0" F("\7") ")\5" NUMBER("\2") NUMBER("\3") FIFTH THREE_TENTHS "{" F("\7") ")\4" NUMBER("\2")
                     NUMBER("\1") TENTH FIFTH MODULE("\1") ")\4" NUMBER("\3") NUMBER("\1") TENTH THREE_TENTHS
                 "0" GC ")\5" NUMBER("\1") NUMBER("\1") TENTH TENTH "{" F("\7") ")\4" NUMBER("\1") NUMBER("\1")
                     TENTH TENTH "00");
}

TEST_FILE(exchange)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_a_sample_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
