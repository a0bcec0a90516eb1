/* SPDX-License-Identifier: MIT */
/* The values of options that several programs take. */
#include "formats/base/arguments.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <inttypes.h>

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

static void times_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        uint64_t time_ns;
    } rows[] = {
        { "0", true, 0 },
        { "90", true, 90 * S },
        { "2.5", true, 2500 * MS },
        { ".5", true, 500 * MS },
        { "1m30", true, 90 * S },
        { "1m30s", true, 90 * S },
        { "2h", true, 7200 * S },
        { "1h30", true, 5400 * S },
        { "1h0m1s500ms", true, 3601500 * MS },
        { "1h10s", true, 3610 * S },
        { "1s500", true, 1500 * MS },
        { "500ms", true, 500 * MS },
        { "1.5M", true, 90 * S },
        { "100000000", true, 100000000 * S },
        { "100000001", false, 0 },
        { "99999999999999999999h", false, 0 },
        { "", false, 0 },
        { "s", false, 0 },
        { "1m m", false, 0 },
        { "30m1h", false, 0 },
        { "1m1m", false, 0 },
        { "5ms1", false, 0 },
        { "1d", false, 0 },
        { "1sm", false, 0 },
        { "1 s", false, 0 },
        { "1s ", false, 0 },
        { " 1", false, 0 },
        { "-1", false, 0 },
        { "+1", false, 0 },
        { "1e3", false, 0 },
        { "0x10", false, 0 },
        { "1.2.3", false, 0 },
        { ".", false, 0 },
        { "nan", false, 0 },
        { "inf", false, 0 },
        { "25%", false, 0 },
        { "1:30", false, 0 },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        uint64_t time_ns = 0;
        if (arguments_parse_time(rows[i].text, &time_ns) != rows[i].good || time_ns != rows[i].time_ns)
            fail_msg("'%s' is %" PRIu64, rows[i].text, time_ns);
    }
}

static void amounts_of_memory_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: refused */
    } rows[] = {
        { "1", 1 },
        { "4096", 4096 },
        { "1k", 1024 },
        { "500M", 524288000 },
        { "4G", 4294967296 },
        { "1.5g", 1610612736 },
        { "1T", UINT64_C(1) << 40 },
        { "1048576t", UINT64_C(1) << 60 },
        { "", 0 },
        { "G", 0 },
        { "4GB", 0 },
        { "4 G", 0 },
        { "-1", 0 },
        { "0", 0 },
        { "0.4", 0 },
        { "1e9", 0 },
        { "2097152t", 0 },
        { "50%", 0 },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        uint64_t bytes = 0;
        if (arguments_parse_memory(rows[i].text, &bytes) != (rows[i].bytes > 0) || bytes != rows[i].bytes)
            fail_msg("'%s' is %" PRIu64, rows[i].text, bytes);
    }
}

static void sizes_and_counts_are_read(void **state)
{
    (void)state;
    static const char *const sizes[] = { "", "0", "0.4", "-1", "1e9", "1kb", "1.2.3", "2000000t" };
    static const char *const counts[] = { "", "1", "11", "-5", "+5", "5 ", "5x", "0x5", "99999999999999999999" };
    uint64_t number;
    assert_true(arguments_parse_size("20000", &number) && number == 20000);
    assert_true(arguments_parse_size("500k", &number) && number == 500000);
    assert_true(arguments_parse_size("1.5G", &number) && number == 1500000000);
    for (size_t i = 0; i < countof(sizes); i++)
        assert_false(arguments_parse_size(sizes[i], &number));
    assert_true(arguments_parse_count("5", 2, 10, &number) && number == 5);
    assert_true(arguments_parse_count("18446744073709551615", 0, UINT64_MAX, &number) && number == UINT64_MAX);
    assert_true(arguments_parse_count("  7", 2, 10, &number)); /* as ps prints a PID */
    assert_int_equal(number, 7);
    for (size_t i = 0; i < countof(counts); i++)
        assert_false(arguments_parse_count(counts[i], 2, 10, &number));
}

static void shares(void **state)
{
    (void)state;
    static const char *const wrong[] = { "", "%", ".", "-1", "1e1", "0x1", "5%%", "5 %", "101%", "1.2.3" };
    double share;
    assert_true(arguments_parse_share("5%", 1, &share) && share == 0.05);
    assert_true(arguments_parse_share("0.5", 1, &share) && share == 0.005);
    assert_true(arguments_parse_share("100%", 1, &share) && share == 1);
    assert_true(arguments_parse_share("250", 1e6, &share) && share == 2.5);
    for (size_t i = 0; i < countof(wrong); i++)
        assert_false(arguments_parse_share(wrong[i], 1, &share));
}

TEST_FILE(arguments)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(times_are_read), cmocka_unit_test(shares),
                                               cmocka_unit_test(amounts_of_memory_are_read),
                                               cmocka_unit_test(sizes_and_counts_are_read) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
