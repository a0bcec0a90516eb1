/* SPDX-License-Identifier: MIT */
/* Which looks at an event loop prove that it ran one callback all the time. */
#include "record/asyncio/loop_callback.h"

#include "formats/base/alloc.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

/* A look at a time in ms, and what it found: the objects of the turn's time and index, and, where they were known
 * before, their values. */
struct turn_look {
    uint64_t ms;
    uint32_t reads;
    uint64_t time, index;
    bool has_values;
    uint64_t began_ms;
    uint32_t number;
    uint64_t wanted_ms; /* since when one callback is proved to run; 0: nothing is proved */
};

static void follow_looks(const struct turn_look *looks, size_t count)
{
    struct loop_callback callback = { 0 };
    for (const struct turn_look *look = looks; look < looks + count; look++) {
        const struct loop_turn found = { .known = true,
                                         .reads = look->reads,
                                         .objects = { look->time, look->index, look->time ? 77 : 0 },
                                         .has_values = look->has_values,
                                         .began_ns = look->began_ms * MS,
                                         .index = look->number };
        loop_callback_take(&callback, &found, look->ms * MS, look->ms * MS);
        if (callback.since_ns != look->wanted_ms * MS)
            fail_msg("at %lu ms: since %lu ns", look->ms, callback.since_ns);
    }
}

#define FOLLOW(...)                                                                                                    \
    follow_looks((const struct turn_look[]){ __VA_ARGS__ },                                                            \
                 sizeof((const struct turn_look[]){ __VA_ARGS__ }) / sizeof(struct turn_look))

static void two_looks_prove_it(void **state)
{
    (void)state;
    FOLLOW({ 100, 1, 0, 0, false, 0, 0, 0 }, { 110, 2, 8, 16, false, 0, 0, 0 }, { 120, 3, 8, 16, true, 105, 4, 110 },
           { 130, 4, 8, 16, true, 105, 4, 110 }, { 140, 5, 0, 0, false, 0, 0, 0 });
    /* The first one of a turn began with it. */
    FOLLOW({ 100, 1, 0, 0, false, 0, 0, 0 }, { 110, 2, 8, 16, false, 0, 0, 0 }, { 120, 3, 8, 16, true, 105, 0, 105 });
    /* In a turn of which other callbacks were seen. */
    FOLLOW({ 100, 1, 0, 0, false, 0, 0, 0 }, { 110, 2, 8, 16, false, 0, 0, 0 }, { 120, 3, 8, 24, false, 0, 0, 0 },
           { 130, 4, 8, 24, true, 105, 9, 120 });
}

/* A process that sleeps is not read, and a thread that waits for the lock may not be. */
static void a_thread_that_has_not_moved_is_in_the_same(void **state)
{
    (void)state;
    FOLLOW({ 100, 7, 8, 16, false, 0, 0, 0 }, { 110, 7, 8, 16, false, 0, 0, 100 }, { 120, 7, 8, 16, false, 0, 0, 100 },
           { 130, 8, 8, 16, true, 99, 1, 100 });
}

static void objects_come_again(void **state)
{
    (void)state;
    /* Another turn, whose time is where that of the turn before was. */
    FOLLOW({ 100, 1, 8, 16, false, 0, 0, 0 }, { 110, 2, 8, 16, true, 105, 0, 0 }, { 120, 3, 8, 16, true, 115, 0, 0 },
           { 130, 4, 8, 16, true, 115, 0, 115 });
    /* Another callback of the same turn, likewise. */
    FOLLOW({ 100, 1, 8, 16, false, 0, 0, 0 }, { 110, 2, 8, 16, true, 95, 500, 100 },
           { 120, 3, 8, 16, true, 95, 502, 0 });
    /* Values that could not be read. */
    FOLLOW({ 100, 1, 8, 16, false, 0, 0, 0 }, { 110, 2, 8, 16, false, 0, 0, 0 }, { 120, 3, 8, 16, false, 0, 0, 0 });
}

/* Between asking for the time and noting it, the loop may lose the processor. */
static void a_turn_may_be_older_than_a_look_that_found_none(void **state)
{
    (void)state;
    FOLLOW({ 90, 1, 9, 16, false, 0, 0, 0 }, { 120, 2, 0, 0, false, 0, 0, 0 }, { 130, 3, 8, 16, false, 0, 0, 0 },
           { 140, 4, 8, 16, true, 100, 0, 100 });
}

static void a_clock_that_is_made_up_proves_nothing(void **state)
{
    (void)state;
    /* It stands still: each turn has the same time. */
    FOLLOW({ 1000, 1, 9, 16, false, 0, 0, 0 }, { 1010, 2, 8, 16, false, 0, 0, 0 }, { 1020, 3, 8, 16, true, 50, 0, 0 },
           { 1030, 4, 8, 16, true, 50, 0, 0 }, { 1040, 4, 8, 16, true, 50, 0, 0 });
    /* It is ahead. */
    FOLLOW({ 1000, 1, 0, 0, false, 0, 0, 0 }, { 1010, 2, 8, 16, true, 5000, 0, 0 },
           { 1020, 3, 8, 16, true, 5000, 0, 0 });
}

TEST_FILE(loop_callback)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_looks_prove_it),
        cmocka_unit_test(a_thread_that_has_not_moved_is_in_the_same),
        cmocka_unit_test(objects_come_again),
        cmocka_unit_test(a_turn_may_be_older_than_a_look_that_found_none),
        cmocka_unit_test(a_clock_that_is_made_up_proves_nothing),
    };
    return run_all(tests);
}
