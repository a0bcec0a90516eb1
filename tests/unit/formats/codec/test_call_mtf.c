/* SPDX-License-Identifier: MIT */
/* Frames are told by who called them, and come back. */
#include "formats/codec/call_mtf.h"

#include "formats/base/alloc.h"

#include "tests/fakes/testing.h"

#include <stdint.h>
#include <stdlib.h>

/* What stands for a frame that its caller did not call lately: how far it is from the one behind its caller. */
#define AHEAD(frames)  (5 + 2 * (frames))
#define BEHIND(frames) (4 + 2 * (frames))

/* A change of a thread's stack, and what stands for the frame that is pushed. */
struct row {
    uint32_t thread, keep, frame;
    uint64_t told;
};

static uint32_t take(struct call_mtf *callees, uint64_t told)
{
    const uint32_t frame = call_mtf_decode(callees, call_mtf_top(callees->stack), told);
    if (frame)
        call_mtf_push(callees->stack, frame);
    return frame;
}

static void assert_told(const struct row *rows, size_t count)
{
    struct call_mtf to = { 0 }, from = { 0 };
    for (int block = 0; block < 2; block++) { /* the second begins as the first did */
        call_mtf_begin(&to);
        call_mtf_begin(&from);
        for (size_t i = 0; i < count; i++) {
            call_mtf_keep(&to, rows[i].thread, rows[i].keep);
            call_mtf_keep(&from, rows[i].thread, rows[i].keep);
            assert_int_equal(call_mtf_encode(&to, rows[i].frame), rows[i].told);
            assert_int_equal(take(&from, rows[i].told), rows[i].frame);
        }
    }
    call_mtf_free(&to);
    call_mtf_free(&from);
}

static void a_caller_goes_on_as_it_did(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { 1, 0, 1, AHEAD(0) },  { 1, 1, 2, AHEAD(0) }, { 1, 2, 3, AHEAD(0) }, { 1, 1, 7, AHEAD(5) }, /* of 1, too */
        { 1, 2, 3, BEHIND(5) },                                                                      /* of 7 */
        { 1, 1, 2, 2 },                         /* the one before the latest of 1 */
        { 1, 1, 2, 1 },                         /* the latest now */
        { 2, 0, 1, 1 },                         /* of another thread */
        { 2, 1, 7, 2 },         { 1, 2, 3, 1 }, /* the first thread's stack is as it was */
    };
    assert_told(rows, countof(rows));
}

static void four_are_remembered(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { 1, 0, 11, AHEAD(10) }, { 1, 0, 12, AHEAD(11) }, { 1, 0, 13, AHEAD(12) }, { 1, 0, 14, AHEAD(13) },
        { 1, 0, 11, 4 },         { 1, 0, 15, AHEAD(14) }, { 1, 0, 12, AHEAD(11) }, { 1, 0, 11, 3 },
    };
    assert_told(rows, countof(rows));
}

static void the_largest_and_the_smallest_come_back(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { 1, 0, UINT32_MAX, AHEAD((uint64_t)UINT32_MAX - 1) },
        { 1, 1, 1, BEHIND((uint64_t)UINT32_MAX) },
        { 1, 1, UINT32_MAX, BEHIND(1) },
    };
    assert_told(rows, countof(rows));
}

static void what_stands_for_no_frame_is_refused(void **state)
{
    (void)state;
    const uint64_t bad[] = { 0,         1, 4, BEHIND(1), AHEAD((uint64_t)UINT32_MAX), AHEAD((uint64_t)UINT32_MAX + 1),
                             UINT64_MAX };
    struct call_mtf callees = { 0 };
    call_mtf_begin(&callees);
    call_mtf_keep(&callees, 1, 0);
    for (size_t i = 0; i < countof(bad); i++)
        assert_int_equal(take(&callees, bad[i]), 0);
    assert_int_equal(call_mtf_encode(&callees, 1), AHEAD(0)); /* nothing was pushed */
    call_mtf_free(&callees);
}

/* Frames below the depth that is remembered have no caller; stacks come back from there. */
static void deep_stacks_are_followed(void **state)
{
    (void)state;
    struct call_mtf callees = { 0 };
    call_mtf_begin(&callees);
    call_mtf_keep(&callees, 1, 0);
    call_mtf_encode(&callees, 1);
    call_mtf_encode(&callees, 9);
    assert_true(call_mtf_repeat(&callees, 2, CALL_MTF_DEPTH * 2)); /* 1, 9, 1, 9, ... */
    assert_int_equal(call_mtf_encode(&callees, 5), AHEAD(4));      /* as of no caller */
    call_mtf_pop(&callees, 1, CALL_MTF_DEPTH + 3);
    assert_int_equal(call_mtf_encode(&callees, 1), BEHIND(9)); /* what was repeated was not told as a call of 9 */
    assert_true(call_mtf_repeat(&callees, 1, UINT64_MAX));
    call_mtf_pop(&callees, 1, UINT64_MAX - 3);
    assert_int_equal(call_mtf_encode(&callees, 4), AHEAD(2)); /* of 1, the third of 1, 9, 1, 9, ... */
    assert_true(call_mtf_repeat(&callees, 0, 2));             /* of what is not there: no caller */
    assert_int_equal(call_mtf_encode(&callees, 6), AHEAD(5));
    assert_true(call_mtf_repeat(&callees, UINT64_MAX, 2));
    assert_int_equal(call_mtf_encode(&callees, 7), AHEAD(6));
    call_mtf_pop(&callees, 1, UINT64_MAX);
    assert_int_equal(call_mtf_encode(&callees, 1), 4); /* with no caller there were 7, 6 and 5 since */
    call_mtf_free(&callees);
}

/* They take no bytes: a small file could keep a reader busy for hours. */
static void repeated_frames_are_bounded(void **state)
{
    (void)state;
    struct call_mtf callees = { 0 };
    call_mtf_begin(&callees);
    for (size_t pushed = 0; pushed < CALL_MTF_REPEATS; pushed += CALL_MTF_DEPTH) {
        call_mtf_keep(&callees, 1, 0);
        assert_true(call_mtf_repeat(&callees, 1, CALL_MTF_DEPTH));
    }
    call_mtf_keep(&callees, 1, 0);
    assert_false(call_mtf_repeat(&callees, 1, 1));
    call_mtf_begin(&callees);
    call_mtf_keep(&callees, 1, 0);
    assert_true(call_mtf_repeat(&callees, 1, 1)); /* each block has its own */
    call_mtf_free(&callees);
}

TEST_FILE(call_mtf)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caller_goes_on_as_it_did),
        cmocka_unit_test(four_are_remembered),
        cmocka_unit_test(the_largest_and_the_smallest_come_back),
        cmocka_unit_test(what_stands_for_no_frame_is_refused),
        cmocka_unit_test(deep_stacks_are_followed),
        cmocka_unit_test(repeated_frames_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
