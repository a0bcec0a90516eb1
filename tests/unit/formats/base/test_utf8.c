/* SPDX-License-Identifier: MIT */
#include "formats/base/utf8.h"

#include "formats/base/alloc.h"
#include "formats/base/fault.h"
#include "formats/model/event.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *bytes;
    size_t size;
    bool valid;
    const char *clean;
} rows[] = {
    { "", 0, true, "" },
    { "plain", 5, true, "plain" },
    { "\x7F", 1, true, "\x7F" },
    { "\xC2\x80", 2, true, "\xC2\x80" },
    { "\xDF\xBF", 2, true, "\xDF\xBF" },
    { "\xE0\xA0\x80", 3, true, "\xE0\xA0\x80" },
    { "\xED\x9F\xBF", 3, true, "\xED\x9F\xBF" },
    { "\xEE\x80\x80", 3, true, "\xEE\x80\x80" },
    { "\xEF\xBF\xBF", 3, true, "\xEF\xBF\xBF" },
    { "\xF0\x90\x80\x80", 4, true, "\xF0\x90\x80\x80" },
    { "\xF4\x8F\xBF\xBF", 4, true, "\xF4\x8F\xBF\xBF" },
    { "a\0b", 3, false, "a\\x00b" },                          /* NUL */
    { "\xC0\x80", 2, false, "\\xc0\\x80" },                   /* NUL in two bytes */
    { "\xC1\xBF", 2, false, "\\xc1\\xbf" },                   /* longer than need be */
    { "\xE0\x9F\xBF", 3, false, "\\xe0\\x9f\\xbf" },          /* the same */
    { "\xF0\x8F\xBF\xBF", 4, false, "\\xf0\\x8f\\xbf\\xbf" }, /* the same */
    { "\xED\xA0\x80", 3, false, "\\xed\\xa0\\x80" },          /* first surrogate */
    { "\xED\xBF\xBF", 3, false, "\\xed\\xbf\\xbf" },          /* last surrogate */
    { "\xF4\x90\x80\x80", 4, false, "\\xf4\\x90\\x80\\x80" }, /* above 0x10FFFF */
    { "\xF8\x88\x80\x80\x80", 5, false, "\\xf8\\x88\\x80\\x80\\x80" },
    { "\x80", 1, false, "\\x80" },                   /* begins in the middle */
    { "\xC3", 1, false, "\\xc3" },                   /* ends in the middle */
    { "\xE2\x82", 2, false, "\\xe2\\x82" },          /* the same */
    { "\xF0\x9F\x90", 3, false, "\\xf0\\x9f\\x90" }, /* the same */
    { "\xC3(x", 3, false, "\\xc3(x" },               /* interrupted */
    { "a\xFF"
      "b\xC3\xA4",
      5, false,
      "a\\xff"
      "b\xC3\xA4" },
};

static void tells_utf8_from_other_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rows); i++)
        if (utf8_valid(rows[i].bytes, rows[i].size) != rows[i].valid)
            fail_msg("row %zu (%s)", i, rows[i].clean);
}

static void cleans_what_is_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        const struct text clean = utf8_clean((struct text){ rows[i].bytes, rows[i].size });
        assert_int_equal(clean.size, strlen(rows[i].clean));
        assert_memory_equal(clean.bytes, rows[i].clean, clean.size + 1);
        assert_true(utf8_valid(clean.bytes, clean.size));
        text_free(clean);
    }
}

static void writes_code_points(void **state)
{
    (void)state;
    static const struct {
        uint32_t code_point;
        const char *written;
    } points[] = {
        { 0x1, "\x01" },
        { 'a', "a" },
        { 0x7F, "\x7F" },
        { 0x80, "\xC2\x80" },
        { 0x7FF, "\xDF\xBF" },
        { 0x800, "\xE0\xA0\x80" },
        { 0xD7FF, "\xED\x9F\xBF" },
        { 0xE000, "\xEE\x80\x80" },
        { 0xFFFF, "\xEF\xBF\xBF" },
        { 0x10000, "\xF0\x90\x80\x80" },
        { 0x1F40D, "\xF0\x9F\x90\x8D" },
        { 0x10FFFF, "\xF4\x8F\xBF\xBF" },
        /* bytes that Python could not decode, kept as lone surrogates */
        { 0xDC80, "\\x80" },
        { 0xDCE4, "\\xe4" },
        { 0xDCFF, "\\xff" },
        /* what UTF-8 can't hold */
        { 0, "\xEF\xBF\xBD" },
        { 0xD800, "\xEF\xBF\xBD" },
        { 0xDC7F, "\xEF\xBF\xBD" },
        { 0xDD00, "\xEF\xBF\xBD" },
        { 0xDFFF, "\xEF\xBF\xBD" },
        { 0x110000, "\xEF\xBF\xBD" },
        { UINT32_MAX, "\xEF\xBF\xBD" },
    };
    for (size_t i = 0; i < countof(points); i++) {
        char room[6];
        const size_t size = utf8_put(room, points[i].code_point);
        assert_int_equal(size, strlen(points[i].written));
        assert_memory_equal(room, points[i].written, size);
    }
}

static void every_code_point_is_valid_when_written(void **state)
{
    (void)state;
    for (uint32_t code_point = 0; code_point < 0x110100; code_point++) {
        char room[6];
        const size_t size = utf8_put(room, code_point);
        if (size < 1 || size > sizeof(room) || !utf8_valid(room, size))
            fail_msg("code point %x", code_point);
    }
}

static void prints_no_control_characters(void **state)
{
    (void)state;
    static const struct {
        struct text text;
        const char *printed;
    } cases[] = {
        { T("a\x1B[31m\n\x7F"), "a\\x1b[31m\\x0a\\x7f" },
        { T("/home/andr\xC3\xA9"), "/home/andr\xC3\xA9" },
        { T("a\xC2\x9B"
            "31m\xC2\xA0"),
          "a\\x9b31m\xC2\xA0" },
        { T("a\x9B"
            "31m\xC3\xA9"),
          "a\\x9b31m\xC3\xA9" },
        { T("a\xC2"), "a\\xc2" },
        { T("a\\x1b\\"), "a\\x1b\\" },
        { T(""), "" },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        char *printed;
        size_t size;
        FILE *to = open_memstream(&printed, &size);
        utf8_print(to, cases[i].text);
        fclose(to);
        assert_string_equal(printed, cases[i].printed);
        assert_string_equal(utf8_shown(cases[i].text.bytes), cases[i].printed);
        free(printed);
    }
}

static void a_fault_can_be_printed(void **state)
{
    (void)state;
    struct fault why = { 0 };
    char small[8];
    assert_false(fault(&why, "cannot open %s: %s", "a\x1B]0;x\x07\nroot@host:~# ", "no such file"));
    assert_string_equal(why.text, "cannot open a\\x1b]0;x\\x07\\x0aroot@host:~# : no such file");
    utf8_show_string(small, sizeof(small), "abcde\x1B");
    assert_string_equal(small, "abcde"); /* no escape is cut in two */
}

TEST_FILE(utf8)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_utf8_from_other_bytes),  cmocka_unit_test(cleans_what_is_not),
        cmocka_unit_test(writes_code_points),           cmocka_unit_test(every_code_point_is_valid_when_written),
        cmocka_unit_test(prints_no_control_characters), cmocka_unit_test(a_fault_can_be_printed),
    };
    return run_all(tests);
}
