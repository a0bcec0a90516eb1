/* SPDX-License-Identifier: MIT */
#include "convert/sides.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define WORDS_MOST 8

/* What the words of a command line mean: all recordings, those of before first, and how many are of before; or a part
 * of the problem. */
static void sides_of_command_lines(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MOST];
        const char *all;
        size_t before;
        const char *problem;
    } rows[] = {
        { { "A", "B" }, "AB", 0, NULL },
        { { "--before", "A", "B", "--after", "C", "D" }, "ABCD", 2, NULL },
        { { "--after", "C", "--before", "A", "B" }, "ABC", 2, NULL },
        { { "A", "B", "--after", "C" }, "ABC", 2, NULL },
        { { "--before", "A", "C", "D" }, "ACD", 1, NULL },
        { { "C", "--before", "A", "D" }, "ACD", 1, NULL },
        { { "--before", "A" }, "A", 1, "recording of after" },
        { { "--after", "A" }, "A", 0, "recording of before" },
        { { "--before", "A", "--after" }, "A", 1, "recording of after" },
        { { "X", "--before", "A", "--after", "B" }, "XAB", 1, "before or of after" },
        { { "--before", "A", "--before", "B", "C" }, "ABC", 1, "once" },
        { { NULL }, "", 0, NULL },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct sides sides = { 0 };
        size_t before;
        const char *problem;
        char all[WORDS_MOST + 1] = "";
        for (size_t word = 0; word < WORDS_MOST && rows[i].words[word]; word++) {
            if (strcmp(rows[i].words[word], "--before") == 0)
                sides_name(&sides, SIDE_BEFORE);
            else if (strcmp(rows[i].words[word], "--after") == 0)
                sides_name(&sides, SIDE_AFTER);
            else
                sides_add(&sides, (char *)rows[i].words[word]);
        }
        const size_t count = sides_settle(&sides, &before, &problem);
        for (size_t word = 0; word < count; word++)
            strcat(all, sides.all[word]);
        assert_string_equal(all, rows[i].all);
        assert_int_equal(before, rows[i].before);
        assert_true(rows[i].problem ? problem && strstr(problem, rows[i].problem) : !problem);
        sides_free(&sides);
    }
}

TEST_FILE(sides)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sides_of_command_lines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
