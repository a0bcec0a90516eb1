/* SPDX-License-Identifier: MIT */
#include "formats/base/text.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <string.h>

static void a_list_has_the_words_between_commas(void **state)
{
    (void)state;
    static const struct {
        const char *list, *words; /* the words, each with a blank behind it */
    } rows[] = { { "", " " }, { "a", "a " }, { "a,bc", "a bc " }, { ",a", " a " }, { "a,,b,", "a  b  " } };
    for (size_t i = 0; i < countof(rows); i++) {
        const char *list = rows[i].list;
        char words[16] = "";
        for (struct text word; text_take_word(&list, &word);)
            strcat(strncat(words, word.bytes, word.size), " ");
        assert_string_equal(words, rows[i].words);
        assert_null(list);
    }
}

static void a_text_comes_before_its_continuations(void **state)
{
    (void)state;
    static const char *const sorted[] = { "", "a", "a ", "ab", "b", "\xC3\xA4" };
    for (size_t i = 0; i < countof(sorted); i++) {
        for (size_t j = 0; j < countof(sorted); j++) {
            const int order = text_compare(text_of(sorted[i]), text_of(sorted[j]));
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
    assert_int_equal(text_compare((struct text){ 0 }, (struct text){ 0 }), 0);
}

TEST_FILE(text)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_has_the_words_between_commas),
        cmocka_unit_test(a_text_comes_before_its_continuations),
    };
    return run_all(tests);
}
