/* SPDX-License-Identifier: MIT */
/* The viewer's addresses, as the viewer's own code writes and reads them. */
#include "convert/viewer/links.h"
#include "formats/base/alloc.h"

#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

static void assert_link(char *link, const char *expected)
{
    assert_string_equal(link, expected);
    free(link);
}

static void links_name_the_profile_and_the_view(void **state)
{
    (void)state;
    static const uint32_t first[] = { 0 };
    const struct link_profile unknown = { 0 };
    const struct link_profile known = { .threads = first, .threads_count = 1, .own_code = 3 };
    const char *const url = "http://127.0.0.1:4242/ab~c/profile.json";
    assert_link(link_from_url(LINK_VIEWER, url, VIEW_MY_CODE, &known),
                "https://profiler.firefox.com/from-url/http%3A%2F%2F127.0.0.1%3A4242%2Fab~c%2Fprofile.json/flame-graph/"
                "?thread=0&transforms=fg-3&v=10");
    assert_link(link_public("http://profiler.example.org/", "a/b c\xC3\xA4", VIEW_GIL, &known),
                "http://profiler.example.org/public/a%2Fb%20c%C3%A4/calltree/"
                "?thread=0&search=%5Bwaiting%20for%20GIL%5D&invertCallstack&v=10");
    assert_link(
        link_from_page(LINK_VIEWER, VIEW_GC, &known),
        "https://profiler.firefox.com/from-post-message/calltree/?thread=0&search=%3CGC%3E&invertCallstack&v=10");
    assert_link(link_public(LINK_VIEWER, "t", VIEW_IMPORTS, &unknown),
                "https://profiler.firefox.com/public/t/flame-graph/?search=importlib&v=10");
    assert_link(link_public(LINK_VIEWER, "t", VIEW_FLAME, &unknown),
                "https://profiler.firefox.com/public/t/flame-graph/?v=10");
    assert_link(link_public(LINK_VIEWER, "t", VIEW_NONE, &known),
                "https://profiler.firefox.com/public/t/calltree/?thread=0&v=10");
}

/* The viewer applies a transform to the selected threads, so a transform needs one. */
static void a_focus_needs_threads(void **state)
{
    (void)state;
    const struct link_profile unknown = { .own_code = 3 };
    assert_link(link_public(LINK_VIEWER, "t", VIEW_MY_CODE, &unknown),
                "https://profiler.firefox.com/public/t/flame-graph/?v=10");
}

/* The examples of the viewer's own comments and code. */
static void threads_are_written_in_the_viewers_digits(void **state)
{
    (void)state;
    static const struct {
        uint32_t threads[8];
        size_t count;
        const char *expected;
    } cases[] = {
        { { 0 }, 1, "0" },
        { { 9, 10 }, 2, "9a" },
        { { 31, 32, 33, 34, 35, 167 }, 6, "vwx3B7" },
        { { 0, 5, 6, 7, 8 }, 5, "05w8" },
        { { 1, 2, 3, 63, 64 }, 5, "1w3xvy0" },
        { { 4294967295u }, 1, "z_____v" },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        const struct link_profile profile = { .threads = cases[i].threads, .threads_count = cases[i].count };
        char *link = link_public("http://v", "t", VIEW_FLAME, &profile);
        const char *const at = strstr(link, "thread=") + strlen("thread=");
        assert_memory_equal(at, cases[i].expected, strlen(cases[i].expected));
        assert_int_equal(at[strlen(cases[i].expected)], '&');
        free(link);
    }
}

/* START, the unit, and the length: the viewer's form. */
static void a_range_covers_its_part(void **state)
{
    (void)state;
    const struct link_profile part = { .from_ns = 1234567, .to_ns = 3000000 };
    const struct link_profile none = { .from_ns = 5, .to_ns = 5 };
    assert_link(link_public("http://v", "t", VIEW_FLAME, &part), "http://v/public/t/flame-graph/?range=1234u1766&v=10");
    assert_link(link_public("http://v", "t", VIEW_FLAME, &none), "http://v/public/t/flame-graph/?v=10");
}

static void views_have_names(void **state)
{
    (void)state;
    assert_int_equal(link_view_named("my-code"), VIEW_MY_CODE);
    assert_int_equal(link_view_named("gil"), VIEW_GIL);
    assert_int_equal(link_view_named("gc"), VIEW_GC);
    assert_int_equal(link_view_named("imports"), VIEW_IMPORTS);
    assert_int_equal(link_view_named("flame"), VIEW_FLAME);
    assert_int_equal(link_view_named(""), VIEW_NONE);
    assert_int_equal(link_view_named("GIL"), VIEW_NONE);
}

static void an_address_of_a_viewer_is_plain(void **state)
{
    (void)state;
    static const char *const good[] = { "https://profiler.firefox.com", "http://127.0.0.1:4242/", "HTTPS://Host/a/b",
                                        "http://[::1]:80", "http://my_host.local" };
    static const char *const wrong[] = { "", "profiler.firefox.com", "https://host/?query",
                                         "https://host/\"><script>" };
    for (size_t i = 0; i < countof(good); i++)
        assert_true(link_viewer_fits(good[i]));
    for (size_t i = 0; i < countof(wrong); i++)
        assert_false(link_viewer_fits(wrong[i]));
}

static void origins_are_written_as_browsers_do(void **state)
{
    (void)state;
    assert_link(link_origin(LINK_VIEWER), "https://profiler.firefox.com");
    assert_link(link_origin("HTTPS://Host:443/a/b"), "https://host");
    assert_link(link_origin("http://host:80/"), "http://host");
    assert_link(link_origin("http://127.0.0.1:4243/a"), "http://127.0.0.1:4243");
    assert_link(link_origin("https://host:80"), "https://host:80");
}

TEST_FILE(links)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_name_the_profile_and_the_view),
        cmocka_unit_test(a_focus_needs_threads),
        cmocka_unit_test(threads_are_written_in_the_viewers_digits),
        cmocka_unit_test(a_range_covers_its_part),
        cmocka_unit_test(views_have_names),
        cmocka_unit_test(an_address_of_a_viewer_is_plain),
        cmocka_unit_test(origins_are_written_as_browsers_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
