/* SPDX-License-Identifier: MIT */
/* What is taken from the last sample is what is there: programs that run at random are read with what was remembered of
 * them, and anew, and both must be the stack that is there. */
#include "record/unwind/unwind.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/fake_program.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define ROUNDS 3000

static void compare(struct fake_python *p, bool strays, uint32_t steps, uint64_t seed)
{
    struct fake_program program = fake_program_start(p, 0, seed, strays);
    program.most = 24;
    struct walk cold = { 0 };
    struct unwinder anew;
    fake_sample(p, 0); /* the interpreters are known */
    unwinder_open(&anew, &p->target, &p->codes, true);
    for (int round = 0; round < ROUNDS; round++) {
        const char *wanted = fake_program_text(&program);
        struct wanted once = { .walk = &cold, .thread = p->threads[0].address };
        bool same;
        assert_true(unwind_threads(&anew, &once, 1, clock_now_ns(), &same));
        const char *seen = once.state == UNWOUND ? fake_walk_text(p, &cold) : "failed";
        if (strcmp(seen, wanted) != 0)
            fail_msg("Python %x, seed %lu, round %d, anew: '%s' and not '%s'", fake_layout(p)->version, seed, round,
                     seen, wanted);
        seen = fake_sample(p, 0);
        if (strcmp(seen, wanted) != 0)
            fail_msg("Python %x, seed %lu, round %d: '%s' and not '%s'", fake_layout(p)->version, seed, round, seen,
                     wanted);
        for (uint32_t i = fake_program_random(&program, steps); i > 0; i--)
            fake_program_step(&program);
    }
    const struct unwind_figures *warm = &p->unwinder.figures;
    assert_true(warm->frames_known > ROUNDS); /* there was something to remember */
    assert_int_equal(anew.figures.frames_known, 0);
    fake_program_end(&program);
    unwinder_close(&anew);
    walk_free(&cold);
}

static void compare_plain(struct fake_python *p)
{
    compare(p, false, 4, 1);
}

static void compare_with_strays(struct fake_python *p)
{
    compare(p, true, 4, 2);
}

static void compare_chunks(struct fake_python *p)
{
    fake_chunk(p, 0, 5);
    fake_chunk(p, 0, 9);
    compare(p, false, 5, 3);
}

static void compare_chunks_with_strays(struct fake_python *p)
{
    fake_chunk(p, 0, 4);
    fake_chunk(p, 0, 11);
    compare(p, true, 5, 4);
}
EACH_VERSION(plain_stacks_are_the_same_as_anew, compare_plain);

EACH_VERSION(stacks_with_generators_are_the_same_as_anew, compare_with_strays);

static void stacks_in_several_chunks_are_the_same_as_anew(void **state)
{
    (void)state;
    fake_each_version(compare_chunks);
    fake_each_version(compare_chunks_with_strays);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_stacks_are_the_same_as_anew),
        cmocka_unit_test(stacks_with_generators_are_the_same_as_anew),
        cmocka_unit_test(stacks_in_several_chunks_are_the_same_as_anew),
    };
    return run_all(tests);
}
