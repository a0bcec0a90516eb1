/* SPDX-License-Identifier: MIT */
#include "convert/sharing/store_answer.h"
#include "formats/base/alloc.h"

#include "tests/fakes/testing.h"

#include <string.h>

#define HEAD      "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
#define SIGNATURE "3q2-7w_A"

static void the_token_is_in_the_middle_part(void **state)
{
    (void)state;
    /* {"profileToken":"abc"}, {"profileToken":"ab-_9"}, {"iat":1,"profileToken":"abc"} */
    static const struct {
        const char *body, *token;
    } cases[] = {
        { HEAD ".eyJwcm9maWxlVG9rZW4iOiJhYmMifQ." SIGNATURE, "abc" },
        { HEAD ".eyJwcm9maWxlVG9rZW4iOiJhYmMifQ." SIGNATURE "\r\n", "abc" },
        { HEAD ".eyJwcm9maWxlVG9rZW4iOiJhYi1fOSJ9." SIGNATURE, "ab-_9" },
        { HEAD ".eyJpYXQiOjEsInByb2ZpbGVUb2tlbiI6ImFiYyJ9." SIGNATURE, "abc" },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct store_answer answer;
        struct fault why = { 0 };
        if (!store_answer_read(&answer, text_of(cases[i].body), &why))
            fail_msg("%s: %s", cases[i].body, why.text);
        assert_string_equal(answer.token, cases[i].token);
        assert_memory_equal(answer.proof, cases[i].body, strlen(answer.proof));
        assert_null(strpbrk(answer.proof, "\r\n"));
        store_answer_free(&answer);
    }
}

static void other_answers_are_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "",
        ".",
        "..",
        "a.b.c",
        "<!doctype html>",
        "{\"profileToken\":\"abc\"}",
        HEAD ".eyJwcm9maWxlVG9rZW4iOiJhYmMifQ",                       /* two parts */
        HEAD ".eyJwcm9maWxlVG9rZW4iOiJhYmMifQ." SIGNATURE ".x",       /* four parts */
        HEAD ".eyJwcm9maWxlVG9rZW4iOiJhYmMifQ.." SIGNATURE,           /* an empty part */
        HEAD ".eyJwcm9maWxlVG9rZW4iOiJhYmMifQ==." SIGNATURE,          /* padding */
        HEAD ".eyJwcm9maWxlVG9rZW4iOiJhYmMifQ." SIGNATURE "\r\nX: y", /* a header in the token */
        HEAD ".eyJwcm9maWxlVG9rZW4iOiIuLi9hIn0." SIGNATURE,           /* ../a */
        HEAD ".eyJwcm9maWxlVG9rZW4iOiIifQ." SIGNATURE,                /* an empty token */
        HEAD ".eyJwcm9maWxlVG9rZW4iOjd9." SIGNATURE,                  /* a number */
        HEAD ".W10." SIGNATURE,                                       /* [] */
    };
    for (size_t i = 0; i < countof(bodies); i++) {
        struct store_answer answer;
        struct fault why = { 0 };
        if (store_answer_read(&answer, text_of(bodies[i]), &why))
            fail_msg("%s was taken", bodies[i]);
        assert_null(answer.token);
        assert_null(answer.proof);
        assert_null(strstr(why.text, "eyJ"));
    }
}

static void sizes_are_bounded(void **state)
{
    (void)state;
    char text[STORE_ANSWER_MOST + 2];
    memset(text, 'a', sizeof(text));
    assert_true(store_answer_is_token((struct text){ text, STORE_TOKEN_MOST }));
    assert_false(store_answer_is_token((struct text){ text, STORE_TOKEN_MOST + 1 }));
    assert_false(store_answer_is_token((struct text){ 0 }));
    text[1] = text[3] = '.';
    assert_true(store_answer_is_proof((struct text){ text, STORE_ANSWER_MOST }));
    assert_false(store_answer_is_proof((struct text){ text, STORE_ANSWER_MOST + 1 }));
}

TEST_FILE(store_answer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_token_is_in_the_middle_part),
        cmocka_unit_test(other_answers_are_refused),
        cmocka_unit_test(sizes_are_bounded),
    };
    return run_all(tests);
}
