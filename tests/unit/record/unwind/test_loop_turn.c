/* SPDX-License-Identifier: MIT */
/* What a look finds of the turn of an event loop that is on the stack. */
#include "record/unwind/loop_turn.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/testing.h"

#include <string.h>

static const char *const variables[] = { "self", "sched_count", "end_time", "handle", "i", "t0" };
enum { SELF, SCHED_COUNT, END_TIME, HANDLE, I };

/* A turn that called f, at the end of a deeper stack. */
struct turning {
    uint64_t module, turn, f;
    uint64_t time, index; /* objects */
};

static uint64_t tuple_of(struct fake_python *p, const char *const *texts, size_t count)
{
    const struct layout *l = fake_layout(p);
    const uint64_t items = l->object_type + 8 + l->tuple_items, tuple = fake_room(p, items + 8 * count);
    for (size_t i = 0; i < count; i++)
        fake_poke(p, tuple + items + 8 * i, fake_string(p, texts[i]));
    return tuple;
}

static struct turning begin_turning(struct fake_python *p, const char *name, const char *file, const char *index)
{
    const struct layout *l = fake_layout(p);
    const char *names[countof(variables)];
    memcpy(names, variables, sizeof(names));
    names[I] = index;
    struct turning t = { .module = fake_code(p, "<module>", 1, 9),
                         .turn = fake_code(p, name, 20, 9),
                         .f = fake_code(p, "f", 40, 9),
                         .time = fake_room(p, l->object_type + 16),
                         .index = fake_room(p, l->object_type + 24) };
    fake_code_words(p, t.turn, countof(variables), FAKE_STACK);
    fake_poke(p, t.turn + l->code_file, fake_string(p, file));
    fake_poke(p, t.turn + l->code_file - 16, tuple_of(p, names, countof(names)));
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, t.module, 2 }, { PLAIN, t.turn, 1 }, { PLAIN, t.f, 1 } }, 3);
    return t;
}

static struct turning begin_loop(struct fake_python *p)
{
    return begin_turning(p, "BaseEventLoop._run_once", "/usr/lib/python3/asyncio/base_events.py", "i");
}

static void set_variable(struct fake_python *p, size_t variable, uint64_t object)
{
    const struct layout *l = fake_layout(p);
    fake_poke(p, fake_frame_address(p, 0, 1) + l->frame_locals + 8 * variable, object | l->executable_tags);
}

static void set_values(struct fake_python *p, const struct turning *t, double seconds, uint32_t index)
{
    const struct layout *l = fake_layout(p);
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof(bits));
    fake_poke(p, t->time + l->object_type + 8, bits);
    fake_poke(p, t->index + l->object_type + 8, index ? UINT64_C(1) << l->int_count_bit : l->int_count_bit ? 1 : 0);
    fake_poke4(p, t->index + l->object_type + 16, index);
}

static const struct loop_turn *look(struct fake_python *p)
{
    fake_sample(p, 0);
    assert_int_equal(p->threads[0].state, UNWIND_DONE);
    return &p->threads[0].walk.turn;
}

static void call(struct fake_python *p, const struct turning *t)
{
    set_variable(p, END_TIME, t->time);
    set_variable(p, I, t->index);
    set_variable(p, HANDLE, t->f);
}

static void turn_once(struct fake_python *p)
{
    const struct turning t = begin_loop(p);
    const struct loop_turn *turn = look(p);
    assert_true(turn->known);
    assert_int_equal(turn->link, 2);
    assert_int_equal(turn->objects[TURN_TIME], 0);
    const uint64_t before = p->target.remote.calls;
    look(p);
    const uint64_t without = p->target.remote.calls - before;
    call(p, &t);
    set_values(p, &t, 12.5, 3);
    turn = look(p);
    assert_int_equal(turn->objects[TURN_TIME], t.time);
    assert_int_equal(turn->objects[TURN_INDEX], t.index);
    assert_int_equal(turn->objects[TURN_HANDLE], t.f);
    assert_false(turn->has_values);
    const uint64_t reads = turn->reads, calls = p->target.remote.calls;
    turn = look(p);
    assert_int_equal(turn->reads, reads + 1);
    assert_int_equal(p->target.remote.calls, calls + without); /* as many as for the stack alone */
    assert_true(turn->has_values);
    assert_int_equal(turn->began_ns, 12500000000);
    assert_int_equal(turn->index, 3);
    /* The callback has called g: of the frames that have not moved, the variables are read all the same. */
    set_values(p, &t, 13.5, 0);
    fake_stack(
        p, 0,
        (struct fake_frame[]){ { PLAIN, t.module, 2 }, { PLAIN, t.turn, 1 }, { PLAIN, t.f, 1 }, { PLAIN, t.f, 1 } }, 4);
    call(p, &t);
    turn = look(p);
    assert_true(turn->has_values);
    assert_int_equal(turn->began_ns, 13500000000);
    assert_int_equal(turn->index, 0);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, t.module, 2 } }, 1);
    turn = look(p);
    assert_true(turn->known);
    assert_int_equal(turn->link, 0);
    assert_int_equal(turn->objects[TURN_TIME], 0);
}
EACH_VERSION(a_turn_has_a_time_and_an_index, turn_once);

static void change_objects(struct fake_python *p)
{
    const struct turning t = begin_loop(p);
    struct turning other = t;
    other.time = fake_room(p, fake_layout(p)->object_type + 16);
    set_values(p, &t, 1.5, 7);
    set_values(p, &other, 2.5, 7);
    call(p, &t);
    look(p);
    assert_true(look(p)->has_values);
    call(p, &other);
    const struct loop_turn *turn = look(p);
    assert_false(turn->has_values);
    assert_int_equal(turn->objects[TURN_TIME], other.time);
    turn = look(p);
    assert_true(turn->has_values);
    assert_int_equal(turn->began_ns, 2500000000);
}
EACH_VERSION(other_objects_have_no_values_yet, change_objects);

static void hold_nonsense(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct turning t = begin_loop(p);
    static const double times[] = { 0, -1, 1e300, 0.0 / 0.0 };
    call(p, &t);
    look(p);
    for (size_t i = 0; i < countof(times); i++) {
        set_values(p, &t, times[i], 1);
        assert_false(look(p)->has_values);
    }
    set_values(p, &t, 1.5, 1);
    assert_true(look(p)->has_values);
    fake_poke(p, t.index + l->object_type + 8, UINT64_C(2) << l->int_count_bit); /* two digits */
    assert_false(look(p)->has_values);
    set_variable(p, END_TIME, 0x10); /* nothing is there */
    look(p);
    assert_false(look(p)->has_values);
}
EACH_VERSION(objects_of_other_types_have_none, hold_nonsense);

static void call_others_so(struct fake_python *p)
{
    struct turning t = begin_turning(p, "BaseEventLoop._run_once", "/home/me/my_events.py", "i");
    call(p, &t);
    assert_int_equal(look(p)->link, 0);
    t = begin_turning(p, "Loop._run_once", "/usr/lib/python3/asyncio/base_events.py", "i");
    call(p, &t);
    assert_int_equal(look(p)->link, 0);
    /* Another asyncio: its function has no such variable. */
    t = begin_turning(p, "BaseEventLoop._run_once", "/usr/lib/python3/asyncio/base_events.py", "n");
    call(p, &t);
    assert_false(look(p)->known);
}
EACH_VERSION(only_asyncio_has_turns, call_others_so);

/* Wherever the time to read is over: a later look finds the variables. */
static void end_in_time(struct fake_python *p)
{
    unsigned failed = 0;
    for (unsigned reads = 0; reads < 12; reads++) { /* in time; each takes 1 us */
        const struct turning t = begin_loop(p);
        call(p, &t);
        remote_give_up_at(&p->target.remote, clock_now_ns() + reads * 1000);
        fake_bounded_sample(p);
        failed += p->threads[0].state != UNWIND_DONE || !p->threads[0].walk.turn.known;
        remote_give_up_at(&p->target.remote, 0);
        const struct loop_turn *turn = look(p);
        assert_true(turn->known);
        assert_int_equal(turn->objects[TURN_TIME], t.time);
    }
    assert_in_range(failed, 2, 11); /* not all: some had the time */
}
EACH_VERSION(names_that_were_not_read_in_time_are_read_later, end_in_time);

TEST_FILE(loop_turn)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_has_a_time_and_an_index),
        cmocka_unit_test(other_objects_have_no_values_yet),
        cmocka_unit_test(objects_of_other_types_have_none),
        cmocka_unit_test(only_asyncio_has_turns),
        cmocka_unit_test(names_that_were_not_read_in_time_are_read_later),
    };
    return run_all(tests);
}
