/* SPDX-License-Identifier: MIT */
/* Stacks of each CPython, in memory that keeps still; read with what was remembered of the thread, and anew. */
#include "record/unwind/unwind.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/fake_program.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <string.h>

static void assert_sample(struct fake_python *p, size_t thread, const char *wanted, uint32_t keep)
{
    const char *seen = fake_sample(p, thread);
    if (strcmp(seen, wanted) != 0 || (p->threads[thread].state == UNWIND_DONE && p->threads[thread].keep != keep))
        fail_msg("Python %x: '%s' keeps %u, and should be '%s' and keep %u", p->target.runtime.layout.version, seen,
                 p->threads[thread].keep, wanted, keep);
}

static void tell_changes(struct fake_python *p)
{
    const uint64_t module = fake_code(p, "<module>", 1, 9), f = fake_code(p, "f", 20, 9),
                   g = fake_code(p, "C.g", 40, 6);
    assert_sample(p, 0, "", 0);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, module, 2 } }, 1);
    assert_sample(p, 0, "<module>:3", 0);
    assert_sample(p, 0, "<module>:3", 1);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, module, 4 }, { PLAIN, f, 0 }, { PLAIN, g, 4 } }, 3);
    assert_sample(p, 0, "<module>:5 f:20 C.g:44", 0);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, module, 4 }, { PLAIN, f, 1 }, { PLAIN, g, 4 } }, 3);
    assert_sample(p, 0, "<module>:5 f:21 C.g:44", 1);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, module, 4 }, { PLAIN, f, 1 }, { PLAIN, g, 4 }, { PLAIN, g, 4 } },
               4);
    assert_sample(p, 0, "<module>:5 f:21 C.g:44 C.g:44", 3);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, module, 4 }, { PLAIN, f, 1 } }, 2);
    assert_sample(p, 0, "<module>:5 f:21", 2);
    fake_stack(p, 0, NULL, 0);
    assert_sample(p, 0, "", 0);
}
EACH_VERSION(tells_how_a_stack_changes, tell_changes);

/* Generators and coroutines in heap objects, entries from C between them. */
static void find_off_stack(struct fake_python *p)
{
    const uint64_t module = fake_code(p, "<module>", 1, 9), g = fake_generator(p, "gen", 20, 9),
                   f = fake_code(p, "f", 40, 9);
    const struct fake_frame frames[] = {
        { PLAIN, module, 1 }, { GENERATOR, g, 1 }, { GENERATOR, g, 2 }, { PLAIN, f, 3 }, { GENERATOR, g, 4 },
    };
    fake_stack(p, 0, frames, 5);
    assert_sample(p, 0, "<module>:2 gen:21 gen:22 f:43 gen:24", 0);
    assert_sample(p, 0, "<module>:2 gen:21 gen:22 f:43 gen:24", 5);
    fake_stack(p, 0, frames, 3);
    assert_sample(p, 0, "<module>:2 gen:21 gen:22", 3);
    fake_stack(p, 0, frames, 5);
    assert_sample(p, 0, "<module>:2 gen:21 gen:22 f:43 gen:24", 3);
    if (!p->target.runtime.layout.root_is_shim)
        return; /* 3.11 has no entry shims */
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, module, 1 }, { SHIM, 0, 0 }, { PLAIN, f, 1 }, { SHIM, 0, 0 } }, 4);
    assert_sample(p, 0, "<module>:2 f:41", 1);
}
EACH_VERSION(finds_frames_outside_the_data_stack, find_off_stack);

static void read_few_times(struct fake_python *p)
{
    const uint64_t f = fake_code(p, "f", 20, 9), g = fake_generator(p, "gen", 40, 9);
    const struct fake_frame frames[] = { { PLAIN, f, 1 }, { GENERATOR, g, 1 }, { PLAIN, f, 3 } };
    fake_stack(p, 0, frames, 3);
    for (int i = 0; i < 10; i++)
        fake_sample(p, 0);
    const uint64_t calls = p->target.remote.calls;
    assert_sample(p, 0, "f:21 gen:41 f:23", 3);
    assert_int_equal(p->target.remote.calls - calls, 1);
}
EACH_VERSION(a_known_stack_takes_one_call, read_few_times);

/* The code objects are confirmed by the call that reads the stack; of many, some by one more. */
static void confirm_many(struct fake_python *p)
{
    static struct fake_frame frames[CODE_PROOFS + 8];
    for (size_t i = 0; i < countof(frames); i++)
        frames[i] = (struct fake_frame){ PLAIN, fake_code(p, "f", (uint32_t)i * 10, 9), 1 };
    for (size_t depth = CODE_PROOFS; depth <= countof(frames); depth += 8) {
        fake_stack(p, 0, frames, depth);
        for (int i = 0; i < 4; i++)
            fake_sample(p, 0);
        const uint64_t calls = p->target.remote.calls;
        fake_sample(p, 0);
        assert_int_equal(p->threads[0].walk.depth, depth);
        const bool counts = p->target.runtime.layout.interpreter_code_generation;
        assert_int_equal(p->target.remote.calls - calls, counts || depth == CODE_PROOFS ? 1 : 2);
        fake_code_at(p, frames[0].code, "other", 500, 9);
        const char *seen = fake_sample(p, 0);
        if (strncmp(seen, "other:501 f:11", 14) != 0)
            fail_msg("Python %x: '%s'", fake_layout(p)->version, seen);
        fake_code_at(p, frames[0].code, "f", 0, 9);
        fake_sample(p, 0);
    }
}
EACH_VERSION(code_is_confirmed_with_the_stack, confirm_many);

/* A function that has not begun: the instruction is the one before its first, up to 3.12. A frame with one that is not
 * its function's is torn. */
static void begin_functions(struct fake_python *p)
{
    static const struct {
        int unit;
        const char *wanted;
    } rows[] = { { -1, "f:21 f:20" },
                 { 0, "f:21 f:20" },
                 { 7, "f:21 f:27" },
                 { 8, "f:21 f:28" },
                 { -2, "failed: changed while read" },
                 { 9, "failed: changed while read" },
                 { 3000, "failed: changed while read" } };
    const uint64_t f = fake_code(p, "f", 20, 9);
    for (size_t i = 0; i < countof(rows); i++) {
        fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 }, { PLAIN, f, rows[i].unit } }, 2);
        const char *seen = fake_sample(p, 0);
        if (strcmp(seen, rows[i].wanted) != 0)
            fail_msg("Python %x, unit %d: '%s'", fake_layout(p)->version, rows[i].unit, seen);
    }
}
EACH_VERSION(an_instruction_lies_in_its_function, begin_functions);

/* 80 frames are more than the first look reads; then a second chunk is put on the first. */
static void follow_chunks(struct fake_python *p)
{
    const uint64_t f = fake_code(p, "f", 20, 9);
    struct fake_frame frames[81];
    for (size_t i = 0; i < countof(frames); i++)
        frames[i] = (struct fake_frame){ PLAIN, f, 1 };
    fake_stack(p, 0, frames, 2);
    assert_sample(p, 0, "f:21 f:21", 0);
    fake_stack(p, 0, frames, 80);
    fake_sample(p, 0);
    assert_int_equal(p->threads[0].walk.depth, 80);
    assert_int_equal(p->threads[0].keep, 2);

    fake_chunk(p, 0, 80);
    fake_stack(p, 0, frames, 81);
    fake_sample(p, 0);
    assert_int_equal(p->threads[0].state, UNWIND_DONE);
    assert_int_equal(p->threads[0].walk.depth, 81);
    assert_int_equal(p->threads[0].keep, 80);
}
EACH_VERSION(follows_the_chunks_of_the_data_stack, follow_chunks);

static void tell_neighbours(struct fake_python *p)
{
    const uint64_t f = fake_code(p, "f", 20, 9);
    const size_t other = fake_thread(p, 4712);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 } }, 1);
    fake_stack(p, other, (struct fake_frame[]){ { PLAIN, f, 2 } }, 1);
    assert_sample(p, 0, "f:21", 0);
    assert_int_equal(p->threads[0].unwound.native_id, 4711);
    assert_int_equal(p->threads[0].unwound.next_thread, 0);
    assert_int_equal(p->threads[0].unwound.previous_thread, p->threads[other].address);
    assert_sample(p, other, "f:22", 0);
    assert_int_equal(p->threads[other].unwound.native_id, 4712);
    assert_int_equal(p->threads[other].unwound.next_thread, p->threads[0].address);
}
EACH_VERSION(tells_the_threads_around, tell_neighbours);

/* A thread that never ran Python has nothing where its frames are told; before 3.13 not even a place for it. */
static void never_enter(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    const uint64_t f = fake_code(p, "f", 20, 9);
    const size_t other = fake_thread(p, 4712);
    fake_stack(p, other, (struct fake_frame[]){ { PLAIN, f, 1 } }, 1);
    const uint64_t at = p->threads[0].address + (l->thread_cframe ? l->thread_cframe : l->thread_current_frame);
    fake_poke(p, at, 0);
    fake_poke(p, p->threads[0].address + l->thread_chunk, 0);
    assert_sample(p, 0, "", 0);
    assert_sample(p, 0, "", 0);
    fake_poke(p, p->threads[0].address + l->thread_chunk, p->threads[0].chunks[0]);
    if (l->thread_cframe)
        fake_poke(p, at, p->threads[0].cframe);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 2 } }, 1);
    assert_sample(p, 0, "f:22", 0);
}
EACH_VERSION(a_thread_that_never_ran_has_no_frames, never_enter);

/* ---- what may not be a thread ---- */

static void look_elsewhere(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    const uint64_t thread = p->threads[0].address;
    fake_poke(p, thread + l->thread_interpreter, 0xDDDDDDDDDDDDDDDD); /* freed, in a debug build */
    assert_sample(p, 0, "elsewhere", 0);
    p->threads[0].address = 0x1000;
    assert_sample(p, 0, "elsewhere", 0);
    p->threads[0].address = FAKE_BASE + FAKE_SIZE - 8; /* its end is beyond memory */
    assert_sample(p, 0, "elsewhere", 0);
    fake_remote_answer(REMOTE_GONE);
    assert_sample(p, 0, "gone", 0);
    fake_remote_answer(REMOTE_DENIED);
    assert_sample(p, 0, "gone", 0);
}
EACH_VERSION(what_is_no_thread_is_elsewhere, look_elsewhere);

/* ---- what is remembered is what is there ---- */

static void compare(struct fake_python *p, bool off_stack, uint32_t steps, uint64_t seed)
{
    struct fake_program program = fake_program_start(p, 0, seed, off_stack);
    program.most = 24;
    const unsigned rounds = soak(1000);
    struct walk cold = { 0 };
    struct unwinder anew;
    fake_sample(p, 0); /* the interpreters are known */
    unwinder_open(&anew, &p->target, &p->codes, true);
    for (unsigned round = 0; round < rounds; round++) {
        const char *wanted = fake_program_text(&program);
        struct wanted once = { .walk = &cold, .thread = p->threads[0].address };
        bool same;
        assert_true(unwind_threads(&anew, &once, 1, clock_now_ns(), &same));
        const char *seen = once.state == UNWIND_DONE ? fake_walk_text(p, &cold) : "failed";
        if (strcmp(seen, wanted) != 0)
            fail_msg("Python %x, seed %lu, round %u, anew: '%s' and not '%s'", fake_layout(p)->version, seed, round,
                     seen, wanted);
        seen = fake_sample(p, 0);
        if (strcmp(seen, wanted) != 0)
            fail_msg("Python %x, seed %lu, round %u: '%s' and not '%s'", fake_layout(p)->version, seed, round, seen,
                     wanted);
        for (uint32_t i = fake_program_random(&program, steps); i > 0; i--)
            fake_program_step(&program);
    }
    const struct unwind_counters *warm = &p->unwinder.counters;
    assert_true(warm->frames_known > rounds); /* there was something to remember */
    assert_int_equal(anew.counters.frames_known, 0);
    unwinder_close(&anew);
    walk_free(&cold);
}

static void compare_plain(struct fake_python *p)
{
    compare(p, false, 4, 1);
}

static void compare_with_off_stack(struct fake_python *p)
{
    compare(p, true, 4, 2);
}

static void compare_chunks(struct fake_python *p)
{
    fake_chunk(p, 0, 5);
    fake_chunk(p, 0, 9);
    compare(p, false, 5, 3);
}

static void compare_chunks_with_off_stack(struct fake_python *p)
{
    fake_chunk(p, 0, 4);
    fake_chunk(p, 0, 11);
    compare(p, true, 5, 4);
}
EACH_VERSION(plain_stacks_are_the_same_as_anew, compare_plain);

EACH_VERSION(stacks_with_generators_are_the_same_as_anew, compare_with_off_stack);

static void stacks_in_several_chunks_are_the_same_as_anew(void **state)
{
    (void)state;
    fake_each_version(compare_chunks);
    fake_each_version(compare_chunks_with_off_stack);
}

TEST_FILE(unwind)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_how_a_stack_changes),
        cmocka_unit_test(finds_frames_outside_the_data_stack),
        cmocka_unit_test(a_known_stack_takes_one_call),
        cmocka_unit_test(code_is_confirmed_with_the_stack),
        cmocka_unit_test(an_instruction_lies_in_its_function),
        cmocka_unit_test(follows_the_chunks_of_the_data_stack),
        cmocka_unit_test(tells_the_threads_around),
        cmocka_unit_test(a_thread_that_never_ran_has_no_frames),
        cmocka_unit_test(what_is_no_thread_is_elsewhere),
        cmocka_unit_test(plain_stacks_are_the_same_as_anew),
        cmocka_unit_test(stacks_with_generators_are_the_same_as_anew),
        cmocka_unit_test(stacks_in_several_chunks_are_the_same_as_anew),
    };
    return run_all(tests);
}
