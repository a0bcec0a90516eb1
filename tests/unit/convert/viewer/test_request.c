/* SPDX-License-Identifier: MIT */
/* Heads of requests: what is taken from them, and which are refused. */
#include "convert/viewer/request.h"
#include "formats/base/alloc.h"

#include "tests/fakes/testing.h"

#include <string.h>

static enum request_state parse(const char *head, struct request *request)
{
    return request_parse(text_of(head), request);
}

static void a_request_says_what_is_needed(void **state)
{
    (void)state;
    struct request request;
    assert_int_equal(parse("GET /a/b.json?x=/y HTTP/1.1\r\nAccept: */*\r\nHOST:\t127.0.0.1:4242 \r\n"
                           "Origin: https://profiler.firefox.com\r\nX:\r\n\r\nbehind",
                           &request),
                     REQUEST_WHOLE);
    assert_int_equal(request.method, METHOD_GET);
    assert_text(request.path, "/a/b.json");
    assert_text(request.host, "127.0.0.1:4242");
    assert_text(request.origin, "https://profiler.firefox.com");
    assert_false(request.body);
    assert_false(request.private_network);
}

static void methods_are_known_by_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        enum request_method method;
    } cases[] = {
        { "GET / HTTP/1.1\r\n\r\n", METHOD_GET },         { "HEAD / HTTP/1.0\r\n\r\n", METHOD_HEAD },
        { "OPTIONS / HTTP/1.1\r\n\r\n", METHOD_OPTIONS }, { "POST / HTTP/1.1\r\n\r\n", METHOD_OTHER },
        { "get / HTTP/1.1\r\n\r\n", METHOD_OTHER },       { "GETS / HTTP/1.1\r\n\r\n", METHOD_OTHER },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct request request;
        assert_int_equal(parse(cases[i].head, &request), REQUEST_WHOLE);
        assert_int_equal(request.method, cases[i].method);
    }
}

static void a_body_is_noticed(void **state)
{
    (void)state;
    struct request request;
    assert_int_equal(parse("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", &request), REQUEST_WHOLE);
    assert_false(request.body);
    assert_int_equal(parse("GET / HTTP/1.1\r\nContent-Length: 00\r\n\r\n", &request), REQUEST_WHOLE);
    assert_true(request.body);
    assert_int_equal(parse("GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", &request), REQUEST_WHOLE);
    assert_true(request.body);
}

static void a_question_for_the_private_network_is_noticed(void **state)
{
    (void)state;
    struct request request;
    assert_int_equal(parse("OPTIONS / HTTP/1.1\r\nAccess-Control-Request-Private-Network: true\r\n\r\n", &request),
                     REQUEST_WHOLE);
    assert_true(request.private_network);
    parse("OPTIONS / HTTP/1.1\r\nAccess-Control-Request-Private-Network: false\r\n\r\n", &request);
    assert_false(request.private_network);
}

static void a_page_of_another_origin_is_noticed(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        bool foreign;
    } cases[] = {
        { "GET / HTTP/1.1\r\n\r\n", false },
        { "GET / HTTP/1.1\r\nSec-Fetch-Site: none\r\n\r\n", false },
        { "GET / HTTP/1.1\r\nsec-fetch-site: same-origin\r\n\r\n", false },
        { "GET / HTTP/1.1\r\nSec-Fetch-Site: same-site\r\n\r\n", true },
        { "GET / HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\n\r\n", true },
        { "GET / HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none\r\n\r\n", true },
        { "GET / HTTP/1.1\r\nSec-Fetch-Site:\r\n\r\n", true },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct request request;
        assert_int_equal(parse(cases[i].head, &request), REQUEST_WHOLE);
        assert_int_equal(request.foreign, cases[i].foreign);
    }
}

static void what_breaks_a_rule_is_bad(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/2\r\n\r\n",
        "GET / HTTP/1.1 x\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
        "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\n\r\n",
        "CONNECT host:80 HTTP/1.1\r\n\r\n",
        "G@T / HTTP/1.1\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\nOrigin: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\n: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nOrigin: a\r\nOrigin: b\r\n\r\n",
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct request request;
        assert_int_equal(parse(cases[i], &request), REQUEST_BAD);
    }
    struct request request;
    static const char zero[] = "GET /\0 HTTP/1.1\r\n\r\n";
    assert_int_equal(request_parse((struct text){ zero, sizeof(zero) - 1 }, &request), REQUEST_BAD);
}

static void each_part_of_a_request_is_partial(void **state)
{
    (void)state;
    const struct text whole = TEXT("GET /a HTTP/1.1\r\nHost: 127.0.0.1:4242\r\n\r\n");
    struct request request;
    for (size_t size = 0; size < whole.size; size++)
        assert_int_equal(request_parse((struct text){ whole.bytes, size }, &request), REQUEST_PARTIAL);
    assert_int_equal(request_parse(whole, &request), REQUEST_WHOLE);
}

/* A head of so many bytes, with the end of a head or without. The caller frees the bytes. */
static struct text head_of(size_t size, bool whole)
{
    static const char begin[] = "GET / HTTP/1.1\r\nX: ", end[] = "\r\n\r\n";
    char *bytes = alloc_zeroed(size, 1);
    memset(bytes, 'x', size);
    memcpy(bytes, begin, strlen(begin));
    if (whole)
        memcpy(bytes + size - strlen(end), end, strlen(end));
    return (struct text){ bytes, size };
}

static void assert_head(size_t size, bool whole, enum request_state expected)
{
    struct request request;
    const struct text head = head_of(size, whole);
    assert_int_equal(request_parse(head, &request), expected);
    text_free(head);
}

static void a_large_head_is_refused(void **state)
{
    (void)state;
    assert_head(REQUEST_MOST, true, REQUEST_WHOLE);
    assert_head(REQUEST_MOST - 1, false, REQUEST_PARTIAL);
    assert_head(REQUEST_MOST, false, REQUEST_LARGE);
    assert_head(REQUEST_MOST + 1, true, REQUEST_LARGE);
}

static enum request_state parse_headers(unsigned count)
{
    char head[4096] = "GET / HTTP/1.1\r\n";
    struct request request;
    for (unsigned i = 0; i < count; i++)
        strcat(head, "X: y\r\n");
    return parse(strcat(head, "\r\n"), &request);
}

static void many_headers_are_refused(void **state)
{
    (void)state;
    assert_int_equal(parse_headers(0), REQUEST_WHOLE);
    assert_int_equal(parse_headers(REQUEST_HEADERS), REQUEST_WHOLE);
    assert_int_equal(parse_headers(REQUEST_HEADERS + 1), REQUEST_LARGE);
}

TEST_FILE(request)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_says_what_is_needed),
        cmocka_unit_test(methods_are_known_by_their_names),
        cmocka_unit_test(a_body_is_noticed),
        cmocka_unit_test(a_question_for_the_private_network_is_noticed),
        cmocka_unit_test(a_page_of_another_origin_is_noticed),
        cmocka_unit_test(what_breaks_a_rule_is_bad),
        cmocka_unit_test(each_part_of_a_request_is_partial),
        cmocka_unit_test(a_large_head_is_refused),
        cmocka_unit_test(many_headers_are_refused),
    };
    return run_all(tests);
}
