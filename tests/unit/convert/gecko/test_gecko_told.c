/* SPDX-License-Identifier: MIT */
/* What pyreel-gecko says of a profile that is large. */
#include "convert/gecko/gecko_told.h"

#include "tests/fakes/testing.h"

#include <stdlib.h>

#define MB  1000000u
#define MIB (1u << 20)

/* Of a program with threads that often wait. */
static struct gecko_size size_of(uint64_t json_bytes, uint64_t packed_bytes)
{
    return (struct gecko_size){ json_bytes, packed_bytes, .several_threads = true, .samples = 100, .off_cpu = 25 };
}

static void assert_told(struct gecko_style style, struct gecko_size size, const char *expected)
{
    char *told = gecko_told_size(&style, &size);
    assert_non_null(told);
    assert_string_equal(told, expected);
    free(told);
}

static void test_nothing_is_said_of_a_profile_that_fits(void **state)
{
    const struct gecko_style usual = { 0 };
    const struct gecko_size fits = size_of(400 * MB, 150 * MIB), empty = { 0 };
    (void)state;
    assert_null(gecko_told_size(&usual, &fits));
    assert_null(gecko_told_size(&usual, &empty));
}

static void test_a_profile_is_large_for_the_viewer(void **state)
{
    (void)state;
    assert_told((struct gecko_style){ 0 }, size_of(400 * MB + 1, 0),
                "the profile has 400 MB of JSON, and the viewer takes long to read more than 400 MB; make it smaller "
                "with --max-samples, --from and --to, --threads, --compact, or --mode cpu");
}

static void test_a_profile_is_large_for_the_store(void **state)
{
    (void)state;
    assert_told((struct gecko_style){ 0 }, size_of(390 * MB, 151 * MIB),
                "the profile has 390 MB of JSON; packed it has 151 MiB, and the profile store takes at most 150 MiB; "
                "make it smaller with --max-samples, --from and --to, --threads, --compact, or --mode cpu");
    assert_told((struct gecko_style){ 0 }, size_of(1109 * MB, 159 * MIB),
                "the profile has 1109 MB of JSON, and the viewer takes long to read more than 400 MB; packed it has "
                "159 MiB, and the profile store takes at most 150 MiB; make it smaller with --max-samples, --from and "
                "--to, --threads, --compact, or --mode cpu");
}

/* An option that is in use, or leaves out next to nothing, helps nobody. */
static void test_only_what_helps_is_named(void **state)
{
    struct gecko_size busy = size_of(500 * MB, 0), alone = busy;
    (void)state;
    busy.off_cpu = 24;
    alone.off_cpu = alone.samples = 0;
    alone.several_threads = false;
    assert_told((struct gecko_style){ .markers = GECKO_MARKERS_ALL, .compact = true }, busy,
                "the profile has 500 MB of JSON, and the viewer takes long to read more than 400 MB; make it smaller "
                "with --markers few, --max-samples, --from and --to, or --threads");
    assert_told((struct gecko_style){ .compact = true }, alone,
                "the profile has 500 MB of JSON, and the viewer takes long to read more than 400 MB; make it smaller "
                "with --max-samples, or --from and --to");
}

TEST_FILE(gecko_told)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_said_of_a_profile_that_fits),
        cmocka_unit_test(test_a_profile_is_large_for_the_viewer),
        cmocka_unit_test(test_a_profile_is_large_for_the_store),
        cmocka_unit_test(test_only_what_helps_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
