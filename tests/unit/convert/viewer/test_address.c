/* SPDX-License-Identifier: MIT */
#include "convert/viewer/address.h"
#include "formats/base/alloc.h"

#include "tests/fakes/testing.h"

#include <string.h>

static void urls_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text, *origin;
        bool encrypted, loopback;
    } cases[] = {
        { "https://api.profiler.firefox.com", "https://api.profiler.firefox.com", true, false },
        { "HTTPS://Store.example:8443/a/b?x=1#y", "https://Store.example:8443", true, false },
        { "http://localhost:80/", "http://localhost:80", false, true },
        { "http://a.localhost", "http://a.localhost", false, true },
        { "http://mylocalhost", "http://mylocalhost", false, false },
        { "http://127.0.0.1:8000/p.json.gz", "http://127.0.0.1:8000", false, true },
        { "http://127.evil.example/", "http://127.evil.example", false, false },
        { "http://[::1]:9/x", "http://[::1]:9", false, true },
        { "http://[fe80::1]/x", "http://[fe80::1]", false, false },
        { "https://x.example/@me", "https://x.example", true, false },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct address address;
        struct fault why = { 0 };
        if (!address_parse(&address, cases[i].text, "it", &why))
            fail_msg("%s: %s", cases[i].text, why.text);
        assert_int_equal(address.origin_size, strlen(cases[i].origin));
        assert_memory_equal(address.url, cases[i].origin, address.origin_size);
        assert_int_equal(address.encrypted, cases[i].encrypted);
        assert_int_equal(address.loopback, cases[i].loopback);
        address_free(&address);
    }
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "https",
        "https://",
        "http:///x",
        "ftp://x.example",
        "file:///etc/passwd",
        "//x",
        "javascript:1",
        "https://x y",
        "https://x/\x1b[m",
        "https://x\r\nA:",
        "https://u:p@x/",
        "https://u@",
        "https://x:0/",
        "https://x:65536",
        "https://x:",
        "https://x:12345678901234567890",
        "https://[x",
        "https://[]:1/",
        "https://x\"",
        "https://x\\y",
        "https://\xc3\xa9.example",
    };
    for (size_t i = 0; i < countof(texts); i++) {
        struct address address;
        struct fault why = { 0 };
        if (address_parse(&address, texts[i], "it", &why))
            fail_msg("%s was taken", texts[i]);
        assert_memory_equal(why.text, "it ", 3);
        assert_null(address.url);
    }
}

static void a_long_text_is_refused(void **state)
{
    (void)state;
    char text[ADDRESS_MOST + 2] = "https://x/";
    struct address address;
    struct fault why = { 0 };
    memset(text + 10, 'a', sizeof(text) - 11);
    assert_false(address_parse(&address, text, "it", &why));
    text[ADDRESS_MOST] = '\0';
    assert_true(address_parse(&address, text, "it", NULL));
    address_free(&address);
}

static void a_server_has_no_slash_at_its_end(void **state)
{
    (void)state;
    struct address address;
    assert_true(address_parse_server(&address, "https://x.example/", "it", NULL));
    assert_string_equal(address.url, "https://x.example");
    address_free(&address);
    assert_true(address_parse_server(&address, "https://x.example/store//", "it", NULL));
    assert_string_equal(address.url, "https://x.example/store");
    address_free(&address);
    assert_false(address_parse_server(&address, "https://x.example/?a=1", "it", NULL));
    assert_false(address_parse_server(&address, "https://x.example/#a", "it", NULL));
    assert_null(address.url);
}

TEST_FILE(address)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_taken_apart),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(a_long_text_is_refused),
        cmocka_unit_test(a_server_has_no_slash_at_its_end),
    };
    return run_all(tests);
}
