/* SPDX-License-Identifier: MIT */
/* Memory that changes while it is read: a stack that is shown is a true one. */
#include "record/unwind/unwind.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_program.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

/* ---- a thread that runs on ---- */

struct runner {
    struct fake_program program;
    uint32_t moves;       /* of 256 pieces, so many find that it has moved on ... */
    uint32_t steps, left; /* ... by up to so many steps; moves until it stops */
};

static void run_on(void *self, const struct piece *piece, size_t i)
{
    struct runner *runner = self;
    (void)piece;
    (void)i;
    if (runner->left == 0 || fake_program_random(&runner->program, 256) >= runner->moves)
        return;
    runner->left--;
    for (uint32_t step = fake_program_random(&runner->program, runner->steps) + 1; step > 0; step--)
        fake_program_step(&runner->program);
}

#define SAMPLES 400

/* Of a thread that only makes plain calls, whatever is shown was there. Generators lie elsewhere and are copied later:
 * of the fastest programs a few samples in a thousand are of two moments. */
static void run_all_the_time(struct fake_python *p, bool off_stack)
{
    static const struct {
        unsigned moves, good, cut,
            wrong; /* of 256 pieces; at least, and at most with off-stack frames, of SAMPLES samples */
    } speeds[] = { { 2, 398, 0, 0 }, { 20, 398, 2, 2 }, { 100, 380, 2, 4 }, { 255, 360, 2, 6 } };
    /* This takes long: all four speeds are for tests/soak/run. */
    const bool all = soak(1) > 1;
    for (size_t s = all ? 0 : 1; s < countof(speeds); s += all ? 1 : 2) {
        struct runner runner = { fake_program_start(p, 0, 5 + s, off_stack), speeds[s].moves, 3, UINT32_MAX };
        unsigned fits[3] = { 0 };
        char worst[3][300] = { "" };
        fake_remote_hook(run_on, &runner);
        for (int i = 0; i < SAMPLES; i++) {
            const uint64_t since = runner.program.steps;
            const char *seen = fake_bounded_sample(p);
            if (p->threads[0].state == UNWIND_FAILED)
                continue;
            assert_int_equal(p->threads[0].state, UNWIND_DONE);
            const enum fit fit = fake_program_had(&runner.program, seen, since);
            fits[fit]++;
            snprintf(worst[fit], sizeof(worst[fit]), "%s", seen);
        }
        fake_remote_hook(NULL, NULL);
        fake_program_end(&runner.program);
        /* One more piece to read is one more move: once in a while it is read CUT_ATTEMPTS times. */
        const unsigned cut = off_stack ? speeds[s].cut : fake_layout(p)->code_copies && speeds[s].moves == 255;
        if (fits[FIT_CUT] > cut || fits[FIT_NONE] > speeds[s].wrong * off_stack || fits[FIT_RIGHT] < speeds[s].good)
            fail_msg("Python %x, speed %u: of %d samples %u are right, %u are cut off (%s), %u never were (%s)",
                     fake_layout(p)->version, speeds[s].moves, SAMPLES, fits[FIT_RIGHT], fits[FIT_CUT], worst[FIT_CUT],
                     fits[FIT_NONE], worst[FIT_NONE]);
    }
}

static void run_plain(struct fake_python *p)
{
    run_all_the_time(p, false);
}

static void run_with_off_stack(struct fake_python *p)
{
    run_all_the_time(p, true);
}
EACH_VERSION(a_stack_that_is_shown_was_there, run_plain);

EACH_VERSION(a_stack_with_generators_that_is_shown_was_there, run_with_off_stack);

/* It moves a few times and stands still: a retry has it, and nobody notices. */
static void stop_soon(struct fake_python *p)
{
    struct runner runner = { fake_program_start(p, 0, 1, false), 256, 3, 0 };
    fake_sample(p, 0);
    fake_remote_hook(run_on, &runner);
    for (unsigned moves = 1; moves <= 60; moves++) {
        const uint64_t since = runner.program.steps;
        runner.left = moves;
        const char *seen = fake_bounded_sample(p);
        assert_int_equal(p->threads[0].state, UNWIND_DONE);
        if (fake_program_had(&runner.program, seen, since) != FIT_RIGHT)
            fail_msg("Python %x: a stack that never was: %s", fake_layout(p)->version, seen);
    }
    fake_remote_hook(NULL, NULL);
    fake_program_end(&runner.program);
}
EACH_VERSION(a_torn_look_is_taken_again, stop_soon);

/* A call that takes long may have pieces of very different moments: it is only taken when all are slow. */
static void be_slow(struct fake_python *p)
{
    const uint64_t f = fake_code(p, "f", 20, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 }, { PLAIN, f, 2 } }, 2);
    for (int i = 0; i < 8; i++)
        fake_assert_seen(p, "f:21 f:22");
    assert_int_equal(p->threads[0].attempts, 1);
    assert_int_equal(p->unwinder.counters.slow, 0);
    fake_remote_time(1000000000, 1000000);
    fake_assert_seen(p, "f:21 f:22");
    assert_true(p->threads[0].attempts > 4 && p->threads[0].attempts < 64);
    assert_int_equal(p->unwinder.counters.slow, p->threads[0].attempts - 1);
    fake_remote_time(1000000000, 1000);
    fake_assert_seen(p, "f:21 f:22");
    assert_int_equal(p->threads[0].attempts, 1);
}
EACH_VERSION(a_slow_look_is_taken_again, be_slow);

/* ---- a code object that makes room for another ---- */

static void replace_between_samples(struct fake_python *p)
{
    const uint64_t code = fake_code(p, "f", 20, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, code, 1 } }, 1);
    fake_assert_seen(p, "f:21");
    fake_code_at(p, code, "g", 70, 9);
    fake_assert_seen(p, "g:71");
    assert_int_equal(p->threads[0].keep, 0);
    fake_code_at(p, code, "f", 20, 9); /* the same again is no other function */
    fake_assert_seen(p, "f:21");
    fake_code_at(p, code, "h", 90, 1);
    fake_assert_seen(p, "failed: changed while read"); /* it has no such instruction */
}
EACH_VERSION(a_function_is_not_taken_for_one_that_was_there, replace_between_samples);

struct replacing {
    struct fake_python *p;
    uint64_t code;
    int wait; /* pieces until it is replaced; below 0: never */
    bool replaced;
    bool began_after; /* the latest look began after that */
};

static void replace(void *self, const struct piece *piece, size_t i)
{
    struct replacing *r = self;
    if (i == 0 && piece->address == r->p->threads[0].address)
        r->began_after = r->replaced;
    if (r->wait-- != 0)
        return;
    fake_code_at(r->p, r->code, "g", 70, 9);
    r->replaced = true;
}

/* At whatever piece it happens: a look that began afterwards sees the new one. */
static void replace_while_reading(struct fake_python *p)
{
    for (int known = 0; known < 2; known++) {
        for (int wait = 0; wait < 40; wait++) {
            struct replacing r = { p, fake_code(p, "f", 20, 9), wait, false, false };
            fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, r.code, 1 } }, 1);
            if (known)
                fake_assert_seen(p, "f:21");
            fake_remote_hook(replace, &r);
            const char *seen = fake_bounded_sample(p);
            const bool f = strcmp(seen, "f:21") == 0, g = strcmp(seen, "g:71") == 0;
            if (!(f || g) || (f && r.began_after) || (g && !r.replaced))
                fail_msg("Python %x, replaced at piece %d: %s", p->target.runtime.layout.version, wait, seen);
            fake_remote_hook(NULL, NULL);
            if (r.replaced)
                fake_assert_seen(p, "g:71");
            p->threads[0].walk.depth = 0;
        }
    }
}
EACH_VERSION(a_function_is_not_taken_for_one_that_comes, replace_while_reading);

/* The one that was there could not have called at this place: as long as it is believed, the stack is none. */
static void replace_by_a_caller(struct fake_python *p)
{
    const uint64_t f = fake_code(p, "f", 20, 9), g = fake_code(p, "g", 40, 9);
    fake_opcode(p, f, 1, 0);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 } }, 1);
    for (int i = 0; i < 3; i++)
        fake_assert_seen(p, "f:21");
    fake_code_at(p, f, "h", 60, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 }, { PLAIN, g, 2 } }, 2);
    for (int i = 0; i < 3; i++)
        fake_assert_seen(p, "h:61 g:42");
}

/* The one that was there was about to return at this place: a frame of it would be left out. */
static void replace_what_returned(struct fake_python *p)
{
    const uint64_t m = fake_code(p, "m", 1, 9), g = fake_code(p, "g", 40, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, m, 2 }, { PLAIN, g, 7 } }, 2);
    for (int i = 0; i < 3; i++)
        fake_assert_seen(p, "m:3 g:47");
    fake_opcode(p, g, 2, *fake_bytes(p, fake_first(p, g, 0) + 8 * FAKE_UNIT * 2)); /* as its last line, which returns */
    codes_forget(&p->codes);
    for (int i = 0; i < 3; i++)
        fake_assert_seen(p, "m:3 g:47");
    fake_code_at(p, g, "h", 60, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, m, 2 }, { PLAIN, g, 2 } }, 2);
    for (int i = 0; i < 3; i++)
        fake_assert_seen(p, "m:3 h:62");
}

static void a_function_that_is_no_more_does_not_stand_in_the_way(void **state)
{
    (void)state;
    fake_each_version(replace_by_a_caller);
    fake_each_version(replace_what_returned);
}

TEST_FILE(unwind_torn)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_that_is_shown_was_there),
        cmocka_unit_test(a_stack_with_generators_that_is_shown_was_there),
        cmocka_unit_test(a_torn_look_is_taken_again),
        cmocka_unit_test(a_slow_look_is_taken_again),
        cmocka_unit_test(a_function_is_not_taken_for_one_that_was_there),
        cmocka_unit_test(a_function_is_not_taken_for_one_that_comes),
        cmocka_unit_test(a_function_that_is_no_more_does_not_stand_in_the_way),
    };
    return run_all(tests);
}
