/* SPDX-License-Identifier: MIT */
#include "convert/filters/selection.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define S ((uint64_t)1000000000)

static void times_and_shares_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t time_ns;
        double share;
    } good[] = { { "1s", S, 0 }, { "1m30", 90 * S, 0 }, { "500ms", S / 2, 0 }, { "10%", 0, 0.1 }, { "100%", 0, 1 } };
    static const char *const bad[] = { "", "-1s", "1x", "101%", "-5%", "%" };
    uint64_t time_ns;
    double share;
    for (size_t i = 0; i < countof(good); i++) {
        assert_true(selection_parse_time(good[i].text, &time_ns, &share));
        assert_int_equal(time_ns, good[i].time_ns);
        assert_true(share > good[i].share - 1e-9 && share < good[i].share + 1e-9);
    }
    for (size_t i = 0; i < countof(bad); i++)
        assert_false(selection_parse_time(bad[i], &time_ns, &share));
}

/* What a selection is of a recording of 10 s. */
static void a_part_is_settled_by_the_length(void **state)
{
    (void)state;
    static const struct {
        struct selection selection;
        uint64_t from_ns, to_ns;
    } rows[] = {
        { { .last_ns = S }, 9 * S, 0 },
        { { .last_share = 0.25 }, 7 * S + S / 2, 0 },
        { { .last_share = 1 }, 0, 0 },
        { { .last_ns = 60 * S }, 0, 0 },                        /* the recording is shorter */
        { { .last_ns = 2 * S, .to_ns = 5 * S }, 3 * S, 5 * S }, /* the end of the part */
        { { .last_ns = 2 * S, .to_share = 0.5 }, 3 * S, 5 * S },
        { { .last_ns = 2 * S, .to_ns = 60 * S }, 8 * S, 60 * S },
        { { .last_share = 0.1, .to_ns = 5 * S }, 4 * S, 5 * S }, /* a share is one of the whole recording */
        { { .from_share = 0.2, .to_share = 0.6 }, 2 * S, 6 * S },
        { { .from_share = 0.2, .to_share = 1 }, 2 * S, 0 },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct selection selection = rows[i].selection;
        struct fault why = { 0 };
        assert_true(selection_needs_length(&selection) && selection_is_partial(&selection));
        assert_true(selection_settle(&selection, 10 * S, &why));
        assert_int_equal(selection.from_ns, rows[i].from_ns);
        assert_int_equal(selection.to_ns, rows[i].to_ns);
        assert_false(selection_needs_length(&selection) || selection_has_last(&selection));
        assert_true(selection_has_time(&selection, rows[i].from_ns));
        assert_false(rows[i].from_ns && selection_has_time(&selection, rows[i].from_ns - 1));
    }
}

static void a_part_that_ends_before_it_begins_is_refused(void **state)
{
    (void)state;
    struct selection selection = { .from_share = 0.5, .to_ns = 2 * S }, unread = selection;
    struct fault why = { 0 };
    assert_false(selection_settle(&selection, 10 * S, &why));
    assert_non_null(strstr(why.text, "--to must be later than --from"));
    unread.from_ns = 3 * S;
    assert_true(selection_settle(&unread, 0, &why)); /* no recording could be read: that is said elsewhere */
}

TEST_FILE(selection)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_and_shares_are_parsed),
        cmocka_unit_test(a_part_is_settled_by_the_length),
        cmocka_unit_test(a_part_that_ends_before_it_begins_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
