/* SPDX-License-Identifier: MIT */
/* Whether a thread raises or handles an exception, by what each version keeps in the thread's state. */
#include "record/python/exc_state.h"

#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#define ITEMS       200 /* generators at work, one in the other */
#define CALLS_LIMIT 300

struct scene {
    struct fake_python *p;
    struct handlers handlers;
    uint64_t thread, none, exception;
};

static uint64_t object(struct fake_python *p, const char *type_name)
{
    const struct layout *l = fake_layout(p);
    const uint64_t type = fake_room(p, 512), name = fake_room(p, 32), made = fake_room(p, 64);
    memcpy(fake_bytes(p, name), type_name, strlen(type_name));
    fake_poke(p, type + l->type_name, name);
    fake_poke(p, made + l->object_type, type);
    return made;
}

/* A thread as it is at first: its own item is the innermost, and is empty. */
static struct scene scene(struct fake_python *p)
{
    struct scene s = { .p = p, .thread = p->threads[0].address };
    s.none = object(p, "NoneType");
    s.exception = object(p, "ValueError");
    fake_poke(p, s.thread + fake_layout(p)->thread_exc_info, s.thread + fake_layout(p)->thread_handler);
    return s;
}

static bool active(struct scene *s)
{
    const uint64_t calls = s->p->target.remote.calls;
    const bool is = exc_state_active(&s->handlers, fake_layout(s->p), &s->p->target.remote, s->thread,
                                     fake_bytes(s->p, s->thread));
    assert_true(s->p->target.remote.calls - calls < CALLS_LIMIT);
    return is;
}

/* What the thread handles. */
static void handle(struct scene *s, uint64_t value)
{
    fake_poke(s->p, s->thread + fake_layout(s->p)->thread_handler, value);
}

/* An item of a generator, {value, previous}, is the innermost from now on. */
static uint64_t enter_generator(struct scene *s, uint64_t value)
{
    const uint64_t innermost = s->thread + fake_layout(s->p)->thread_exc_info, item = fake_room(s->p, 16);
    fake_poke(s->p, item, value);
    fake_poke(s->p, item + 8, fake_peek(s->p, innermost));
    fake_poke(s->p, innermost, item);
    return item;
}

/* ---- one thread ---- */

static void raise_one(struct fake_python *p)
{
    struct scene s = scene(p);
    assert_false(active(&s));
    fake_poke(p, s.thread + fake_layout(p)->thread_exception, s.exception);
    assert_true(active(&s));
    fake_poke(p, s.thread + fake_layout(p)->thread_exception, 0);
    assert_false(active(&s));
}
EACH_VERSION(an_exception_that_is_raised_is_active, raise_one);

static void handle_one(struct fake_python *p)
{
    struct scene s = scene(p);
    handle(&s, s.exception);
    assert_true(active(&s));
    handle(&s, s.none); /* as an except clause leaves it */
    assert_false(active(&s));
    handle(&s, s.exception);
    assert_true(active(&s));
    handle(&s, 0);
    assert_false(active(&s));
}
EACH_VERSION(an_exception_that_is_handled_is_active, handle_one);

/* None is told from an exception by its type's name, once. */
static void know_none(struct fake_python *p)
{
    struct scene s = scene(p);
    handle(&s, s.none);
    assert_false(active(&s));
    assert_int_equal(s.handlers.none, s.none);
    const uint64_t calls = p->target.remote.calls;
    assert_false(active(&s));
    handle(&s, s.exception);
    assert_true(active(&s));
    assert_int_equal(p->target.remote.calls, calls);
}
EACH_VERSION(what_is_none_is_asked_once, know_none);

static void know_an_exception(struct fake_python *p)
{
    struct scene s = scene(p);
    handle(&s, s.exception);
    assert_true(active(&s));
    const uint64_t calls = p->target.remote.calls;
    assert_true(active(&s));
    assert_int_equal(p->target.remote.calls, calls);
    handle(&s, object(p, "NoneTypes")); /* its name only begins so */
    assert_true(active(&s));
}
EACH_VERSION(an_exception_that_stays_is_asked_once, know_an_exception);

/* ---- generators ---- */

static void handle_in_generators(struct fake_python *p)
{
    struct scene s = scene(p);
    const uint64_t inner = enter_generator(&s, 0);
    assert_false(active(&s));
    fake_poke(p, inner, s.exception);
    assert_true(active(&s));
    fake_poke(p, inner, s.none);
    assert_false(active(&s));
    handle(&s, s.exception); /* the thread's own item counts, too: the generator was called in an except clause */
    assert_true(active(&s));
    handle(&s, 0);
    enter_generator(&s, 0);
    enter_generator(&s, s.none);
    assert_false(active(&s));
    fake_poke(p, inner, s.exception);
    assert_true(active(&s));
}
EACH_VERSION(what_a_generator_handles_is_active, handle_in_generators);

static void handle_in_many(struct fake_python *p)
{
    struct scene s = scene(p);
    for (int i = 0; i < ITEMS; i++)
        enter_generator(&s, i % 2 ? s.none : 0);
    assert_false(active(&s));
    handle(&s, s.exception);
    assert_true(active(&s));
}
EACH_VERSION(the_outermost_of_many_generators_counts, handle_in_many);

/* ---- what can't be ---- */

static void lie(struct fake_python *p)
{
    struct scene s = scene(p);
    const uint64_t item = enter_generator(&s, 0);
    static const uint64_t nowhere[] = { 1, 8, 0x7000, UINT64_MAX, UINT64_MAX - 7, FAKE_BASE + FAKE_SIZE - 8 };
    fake_poke(p, item + 8, item); /* it is within itself */
    assert_false(active(&s));
    for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
        fake_poke(p, item + 8, nowhere[i]);
        assert_false(active(&s));
        fake_poke(p, item, nowhere[i]); /* a value that is no object */
        assert_false(active(&s));
        fake_poke(p, item, 0);
    }
    fake_poke(p, s.thread + fake_layout(p)->thread_exc_info, 0);
    handle(&s, s.exception);
    assert_false(active(&s)); /* a thread that is starting */
    assert_int_equal(s.handlers.none, 0);
    assert_int_equal(s.handlers.exception, 0);
}
EACH_VERSION(items_that_lead_nowhere_are_no_exception, lie);

/* ---- as the recorder reads it ---- */

static void read_status(struct fake_python *p)
{
    struct scene s = scene(p);
    const uint64_t code = fake_code(p, "f", 20, 9);
    p->unwinder.statuses = true;
    for (int line = 1; line < 6; line++) {
        handle(&s, line % 2 ? s.exception : s.none);
        fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, code, line } }, 1);
        fake_sample(p, 0);
        assert_int_equal(p->threads[0].state, UNWIND_DONE);
        assert_int_equal(p->threads[0].unwound.status & STATUS_EXCEPTION, line % 2 ? STATUS_EXCEPTION : 0);
    }
    p->unwinder.statuses = false;
    handle(&s, s.exception);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, code, 7 } }, 1);
    fake_sample(p, 0);
    assert_int_equal(p->threads[0].unwound.status, 0);
}
EACH_VERSION(a_sample_says_whether_there_is_an_exception, read_status);

TEST_FILE(exc_state)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exception_that_is_raised_is_active),
        cmocka_unit_test(an_exception_that_is_handled_is_active),
        cmocka_unit_test(what_is_none_is_asked_once),
        cmocka_unit_test(an_exception_that_stays_is_asked_once),
        cmocka_unit_test(what_a_generator_handles_is_active),
        cmocka_unit_test(the_outermost_of_many_generators_counts),
        cmocka_unit_test(items_that_lead_nowhere_are_no_exception),
        cmocka_unit_test(a_sample_says_whether_there_is_an_exception),
    };
    return run_all(tests);
}
