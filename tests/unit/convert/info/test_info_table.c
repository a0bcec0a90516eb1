/* SPDX-License-Identifier: MIT */
#include "convert/info/info_table.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <string.h>

/* Writes a letter for each row: y is chosen, n is not. */
static const char *chosen(char *into, const uint64_t *samples, size_t count, size_t most)
{
    uint64_t sorted[8];
    memcpy(sorted, samples, count * sizeof(*samples));
    struct info_choice choice = info_choose(sorted, count, most);
    for (size_t i = 0; i < count; i++)
        into[i] = info_is_chosen(&choice, samples[i]) ? 'y' : 'n';
    into[count] = '\0';
    return into;
}

static void rows_with_most_samples_are_chosen(void **state)
{
    (void)state;
    static const struct {
        uint64_t samples[5];
        size_t most;
        const char *chosen;
    } rows[] = {
        { { 1, 5, 3, 2, 4 }, 3, "nyyny" }, { { 7, 7, 7, 7, 7 }, 2, "yynnn" }, { { 2, 9, 2, 0, 2 }, 3, "yyynn" },
        { { 0, 0, 0, 0, 1 }, 2, "ynnny" }, { { 0, 1, 0, 2, 0 }, 5, "yyyyy" }, { { 0, 1, 0, 2, 0 }, SIZE_MAX, "yyyyy" },
    };
    char room[8];
    for (size_t i = 0; i < countof(rows); i++)
        assert_string_equal(chosen(room, rows[i].samples, 5, rows[i].most), rows[i].chosen);
}

TEST_FILE(info_table)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_with_most_samples_are_chosen) };
    return run_all(tests);
}
