/* SPDX-License-Identifier: MIT */
#include "formats/terminal/width.h"

#include "tests/fakes/testing.h"

#include <string.h>

static void widths_are_those_of_terminals(void **state)
{
    (void)state;
    assert_int_equal(width_of(TEXT("")), 0);
    assert_int_equal(width_of(TEXT("main")), 4);
    assert_int_equal(width_of(TEXT("caf\u00e9")), 4);
    assert_int_equal(width_of(TEXT("cafe\u0301")), 4); /* the accent is a character of its own */
    assert_int_equal(width_of(TEXT("\u4e2d\u6587")), 4);
    assert_int_equal(width_of(TEXT("\uff21\uac00\U0001F40D")), 6);
    assert_int_equal(width_of(TEXT("\u2500\u2514 \u00b5s")), 5); /* lines of a tree */
}

static void shorten(const char *text, size_t columns, bool ascii, const char *wanted)
{
    struct bytes to = { 0 };
    const size_t used = width_put_shortened(&to, text_of(text), columns, ascii);
    assert_true(used <= columns);
    assert_int_equal(used, width_of((struct text){ (const char *)to.at, to.size }));
    put_bytes(&to, "", 1);
    assert_string_equal((const char *)to.at, wanted);
    bytes_free(&to);
}

static void the_middle_goes(void **state)
{
    (void)state;
    shorten("short", 5, false, "short");
    shorten("Request.handle_everything", 15, false, "Request\u2026rything");
    shorten("Request.handle_everything", 15, true, "Reques...ything");
    shorten("abcdef", 1, false, "a");
    shorten("abcdef", 2, true, "ab");
    shorten("abcdef", 0, false, "");
}

static void shorten_path(const char *path, size_t columns, bool ascii, const char *wanted)
{
    struct bytes to = { 0 };
    assert_true(width_put_path(&to, text_of(path), columns, ascii) <= columns);
    put_bytes(&to, "", 1);
    assert_string_equal((const char *)to.at, wanted);
    bytes_free(&to);
}

static void the_last_part_of_a_path_stays(void **state)
{
    (void)state;
    shorten_path("app.py:9", 8, false, "app.py:9");
    shorten_path("mesonbuild/compilers/compilers.py:17", 24, true, "meson.../compilers.py:17");
    shorten_path("mesonbuild/compilers/compilers.py:17", 20, false, "mes\u2026/compilers.py:17");
    shorten_path("json/tool/__init__.py:9", 20, false, "\u2026/tool/__init__.py:9"); /* which package? */
    shorten_path("a/compilers.py:17", 10, false, "\u2026ers.py:17");                 /* not even the name fits */
    shorten_path("<frozen importlib._bootstrap>", 11, false, "<froz\u2026trap>");
}

static void wide_characters_are_not_cut_in_two(void **state)
{
    (void)state;
    shorten("\u4e2d\u6587\u4e2d\u6587", 8, false, "\u4e2d\u6587\u4e2d\u6587");
    shorten("\u4e2d\u6587\u4e2d\u6587", 7, false, "\u4e2d\u2026\u4e2d\u6587");
    shorten("\u4e2d\u6587\u4e2d\u6587", 6, false, "\u4e2d\u2026\u6587");
    shorten("\u4e2d\u6587", 3, true, "\u4e2d");
}

static void every_width_fits(void **state)
{
    (void)state;
    const struct text text = TEXT("a\u4e2db\u0301c\U0001F40Dd\u00e9\u6587\u6587efg");
    for (size_t columns = 0; columns < 20; columns++)
        for (int ascii = 0; ascii < 2; ascii++) {
            struct bytes to = { 0 };
            const size_t used = width_put_shortened(&to, text, columns, ascii);
            assert_true(used <= columns);
            assert_int_equal(used, width_of((struct text){ (const char *)to.at, to.size }));
            bytes_free(&to);
        }
}

static void blanks(void **state)
{
    (void)state;
    struct bytes to = { 0 };
    width_put_blanks(&to, 70);
    assert_int_equal(to.size, 70);
    assert_int_equal(to.at[69], ' ');
    bytes_free(&to);
}

TEST_FILE(width)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_those_of_terminals),
        cmocka_unit_test(the_middle_goes),
        cmocka_unit_test(the_last_part_of_a_path_stays),
        cmocka_unit_test(wide_characters_are_not_cut_in_two),
        cmocka_unit_test(every_width_fits),
        cmocka_unit_test(blanks),
    };
    return run_all(tests);
}
