/* SPDX-License-Identifier: MIT */
#include "formats/names/name_list.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <string.h>

static void words_are_names_patterns_and_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *list, *name;
        uint64_t number;
        bool has;
    } rows[] = {
        { "worker", "worker", 1, true },
        { "worker", "worker-1", 1, false },
        { "worker*", "worker-1", 1, true },
        { "a, worker* ,b", "worker", 1, true },
        { "a,b", "worker", 1, false },
        { "42", "worker", 42, true },
        { "42", "worker", 421, false },
        { "42x", "worker", 42, false },
        { "42", "42", 1, true },
        { "-1", "worker", UINT64_MAX, false },
        { "", "", 1, false },
        { " , ", "", 0, false },
        { "w[ab]", "wb", 1, true },
        { "w[ab]", "w[ab]", 1, true },
        { "w?", "wx", 1, true },
        { "Thread-7 (work)", "Thread-7 (work)", 1, true },
        { "99999999999999999999", "x", 1, false },
    };
    for (size_t i = 0; i < countof(rows); i++)
        if (name_list_has(rows[i].list, text_of(rows[i].name), rows[i].number) != rows[i].has)
            fail_msg("'%s', %s, %lu", rows[i].list, rows[i].name, rows[i].number);
}

TEST_FILE(name_list)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(words_are_names_patterns_and_numbers) };
    return run_all(tests);
}
