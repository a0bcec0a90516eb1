/* SPDX-License-Identifier: MIT */
/* Each cause of missed ticks is told only when it is known, with what this user can do about it. */
#include "record/hindrance.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define S  1000000000u
#define MS 1000000u

static void the_cause_is_the_one_that_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *says, *not;
        struct hindrance hindrance;
        struct hindrance_facts facts; /* of 10 s */
    } rows[] = {
        /* the quota explains it, though the time waited does, too: a throttled thread waits */
        { "(20 % of a processor) was used up in 60 of 100 periods; raise the quota",
          "busy",
          { .priority = PRIORITY_NICE, .root = true },
          { .missed = 0.5,
            .waited_known = true,
            .waited_ns = 6ull * S,
            .quota = { .counts = { .periods = 100, .throttled = 60 }, .processors = 0.2, .lost_ns = 5ull * S } } },
        { "cgroup was used up in 3 of 100 periods",
          "a processor)",
          { .priority = PRIORITY_OWN },
          { .missed = 0.03, .quota = { .counts = { .periods = 100, .throttled = 3 }, .lost_ns = 300 * MS } } },
        /* too few periods to be the cause */
        { "the processors were busy with the program itself or with others; run as root or with CAP_SYS_NICE",
          "quota",
          { .priority = PRIORITY_SLICE },
          { .missed = 0.5,
            .waited_known = true,
            .waited_ns = 6ull * S,
            .quota = { .counts = { .periods = 100, .throttled = 6 }, .processors = 0.2, .lost_ns = 600 * MS } } },
        /* many periods, of which the quota took too little */
        { "the processors were busy with the program itself or with others",
          "quota",
          { .priority = PRIORITY_SLICE },
          { .missed = 0.5,
            .waited_known = true,
            .waited_ns = 6ull * S,
            .quota = { .counts = { .periods = 100, .throttled = 60 }, .processors = 0.2, .lost_ns = 600 * MS } } },
        /* real time has no quota */
        { "the processors were busy with the program itself or with others",
          "quota",
          { .priority = PRIORITY_REAL_TIME, .able = true },
          { .missed = 0.5,
            .waited_known = true,
            .waited_ns = 6ull * S,
            .quota = { .counts = { .periods = 100, .throttled = 90 }, .processors = 0.2, .lost_ns = 9ull * S } } },
        { "give pyreel-record the capability CAP_SYS_NICE",
          "as root",
          { .priority = PRIORITY_SLICE, .root = true },
          { .missed = 0.2, .waited_known = true, .waited_ns = 2ull * S } },
        { "the processors were busy with the program itself or with others",
          ";",
          { .priority = PRIORITY_NICE, .root = true, .able = true },
          { .missed = 0.2, .waited_known = true, .waited_ns = 2ull * S } },
        { "leave out --no-priority",
          "root",
          { .priority = PRIORITY_OWN, .root = true, .able = true, .own_wish = true },
          { .missed = 0.2, .waited_known = true, .waited_ns = 2ull * S } },
        { "reads waited for 1.500 s while a process changed the map of its memory",
          "busy",
          { .priority = PRIORITY_OWN },
          { .missed = 0.2, .waited_known = true, .waited_ns = 20 * MS, .blocked_ns = 1500 * MS } },
        { "did not wait for a processor: a read took longer",
          "busy",
          { .priority = PRIORITY_OWN },
          { .missed = 0.2, .waited_known = true, .waited_ns = 20 * MS } },
        { "the recorder waited 0.200 s of the 2.000 s for a processor; the cause of the rest is not known",
          "did not wait",
          { .priority = PRIORITY_OWN },
          { .missed = 0.2, .waited_known = true, .waited_ns = 200 * MS } },
        { "the recorder waited 0.999 s of the 2.000 s for a processor",
          "busy",
          { .priority = PRIORITY_OWN },
          { .missed = 0.2, .waited_known = true, .waited_ns = 999 * MS } },
        { "did not wait for a processor",
          "the cause",
          { .priority = PRIORITY_OWN },
          { .missed = 0.2, .waited_known = true, .waited_ns = 199 * MS } },
        { "the cause is not known", "busy", { .priority = PRIORITY_OWN }, { .missed = 0.2 } },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct hindrance_facts facts = rows[i].facts;
        char text[512];
        facts.elapsed_ns = 10ull * S;
        hindrance_write(&rows[i].hindrance, &facts, text, sizeof(text));
        if (!strstr(text, rows[i].says) || strstr(text, rows[i].not))
            fail_msg("row %zu: %s", i, text);
    }
}

static void what_is_asked_is_there(void **state)
{
    (void)state;
    struct hindrance hindrance;
    hindrance_begin(&hindrance, PRIORITY_OWN, false);
    const struct hindrance_facts facts = hindrance_look(&hindrance, 0.1, S, 5ull * S, 3 * MS);
    assert_true(facts.missed > 0 && facts.elapsed_ns == S);
    assert_true(facts.waited_known ? facts.waited_ns >= 5ull * S : facts.waited_ns == 0);
    assert_int_equal(facts.blocked_ns, 3 * MS);
    hindrance_end(&hindrance);
    hindrance_end(&hindrance);
}

TEST_FILE(hindrance)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cause_is_the_one_that_is_known),
        cmocka_unit_test(what_is_asked_is_there),
    };
    return run_all(tests);
}
