/* SPDX-License-Identifier: MIT */
/* A build without libcurl says how to get a build with it, whatever is asked for. */
#include "convert/sharing/store.h"

#include "tests/fakes/testing.h"

#include <string.h>

static void each_request_says_what_is_missing(void **state)
{
    (void)state;
    const struct store store = { .server = "https://store.example" };
    struct fault why[4] = { 0 };
    struct bytes answer = { 0 };
    int body;
    assert_false(store_exists(&why[0]));
    assert_null(store_upload_begin(&store, &body, &why[1]));
    assert_false(store_upload_end(NULL, &answer, &why[2]));
    store_upload_cut(NULL, NULL);
    assert_int_equal(store_delete(&store, "abc", "a.b.c", &why[3]), STORE_FAILED);
    for (size_t i = 0; i < 4; i++)
        assert_non_null(strstr(why[i].text, "meson setup --reconfigure -Dupload=enabled"));
}

TEST_FILE(store_absent)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_says_what_is_missing),
    };
    return run_all(tests);
}
