/* SPDX-License-Identifier: MIT */
#include "formats/model/exactness.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <math.h>

static const struct {
    const char *what;
    uint64_t interval_ns, ticks, missed, duration_ns, samples;
    struct event figures[5];
    const char *rate, *share, *missed_words;
} rows[] = {
    { .what = "a recorder that leaves ticks out",
      .interval_ns = MS,
      .ticks = 6200,
      .duration_ns = 10000 * (uint64_t)MS,
      .figures = { COUNTER("samples", 1000), COUNTER("samples_exact", 999), COUNTER("ticks_left_out", 3800),
                   COUNTER("taken_ns", 94000000), COUNTER("disturb_limit_ppm", 10000) },
      .rate = "620 a second (1000 asked, limited to 1 % overhead)",
      .share = "99.9 % of samples were one proven moment; overhead: 0.94 % of a processor",
      .missed_words = "" },
    { .what = "one that need not, and that misses a few",
      .interval_ns = 10 * MS,
      .ticks = 98,
      .missed = 2,
      .duration_ns = 1000 * MS,
      .figures = { COUNTER("samples_exact", 0), COUNTER("ticks_left_out", 0) },
      .rate = "98 a second (100 asked)",
      .share = "", /* of no samples */
      .missed_words = "" },
    { .what = "one that has no budget, and misses many",
      .interval_ns = 10 * MS,
      .ticks = 970,
      .missed = 30,
      .duration_ns = 10000 * (uint64_t)MS,
      .figures = { COUNTER("samples", 100000), COUNTER("samples_exact", 99999), COUNTER("ticks_left_out", 7) },
      .rate = "97 a second (100 asked, limited by its overhead)",
      .share = "99.9 % of samples were one proven moment",
      .missed_words = "3.0 % of the time was missed: no sample covers that time, and shares may be wrong by as many "
                      "percentage points" },
    { .what = "an older one",
      .interval_ns = MS / 10,
      .ticks = 9950,
      .duration_ns = 1000 * MS,
      .rate = "9950 a second (10000 asked)",
      .share = "",
      .missed_words = "" },
    { .what = "one that took much and makes no sense",
      .ticks = 1,
      .duration_ns = 1000 * MS,
      .figures = { COUNTER("taken_ns", 1500 * (uint64_t)MS), COUNTER("samples", 1),
                   COUNTER("samples_exact", UINT64_MAX) },
      .rate = "",
      .share = "100.0 % of samples were one proven moment; overhead: 150.00 % of a processor",
      .missed_words = "" },
    { .what = "one that was cut off 5 s after its last counters",
      .interval_ns = MS,
      .ticks = 6000,
      .samples = 6000,
      .duration_ns = 6000 * (uint64_t)MS,
      .figures = { COUNTER("samples", 1000), COUNTER("samples_exact", 500), COUNTER("taken_ns", 10 * (uint64_t)MS) },
      .rate = "1000 a second (1000 asked)",
      .share = "50.0 % of samples were one proven moment; overhead: 1.00 % of a processor",
      .missed_words = "" },
    { .what = "nothing", .interval_ns = MS, .rate = "", .share = "", .missed_words = "" },
};

static struct tables tables_of(size_t row)
{
    struct tables tables = { .recording.interval_ns = rows[row].interval_ns,
                             .ticks = rows[row].ticks,
                             .samples = rows[row].samples,
                             .last_ns = rows[row].duration_ns };
    struct event missed = { .kind = EVENT_MISSED, .missed = rows[row].missed };
    assert_true(tables_take(&tables, &missed, NULL));
    for (size_t i = 0; i < countof(rows[row].figures) && rows[row].figures[i].kind; i++) {
        struct event event = rows[row].figures[i];
        assert_true(tables_take(&tables, &event, NULL));
    }
    return tables;
}

static void it_is_told_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        char rate[EXACTNESS_ROOM], share[EXACTNESS_ROOM], missed[EXACTNESS_ROOM];
        struct tables tables = tables_of(i);
        const struct exactness exactness = exactness_of(&tables);
        assert_string_equal(exactness_rate(rate, &exactness), rows[i].rate);
        assert_string_equal(exactness_share(share, &exactness), rows[i].share);
        assert_string_equal(exactness_missed(missed, &exactness), rows[i].missed_words);
        tables_free(&tables);
    }
}

static void time_without_progress_is_told_apart(void **state)
{
    (void)state;
    static const struct {
        struct event figures[3];
        enum exactness_stand stand;
        const char *words;
    } told[] = {
        { { COUNTER("samples", 1) }, STAND_STOPPED, "" },
        { { COUNTER("samples", 1) }, STAND_FROZEN, "" },
        { { COUNTER("quota_periods", 9) }, STAND_THROTTLED, "" },
        { { COUNTER("samples", 1) }, STAND_SUSPENDED, "" },
        { { COUNTER("stopped_ns", 1500000000) }, STAND_STOPPED, "1.500 s, by a signal or a debugger" }, /* as before */
        { { COUNTER("stopped_ns", 1500000000), COUNTER("stopped_signal_ns", 1500000000) },
          STAND_STOPPED,
          "1.500 s, by a signal" },
        { { COUNTER("stopped_ns", 1500000000), COUNTER("stopped_tracer_ns", 1500000000) },
          STAND_STOPPED,
          "1.500 s, by a debugger" },
        { { COUNTER("stopped_ns", 1500000000), COUNTER("stopped_signal_ns", 1000000000),
            COUNTER("stopped_tracer_ns", 500000000) },
          STAND_STOPPED,
          "1.500 s: 1.000 s by a signal, 0.500 s by a debugger" },
        { { COUNTER("frozen_ns", 250000000) }, STAND_FROZEN, "0.250 s, by the program's cgroup" },
        { { COUNTER("quota_periods", 9), COUNTER("quota_used_up", 3) },
          STAND_THROTTLED,
          "the quota of the program's cgroup was used up in 3 of 9 periods" },
        { { COUNTER("suspended_ns", UINT64_MAX) },
          STAND_SUSPENDED,
          "the machine, for 18446744073.710 s, which are no time of the recording" },
    };
    for (size_t i = 0; i < countof(told); i++) {
        struct tables tables = { 0 };
        char room[EXACTNESS_ROOM];
        for (size_t k = 0; k < 3 && told[i].figures[k].kind; k++) {
            struct event event = told[i].figures[k];
            assert_true(tables_take(&tables, &event, NULL));
        }
        assert_string_equal(exactness_stand(room, &tables, told[i].stand), told[i].words);
        tables_free(&tables);
    }
}

static void shares_are_known_or_not(void **state)
{
    (void)state;
    struct tables tables = tables_of(0);
    struct exactness exactness = exactness_of(&tables);
    assert_true(exactness.reached_hz == 620 && exactness.exact_percent == 99.9 && exactness.taken_percent == 0.94);
    assert_true(exactness.budget_percent == 1 && exactness.missed_percent == 0 && exactness.has_left_out);
    tables_free(&tables);
    tables = tables_of(countof(rows) - 1);
    exactness = exactness_of(&tables);
    assert_true(exactness.reached_hz < 0 && exactness.exact_percent < 0 && exactness.taken_percent < 0);
    assert_true(exactness.budget_percent < 0 && exactness.missed_percent < 0 && !exactness.has_left_out);
    tables_free(&tables);
}

static void c_functions_are_told_where_they_were_sought(void **state)
{
    (void)state;
    char room[EXACTNESS_ROOM];
    struct exactness told = { .exact_percent = 99.9, .c_percent = 98.26, .taken_percent = 0.94 };
    assert_string_equal(exactness_share(room, &told), "99.9 % of samples were one proven moment, 98.2 % have their C "
                                                      "functions; overhead: 0.94 % of a processor");
    told.c_percent = -1;
    assert_string_equal(exactness_share(room, &told), "99.9 % of samples were one proven moment; overhead: 0.94 % "
                                                      "of a processor");
}

/* However large numbers are, nothing is written beyond the room. */
static void numbers_of_any_size_have_room(void **state)
{
    (void)state;
    const struct exactness most = { 1e300, 1e300, 100, 100, 1e300, 1e300, 1e300, 100, UINT64_MAX, UINT64_MAX, true };
    char room[EXACTNESS_ROOM];
    exactness_rate(room, &most);
    exactness_share(room, &most);
    exactness_missed(room, &most);
}

/* Of 1,000 ms 100 were missed; of 100 samples in the rest 5 failed and 5 are lost. */
static void what_was_due_and_is_not_there_is_not_kept(void **state)
{
    (void)state;
    static const struct {
        uint64_t samples, failed, lost, missed;
        double kept_percent;
    } kept[] = {
        { 90, 5, 5, 10, 81 }, { 90, 0, 0, 0, 100 }, { 0, 3, 0, 0, 0 },  { 90, 0, 0, 100, 0 },
        { 90, 0, 0, 500, 0 }, { 0, 0, 0, 0, -1 },   { 0, 0, 0, 7, -1 }, { 9999999, 1, 0, 0, 99.9999 },
    };
    for (size_t i = 0; i < countof(kept); i++) {
        struct tables tables = { .recording.interval_ns = 10 * MS, .ticks = 90, .last_ns = 1000 * (uint64_t)MS };
        struct event missed = { .kind = EVENT_MISSED, .missed = kept[i].missed };
        assert_true(tables_take(&tables, &missed, NULL));
        tables.samples = kept[i].samples;
        tables.failed = kept[i].failed;
        tables.missing = kept[i].lost;
        assert_true(fabs(exactness_of(&tables).kept_percent - kept[i].kept_percent) < 1e-6);
        tables_free(&tables);
    }
}

/* 12 ticks of 1 ms that were missed at the start, before the budget made intervals longer, are 12 ms and not 3/10 of
 * the recording. */
static void a_missed_tick_is_as_long_as_its_interval(void **state)
{
    (void)state;
    struct tables tables = { .recording.interval_ns = MS, .ticks = 28, .last_ns = 4000 * (uint64_t)MS };
    struct event missed = { .kind = EVENT_MISSED, .missed = 12 };
    assert_true(tables_take(&tables, &missed, NULL));
    assert_true(fabs(exactness_of(&tables).missed_percent - 0.3) < 1e-9);
    tables.stands_ns = 140 * (uint64_t)MS;
    missed.missed = 2;
    assert_true(tables_take(&tables, &missed, NULL));
    assert_true(fabs(exactness_of(&tables).missed_percent - 7.3) < 1e-9);
}

TEST_FILE(exactness)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missed_tick_is_as_long_as_its_interval),
        cmocka_unit_test(it_is_told_in_words),
        cmocka_unit_test(time_without_progress_is_told_apart),
        cmocka_unit_test(shares_are_known_or_not),
        cmocka_unit_test(what_was_due_and_is_not_there_is_not_kept),
        cmocka_unit_test(c_functions_are_told_where_they_were_sought),
        cmocka_unit_test(numbers_of_any_size_have_room),
    };
    return run_all(tests);
}
