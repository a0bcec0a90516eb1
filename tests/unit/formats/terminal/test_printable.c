/* SPDX-License-Identifier: MIT */
#include "formats/terminal/printable.h"

#include "tests/fakes/testing.h"

#include <string.h>

static void expect(struct text text, bool ascii, const char *wanted)
{
    struct bytes to = { 0 };
    put_printable(&to, text, ascii);
    put_bytes(&to, "", 1);
    assert_string_equal((const char *)to.at, wanted);
    bytes_free(&to);
}

static void plain_text_stays(void **state)
{
    (void)state;
    expect(TEXT("main (app.py:7) \\ ~"), false, "main (app.py:7) \\ ~");
    expect(TEXT("caf\u00e9 \u4e2d\u6587 \U0001F40D"), false, "caf\u00e9 \u4e2d\u6587 \U0001F40D");
    expect(TEXT(""), false, "");
}

static void commands_to_a_terminal_are_escaped(void **state)
{
    (void)state;
    expect(TEXT("a\033[2Jb"), false, "a\\x1b[2Jb");
    expect(TEXT("a\r\n\tb\x7f"), false, "a\\x0d\\x0a\\x09b\\x7f");
    expect(TEXT("\xc2\x9b"
                "31m"),
           false, "\\x9b31m"); /* C1: one character that begins a command */
    expect((struct text){ "a\0b", 3 }, false, "a\\x00b");
}

static void hidden_characters_are_escaped(void **state)
{
    (void)state;
    expect(TEXT("admin\u202efdp.exe"), false, "admin\\u202efdp.exe");
    expect(TEXT("\u2066a\u2069\u200b\u2028\ufeff"), false, "\\u2066a\\u2069\\u200b\\u2028\\ufeff");
    expect(TEXT("\U000E0041"), false, "\\U000e0041");
}

static void ascii_is_ascii(void **state)
{
    (void)state;
    expect(TEXT("caf\u00e9"), true, "caf\\xe9");
    expect(TEXT("\u4e2d \U0001F40D"), true, "\\u4e2d \\U0001f40d");
}

static void bytes_that_are_no_text_are_escaped(void **state)
{
    (void)state;
    expect(TEXT("a\xff\xc3"), false, "a\\xff\\xc3");
    expect(TEXT("\xed\xa0\x80"), false, "\\xed\\xa0\\x80"); /* a surrogate */
    expect(TEXT("\xc0\xaf"), true, "\\xc0\\xaf");           /* an overlong slash */
}

/* Whatever the bytes are, only printable ones come out. */
static void no_byte_comes_through(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int i = 0; i < (int)soak(2000); i++) {
        char noise[24];
        struct bytes to = { 0 };
        for (size_t j = 0; j < sizeof(noise); j++)
            noise[j] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
        put_printable(&to, (struct text){ noise, sizeof(noise) }, true);
        for (size_t j = 0; j < to.size; j++)
            assert_in_range(to.at[j], ' ', '~');
        bytes_free(&to);
    }
}

TEST_FILE(printable)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_stays),
        cmocka_unit_test(commands_to_a_terminal_are_escaped),
        cmocka_unit_test(hidden_characters_are_escaped),
        cmocka_unit_test(ascii_is_ascii),
        cmocka_unit_test(bytes_that_are_no_text_are_escaped),
        cmocka_unit_test(no_byte_comes_through),
    };
    return run_all(tests);
}
