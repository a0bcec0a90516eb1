/* SPDX-License-Identifier: MIT */
#include "record/file/output_name.h"

#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static void assert_name(const char *pattern, const char *expected)
{
    char *name = output_name(pattern, 4242, 86400 + 3661); /* 1970-01-02 01:01:01 */
    assert_string_equal(name, expected);
    free(name);
}

static void parts_are_replaced(void **state)
{
    (void)state;
    struct utsname host;
    char expected[256];
    assert_int_equal(uname(&host), 0);
    snprintf(expected, sizeof(expected), "/tmp/a-%s-4242.pyreel", host.nodename);
    assert_name("/tmp/a-%h-%p.pyreel", expected);
    assert_name("day-%Y%m%dT%H%M%S.pyreel", "day-19700102T010101.pyreel");
    assert_name("100%%-%p%%p.html", "100%-4242%p.html");
    assert_name("plain.pyreel", "plain.pyreel");
    assert_name("-", "-");
    assert_name("", "");
    assert_name("50%", "50%");
    assert_null(output_name(NULL, 1, 0));
}

static void ranks_of_jobs_are_known(void **state)
{
    (void)state;
    static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
                                         "SLURM_PROCID" };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unsetenv(names[i]);
    assert_name("r%r.pyreel", "rnone.pyreel");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        setenv(names[i], "7", 1);
        assert_name("r%r.pyreel", "r7.pyreel");
        setenv(names[i], "../%H", 1);
        assert_name("r%r.pyreel", "r.._%H.pyreel");
        unsetenv(names[i]);
    }
}

TEST_FILE(output_name)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_replaced),
        cmocka_unit_test(ranks_of_jobs_are_known),
    };
    return run_all(tests);
}
