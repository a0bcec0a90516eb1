/* SPDX-License-Identifier: MIT */
/* One sample of each group stays, whichever it is, and stands for its group. */
#include "formats/gecko/columns/thinning.h"

#include "tests/fakes/testing.h"

static void one_of_each_group_stays(void **state)
{
    (void)state;
    for (uint64_t every = 1; every < 20; every++)
        for (uint64_t count = 0; count < 100; count++) {
            const struct thinning thinning = { every, count, 7 };
            uint64_t kept = 0, stands = 0;
            for (uint64_t i = 0; i < count; i++) {
                if (!thinning_keeps(&thinning, i))
                    continue;
                assert_int_equal(i / every, kept++);
                stands += thinning_factor(&thinning, i);
            }
            assert_int_equal(kept, thinning_kept(&thinning));
            assert_int_equal(stands, count);
        }
}

/* Each place in a group is drawn as often as the others, so a program with a period as long as a group loses nothing.
 */
static void each_place_is_drawn_alike(void **state)
{
    (void)state;
    enum { EVERY = 10, GROUPS = 20000 };
    for (uint32_t thread = 1; thread < 5; thread++) {
        const struct thinning thinning = { EVERY, (uint64_t)EVERY * GROUPS, thread };
        unsigned drawn[EVERY] = { 0 };
        for (uint64_t i = 0; i < thinning.count; i++)
            drawn[i % EVERY] += thinning_keeps(&thinning, i);
        for (unsigned i = 0; i < EVERY; i++)
            assert_in_range(drawn[i], GROUPS / EVERY * 9 / 10, GROUPS / EVERY * 11 / 10);
    }
}

TEST_FILE(thinning)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_each_group_stays),
        cmocka_unit_test(each_place_is_drawn_alike),
    };
    return run_all(tests);
}
