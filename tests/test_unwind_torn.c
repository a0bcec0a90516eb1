/* SPDX-License-Identifier: MIT */
/* Memory that changes while it is read: a stack that is shown is a true one. */
#include "record/unwind.h"

#include "formats/alloc.h"
#include "tests/fake_python.h"
#include "tests/fake_remote.h"
#include "tests/testing.h"

#include <stdio.h>
#include <string.h>

#define CALLS_LIMIT 2000 /* of one sample, however much it lies */

static const char *bounded_sample(struct fake_python *p)
{
    const uint64_t calls = p->target.remote.calls, bytes = p->target.remote.bytes;
    const char *seen = fake_sample(p, 0);
    assert_true(p->target.remote.calls - calls < CALLS_LIMIT);
    assert_true(p->target.remote.bytes - bytes < 256u << 20);
    return seen;
}

static void assert_seen(struct fake_python *p, const char *wanted)
{
    const char *seen = bounded_sample(p);
    if (strcmp(seen, wanted) != 0)
        fail_msg("Python %x: '%s' and should be '%s'", p->target.runtime.layout.version, seen, wanted);
}

/* ---- a thread that runs on ---- */

/* Calls and returns: the stack is a new one each time, and its frames below the leaf all say the same line. */
struct runner {
    struct fake_python *p;
    uint64_t random, f, gen;
    unsigned moves; /* of 256 pieces, so many find that it has moved on */
    unsigned left;  /* moves until it stops; 0: it stands still */
    int unit;
    bool deep;
};

static void place(struct runner *runner)
{
    const int n = runner->unit;
    const struct fake_frame frames[] = {
        { PLAIN, runner->f, n },       { GENERATOR, runner->gen, n }, { PLAIN, runner->f, n },
        { GENERATOR, runner->gen, n }, { PLAIN, runner->f, n },       { PLAIN, runner->f, n },
    };
    fake_stack(runner->p, 0, frames, runner->deep ? 6 : 4);
}

static void run_on(void *self, const struct piece *piece, size_t i)
{
    struct runner *runner = self;
    (void)piece;
    (void)i;
    runner->random = runner->random * 6364136223846793005u + 1442695040888963407u;
    if (runner->left == 0 || (runner->random >> 33) % 256 >= runner->moves)
        return;
    runner->left--;
    runner->unit = (runner->unit + 1) % 3000;
    runner->deep = runner->random >> 50 & 1;
    place(runner);
}

static struct runner start_runner(struct fake_python *p, unsigned moves, unsigned left)
{
    struct runner runner = { p, 7, fake_code(p, "f", 1, 3000), 0, moves, left, 0, true };
    runner.gen = fake_code(p, "gen", 1, 3000);
    place(&runner);
    return runner;
}

/* All frames but the leaf, whose line may be any it had meanwhile, must be of one moment. */
static bool is_true_stack(const char *text)
{
    unsigned lines[6];
    int count = 0;
    for (const char *at = strchr(text, ':'); at && count < 6; at = strchr(at + 1, ':'))
        if (sscanf(at + 1, "%u", &lines[count++]) != 1)
            return false;
    if (count != 4 && count != 6)
        return false;
    for (int i = 1; i < count - 1; i++)
        if (lines[i] != lines[0])
            return false;
    return true;
}

static void run_all_the_time(struct fake_python *p)
{
    static const struct {
        unsigned moves, good; /* of 256 pieces, and at least so many of 2000 samples */
    } speeds[] = { { 2, 1990 }, { 20, 1990 }, { 100, 200 }, { 255, 0 } };
    for (size_t s = 0; s < countof(speeds); s++) {
        struct runner runner = start_runner(p, speeds[s].moves, UINT32_MAX);
        unsigned good = 0;
        fake_remote_hook(run_on, &runner);
        for (int i = 0; i < 2000; i++) {
            const char *seen = bounded_sample(p);
            if (p->threads[0].state == UNWIND_FAILED) {
                assert_int_equal(p->threads[0].unwound.cause, FAILURE_CHANGED);
                continue;
            }
            assert_int_equal(p->threads[0].state, UNWOUND);
            if (!is_true_stack(seen))
                fail_msg("Python %x, speed %u: a stack that never was: %s", p->target.runtime.layout.version,
                         speeds[s].moves, seen);
            good++;
        }
        assert_true(good >= speeds[s].good);
        fake_remote_hook(NULL, NULL);
    }
}

static void a_stack_that_is_shown_was_there(void **state)
{
    (void)state;
    fake_each_version(run_all_the_time);
}

/* It moves a few times and stands still: a retry has it, and nobody notices. */
static void stop_soon(struct fake_python *p)
{
    struct runner runner = start_runner(p, 256, 0);
    fake_sample(p, 0);
    fake_remote_hook(run_on, &runner);
    for (unsigned moves = 1; moves <= 60; moves++) {
        const uint64_t retries = p->unwinder.retries;
        runner.left = moves;
        const char *seen = bounded_sample(p);
        assert_int_equal(p->threads[0].state, UNWOUND);
        assert_true(is_true_stack(seen));
        /* A move before the first piece is none that it could see. */
        assert_true(moves < 12 || p->unwinder.retries > retries);
    }
    fake_remote_hook(NULL, NULL);
}

static void a_torn_look_is_taken_again(void **state)
{
    (void)state;
    fake_each_version(stop_soon);
}

/* Each piece finds another stack: that is a failure with its cause, after a bounded number of looks. */
static void never_stop(struct fake_python *p)
{
    struct runner runner = start_runner(p, 256, UINT32_MAX);
    fake_remote_hook(run_on, &runner);
    for (int i = 0; i < 20; i++)
        assert_seen(p, "failed: changed while read");
    fake_remote_hook(NULL, NULL);
    runner.left = 0;
    bounded_sample(p);
    assert_int_equal(p->threads[0].state, UNWOUND);
}

static void what_never_stands_still_fails(void **state)
{
    (void)state;
    fake_each_version(never_stop);
}

/* ---- one word that changes ---- */

/* At the moment at which the leaf is read, this word becomes the other value, and back at the next. */
struct swinging {
    struct fake_python *p;
    uint64_t at, values[2];
    unsigned swings;
};

static void swing(void *self, const struct piece *piece, size_t i)
{
    struct swinging *s = self;
    (void)i;
    if (piece->size == 8 && piece->address == fake_leaf_at(s->p, 0))
        fake_poke(s->p, s->at, s->values[++s->swings & 1]);
}

static void assert_swung(struct fake_python *p, uint64_t at, uint64_t other, const char *wanted)
{
    struct swinging s = { p, at, { fake_peek(p, at), other }, 0 };
    assert_int_not_equal(s.values[0], other);
    fake_remote_hook(swing, &s);
    assert_seen(p, wanted);
    assert_true(s.swings > 0);
    fake_remote_hook(NULL, NULL);
    fake_poke(p, at, s.values[0]);
    assert_seen(p, "f:21 f:22 f:23 f:24");
}

static void swing_each_word(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    const uint64_t f = fake_code(p, "f", 20, 9), g = fake_code(p, "g", 20, 9);
    const struct fake_frame frames[] = { { PLAIN, f, 1 }, { GENERATOR, f, 2 }, { PLAIN, f, 3 }, { PLAIN, f, 4 } };
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, g, 1 } }, 1);
    assert_seen(p, "g:21");
    fake_stack(p, 0, frames, 4);
    assert_seen(p, "f:21 f:22 f:23 f:24");
    const char *torn = "failed: changed while read";
    for (size_t n = 1; n < 4; n++) {
        const uint64_t frame = fake_frame_address(p, 0, frames, n);
        const uint64_t executable = fake_peek(p, frame + l->frame_executable);
        const uint64_t owner_word = frame + (l->frame_owner & ~7u), owner = fake_peek(p, owner_word);
        assert_swung(p, frame + l->frame_executable, executable - f + g, torn);
        assert_swung(p, owner_word, owner ^ (uint64_t)1 << l->frame_owner % 8 * 8, torn);
        if (n > 1)
            assert_swung(p, frame + l->frame_previous, fake_frame_address(p, 0, frames, n - 2), torn);
    }
    /* The line of a caller is its own, the leaf's may be any that it had. */
    const uint64_t caller = fake_frame_address(p, 0, frames, 2) + l->frame_instruction;
    const uint64_t leaf = fake_frame_address(p, 0, frames, 3) + l->frame_instruction;
    assert_swung(p, caller, fake_peek(p, caller) + 2, torn);
    assert_swung(p, leaf, fake_peek(p, leaf) + 2, "f:21 f:22 f:23 f:24");
    if (l->thread_cframe)
        assert_swung(p, p->threads[0].address + l->thread_cframe, fake_room(p, 64), torn);
}

static void a_frame_is_the_same_around_the_moment(void **state)
{
    (void)state;
    fake_each_version(swing_each_word);
}

/* ---- a code object that makes room for another ---- */

static void replace_between_samples(struct fake_python *p)
{
    const uint64_t code = fake_code(p, "f", 20, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, code, 1 } }, 1);
    assert_seen(p, "f:21");
    fake_code_at(p, code, "g", 70, 9);
    assert_seen(p, "g:71");
    assert_int_equal(p->threads[0].unwound.keep, 0);
    fake_code_at(p, code, "f", 20, 9); /* the same again is no other function */
    assert_seen(p, "f:21");
    fake_code_at(p, code, "h", 90, 1);
    assert_seen(p, "failed: changed while read"); /* it has no such instruction */
}

static void a_function_is_not_taken_for_one_that_was_there(void **state)
{
    (void)state;
    fake_each_version(replace_between_samples);
}

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
                assert_seen(p, "f:21");
            fake_remote_hook(replace, &r);
            const char *seen = bounded_sample(p);
            const bool f = strcmp(seen, "f:21") == 0, g = strcmp(seen, "g:71") == 0;
            if (!(f || g) || (f && r.began_after) || (g && !r.replaced))
                fail_msg("Python %x, replaced at piece %d: %s", p->target.runtime.layout.version, wait, seen);
            fake_remote_hook(NULL, NULL);
            if (r.replaced)
                assert_seen(p, "g:71");
            p->threads[0].walk.depth = 0;
        }
    }
}

static void a_function_is_not_taken_for_one_that_comes(void **state)
{
    (void)state;
    fake_each_version(replace_while_reading);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_that_is_shown_was_there),
        cmocka_unit_test(a_torn_look_is_taken_again),
        cmocka_unit_test(what_never_stands_still_fails),
        cmocka_unit_test(a_frame_is_the_same_around_the_moment),
        cmocka_unit_test(a_function_is_not_taken_for_one_that_was_there),
        cmocka_unit_test(a_function_is_not_taken_for_one_that_comes),
    };
    return run_all(tests);
}
