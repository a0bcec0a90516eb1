/* SPDX-License-Identifier: MIT */
/* What every unit test begins with: cmocka, behind what it wants to see first. */
#ifndef PYREEL_TESTS_FAKES_TESTING_H
#define PYREEL_TESTS_FAKES_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define run_all(tests) cmocka_run_group_tests(tests, NULL, NULL)

/* A text of any size against a literal. */
#define assert_text(text, literal)                                                                                     \
    do {                                                                                                               \
        assert_int_equal((text).size, sizeof(literal) - 1);                                                            \
        assert_memory_equal((text).bytes, literal, sizeof(literal) - 1);                                               \
    } while (0)

#endif
