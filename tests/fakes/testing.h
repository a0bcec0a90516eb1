/* SPDX-License-Identifier: MIT */
/* What every unit test begins with: cmocka, behind what it wants to see first. */
#ifndef PYREEL_TESTS_FAKES_TESTING_H
#define PYREEL_TESTS_FAKES_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Each file of tests ends in `TEST_FILE(name) { ... return run_all(tests); }`. tests/unit/main.c finds the name in this
 * section of the program. */
struct test_file {
    const char *name;
    int (*run)(int argc, char **argv); /* the arguments behind the name, from 1 */
};

#define TEST_FILE(name)                                                                                                \
    static int run_##name(int argc, char **argv);                                                                      \
    static const struct test_file file_##name __attribute__((section("test_files"), used)) = { #name, run_##name };    \
    static int run_##name(__attribute__((unused)) int argc, __attribute__((unused)) char **argv)

#define run_all(tests) cmocka_run_group_tests(tests, NULL, NULL)

/* How many rounds a test of random inputs makes: `rounds`, and PYREEL_SOAK times as many for tests/soak/run. The
 * numbers are the same in each run, so more rounds see more. */
static inline unsigned soak(unsigned rounds)
{
    const char *factor = getenv("PYREEL_SOAK");
    return factor && atoi(factor) > 0 ? rounds * (unsigned)atoi(factor) : rounds;
}

/* A wait ends when what is waited for is there; a test that hangs fails after so long. */
#define PATIENCE_S 120

static inline bool is_patient(time_t since)
{
    return time(NULL) < since + PATIENCE_S;
}

#define wait_until(condition)                                                                                          \
    for (const time_t since = time(NULL); !(condition); usleep(1000))                                                  \
    assert_true(is_patient(since))

/* A text of any size against a literal. */
#define assert_text(text, literal)                                                                                     \
    do {                                                                                                               \
        assert_int_equal((text).size, sizeof(literal) - 1);                                                            \
        assert_memory_equal((text).bytes, literal, sizeof(literal) - 1);                                               \
    } while (0)

#endif
