/* SPDX-License-Identifier: MIT */
/* What pyreel-gecko says of a profile that is large. */
#include "convert/gecko/gecko_told.h"

#include "tests/fakes/testing.h"

#include <stdlib.h>

#define MB  1000000u
#define MIB (1u << 20)

static void assert_told(const struct gecko_wanted *wanted, enum kept_mode mode, uint64_t json_bytes,
                        uint64_t packed_bytes, const char *expected)
{
    struct gecko_wanted copy = *wanted;
    const struct settings settings = { .wanted = &copy, .mode = mode };
    char *told = gecko_told_size(&settings, json_bytes, packed_bytes);
    assert_non_null(told);
    assert_string_equal(told, expected);
    free(told);
}

static void test_nothing_is_said_of_a_profile_that_fits(void **state)
{
    struct gecko_wanted usual = { 0 };
    const struct settings settings = { .wanted = &usual };
    (void)state;
    assert_null(gecko_told_size(&settings, 400 * MB, 150 * MIB));
    assert_null(gecko_told_size(&settings, 0, 0));
}

static void test_a_profile_is_large_for_the_viewer(void **state)
{
    const struct gecko_wanted usual = { 0 };
    (void)state;
    assert_told(&usual, KEPT_AS_RECORDED, 400 * MB + 1, 0,
                "the profile has 400 MB of JSON, and the viewer takes long to read more than 400 MB; make it smaller "
                "with --max-samples, --from and --to, --threads, --compact, or --mode cpu");
}

static void test_a_profile_is_large_for_the_store(void **state)
{
    const struct gecko_wanted usual = { 0 };
    (void)state;
    assert_told(&usual, KEPT_AS_RECORDED, 390 * MB, 151 * MIB,
                "the profile has 390 MB of JSON; packed it has 151 MiB, and the profile store takes at most 150 MiB; "
                "make it smaller with --max-samples, --from and --to, --threads, --compact, or --mode cpu");
    assert_told(&usual, KEPT_AS_RECORDED, 1109 * MB, 159 * MIB,
                "the profile has 1109 MB of JSON, and the viewer takes long to read more than 400 MB; packed it has "
                "159 MiB, and the profile store takes at most 150 MiB; make it smaller with --max-samples, --from and "
                "--to, --threads, --compact, or --mode cpu");
}

/* An option that is in use, or refused with one in use, helps nobody. */
static void test_only_what_helps_is_named(void **state)
{
    const struct gecko_wanted all = { .style.markers = GECKO_MARKERS_ALL, .style.compact = true };
    const struct gecko_wanted raw = { .style.raw = true };
    (void)state;
    assert_told(&all, KEPT_CPU, 500 * MB, 0,
                "the profile has 500 MB of JSON, and the viewer takes long to read more than 400 MB; make it smaller "
                "with --markers few, --max-samples, --from and --to, or --threads");
    assert_told(&raw, KEPT_CPU, 500 * MB, 0,
                "the profile has 500 MB of JSON, and the viewer takes long to read more than 400 MB; make it smaller "
                "with --from and --to, or --threads");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_said_of_a_profile_that_fits),
        cmocka_unit_test(test_a_profile_is_large_for_the_viewer),
        cmocka_unit_test(test_a_profile_is_large_for_the_store),
        cmocka_unit_test(test_only_what_helps_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
