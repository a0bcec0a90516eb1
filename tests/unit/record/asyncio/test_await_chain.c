/* SPDX-License-Identifier: MIT */
/* From the coroutine of a task to what it awaits, and on to the last: the frames of a task that waits, root first. */
#include "record/asyncio/await_chain.h"

#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/testing.h"

#include <stdio.h>

#define DEPTH 500

/* A task, the only one of the program, and functions of its coroutines. */
struct scene {
    struct fake_asyncio *a;
    uint64_t f, g, h;
    uint64_t task;
};

static struct scene scene(struct fake_asyncio *a)
{
    return (struct scene){ .a = a,
                           .f = fake_async_code(a, "f", 20, 9),
                           .g = fake_async_code(a, "g", 30, 9),
                           .h = fake_async_code(a, "h", 40, 9) };
}

static void assert_frames(struct scene *s, uint64_t coroutine, const char *wanted)
{
    s->task = fake_task(s->a, "A", coroutine);
    LIST(s->a, fake_thread_tasks(s->a, 0), s->task);
    fake_assert_task(s->a, s->task, wanted);
}

static uint64_t frame_of(const struct scene *s, uint64_t coroutine)
{
    return coroutine + fake_layout(s->a->p)->generator_frame;
}

/* ---- what is followed ---- */

static void follow_coroutines(struct fake_asyncio *a)
{
    struct scene s = scene(a);
    const uint64_t h = fake_coroutine(a, s.h, 3, 0), g = fake_coroutine(a, s.g, 2, h), f = fake_coroutine(a, s.f, 1, g);
    assert_frames(&s, f, "<task A> f:21 g:32 h:43");
    assert_frames(&s, h, "<task A> h:43");
    fake_suspend(a, g, s.g, 7, 0);
    assert_frames(&s, f, "<task A> f:21 g:37");
}
EACH_ASYNCIO(ASYNC_ALL, coroutines_are_shown_from_the_root_on, follow_coroutines);

static void follow_a_wrapper(struct fake_asyncio *a)
{
    struct scene s = scene(a);
    const uint64_t generator = fake_coroutine(a, s.g, 2, 0), wrapper = fake_wrapper(a, generator);
    assert_frames(&s, fake_coroutine(a, s.f, 1, wrapper), "<task A> f:21 g:32");
}
EACH_ASYNCIO(ASYNC_ALL, an_asynchronous_generator_is_shown_below_who_iterates_over_it, follow_a_wrapper);

static void follow_only_cpythons_own(struct fake_asyncio *a)
{
    struct scene s = scene(a);
    const uint64_t other = fake_coroutine(a, s.g, 2, 0);
    fake_poke(a->p, other + fake_layout(a->p)->object_type,
              fake_type(a, "coroutine", a->asyncio.tasks.offsets.task_size, true));
    assert_frames(&s, fake_coroutine(a, s.f, 1, other), "<task A> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, a_class_that_is_called_coroutine_is_none, follow_only_cpythons_own);

static void follow_many(struct fake_asyncio *a)
{
    static char wanted[DEPTH * 8 + 64];
    struct scene s = scene(a);
    size_t used = (size_t)sprintf(wanted, "<task A>");
    uint64_t coroutine = 0;
    for (int i = 0; i < DEPTH; i++)
        coroutine = fake_coroutine(a, s.f, (DEPTH - 1 - i) % 8, coroutine);
    for (int i = 0; i < DEPTH; i++)
        used += (size_t)sprintf(wanted + used, " f:%d", 20 + i % 8);
    assert_frames(&s, coroutine, wanted);
}
EACH_ASYNCIO(ASYNC_ALL, a_deep_chain_is_shown_whole, follow_many);

/* ---- what a coroutine does ---- */

/* FRAME_CREATED and FRAME_SUSPENDED of pycore_frame.h come before the states in which a coroutine awaits another. */
static void see_states(struct fake_asyncio *a)
{
    struct scene s = scene(a);
    const struct layout *l = fake_layout(a->p);
    const uint64_t inner = fake_coroutine(a, s.g, 2, 0), outer = fake_coroutine(a, s.f, 1, inner);
    for (int state = l->state_waits_first; state <= l->state_waits_last; state++) {
        fake_set_state(a, outer, state);
        assert_frames(&s, outer, "<task A> f:21 g:32");
    }
    for (int back = 1; back <= 2; back++) {
        fake_set_state(a, outer, l->state_waits_first - back);
        assert_frames(&s, outer, "<task A> f:21");
    }
    fake_set_state(a, outer, l->state_ended);
    assert_frames(&s, outer, "<task A>");
    fake_set_state(a, outer, l->state_waits_last);
    fake_set_state(a, inner, l->state_ended);
    assert_frames(&s, outer, "<task A> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, what_a_coroutine_does_tells_whether_it_awaits, see_states);

static void move(struct fake_asyncio *a)
{
    struct scene s = scene(a);
    const uint64_t g = fake_coroutine(a, s.g, 2, 0), h = fake_coroutine(a, s.h, 3, 0), f = fake_coroutine(a, s.f, 1, g);
    assert_frames(&s, f, "<task A> f:21 g:32");
    for (int line = 1; line < 8; line++) {
        char wanted[64];
        sprintf(wanted, line % 2 ? "<task A> f:%d h:43" : "<task A> f:%d g:32", 20 + line);
        fake_suspend(a, f, s.f, line, line % 2 ? h : g);
        fake_assert_task(a, s.task, wanted);
        fake_assert_task(a, s.task, wanted); /* and it stays so */
    }
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_moves_is_seen_where_it_is, move);

/* ---- code objects ---- */

static void change_code(struct fake_asyncio *a)
{
    struct scene s = scene(a);
    assert_frames(&s, fake_coroutine(a, s.f, 1, 0), "<task A> f:21");
    fake_assert_task(a, s.task, "<task A> f:21");
    fake_code_at(a->p, s.f, "other", 50, 9);
    fake_assert_task(a, s.task, "<task A> other:51");
    fake_assert_task(a, s.task, "<task A> other:51");
}
EACH_ASYNCIO(ASYNC_ALL, a_function_that_is_another_at_the_same_address_is_seen, change_code);

static void lose_code(struct fake_asyncio *a)
{
    struct scene s = scene(a);
    const uint64_t coroutine = fake_coroutine(a, s.g, 2, 0);
    assert_frames(&s, coroutine, "<task A> g:32");
    fake_poke(a->p, s.f + fake_layout(a->p)->object_type, a->future_type);
    fake_suspend(a, coroutine, s.f, 1, 0);
    fake_assert_task(a, s.task, "failed: code object unreadable");
    assert_int_equal(a->asyncio.failed, 1);
}
EACH_ASYNCIO(ASYNC_ALL, a_frame_without_a_code_object_fails, lose_code);

/* ---- what can't be ---- */

#define assert_failed(s, wanted)                                                                                       \
    do {                                                                                                               \
        fake_assert_task((s)->a, (s)->task, wanted);                                                                   \
        assert_int_equal((s)->a->asyncio.failed, 1);                                                                   \
    } while (0)

static void wait_in_a_ring(struct fake_asyncio *a)
{
    struct scene s = scene(a);
    const uint64_t g = fake_coroutine(a, s.g, 2, 0), f = fake_coroutine(a, s.f, 1, g);
    assert_frames(&s, f, "<task A> f:21 g:32");
    fake_suspend(a, g, s.g, 2, f);
    assert_failed(&s, "failed: stack too deep");
    fake_suspend(a, f, s.f, 1, f);
    assert_failed(&s, "failed: stack too deep");
    fake_suspend(a, f, s.f, 1, 0);
    fake_assert_task(a, s.task, "<task A> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, coroutines_that_await_each_other_in_a_ring_fail, wait_in_a_ring);

static void misplace_the_stack(struct fake_asyncio *a)
{
    struct scene s = scene(a);
    const struct layout *l = fake_layout(a->p);
    const uint64_t f = fake_coroutine(a, s.f, 1, fake_coroutine(a, s.g, 2, 0)), at = frame_of(&s, f) + l->frame_stack;
    const uint64_t right = fake_peek(a->p, at);
    assert_frames(&s, f, "<task A> f:21 g:32");
    const uint64_t wrong[] = { 0,         8,         right - 8,  right + (uint64_t)FAKE_STACK * 8,
                               right + 4, right + 1, UINT64_MAX, 1u << 20 };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        fake_poke(a->p, at, wrong[i]);
        assert_failed(&s, "failed: changed while read");
    }
    fake_poke(a->p, at, right);
    fake_assert_task(a, s.task, "<task A> f:21 g:32");
}
EACH_ASYNCIO(ASYNC_ALL, a_stack_of_values_that_ends_elsewhere_fails, misplace_the_stack);

static void misplace_the_instruction(struct fake_asyncio *a)
{
    struct scene s = scene(a);
    const uint64_t f = fake_coroutine(a, s.f, 1, 0), at = frame_of(&s, f) + fake_layout(a->p)->frame_instruction;
    const uint64_t right = fake_peek(a->p, at);
    assert_frames(&s, f, "<task A> f:21");
    const uint64_t wrong[] = { 0, right - 2 * FAKE_UNIT - 2, right + 2 * 8 * FAKE_UNIT, UINT64_MAX, s.f, s.g };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        fake_poke(a->p, at, wrong[i]);
        assert_failed(&s, "failed: changed while read");
    }
    fake_poke(a->p, at, right + 2 * 7 * FAKE_UNIT);
    fake_assert_task(a, s.task, "<task A> f:28");
}
EACH_ASYNCIO(ASYNC_ALL, an_instruction_outside_its_function_fails, misplace_the_instruction);

static void lead_nowhere(struct fake_asyncio *a)
{
    struct scene s = scene(a);
    static const uint64_t nowhere[] = { 8, 0x7000, UINT64_MAX - 7, FAKE_BASE - 8, FAKE_BASE + FAKE_SIZE - 8 };
    const uint64_t f = fake_coroutine(a, s.f, 1, 0), wrapper = fake_wrapper(a, 0);
    assert_frames(&s, f, "<task A> f:21");
    for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
        fake_suspend(a, f, s.f, 1, nowhere[i]);
        assert_failed(&s, "failed: changed while read");
        fake_poke(a->p, wrapper + fake_layout(a->p)->object_type + 8, nowhere[i]);
        fake_suspend(a, f, s.f, 1, wrapper);
        assert_failed(&s, "failed: changed while read");
        fake_suspend(a, f, s.f, 1, 0);
        fake_poke(a->p, s.task + a->asyncio.tasks.offsets.task_coroutine, nowhere[i]);
        assert_failed(&s, "failed: changed while read");
        fake_poke(a->p, s.task + a->asyncio.tasks.offsets.task_coroutine, f);
    }
    fake_assert_task(a, s.task, "<task A> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, what_leads_nowhere_fails, lead_nowhere);

TEST_FILE(await_chain)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(coroutines_are_shown_from_the_root_on),
        cmocka_unit_test(an_asynchronous_generator_is_shown_below_who_iterates_over_it),
        cmocka_unit_test(a_class_that_is_called_coroutine_is_none),
        cmocka_unit_test(a_deep_chain_is_shown_whole),
        cmocka_unit_test(what_a_coroutine_does_tells_whether_it_awaits),
        cmocka_unit_test(a_task_that_moves_is_seen_where_it_is),
        cmocka_unit_test(a_function_that_is_another_at_the_same_address_is_seen),
        cmocka_unit_test(a_frame_without_a_code_object_fails),
        cmocka_unit_test(coroutines_that_await_each_other_in_a_ring_fail),
        cmocka_unit_test(a_stack_of_values_that_ends_elsewhere_fails),
        cmocka_unit_test(an_instruction_outside_its_function_fails),
        cmocka_unit_test(what_leads_nowhere_fails),
    };
    return run_all(tests);
}
