/* SPDX-License-Identifier: MIT */
/* Frames outside the data stack, of a thread that moves on while it is read: generators, and entries from C. They are
 * copied after the data stack, so they are of a later moment. */
#include "record/unwind/walk.h"

#include "tests/fakes/fake_moves.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <string.h>

/* ---- in memory that keeps still ---- */

static void assert_stack(struct moving *s, struct frames frames, const char *wanted)
{
    struct fake_python *p = s->p;
    for (int round = 0; round < 12; round++) {
        p->unwinder.walker.anew = round % 4 == 3;
        moving_show(s, round % 3 == 2 ? &(struct frames){ .count = 0 } : &frames);
        const char *seen = fake_sample(p, 0);
        if (strcmp(seen, round % 3 == 2 ? "" : wanted) != 0)
            fail_msg("Python %x, round %d: '%s', and should be '%s'", fake_layout(p)->version, round, seen, wanted);
    }
    p->unwinder.walker.anew = false;
}

static void keep_still(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, { GENERATOR, s.gen, 2 }), "m:2 gen:62");
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, { GENERATOR, s.gen, 2 }, { GENERATOR, s.gen, 3 }, { PLAIN, s.f, 4 }),
                 "m:2 gen:62 gen:63 f:24");
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, shim, { PLAIN, s.f, 2 }), "m:2 f:22");
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, shim, { GENERATOR, s.gen, 2 }), "m:2 gen:62");
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, shim, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 3 }), "m:2 f:22 gen:63");
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, shim, { GENERATOR, s.gen, 2 }, { GENERATOR, s.gen, 3 }),
                 "m:2 gen:62 gen:63");
    assert_stack(&s,
                 FRAMES({ PLAIN, s.m, 1 }, shim, { GENERATOR, s.gen, 2 }, shim, { PLAIN, s.f, 3 }, { PLAIN, s.g, 4 },
                        shim, { PLAIN, s.h, 5 }),
                 "m:2 gen:62 f:23 g:34 h:45");
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, shim, { GENERATOR, s.gen, 2 }, shim, { GENERATOR, s.gen, 3 }),
                 "m:2 gen:62 gen:63");
    /* An entry from C that nobody has come through: what it was for has returned. */
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, shim), "m:2 f:22");
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, { GENERATOR, s.gen, 2 }, shim), "m:2 gen:62");
}
EACH_VERSION(generators_and_entries_from_c_are_found, keep_still);

/* However long it is looked at, and whatever is forgotten of it meanwhile. */
static void keep_still_for_long(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct fake_frame gen = { GENERATOR, s.gen, 3 };
    const struct frames some[] = {
        FRAMES({ PLAIN, s.m, 1 }, gen, gen, { PLAIN, s.f, 2 }),
        FRAMES({ PLAIN, s.m, 1 }, gen, gen, { PLAIN, s.f, 2 }, { PLAIN, s.g, 5 }),
        FRAMES({ PLAIN, s.m, 1 }, gen, { PLAIN, s.h, 2 }, gen, gen, { PLAIN, s.f, 2 }, gen, { PLAIN, s.g, 5 }),
        FRAMES({ PLAIN, s.m, 1 }, gen, gen, { SHIM, 0, 0 }, { PLAIN, s.f, 2 }, { PLAIN, s.g, 5 }),
    };
    static const char *const wanted[] = { "m:2 gen:63 gen:63 f:22", "m:2 gen:63 gen:63 f:22 g:35",
                                          "m:2 gen:63 h:42 gen:63 gen:63 f:22 gen:63 g:35",
                                          "m:2 gen:63 gen:63 f:22 g:35" };
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        moving_assert(&s, some[i], some[i], wanted[i]); /* which teaches who calls whom */
        for (int k = 0; k < 300; k++) {
            const char *seen = fake_sample(p, 0);
            if (strcmp(seen, wanted[i]) != 0)
                fail_msg("Python %x, stack %zu, sample %d: '%s'", fake_layout(p)->version, i, k, seen);
        }
    }
}
EACH_VERSION(a_stack_that_keeps_still_is_seen_each_time, keep_still_for_long);

/* ---- between the current frame and the data stack ---- */

static void move_before_the_data_stack(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    const struct frames plain = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 });
    const struct frames driven = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 3 });
    const struct frames deep = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 3 }, { PLAIN, s.g, 4 });
    const struct frames from_c = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, shim, { PLAIN, s.g, 4 });
    s.attempts = 0;
    moving_assert(&s, driven, plain, "m:2 f:22");
    moving_assert(&s, deep, plain, "m:2 f:22");
    moving_assert(&s, deep, driven, "m:2 f:22 gen:63");
    moving_assert(&s, from_c, plain, "m:2 f:22");
    moving_assert(&s, from_c, FRAMES({ PLAIN, s.m, 5 }), "m:6");
    moving_assert(&s, driven, FRAMES({ PLAIN, s.m, 5 }), "m:6");
    moving_assert(&s, driven, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.g, 2 }, { PLAIN, s.h, 2 }), "m:2 g:32 h:42");
}
EACH_VERSION(a_generator_that_is_suspended_is_none, move_before_the_data_stack);

/* The current frame has called others since, somewhere above an entry from C or a generator. */
static void call_above_entries(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    const struct frames two = FRAMES({ PLAIN, s.m, 1 }, shim, { PLAIN, s.f, 2 });
    s.attempts = 0;
    moving_assert(&s, two, FRAMES({ PLAIN, s.m, 1 }, shim, { PLAIN, s.f, 3 }, { PLAIN, s.g, 4 }), "m:2 f:23 g:34");
    moving_assert(&s, two, FRAMES({ PLAIN, s.m, 1 }, shim, { PLAIN, s.f, 3 }, { GENERATOR, s.gen, 4 }),
                  fake_minor(p) == 11 ? "m:2 f:23|m:2 f:23 gen:64"
                                      : "m:2 f:23 gen:64"); /* 3.11 drives them through C */
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, { GENERATOR, s.gen, 2 }),
                  FRAMES({ PLAIN, s.m, 1 }, { GENERATOR, s.gen, 3 }, { PLAIN, s.f, 4 }), "m:2 gen:63 f:24|m:2 gen:63");
}
EACH_VERSION(calls_above_an_entry_from_c_are_found, call_above_entries);

/* ---- between the data stack and what lies elsewhere ---- */

/* Another frame at the same place drives the same generator: the copy of the data stack has one, the generator says it
 * is the other. (For a moment in between the first one ran alone.) */
static void drive_from_elsewhere(struct fake_python *p)
{
    struct moving s = moving_start(p);
    s.attempts = 0;
    const struct frames other = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 4 });
    moving_assert(&s, other, other, "m:2 f:22 gen:64"); /* that is known to happen */
    s.piece = p->threads[0].off_stack[2];
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 3 }),
                  FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.g, 2 }, { GENERATOR, s.gen, 4 }), "m:2 g:32 gen:64|m:2 f:22");
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 3 }, { PLAIN, s.h, 5 }),
                  FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.g, 2 }, { GENERATOR, s.gen, 4 }, { PLAIN, s.h, 5 }),
                  "m:2 g:32 gen:64 h:45|m:2 f:22");
}
EACH_VERSION(neighbours_of_generators_may_not_be_replaced, drive_from_elsewhere);

/* The generator was not at this line when the data stack, which has what C code called from it, was copied. */
static void replace_what_c_called(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    const struct frames known = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 4 }, shim,
                                       { PLAIN, s.h, 5 });
    s.attempts = 0;
    moving_assert(&s, known, known, "m:2 f:22 gen:64 h:45"); /* that happens, too */
    s.piece = p->threads[0].off_stack[2];
    s.first = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 3 }, shim, { PLAIN, s.h, 5 });
    for (int i = 0; i < 8; i++) /* in either order */
        moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 3 }),
                      FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 4 }, shim, { PLAIN, s.g, 5 }),
                      "m:2 f:22 gen:63|m:2 f:22 gen:63 h:45|m:2 f:22 gen:64|m:2 f:22 gen:64 g:35|m:2 f:22");
}
EACH_VERSION(what_a_generator_calls_through_c_may_not_be_replaced, replace_what_c_called);

/* The frames on both sides of an entry from C are of one copy. */
static void enter_from_elsewhere(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    if (fake_layout(p)->frame_entry)
        return; /* no entry shims in 3.11 */
    s.attempts = 0;
    s.piece = p->threads[0].shims[0];
    const struct frames before = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, shim, { PLAIN, s.h, 3 });
    moving_assert(&s, before, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 4 }, shim, { PLAIN, s.h, 3 }),
                  "m:2 f:22 h:43|m:2 f:24 h:43");
    moving_assert(&s, before, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.g, 2 }, shim, { PLAIN, s.h, 5 }),
                  "m:2 f:22 h:43|m:2 g:32 h:45");
    /* The entry shim is where something else is by now, and the thread is elsewhere. */
    moving_assert(&s, before, FRAMES({ PLAIN, s.k, 1 }, { GENERATOR, s.gen, 2 }, { GENERATOR, s.gen, 3 }),
                  "m:2 f:22 h:43|m:2 f:22|k:51 gen:62 gen:63");
}

/* The same entry shim had another frame above it before. */
static void enter_from_a_generator(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    const struct fake_frame f = { PLAIN, s.f, 2 }, g = { PLAIN, s.g, 3 }, gen = { GENERATOR, s.gen, 4 };
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, f, shim, g), "m:2 f:22 g:33");
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, f, gen, shim, g), "m:2 f:22 gen:64 g:33");
    assert_stack(&s, FRAMES({ PLAIN, s.m, 1 }, f, shim, g), "m:2 f:22 g:33");
}
EACH_VERSION(a_mark_is_believed_before_what_was_there, enter_from_a_generator);

EACH_VERSION(neighbours_of_entries_may_not_have_gone_on, enter_from_elsewhere);

/* When the data stack was copied, the same frame drove another one. */
static void other_generator(struct moving *s)
{
    const struct layout *l = fake_layout(s->p);
    const uint64_t values = fake_frame_address(s->p, 0, 1) + l->frame_locals + FAKE_LOCALS * 8;
    fake_poke(s->p, values, s->p->threads[0].off_stack[7] - l->generator_frame);
}

static void drive_by_turns(struct fake_python *p)
{
    struct moving s = moving_start(p);
    if (fake_minor(p) == 11)
        return; /* which drives them through C */
    s.attempts = 0;
    const struct frames driven = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 3 });
    const struct frames later = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 4 }, { GENERATOR, s.gen, 3 });
    moving_assert(&s, later, later, "m:2 f:24 gen:63");
    s.first = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 4 }, { GENERATOR, s.gen, 5 });
    s.and_first = other_generator;
    s.piece = p->threads[0].off_stack[2];
    moving_assert(&s, driven, driven, "m:2 f:22 gen:63|m:2 f:24");
}
EACH_VERSION(a_generator_is_on_the_stack_of_who_drives_it, drive_by_turns);

/* When the data stack was copied, who drives it through C stood where nothing can be driven. */
static void drive_again(struct fake_python *p)
{
    struct moving s = moving_start(p);
    s.attempts = 0;
    fake_opcode(p, s.f, 4, 0);
    s.first = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 4 });
    const struct frames driven = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { SHIM, 0, 0 }, { GENERATOR, s.gen, 3 });
    s.piece = p->threads[0].off_stack[3];
    moving_assert(&s, driven, driven, "m:2 f:22 gen:63|m:2 f:24");
}
EACH_VERSION(who_drives_stands_where_that_can_be, drive_again);

/* It was driven when the data stack was copied, and is suspended by now. */
static void suspend_late(struct fake_python *p)
{
    struct moving s = moving_start(p);
    s.attempts = 0;
    s.piece = p->threads[0].off_stack[2];
    const struct frames driven = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 3 });
    const struct frames other = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.g, 5 });
    moving_assert(&s, driven, other, "m:2 f:22|m:2 f:22 gen:63|m:2 g:35");
}
EACH_VERSION(a_generator_that_is_left_meanwhile_may_be_shown, suspend_late);

/* The same when the recorder knew less of the stack, and there is an entry from C above what it knew. */
static void suspend_above_an_entry(struct fake_python *p)
{
    struct moving s = moving_start(p);
    const struct fake_frame shim = { SHIM, 0, 0 };
    s.attempts = 0;
    s.piece = p->threads[0].off_stack[3];
    s.last = FRAMES({ PLAIN, s.m, 1 });
    moving_assert(&s, FRAMES({ PLAIN, s.m, 1 }, shim, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 3 }),
                  FRAMES({ PLAIN, s.m, 1 }, shim, { PLAIN, s.f, 2 }), "m:2 f:22|m:2 f:22 gen:63");
}
EACH_VERSION(what_is_above_an_entry_is_not_lost, suspend_above_an_entry);

/* ---- the object is another one's ---- */

static void free_generator(struct moving *s)
{
    struct fake_python *p = s->p;
    memset(fake_bytes(p, p->threads[0].off_stack[2]), 0xDD, fake_layout(p)->frame_size);
}

static void overwrite(struct fake_python *p)
{
    struct moving s = moving_start(p);
    s.attempts = 0;
    s.and_then = free_generator;
    const struct frames driven = FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 2 }, { GENERATOR, s.gen, 3 });
    moving_assert(&s, driven, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 4 }), "m:2 f:24");
    s.piece = p->threads[0].off_stack[2];
    moving_assert(&s, driven, FRAMES({ PLAIN, s.m, 1 }, { PLAIN, s.f, 4 }), "m:2 f:24");
}
EACH_VERSION(a_generator_whose_memory_is_used_again_is_none, overwrite);

TEST_FILE(walk_off_stack)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(generators_and_entries_from_c_are_found),
        cmocka_unit_test(a_stack_that_keeps_still_is_seen_each_time),
        cmocka_unit_test(a_generator_that_is_suspended_is_none),
        cmocka_unit_test(calls_above_an_entry_from_c_are_found),
        cmocka_unit_test(neighbours_of_generators_may_not_be_replaced),
        cmocka_unit_test(what_a_generator_calls_through_c_may_not_be_replaced),
        cmocka_unit_test(a_generator_is_on_the_stack_of_who_drives_it),
        cmocka_unit_test(who_drives_stands_where_that_can_be),
        cmocka_unit_test(neighbours_of_entries_may_not_have_gone_on),
        cmocka_unit_test(a_mark_is_believed_before_what_was_there),
        cmocka_unit_test(a_generator_that_is_left_meanwhile_may_be_shown),
        cmocka_unit_test(what_is_above_an_entry_is_not_lost),
        cmocka_unit_test(a_generator_whose_memory_is_used_again_is_none),
    };
    return run_all(tests);
}
