/* SPDX-License-Identifier: MIT */
/* A thread has the stack that its current frame and the links above it say, whatever else lies in its memory. */
#include "record/unwind/walk.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <string.h>

struct frames {
    struct fake_frame frames[8];
    size_t count;
};

#define FRAMES(...)                                                                                                    \
    (struct frames)                                                                                                    \
    {                                                                                                                  \
        { __VA_ARGS__ }, sizeof((struct fake_frame[]){ __VA_ARGS__ }) / sizeof(struct fake_frame)                      \
    }

/* Functions with lines 1, 20, 30 and 40, and a generator with line 60. */
struct made {
    uint64_t m, f, g, h, gen;
};

static struct made make(struct fake_python *p)
{
    return (struct made){ .m = fake_code(p, "m", 1, 9),
                          .f = fake_code(p, "f", 20, 9),
                          .g = fake_code(p, "g", 30, 9),
                          .h = fake_code(p, "h", 40, 9),
                          .gen = fake_generator(p, "gen", 60, 9) };
}

/* As it is seen with what is known from the sample before, and without. */
static void assert_seen(struct fake_python *p, const char *wanted)
{
    for (int known = 0; known < 2; known++) {
        p->unwinder.walker.anew = !known;
        fake_assert_seen(p, wanted);
    }
    p->unwinder.walker.anew = false;
}

/* The thread's current frame is its n-th one, whatever lies behind it. */
static void stand_in(struct fake_python *p, size_t n)
{
    fake_poke(p, fake_leaf_at(p, 0), fake_frame_address(p, 0, n));
}

static void show(struct fake_python *p, struct frames frames)
{
    fake_stack(p, 0, frames.frames, frames.count);
}

static void assert_not_believed(struct fake_python *p)
{
    const char *seen = fake_bounded_sample(p);
    if (p->threads[0].state != UNWIND_FAILED)
        fail_msg("Python %x: '%s'", fake_layout(p)->version, seen);
}

/* ---- what is built and not current, or left and not cleared ---- */

static void build_callee(struct fake_python *p)
{
    const struct made s = make(p);
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 3 }));
    assert_seen(p, "m:2 f:22 g:33");
    stand_in(p, 1);
    assert_seen(p, "m:2 f:22");
    stand_in(p, 0);
    assert_seen(p, "m:2");
    stand_in(p, 2);
    assert_seen(p, "m:2 f:22 g:33");
}
EACH_VERSION(a_callee_that_is_not_current_is_none, build_callee);

/* A generator at work below another one, and one that was suspended and still has a caller noted. */
static void chain_generators(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct made s = make(p);
    show(p, FRAMES({ PLAIN, s.m, 1 }, { GENERATOR, s.gen, 2 }, { GENERATOR, s.gen, 3 }, { PLAIN, s.f, 1 }));
    assert_seen(p, "m:2 gen:62 gen:63 f:21");
    stand_in(p, 2);
    assert_seen(p, "m:2 gen:62 gen:63");
    stand_in(p, 1);
    assert_seen(p, "m:2 gen:62");
    if (l->thread_cframe)
        return; /* a place on the C stack says who called */
    /* In the middle of a step: the generator is linked, and its caller is not current any more. */
    const uint64_t inner = fake_frame_address(p, 0, 2);
    fake_poke(p, inner + l->frame_previous, fake_frame_address(p, 0, 0));
    stand_in(p, 2);
    assert_seen(p, "m:2 gen:63");
}
EACH_VERSION(generators_stand_where_links_lead, chain_generators);

/* A generator where none was in the last sample is read on the spot: the thread is not read once more for it. A place
 * where none is any more is soon not read. */
static void meet_new_generators(struct fake_python *p)
{
    const struct made s = make(p);
    struct snapshot *snapshot = &p->threads[0].walk.snapshot;
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 2 }, { GENERATOR, s.gen, 3 }));
    fake_assert_seen(p, "m:2 f:22 gen:62 gen:63");
    show(p, FRAMES({ PLAIN, s.m, 1 }, { GENERATOR, s.gen, 1 }, { PLAIN, s.f, 2 }));
    const uint64_t reads = p->unwinder.counters.reads;
    fake_assert_seen(p, "m:2 gen:61 f:22");
    assert_int_equal(p->unwinder.counters.reads - reads, 1);
    fake_assert_seen(p, "m:2 gen:61 f:22");

    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }));
    for (int i = 0; i < 8; i++)
        fake_assert_seen(p, "m:2 f:22");
    for (size_t i = 0; i < snapshot->off_stack_count; i++)
        for (size_t n = 0; n < FAKE_FRAMES; n++)
            assert_int_not_equal(snapshot->off_stack[i].frame, p->threads[0].off_stack[n]);
}
EACH_VERSION(a_new_generator_is_read_on_the_spot, meet_new_generators);

/* A compiler may let CPython 3.12 and later take the caller from a generator that yields before the caller is current
 * again. No thread begins in a generator: what is told then, if anything, has its root. */
static void yield_now(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct made s = make(p);
    if (fake_minor(p) < 12)
        return; /* generators return to C, which clears them later */
    show(p, FRAMES({ PLAIN, s.m, 1 }, { GENERATOR, s.gen, 2 }));
    assert_seen(p, "m:2 gen:62");
    fake_poke(p, fake_frame_address(p, 0, 1) + l->frame_previous, 0);
    for (int known = 0; known < 2; known++) {
        p->unwinder.walker.anew = !known;
        const char *seen = fake_bounded_sample(p);
        if (p->threads[0].state == UNWIND_DONE && strncmp(seen, "m:2", 3) != 0)
            fail_msg("Python %x: '%s' lacks its root", l->version, seen);
    }
    p->unwinder.walker.anew = false;
}
EACH_VERSION(a_generator_that_yields_is_no_root, yield_now);

/* A function that was just called is current, and its link is that of the frame that was in its place before. */
static void call_now(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct made s = make(p);
    if (!l->thread_cframe)
        return;
    show(p, FRAMES({ PLAIN, s.m, 1 }, { GENERATOR, s.gen, 2 }));
    const uint64_t gen = fake_frame_address(p, 0, 1);
    fake_poke(p, gen + l->frame_previous, 0);
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 0 }));
    const uint64_t f = fake_frame_address(p, 0, 1);
    fake_poke(p, f + l->frame_instruction, fake_first(p, s.f, 0) - 2);
    assert_seen(p, "m:2 f:20");
    fake_poke(p, f + l->frame_previous, gen);
    assert_not_believed(p);
}
EACH_VERSION(a_callee_that_is_not_linked_yet_is_not_believed, call_now);

/* ---- calls through C ---- */

static void call_through_c(struct fake_python *p)
{
    const struct made s = make(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, shim, { PLAIN, s.g, 3 }, { PLAIN, s.h, 4 }));
    assert_seen(p, "m:2 f:22 g:33 h:44");
    const struct walk *walk = &p->threads[0].walk;
    assert_false(walk->links[1].from_c);
    assert_true(walk->links[2].from_c);
    assert_false(walk->links[3].from_c);
}
EACH_VERSION(calls_through_c_are_told, call_through_c);

static void have_none(struct fake_python *p)
{
    const struct made s = make(p);
    show(p, FRAMES({ PLAIN, s.m, 1 }));
    assert_seen(p, "m:2");
    fake_stack(p, 0, NULL, 0);
    assert_seen(p, "");
}
EACH_VERSION(a_thread_may_have_no_frames, have_none);

/* ---- compiled code ---- */

/* Makes a frame one of compiled code, which lies so far behind the start of its frame object. */
static void compile_frame(struct fake_python *p, size_t n, uint64_t before)
{
    const uint64_t frame = fake_frame_address(p, 0, n);
    fake_poke(p, frame + fake_layout(p)->frame_object, frame - before);
}

/* Its frames have no lines. They are called directly, and call through C. */
static void run_compiled(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct made s = make(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    show(p, FRAMES({ PLAIN, s.m, 1 }, { GENERATOR, s.gen, 2 }, { GENERATOR, s.gen, 3 }, shim, { PLAIN, s.f, 2 }));
    compile_frame(p, 1, 104);
    assert_seen(p, "m:2 gen:0 gen:63 f:22");
    compile_frame(p, 2, 104);
    assert_seen(p, "m:2 gen:0 gen:0 f:22");
    stand_in(p, 2);
    assert_seen(p, "m:2 gen:0 gen:0");
    const uint64_t gen = fake_frame_address(p, 0, 1);
    if (l->frame_entry) /* nobody has written the word */
        *fake_bytes(p, gen + l->frame_entry) = 0x5a;
    assert_seen(p, "m:2 gen:0 gen:0");
}
EACH_VERSION(frames_of_compiled_code_have_no_lines, run_compiled);

/* A stack may begin with such a frame, without an entry shim. */
static void begin_compiled(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct made s = make(p);
    show(p, FRAMES({ GENERATOR, s.gen, 2 }, { GENERATOR, s.gen, 3 }));
    const uint64_t gen = fake_frame_address(p, 0, 0);
    fake_poke(p, gen + l->frame_previous, p->threads[0].base_frame);
    compile_frame(p, 0, 120);
    compile_frame(p, 1, 120);
    if (l->thread_cframe) /* no C frame of theirs */
        fake_poke(p, p->threads[0].cframe + l->cframe_current_frame + 8, 0);
    assert_seen(p, "gen:0 gen:0");
    stand_in(p, 0);
    assert_seen(p, "gen:0");
}
EACH_VERSION(a_stack_may_begin_in_compiled_code, begin_compiled);

/* An object that is no compiled code is a generator: its frame object lies elsewhere, or there is none. */
static void begin_otherwise(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct made s = make(p);
    const uint64_t distances[] = { COMPILED_BEFORE, COMPILED_BEFORE + 8, 4096, (uint64_t)-8, (uint64_t)-96 };
    for (size_t i = 0; i < countof(distances) && l->root_is_shim && !l->thread_base_frame; i++) {
        show(p, FRAMES({ GENERATOR, s.gen, 2 }));
        fake_poke(p, fake_frame_address(p, 0, 0) + l->frame_previous, 0);
        compile_frame(p, 0, distances[i]);
        assert_not_believed(p);
    }
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }));
    compile_frame(p, 1, 104); /* a plain frame is none, whatever its words say */
    assert_seen(p, "m:2 f:22");
}
EACH_VERSION(a_generator_is_no_compiled_code, begin_otherwise);

/* ---- a current frame that was not noted yet ---- */

/* The thread has a new place for its current frame, and what was there before is noted in it. */
static void assert_unnoted(struct fake_python *p, uint64_t noted, const char *wanted)
{
    const struct layout *l = fake_layout(p);
    const uint64_t state = p->threads[0].address + l->thread_cframe, before = fake_peek(p, state);
    const uint64_t fresh = fake_room(p, 32);
    fake_poke(p, fresh + l->cframe_current_frame, noted);
    fake_poke(p, fresh + l->cframe_current_frame + 8, before);
    fake_poke(p, state, fresh);
    assert_seen(p, wanted);
    fake_poke(p, state, before);
}

static void enter_from_c(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct made s = make(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    if (!l->thread_cframe)
        return;
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, shim, { PLAIN, s.g, 3 }, { PLAIN, s.h, 4 }));
    const uint64_t g = fake_frame_address(p, 0, 3), h = fake_frame_address(p, 0, 4);
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }));
    const uint64_t m = fake_frame_address(p, 0, 0), f = fake_frame_address(p, 0, 1);
    /* A function that makes a generator has left the data stack, and is current still: its caller is what counts. */
    const struct frames gone = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 3 });
    const uint64_t chunk_end = p->threads[0].address + l->thread_chunk + 8;
    const uint64_t end = fake_peek(p, chunk_end);
    show(p, gone);
    fake_poke(p, chunk_end, end);
    assert_seen(p, "m:2 f:22");
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }));
    assert_unnoted(p, 0, "m:2 f:22");
    assert_unnoted(p, 24, "m:2 f:22");                    /* no memory is there */
    assert_unnoted(p, m, "m:2 f:22");                     /* a frame that is not the leaf */
    assert_unnoted(p, f, "m:2 f:22");                     /* one that C did not call */
    assert_unnoted(p, g, "m:2 f:22");                     /* one that has returned, ... */
    assert_unnoted(p, h, "m:2 f:22");                     /* ... and one below it */
    assert_unnoted(p, p->threads[0].address, "m:2 f:22"); /* no frame at all */
}

/* A new place for the current frame that does not say yet which one was before. */
static void enter_now(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct made s = make(p);
    if (!l->thread_cframe)
        return;
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }));
    const uint64_t state = p->threads[0].address + l->thread_cframe, f = fake_frame_address(p, 0, 1);
    const uint64_t fresh = fake_room(p, 32), before[] = { 3, UINT64_C(1) << 46 };
    for (size_t i = 0; i < countof(before); i++) {
        fake_poke(p, fresh + l->cframe_current_frame, f);
        fake_poke(p, fresh + l->cframe_current_frame + 8, before[i]);
        fake_poke(p, state, fresh);
        const uint64_t reads = p->unwinder.counters.reads;
        assert_not_believed(p);
        assert_in_range(p->unwinder.counters.reads - reads, 1, 3);
    }
}
EACH_VERSION(a_place_that_does_not_say_who_called_is_not_believed, enter_now);

EACH_VERSION(before_a_current_frame_is_noted_its_caller_is_current, enter_from_c);

/* ---- code objects ---- */

static void meet_code(struct fake_python *p)
{
    const struct made s = make(p);
    show(p, FRAMES({ PLAIN, s.m, 1 }));
    assert_seen(p, "m:2");
    const uint64_t fresh = fake_code(p, "fresh", 200, 9);
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, fresh, 3 }));
    fake_assert_seen(p, "m:2 fresh:203");
}
EACH_VERSION(new_code_is_read_on_the_spot, meet_code);

static void lose_code(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct made s = make(p);
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }));
    const uint64_t f = fake_frame_address(p, 0, 1), nowhere = FAKE_BASE + FAKE_SIZE + 4096;
    fake_poke(p, f + l->frame_executable, nowhere);
    const uint64_t before = p->codes.gone_count;
    assert_seen(p, "m:2 <code that was gone>:0");
    assert_true(p->codes.gone_count > before);
}
EACH_VERSION(a_code_object_that_is_gone_is_a_frame_in_its_caller, lose_code);

/* Wherever the time to read is over: the look fails, and what is known stays known. */
static void end_in_time(struct fake_python *p)
{
    const struct made s = make(p);
    struct remote *remote = &p->target.remote;
    unsigned failed = 0;
    for (unsigned reads = 0; reads < 8; reads++) { /* in time; each takes 1 us */
        const uint64_t fresh = fake_code(p, "fresh", 200, 9);
        show(p, FRAMES({ PLAIN, s.m, 1 }));
        assert_seen(p, "m:2");
        show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, fresh, 3 }));
        const uint64_t gone = p->codes.gone_count, epoch = p->codes.epoch;
        remote_give_up_at(remote, clock_now_ns() + reads * 1000);
        failed += strcmp(fake_bounded_sample(p), "m:2 fresh:203") != 0;
        remote_give_up_at(remote, 0);
        assert_int_equal(p->codes.gone_count, gone);
        assert_int_equal(p->codes.epoch, epoch);
    }
    assert_in_range(failed, 2, 7); /* not all: some had the time */
}
EACH_VERSION(a_look_that_ends_in_time_knows_of_no_gone_code, end_in_time);

/* A code object is freed, and another one takes its place: a frame that stands there now runs the other one. */
static void replace_code(struct fake_python *p)
{
    const struct made s = make(p);
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.h, 3 }));
    assert_seen(p, "m:2 h:43");
    fake_code_at(p, s.h, "other", 300, 9);
    fake_assert_seen(p, "m:2 other:303");
}
EACH_VERSION(code_that_was_replaced_is_the_new_one, replace_code);

/* The frame stands behind the end of the code object that was there. */
static void replace_by_longer_code(struct fake_python *p)
{
    const struct made s = make(p);
    const uint64_t room = fake_code(p, "room", 500, 60);
    fake_code_at(p, room, "short", 400, 6);
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, room, 3 }));
    assert_seen(p, "m:2 short:403");
    fake_code_at(p, room, "long", 300, 60);
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, room, 50 }));
    fake_assert_seen(p, "m:2 long:350");
    assert_false(p->unwinder.retry_later);
}
EACH_VERSION(longer_code_too, replace_by_longer_code);

/* ---- memory that lies ---- */

static void lie(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct made s = make(p);
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }));
    const uint64_t f = fake_frame_address(p, 0, 1), m = fake_frame_address(p, 0, 0);
    *fake_bytes(p, m + (l->frame_entry ? l->frame_entry : l->frame_owner)) = 0;
    fake_poke(p, m + l->frame_previous, f);
    assert_not_believed(p);
    fake_poke(p, f + l->frame_previous, 8);
    assert_not_believed(p);
    show(p, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }));
    fake_poke(p, fake_frame_address(p, 0, 1) + l->frame_instruction, s.m);
    fake_bounded_sample(p);
    assert_int_equal(p->threads[0].state, UNWIND_FAILED);
}
EACH_VERSION(rings_and_nonsense_fail, lie);

TEST_FILE(walk)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callee_that_is_not_current_is_none),
        cmocka_unit_test(generators_stand_where_links_lead),
        cmocka_unit_test(a_new_generator_is_read_on_the_spot),
        cmocka_unit_test(a_generator_that_yields_is_no_root),
        cmocka_unit_test(a_callee_that_is_not_linked_yet_is_not_believed),
        cmocka_unit_test(calls_through_c_are_told),
        cmocka_unit_test(a_thread_may_have_no_frames),
        cmocka_unit_test(frames_of_compiled_code_have_no_lines),
        cmocka_unit_test(a_stack_may_begin_in_compiled_code),
        cmocka_unit_test(a_generator_is_no_compiled_code),
        cmocka_unit_test(before_a_current_frame_is_noted_its_caller_is_current),
        cmocka_unit_test(a_place_that_does_not_say_who_called_is_not_believed),
        cmocka_unit_test(new_code_is_read_on_the_spot),
        cmocka_unit_test(a_code_object_that_is_gone_is_a_frame_in_its_caller),
        cmocka_unit_test(a_look_that_ends_in_time_knows_of_no_gone_code),
        cmocka_unit_test(code_that_was_replaced_is_the_new_one),
        cmocka_unit_test(longer_code_too),
        cmocka_unit_test(rings_and_nonsense_fail),
    };
    return run_all(tests);
}
