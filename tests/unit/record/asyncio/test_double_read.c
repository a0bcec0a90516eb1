/* SPDX-License-Identifier: MIT */
#include "record/asyncio/double_read.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#define PAGE 0x10000u

static struct remote remote;
static unsigned char here[PAGE], there[PAGE];
static struct double_read ranges;

static int begin(void **state)
{
    (void)state;
    fake_remote_reset();
    for (size_t i = 0; i < PAGE; i++)
        here[i] = there[i] = (unsigned char)i;
    fake_remote_map(0x100000, here, PAGE);
    fake_remote_map(0x500000, there, PAGE);
    struct fault unused = { 0 };
    assert_true(remote_open(&remote, 1, &unused));
    ranges = (struct double_read){ 0 };
    return 0;
}

static int end(void **state)
{
    (void)state;
    double_read_free(&ranges);
    remote_close(&remote);
    fake_remote_reset();
    return 0;
}

static void copy(bool second)
{
    double_read_want_all(&ranges, true);
    assert_int_equal(double_read_copy(&ranges, &remote, second), REMOTE_READ);
}

static void ranges_are_copied_as_they_were_added(void **state)
{
    (void)state;
    double_read_add(&ranges, 0x500020, 4);
    double_read_add(&ranges, 0x100010, 8);
    double_read_add(&ranges, 0x100012, 2); /* inside another */
    copy(false);
    copy(true);
    assert_memory_equal(double_read_at(&ranges, 0), there + 0x20, 4);
    assert_memory_equal(double_read_at(&ranges, 1), here + 0x10, 8);
    assert_memory_equal(double_read_first(&ranges, 2), here + 0x12, 2);
    for (size_t i = 0; i < 3; i++)
        assert_true(double_read_same(&ranges, i));
}

static void what_lies_close_together_is_one_piece(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        double_read_add(&ranges, 0x100000 + (99 - i) * 192, 72);
    double_read_add(&ranges, 0x500000, 8);
    double_read_add(&ranges, 0x508000, 8);
    copy(false);
    assert_int_equal(remote.calls, 1);
    assert_int_equal(remote.pieces, 3);
}

static void what_changed_between_the_copies_is_told(void **state)
{
    (void)state;
    double_read_add(&ranges, 0x100010, 8);
    double_read_add(&ranges, 0x100018, 8);
    copy(false);
    here[0x1F]++;
    copy(true);
    assert_true(double_read_same(&ranges, 0));
    assert_false(double_read_same(&ranges, 1));
    assert_int_not_equal(double_read_at(&ranges, 1)[7], double_read_first(&ranges, 1)[7]);
}

static void what_changed_since_a_tick_is_told(void **state)
{
    (void)state;
    double_read_add(&ranges, 0x100010, 8);
    double_read_add(&ranges, 0x100018, 8);
    copy(false);
    copy(true);
    assert_true(double_read_same(&ranges, 0));
    assert_false(double_read_still(&ranges, 0, 1)); /* only since the first copy */
    double_read_turn(&ranges);
    assert_null(double_read_at(&ranges, 0));
    here[0x10]++;
    copy(true);
    assert_false(double_read_same(&ranges, 0));
    assert_false(double_read_still(&ranges, 0, 1));
    assert_true(double_read_still(&ranges, 1, 2));
    assert_false(double_read_still(&ranges, 0, 2));
}

static void the_second_copy_can_be_the_first_one_of_the_next_moment(void **state)
{
    (void)state;
    double_read_add(&ranges, 0x100010, 8);
    double_read_add(&ranges, 0x500010, 8);
    copy(false);
    copy(true);
    double_read_turn(&ranges);
    copy(false);
    assert_int_equal(remote.pieces, 4); /* nothing was read for it */
    copy(true);
    assert_int_equal(remote.pieces, 6);
    assert_true(double_read_same(&ranges, 0));
    double_read_turn(&ranges);
    double_read_drop(&ranges);
    assert_null(double_read_first(&ranges, 0));
    copy(false);
    assert_int_equal(remote.pieces, 8);
}

static void what_another_plan_had_is_not_read_anew(void **state)
{
    (void)state;
    double_read_add(&ranges, 0x100010, 8);
    double_read_add(&ranges, 0x100020, 8);
    double_read_add(&ranges, 0x500010, 8);
    copy(false);
    copy(true);
    double_read_turn(&ranges);
    here[0x20]++;
    there[0x14]++;
    double_read_clear(&ranges);
    double_read_add(&ranges, 0x500012, 4); /* inside a range */
    double_read_add(&ranges, 0x500800, 8); /* new */
    double_read_add(&ranges, 0x100020, 8);
    copy(false);
    assert_int_equal(remote.pieces, 5); /* only what is new */
    assert_int_equal(double_read_first(&ranges, 0)[2], 0x14);
    copy(true);
    assert_false(double_read_same(&ranges, 0));
    assert_false(double_read_same(&ranges, 2));
    assert_true(double_read_same(&ranges, 1));
    assert_false(double_read_still(&ranges, 1, 2));
}

static void what_is_not_wanted_is_not_read(void **state)
{
    (void)state;
    double_read_add(&ranges, 0x100010, 8);
    double_read_add(&ranges, 0x500010, 8);
    copy(false);
    here[0x10]++;
    there[0x10]++;
    double_read_want_all(&ranges, false);
    double_read_want(&ranges, 1);
    assert_int_equal(double_read_copy(&ranges, &remote, true), REMOTE_READ);
    assert_int_equal(remote.pieces, 3);
    assert_null(double_read_at(&ranges, 0));
    assert_false(double_read_same(&ranges, 0));
    assert_false(double_read_same(&ranges, 1));
    double_read_turn(&ranges);
    copy(false);
    assert_int_equal(remote.pieces, 4); /* the first copy had it, but a moment before */
}

static void a_place_that_is_gone_takes_no_other_along(void **state)
{
    (void)state;
    double_read_add(&ranges, 0x100010, 8);
    double_read_add(&ranges, 0x300000, 8);
    double_read_add(&ranges, 0x500010, 8);
    copy(false);
    copy(true);
    assert_null(double_read_at(&ranges, 1));
    assert_false(double_read_same(&ranges, 1));
    assert_true(double_read_same(&ranges, 0));
    assert_true(double_read_same(&ranges, 2));
}

static void a_place_that_goes_between_the_copies_is_not_there(void **state)
{
    (void)state;
    double_read_add(&ranges, 0x100010, 8);
    double_read_add(&ranges, 0x500010, 8);
    copy(false);
    fake_remote_unmap(0x500000);
    copy(true);
    assert_false(double_read_same(&ranges, 1));
    assert_true(double_read_same(&ranges, 0));
}

static void more_ranges_than_a_call_reads(void **state)
{
    (void)state;
    enum { APART = 4096, COUNT = 3000 };
    static unsigned char wide[COUNT * APART];
    fake_remote_map(0x10000000, wide, sizeof(wide));
    double_read_add(&ranges, UINT64_MAX - 4, 8); /* an address that nothing can have */
    for (size_t i = 0; i < COUNT; i++) {
        wide[i * APART] = (unsigned char)(i * 7);
        double_read_add(&ranges, 0x10000000 + i * APART, 1);
    }
    copy(false);
    copy(true);
    assert_null(double_read_at(&ranges, 0));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(double_read_at(&ranges, i + 1)[0], wide[i * APART]);
}

static void a_process_that_is_gone_is_told(void **state)
{
    (void)state;
    double_read_add(&ranges, 0x100010, 8);
    fake_remote_answer(REMOTE_GONE);
    assert_int_equal(double_read_copy(&ranges, &remote, false), REMOTE_GONE);
}

TEST_FILE(double_read)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranges_are_copied_as_they_were_added, begin, end),
        cmocka_unit_test_setup_teardown(what_lies_close_together_is_one_piece, begin, end),
        cmocka_unit_test_setup_teardown(what_changed_between_the_copies_is_told, begin, end),
        cmocka_unit_test_setup_teardown(what_changed_since_a_tick_is_told, begin, end),
        cmocka_unit_test_setup_teardown(the_second_copy_can_be_the_first_one_of_the_next_moment, begin, end),
        cmocka_unit_test_setup_teardown(what_another_plan_had_is_not_read_anew, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_wanted_is_not_read, begin, end),
        cmocka_unit_test_setup_teardown(a_place_that_is_gone_takes_no_other_along, begin, end),
        cmocka_unit_test_setup_teardown(a_place_that_goes_between_the_copies_is_not_there, begin, end),
        cmocka_unit_test_setup_teardown(more_ranges_than_a_call_reads, begin, end),
        cmocka_unit_test_setup_teardown(a_process_that_is_gone_is_told, begin, end),
    };
    return run_all(tests);
}
