/* SPDX-License-Identifier: MIT */
/* The limits of stores: a profile at a limit is accepted, and one above it is not. */
#include "convert/fleets/stores.h"
#include "formats/base/alloc.h"

#include "tests/fakes/testing.h"

#include <string.h>

static void a_profile_above_a_limit_is_found(void **state)
{
    (void)state;
    static const struct {
        enum store store;
        struct store_profile at, above;
        bool refused, by_size;
        const char *said;
    } cases[] = {
        { STORE_PYROSCOPE,
          { .written.samples = 16000 },
          { .written.samples = 16001 },
          true,
          true,
          "refuses the profile: 16001 samples, at most 16000" },
        { STORE_PYROSCOPE,
          { .written.bytes = 2097152 },
          { .written.bytes = 2097153 },
          true,
          true,
          "refuses the profile: 2097153 bytes before gzip in one burst, at most 2097152" },
        { STORE_PYROSCOPE,
          { .written.longest_label = 2048 },
          { .written.longest_label = 2049 },
          true,
          false,
          "refuses the profile: 2049 bytes in the value of a label, at most 2048" },
        { STORE_PYROSCOPE,
          { .start_s = 10, .now_s = 3610 },
          { .start_s = 10, .now_s = 3611 },
          true,
          false,
          "refuses the profile: 3601 seconds old, at most 3600" },
        { STORE_PYROSCOPE,
          { .start_s = 610, .now_s = 10 },
          { .start_s = 611, .now_s = 10 },
          true,
          false,
          "refuses the profile: 601 seconds in the future, at most 600" },
        { STORE_PYROSCOPE,
          { .written.deepest = 1000 },
          { .written.deep_samples = 3 },
          false,
          false,
          "cuts the leaf side of stacks deeper than 1000 frames: 3 samples" },
        { STORE_PYROSCOPE,
          { .written.longest_text = 65535 },
          { .written.longest_text = 65536 },
          false,
          false,
          "cuts the beginning of names: 65536 bytes, at most 65535" },
        { STORE_PYROSCOPE,
          { .written.labels = 7 },
          { .written.numbers = 7 },
          false,
          false,
          "ignores labels with numbers (thread_id, pid, interpreter, task_id): 7 labels" },
        { STORE_PARCA,
          { .file_bytes = 67108864, .written.samples = 1 << 20 },
          { .file_bytes = 67108865 },
          true,
          true,
          "refuses the profile: 67108865 bytes in the file, at most 67108864" },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct store_finding found[STORE_FINDINGS];
        assert_int_equal(store_check(cases[i].store, &cases[i].at, found), 0);
        assert_int_equal(store_check(cases[i].store, &cases[i].above, found), 1);
        assert_string_equal(found[0].text, cases[i].said);
        assert_int_equal(found[0].refused, cases[i].refused);
        assert_int_equal(found[0].by_size, cases[i].by_size);
    }
}

static void all_limits_can_be_found_at_once(void **state)
{
    (void)state;
    struct store_finding found[STORE_FINDINGS];
    const struct store_profile profile = { .written = { .samples = 16001, .bytes = 4194305, .numbers = 1 } };
    assert_int_equal(store_check(STORE_PYROSCOPE, &profile, found), 4);
    assert_string_equal(found[1].text, "refuses the profile: 4194305 bytes before gzip, at most 4194304");
}

static void stores_have_names(void **state)
{
    (void)state;
    assert_int_equal(store_named("pyroscope"), STORE_PYROSCOPE);
    assert_int_equal(store_named("parca"), STORE_PARCA);
    assert_int_equal(store_named("Parca"), STORE_NONE);
    assert_int_equal(store_named(""), STORE_NONE);
    assert_string_equal(store_name(STORE_PYROSCOPE), "Pyroscope");
}

TEST_FILE(stores)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_above_a_limit_is_found),
        cmocka_unit_test(all_limits_can_be_found_at_once),
        cmocka_unit_test(stores_have_names),
    };
    return run_all(tests);
}
