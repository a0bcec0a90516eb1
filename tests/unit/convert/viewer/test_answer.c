/* SPDX-License-Identifier: MIT */
/* Who gets what from the server of a profile. */
#include "convert/viewer/answer.h"
#include "formats/base/alloc.h"

#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

#define TOKEN  "0123456789abcdef0123456789abcdef0123456789abcdef"
#define VIEWER "https://profiler.firefox.com"
#define HERE   "Host: 127.0.0.1:4242\r\n"

static const struct site site = {
    .token = TOKEN,
    .port = 4242,
    .origin = VIEWER,
    .by_url = VIEWER "/from-url/x/?thread=0&v=10",
    .by_page = VIEWER "/from-post-message/?a=\"<'>&v=10",
    .size = 123456,
    .gzip = true,
};

/* The answer to a request, as a string. Notes in *profile, unless `profile` is NULL, whether the profile follows. */
static char *answer_of(const char *head, bool *profile)
{
    struct request request;
    const enum request_state state = request_parse(text_of(head), &request);
    struct answer answer = answer_to(&site, state, &request);
    char *string = alloc_copy(answer.bytes.at, answer.bytes.size);
    if (profile)
        *profile = answer.profile;
    bytes_free(&answer.bytes);
    return string;
}

static void assert_has(const char *answer, const char *part)
{
    if (!strstr(answer, part))
        fail_msg("no '%s' in '%s'", part, answer);
}

static void assert_lacks(const char *answer, const char *part)
{
    if (strstr(answer, part))
        fail_msg("'%s' in '%s'", part, answer);
}

static void assert_refused(const char *head, const char *status)
{
    bool profile;
    char *answer = answer_of(head, &profile);
    assert_has(answer, status);
    assert_false(profile);
    assert_lacks(answer, "Access-Control-Allow");
    assert_lacks(answer, "profiler.firefox.com");
    assert_lacks(answer, TOKEN);
    free(answer);
}

static void the_viewer_gets_the_profile(void **state)
{
    (void)state;
    bool profile;
    char *answer = answer_of("GET /" TOKEN "/profile.json HTTP/1.1\r\n" HERE "Origin: " VIEWER "\r\n\r\n", &profile);
    assert_true(profile);
    assert_has(answer, "HTTP/1.1 200 OK\r\n");
    assert_has(answer, "\r\nAccess-Control-Allow-Origin: " VIEWER "\r\n");
    assert_has(answer, "\r\nVary: Origin\r\n");
    assert_has(answer, "\r\nContent-Type: application/json\r\n");
    assert_has(answer, "\r\nContent-Encoding: gzip\r\n");
    assert_has(answer, "\r\nContent-Length: 123456\r\n");
    assert_has(answer, "\r\nConnection: close\r\n");
    assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
    free(answer);
}

/* Without an Origin it is no page that asks, or a page of ours. */
static void others_that_know_the_token_get_the_profile(void **state)
{
    (void)state;
    bool profile;
    char *answer = answer_of("GET /" TOKEN "/profile.json?x HTTP/1.1\r\nHost: localhost:4242\r\n\r\n", &profile);
    assert_true(profile);
    assert_lacks(answer, "Access-Control-Allow");
    free(answer);
    free(answer_of("GET /" TOKEN "/profile.json HTTP/1.1\r\n" HERE "Origin: http://127.0.0.1:4242\r\n\r\n", &profile));
    assert_true(profile);
}

static void a_head_alone_is_given(void **state)
{
    (void)state;
    bool profile;
    char *answer = answer_of("HEAD /" TOKEN "/profile.json HTTP/1.1\r\n" HERE "\r\n", &profile);
    assert_false(profile);
    assert_has(answer, "Content-Length: 123456\r\n");
    free(answer);
    answer = answer_of("HEAD /" TOKEN "/ HTTP/1.1\r\n" HERE "\r\n", NULL);
    assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
    free(answer);
    answer = answer_of("HEAD / HTTP/1.1\r\n" HERE "\r\n", NULL);
    assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
    free(answer);
}

static void the_page_has_both_ways_into_the_viewer(void **state)
{
    (void)state;
    char *answer = answer_of("GET /" TOKEN "/ HTTP/1.1\r\n" HERE "\r\n", NULL);
    const char *const body = strstr(answer, "\r\n\r\n") + 4;
    char length[64];
    snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n", strlen(body));
    assert_has(answer, length);
    assert_has(answer, "Content-Type: text/html");
    assert_has(answer, "frame-ancestors 'none'");
    assert_has(body, "href=\"" VIEWER "/from-url/x/?thread=0&#38;v=10\"");
    assert_has(body, "data-viewer=\"" VIEWER "/from-post-message/?a=&#34;&#60;&#39;&#62;&#38;v=10\"");
    assert_has(body, "data-origin=\"" VIEWER "\"");
    assert_lacks(answer, "Access-Control-Allow");
    free(answer);
    answer = answer_of("GET /" TOKEN "/open.js HTTP/1.1\r\n" HERE "\r\n", NULL);
    assert_has(answer, "Content-Type: text/javascript");
    assert_has(answer, "inject-profile");
    free(answer);
}

static void a_page_of_the_viewer_may_ask_first(void **state)
{
    (void)state;
    bool profile;
    char *answer = answer_of("OPTIONS /" TOKEN "/profile.json HTTP/1.1\r\n" HERE "Origin: " VIEWER "\r\n"
                             "Access-Control-Request-Private-Network: true\r\n\r\n",
                             &profile);
    assert_false(profile);
    assert_has(answer, "HTTP/1.1 204 No Content\r\n");
    assert_has(answer, "Access-Control-Allow-Origin: " VIEWER "\r\n");
    assert_has(answer, "Access-Control-Allow-Methods: GET, HEAD\r\n");
    assert_has(answer, "Access-Control-Allow-Private-Network: true\r\n");
    free(answer);
    answer = answer_of("OPTIONS /" TOKEN "/profile.json HTTP/1.1\r\n" HERE "Origin: " VIEWER "\r\n\r\n", NULL);
    assert_lacks(answer, "Private-Network");
    free(answer);
}

static void who_lacks_the_token_learns_nothing(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/",
        "/profile.json",
        "/favicon.ico",
        "/" TOKEN,
        "//" TOKEN "/profile.json",
        "/" TOKEN "/x",
        "/" TOKEN "/profile.json/",
        "/" TOKEN "/../profile.json",
        "/" TOKEN "%2Fprofile.json",
        "/0123456789abcdef0123456789abcdef0123456789abcdeF/profile.json",
        "/1123456789abcdef0123456789abcdef0123456789abcdef/profile.json",
        "/0123456789abcdef/profile.json",
    };
    for (size_t i = 0; i < countof(paths); i++) {
        char head[256];
        snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n" HERE "Origin: " VIEWER "\r\n\r\n", paths[i]);
        assert_refused(head, "HTTP/1.1 404 ");
    }
    assert_refused("OPTIONS /profile.json HTTP/1.1\r\n" HERE "Origin: " VIEWER "\r\n\r\n", "HTTP/1.1 404 ");
}

/* The host of a page whose name was made to lead to this machine. */
static void another_host_is_refused(void **state)
{
    (void)state;
    static const char *const hosts[] = { "",
                                         "Host: evil.example:4242\r\n",
                                         "Host: 127.0.0.1\r\n",
                                         "Host: 127.0.0.1:4243\r\n",
                                         "Host: 127.0.0.1:42420\r\n",
                                         "Host: localhost.evil.example:4242\r\n",
                                         "Host: 127.0.0.1:4242@evil.example\r\n" };
    for (size_t i = 0; i < countof(hosts); i++) {
        char head[256];
        snprintf(head, sizeof(head), "GET /" TOKEN "/profile.json HTTP/1.1\r\n%s\r\n", hosts[i]);
        assert_refused(head, "HTTP/1.1 421 ");
    }
}

static void a_page_of_another_site_is_refused(void **state)
{
    (void)state;
    static const char *const origins[] = { "https://evil.example",  "null",         "http://profiler.firefox.com",
                                           VIEWER ".evil.example",  VIEWER ":8080", "http://127.0.0.1:4243",
                                           "https://127.0.0.1:4242" };
    for (size_t i = 0; i < countof(origins); i++) {
        char head[256];
        snprintf(head, sizeof(head), "GET /" TOKEN "/profile.json HTTP/1.1\r\n" HERE "Origin: %s\r\n\r\n", origins[i]);
        assert_refused(head, "HTTP/1.1 403 ");
    }
}

/* A page can make a browser ask for an image or a script, without an Origin. */
static void a_page_that_reads_nothing_gets_nothing(void **state)
{
    (void)state;
    bool profile;
    assert_refused("GET /" TOKEN "/profile.json HTTP/1.1\r\n" HERE "Sec-Fetch-Site: cross-site\r\n\r\n",
                   "HTTP/1.1 403 ");
    free(answer_of("GET /" TOKEN "/profile.json HTTP/1.1\r\n" HERE "Sec-Fetch-Site: same-origin\r\n\r\n", &profile));
    assert_true(profile);
    free(answer_of("GET /" TOKEN "/profile.json HTTP/1.1\r\n" HERE "Sec-Fetch-Site: cross-site\r\nOrigin: " VIEWER
                   "\r\n\r\n",
                   &profile));
    assert_true(profile);
    char *answer = answer_of("GET /" TOKEN "/ HTTP/1.1\r\n" HERE "Sec-Fetch-Site: cross-site\r\n\r\n", NULL);
    assert_has(answer, "HTTP/1.1 200 OK\r\n"); /* somebody clicked on a link in another page */
    free(answer);
}

static void other_methods_and_bodies_are_refused(void **state)
{
    (void)state;
    assert_refused("POST /" TOKEN "/profile.json HTTP/1.1\r\n" HERE "\r\n", "HTTP/1.1 405 ");
    assert_refused("PUT /" TOKEN "/ HTTP/1.1\r\n" HERE "\r\n", "\r\nAllow: GET, HEAD, OPTIONS\r\n");
    assert_refused("GET /" TOKEN "/ HTTP/1.1\r\n" HERE "Content-Length: 1\r\n\r\n", "HTTP/1.1 400 ");
    assert_refused("GET /" TOKEN "/ HTTP/3\r\n" HERE "\r\n", "HTTP/1.1 400 ");
}

static void a_large_request_is_refused(void **state)
{
    (void)state;
    char head[REQUEST_MOST + 1];
    memset(head, 'x', REQUEST_MOST);
    head[REQUEST_MOST] = '\0';
    assert_refused(head, "HTTP/1.1 431 ");
}

TEST_FILE(answer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_viewer_gets_the_profile),
        cmocka_unit_test(others_that_know_the_token_get_the_profile),
        cmocka_unit_test(a_head_alone_is_given),
        cmocka_unit_test(the_page_has_both_ways_into_the_viewer),
        cmocka_unit_test(a_page_of_the_viewer_may_ask_first),
        cmocka_unit_test(who_lacks_the_token_learns_nothing),
        cmocka_unit_test(another_host_is_refused),
        cmocka_unit_test(a_page_of_another_site_is_refused),
        cmocka_unit_test(a_page_that_reads_nothing_gets_nothing),
        cmocka_unit_test(other_methods_and_bodies_are_refused),
        cmocka_unit_test(a_large_request_is_refused),
    };
    return run_all(tests);
}
