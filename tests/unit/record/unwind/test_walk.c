/* SPDX-License-Identifier: MIT */
/* Which frames of the data stack are alive. The current frame of a thread is copied first, then its data stack: here
 * the thread moves on in between, and the stack that is seen must be the one that was there when the data stack was
 * copied. */
#include "record/unwind/walk.h"

#include "tests/fakes/fake_moves.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

/* ---- calls and returns ---- */

static void return_meanwhile(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct frames deep = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 3 }, { PLAIN, s.h, 4 });
    moving_assert(&s, deep, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 4 }), "m:2 f:22 g:34");
    moving_assert(&s, deep, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 3 }), "m:2 f:23");
    moving_assert(&s, deep, FRAMES({ PLAIN, s.m, 7 }), "m:8");
}
EACH_VERSION(a_frame_that_returned_is_none, return_meanwhile);

static void call_meanwhile(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct frames deep = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 3 }, { PLAIN, s.h, 4 });
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }), deep, "m:2 f:22 g:33 h:44");
    moving_assert(&s, FRAMES({ PLAIN, s.m, 7 }, { PLAIN, s.f, 1 }), deep, "m:2 f:22 g:33 h:44");
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 7 }), deep, "m:2 f:22 g:33 h:44");
}
EACH_VERSION(frames_that_were_called_since_are_found, call_meanwhile);

static void enter_meanwhile(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    const struct frames two = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 });
    moving_assert(&s, two, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, shim, { PLAIN, s.g, 3 }), "m:2 f:22 g:33");
    moving_assert(&s, two, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, shim, { PLAIN, s.g, 3 }, { PLAIN, s.h, 4 }),
                  "m:2 f:22 g:33 h:44");
    moving_assert(&s, two,
                  FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, shim, { PLAIN, s.g, 3 }, shim, { PLAIN, s.h, 4 }),
                  "m:2 f:22 g:33 h:44");
}
EACH_VERSION(frames_that_were_called_through_c_since_are_found, enter_meanwhile);

/* What C code called has returned: by an exception, after which it looks as if it waited for another, or no more than
 * the entry shim of its caller is left of it. Its caller runs. (From 3.14 on nothing like that is left.) */
static void leave_entered(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    if (l->marks_returned_frames)
        return;
    struct moving s = moving_start(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    const struct frames entered = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, shim, { PLAIN, s.g, 3 });
    const struct frames two = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 });
    moving_assert(&s, entered, entered, "m:2 f:22 g:33");
    const uint64_t g = fake_frame_address(p, 0, 3), previous = fake_peek(p, g + l->frame_previous);
    moving_show(&s, &two);
    for (int i = 0; i < 2; i++) {
        fake_revive(p, g, previous, s.g, 2);
        if (l->frame_entry)
            *fake_bytes(p, g + l->frame_entry) = 1;
        if (i > 0)
            fake_poke(p, g + l->frame_executable, 0);
        fake_assert_seen(p, "m:2 f:22");
    }
}
EACH_VERSION(what_c_called_and_returned_is_none, leave_entered);

/* It returned, and where it was are the variables of another one: they lead nowhere. (Before 3.13 the current frame is
 * noted a moment late, and what leads nowhere is taken for that.) */
static void leave_rubbish(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    if (l->thread_cframe)
        return;
    struct moving s = moving_start(p);
    const struct frames before = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 3 });
    const struct frames after = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.k, 2 });
    for (int i = 0; i < 20; i++) {
        moving_show(&s, i % 2 ? &before : &after);
        fake_sample(p, 0);
    }
    moving_show(&s, &before);
    fake_assert_seen(p, "m:2 f:22 g:33");
    const uint64_t left = fake_frame_address(p, 0, 2), m = fake_frame_address(p, 0, 0);
    fake_frames(p, 0, after.frames, after.count);
    fake_poke(p, left + l->frame_executable, fake_peek(p, m + l->frame_executable));
    fake_poke(p, left + l->frame_instruction, fake_peek(p, m + l->frame_instruction));
    fake_poke(p, left + l->frame_previous, 16);
    fake_assert_seen(p, "m:2 k:52");
}
EACH_VERSION(what_lies_where_a_frame_was_is_left_out, leave_rubbish);

/* It returned, and another frame is at its place. */
static void replace_meanwhile(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct frames before = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 3 });
    moving_assert(&s, before, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 3 }, { PLAIN, s.h, 4 }), "m:2 f:23 h:44");
    moving_assert(&s, before, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.h, 3 }), "m:2 h:43");
    moving_assert(&s, before, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.h, 3 }, { PLAIN, s.f, 1 }), "m:2 h:43 f:21");
    s.attempts = 0; /* another root is looked at twice */
    moving_assert(&s, before, FRAMES({ PLAIN, s.h, 2 }, { PLAIN, s.g, 3 }, { PLAIN, s.k, 2 }), "h:42 g:33 k:52");
}
EACH_VERSION(a_frame_at_the_same_place_is_seen_as_it_is, replace_meanwhile);

/* The place of the leaf is in the middle of another frame. */
static void cover_meanwhile(struct fake_python *p)
{
    struct moving s = moving_start(p);
    s.attempts = 0;
    const struct frames before = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 3 });
    moving_assert(&s, before, FRAMES({ PLAIN, s.m, 2 }, { PLAIN, s.k, 3 }), "m:3 k:53");
    moving_assert(&s, before, FRAMES({ PLAIN, s.m, 2 }, { PLAIN, s.k, 3 }, { PLAIN, s.f, 3 }), "m:3 k:53 f:23");
    moving_assert(&s, FRAMES({ PLAIN, s.m, 2 }, { PLAIN, s.k, 3 }, { PLAIN, s.f, 3 }), before, "m:2 f:22 g:33");
}
EACH_VERSION(a_frame_that_covers_the_leaf_is_seen, cover_meanwhile);

/* ---- remains that look alive ---- */

/* What is left of the frame that was the leaf seems to wait for one that it called. */
static void revive(struct moving *s)
{
    fake_revive(s->p, s->leaf, s->caller, s->g, 3);
}

/* An exception left it: it stands at a call, and up to 3.13 nothing tells that it is gone but that its caller runs. */
static void raise_meanwhile(struct fake_python *p)
{
    if (fake_layout(p)->marks_returned_frames)
        return;
    struct moving s = moving_start(p);
    s.and_then = revive;
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 3 }),
                  FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }), "m:2 f:22");
}
EACH_VERSION(above_a_frame_that_runs_is_none, raise_meanwhile);

/* Its caller has called another, which is elsewhere because the caller is another, too. */
static void leave_a_gap(struct fake_python *p)
{
    struct moving s = moving_start(p);
    s.and_then = revive;
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.k, 2 }, { PLAIN, s.g, 3 }),
                  FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.h, 3 }), "m:2 f:22 h:43");
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.k, 2 }, { PLAIN, s.g, 3 }),
                  FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.h, 3 }, { SHIM, 0, 0 }), "m:2 f:22 h:43");
}
EACH_VERSION(a_frame_lies_behind_its_caller, leave_a_gap);

/* From 3.14 on a frame's note does not tell that it runs, but its instruction may be none that calls. */
static void stand_elsewhere(struct fake_python *p)
{
    if (!fake_layout(p)->marks_returned_frames)
        return;
    struct moving s = moving_start(p);
    fake_opcode(p, s.f, 4, 0);
    s.and_then = revive;
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 3 }),
                  FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 4 }), "m:2 f:24");
}
EACH_VERSION(a_caller_stands_at_a_call, stand_elsewhere);

/* Since 3.14 the note at its bottom tells, before its function is taken from it. */
static void clear_g(struct moving *s)
{
    const struct layout *l = fake_layout(s->p);
    revive(s);
    fake_poke(s->p, s->leaf + l->frame_stack, s->leaf + l->frame_locals);
}

/* Before, that it waits at an instruction that can't call; its caller goes on a moment later. */
static void raise_g(struct moving *s)
{
    const struct layout *l = fake_layout(s->p);
    fake_revive(s->p, s->leaf, s->caller, s->g, 4);
    fake_poke4(s->p, s->caller + l->frame_stack, FAKE_LOCALS + 1);
}

static void return_slowly(struct fake_python *p)
{
    struct moving s = moving_start(p);
    fake_opcode(p, s.g, 4, 0);
    s.and_then = fake_layout(p)->marks_returned_frames ? clear_g : raise_g;
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 3 }),
                  FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }), "m:2 f:22");
}

/* Its code object is taken from it last, while its caller still waits. */
static void clear_code_of_g(struct moving *s)
{
    const struct layout *l = fake_layout(s->p);
    revive(s);
    fake_poke(s->p, s->leaf + l->frame_executable, 0);
    if (!l->stack_is_pointer)
        fake_poke4(s->p, s->caller + l->frame_stack, FAKE_LOCALS + 1);
}

static void lose_its_code(struct fake_python *p)
{
    struct moving s = moving_start(p);
    s.and_then = clear_code_of_g;
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 3 }),
                  FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }), "m:2 f:22");
}

static void a_frame_that_is_being_left_is_none(void **state)
{
    (void)state;
    fake_each_version(return_slowly);
    fake_each_version(lose_its_code);
}

/* Calls of a generator's function make a frame which moves to a heap object at once; what is left looks alive. */
static void make_generators(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct frames before = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { PLAIN, s.gen, 1 });
    moving_show(&s, &before);
    assert_string_equal(fake_sample(p, 0), "m:2 f:22");
    assert_string_equal(fake_sample(p, 0), "m:2 f:22");
    /* The current frame is its caller again; up to 3.13 that waits for a moment longer. */
    fake_poke(p, fake_leaf_at(p, 0), fake_frame_address(p, 0, 1));
    assert_string_equal(fake_sample(p, 0), "m:2 f:22");
    assert_string_equal(fake_sample(p, 0), "m:2 f:22");
}
EACH_VERSION(what_is_left_of_making_a_generator_is_no_frame, make_generators);

/* ---- before the current frame is noted ---- */

/* The thread comes from C into g, which is the last of its frames and has not begun. Before 3.13 its current frame is
 * noted in memory on the C stack, and for a moment that is what was there before. */
static void enter(struct moving *s, struct frames frames, uint64_t noted)
{
    frames.frames[frames.count++] = (struct fake_frame){ SHIM, 0, 0 };
    frames.frames[frames.count++] = (struct fake_frame){ PLAIN, s->g, -1 };
    moving_show(s, &frames);
    fake_poke(s->p, fake_leaf_at(s->p, 0), noted);
}

/* An entry shim that is none any more. */
static uint64_t old_shim(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const uint64_t shim = p->threads[0].shims[FAKE_SHIMS - 1];
    *fake_bytes(p, shim + l->frame_owner) = (unsigned char)l->owner_shim;
    fake_poke(p, shim + l->frame_previous, 1);
    return shim;
}

static void assert_entering(struct moving *s, struct frames last, struct frames now, uint64_t noted, const char *wanted)
{
    for (int round = 0; round < 3; round++) {
        moving_show(s, &last);
        fake_sample(s->p, 0);
        enter(s, now, noted);
        fake_assert_seen(s->p, wanted);
        fake_assert_seen(s->p, wanted); /* it may have lost its processor just there */
    }
}

static void enter_unnoted(struct fake_python *p)
{
    if (!fake_layout(p)->thread_cframe)
        return;
    struct moving s = moving_start(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    const struct frames none = { .count = 0 }, two = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 });
    const uint64_t old = old_shim(p);
    assert_entering(&s, two, two, 0, "m:2 f:22");
    assert_entering(&s, two, two, old, "m:2 f:22");
    assert_entering(&s, two, two, fake_room(p, 256), "m:2 f:22"); /* what can be read, and is no frame */
    /* From what is known of it, it can't be told which frames are alive. */
    assert_entering(&s, none, two, 0, "failed: changed while read");
    const bool is_312 = fake_minor(p) == 12; /* between m and f there is an entry shim that is not known */
    assert_entering(&s, FRAMES({ PLAIN, s.m, 1 }), FRAMES({ PLAIN, s.m, 1 }, shim, { PLAIN, s.f, 2 }), 0,
                    is_312 ? "failed: changed while read" : "m:2 f:22");
    assert_entering(&s, FRAMES({ PLAIN, s.m, 1 }), FRAMES({ PLAIN, s.m, 1 }, shim, { PLAIN, s.f, 2 }), old,
                    is_312 ? "failed: memory unreadable" : "m:2 f:22");
    moving_show(&s, &none);
    fake_assert_seen(p, "");
}
EACH_VERSION(a_thread_on_its_way_into_python_has_frames, enter_unnoted);

/* ---- CPython's own ---- */

/* Between a class that is called and its __init__ there is a frame that nobody wrote (3.13 and later). */
static void hide_frames(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const uint64_t cleanup = fake_code(p, "__init__", 0, 3);
    fake_hide(p, cleanup);
    fake_code_words(p, cleanup, 0, 2);
    fake_opcode(p, cleanup, 0, 0);
    const struct frames in_init = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, cleanup, 0 }, { PLAIN, s.f, 2 });
    moving_assert(&s, in_init, in_init, "m:2 f:22");
    moving_assert(&s, in_init, FRAMES({ PLAIN, s.m, 2 }), "m:3");
    moving_assert(&s, FRAMES({ PLAIN, s.m, 2 }), in_init, "m:2 f:22");
    moving_assert(&s, in_init, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, cleanup, 0 }, { PLAIN, s.f, 3 }, { PLAIN, s.g, 3 }),
                  "m:2 f:23 g:33");
}
EACH_VERSION(frames_that_never_begin_are_hidden, hide_frames);

TEST_FILE(walk)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_that_returned_is_none),
        cmocka_unit_test(frames_that_were_called_since_are_found),
        cmocka_unit_test(frames_that_were_called_through_c_since_are_found),
        cmocka_unit_test(what_c_called_and_returned_is_none),
        cmocka_unit_test(what_lies_where_a_frame_was_is_left_out),
        cmocka_unit_test(a_frame_at_the_same_place_is_seen_as_it_is),
        cmocka_unit_test(a_frame_that_covers_the_leaf_is_seen),
        cmocka_unit_test(above_a_frame_that_runs_is_none),
        cmocka_unit_test(a_frame_lies_behind_its_caller),
        cmocka_unit_test(a_caller_stands_at_a_call),
        cmocka_unit_test(a_frame_that_is_being_left_is_none),
        cmocka_unit_test(what_is_left_of_making_a_generator_is_no_frame),
        cmocka_unit_test(a_thread_on_its_way_into_python_has_frames),
        cmocka_unit_test(frames_that_never_begin_are_hidden),
    };
    return run_all(tests);
}
