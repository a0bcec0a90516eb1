/* SPDX-License-Identifier: MIT */
/* The tasks that threads run: a thread's stack with the task in it, and those that wait for the task. */
#include "record/asyncio/asyncio.h"

#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <string.h>

struct scene {
    uint64_t f, g;
    uint64_t outer, inner;     /* coroutines of f and g; the first awaits the second */
    uint64_t task, waiter;     /* the first has these coroutines; the waiter is in no relation to it at first */
    uint64_t other, coroutine; /* another task, and its coroutine, of g */
};

static struct scene scene(struct fake_asyncio *a)
{
    struct scene s = { .f = fake_async_code(a, "f", 20, 9), .g = fake_async_code(a, "g", 30, 9) };
    s.inner = fake_coroutine(a, s.g, 1, 0);
    s.outer = fake_coroutine(a, s.f, 1, s.inner);
    s.coroutine = fake_coroutine(a, s.g, 3, 0);
    s.task = fake_task(a, "A", s.outer);
    s.other = fake_task(a, "B", s.coroutine);
    s.waiter = fake_task(a, "W", fake_coroutine(a, s.f, 7, 0));
    return s;
}

static void suspend(struct fake_asyncio *a, const struct scene *s)
{
    fake_wait(a, 0);
    fake_suspend(a, s->inner, s->g, 1, 0);
    fake_suspend(a, s->outer, s->f, 1, s->inner);
    fake_suspend(a, s->coroutine, s->g, 3, 0);
}

/* ---- stacks ---- */

static void run(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_assert_thread(a, 0, "m:2");
    DRIVE(a, 0, s.task, { s.outer, s.f, 2 });
    fake_assert_thread(a, 0, "m:2 <task A> f:22");
    DRIVE(a, 0, s.task, { s.outer, s.f, 2 }, { s.inner, s.g, 5 });
    fake_assert_thread(a, 0, "m:2 <task A> f:22 g:35");
    suspend(a, &s);
    fake_assert_thread(a, 0, "m:2");
    DRIVE(a, 0, s.other, { s.coroutine, s.g, 6 });
    fake_assert_thread(a, 0, "m:2 <task B> g:36");
    fake_assert_thread(a, 0, "m:2 <task B> g:36");
    assert_int_equal(a->asyncio.failed, 0);
}
EACH_ASYNCIO(ASYNC_RUNNING, the_task_that_a_thread_runs_is_on_its_stack, run);

static void wait_for_it(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_awaited_by(a, s.task, s.waiter);
    DRIVE(a, 0, s.task, { s.outer, s.f, 2 }, { s.inner, s.g, 5 });
    fake_assert_thread(a, 0, "m:2 <task W> f:27 <task A> f:22 g:35");
    fake_awaited_by_all(a, s.task, (uint64_t[]){ s.waiter, s.other }, 2);
    fake_assert_thread(a, 0, "m:2 <task W> f:27 <task A (2 parents)> f:22 g:35");
    fake_awaited_by(a, s.task, 0);
    fake_assert_thread(a, 0, "m:2 <task A> f:22 g:35");
}
EACH_ASYNCIO(ASYNC_RUNNING, who_waits_for_the_task_is_above_it, wait_for_it);

static void run_two(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    const size_t second = fake_thread(a->p, 4712);
    DRIVE(a, 0, s.task, { s.outer, s.f, 2 });
    DRIVE(a, second, s.other, { s.coroutine, s.g, 6 });
    fake_assert_thread(a, 0, "m:2 <task A> f:22");
    assert_string_equal(fake_thread_stack(a, second), "m:2 <task B> g:36");
    fake_take_lock(a->p, second);
    DRIVE(a, second, s.other, { s.coroutine, s.g, 7 });
    fake_assert_thread(a, second, "m:2 <task B> g:37");
    assert_string_equal(fake_thread_stack(a, 0), "m:2 <task A> f:22");
}
EACH_ASYNCIO(ASYNC_RUNNING, each_thread_has_its_own_task, run_two);

/* The one that waits ran in the tick before. */
static void fall_asleep_waiting(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    for (int i = 0; i < 2; i++) {
        suspend(a, &s);
        DRIVE(a, 0, s.task, { s.outer, s.f, 2 }, { s.inner, s.g, 5 });
        fake_assert_thread(a, 0, "m:2 <task A> f:22 g:35");
        suspend(a, &s);
        fake_awaited_by(a, s.other, s.task);
        DRIVE(a, 0, s.other, { s.coroutine, s.g, 6 });
        for (int tick = 0; tick < 4; tick++)
            fake_assert_thread(a, 0, "m:2 <task A> f:21 g:31 <task B> g:36");
    }
}
EACH_ASYNCIO(ASYNC_RUNNING, a_task_that_ran_and_now_waits_is_above_the_one_that_runs, fall_asleep_waiting);

static void call_plain_functions(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    const uint64_t h = fake_code(a->p, "h", 40, 9);
    DRIVE(a, 0, s.task, { s.outer, s.f, 2 });
    a->p->threads[0].off_stack[2] = s.outer + fake_layout(a->p)->generator_frame;
    fake_stack(a->p, 0,
               (struct fake_frame[]){
                   { PLAIN, a->m, 1 }, { SHIM, 0, 0 }, { GENERATOR, s.f, 2 }, { SHIM, 0, 0 }, { PLAIN, h, 3 } },
               5);
    fake_assert_thread(a, 0, "m:2 <task A> f:22 h:43");
    a->synthetic.native = true; /* <native> stands where C code called */
    fake_assert_thread(a, 0, "m:2 <task A> <native> f:22 <native> h:43");
}
EACH_ASYNCIO(ASYNC_RUNNING, what_the_task_calls_is_below_it, call_plain_functions);

/* A program may drive a coroutine itself: coroutine.send(None). */
static void drive_without_a_task(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_assert_thread(a, 0, "m:2");
    DRIVE(a, 0, 0, { s.outer, s.f, 2 });
    fake_assert_thread(a, 0, "m:2 f:22");
    assert_int_equal(a->asyncio.failed, 0);
}
EACH_ASYNCIO(ASYNC_RUNNING, a_coroutine_in_no_task_is_on_the_plain_stack, drive_without_a_task);

/* The thread's word still says a task that has given up the processor: its coroutine is on no stack. */
static void word_only(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_current_task(a, 0, s.task);
    fake_assert_thread(a, 0, "m:2");
    assert_int_equal(a->asyncio.failed, 0);
    /* And it says nothing that is a task. */
    static const uint64_t wrong[] = { 1, 8, 0x7000, UINT64_MAX };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        fake_current_task(a, 0, wrong[i]);
        fake_assert_thread(a, 0, "m:2");
    }
    fake_current_task(a, 0, a->future);
    fake_assert_thread(a, 0, "m:2");
}
EACH_ASYNCIO(ASYNC_RUNNING, a_task_that_is_on_no_stack_is_not_shown, word_only);

/* The state of a coroutine changes a moment before its frame leaves the stack. */
static void be_about_to_wait(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    const struct layout *l = fake_layout(a->p);
    const uint64_t values = s.outer + l->generator_frame + l->frame_stack, end = fake_peek(a->p, values);
    fake_awaited_by(a, s.other, s.task); /* so that the frames of the task are read, too */
    DRIVE(a, 0, s.other, { s.coroutine, s.g, 6 });
    fake_assert_thread(a, 0, "m:2 <task A> f:21 g:31 <task B> g:36");
    DRIVE(a, 0, s.task, { s.outer, s.f, 2 });
    fake_set_state(a, s.outer, l->state_waits_first);
    fake_poke(a->p, values, end);
    fake_poke(a->p, end - (uint64_t)l->awaited_words * 8, a->future);
    fake_assert_thread(a, 0, "m:2 <task A> f:22");
}
EACH_ASYNCIO(ASYNC_RUNNING, a_task_that_is_about_to_wait_is_on_the_stack, be_about_to_wait);

/* The thread state names a task, and the stack has a coroutine of nobody. */
static void contradict(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    DRIVE(a, 0, s.other, { s.outer, s.f, 2 });
    fake_assert_thread(a, 0, "failed");
    assert_int_equal(a->asyncio.failed, 1);
    DRIVE(a, 0, s.task, { s.outer, s.f, 2 });
    fake_assert_thread(a, 0, "m:2 <task A> f:22");
    DRIVE(a, 0, s.other, { s.outer, s.f, 2 }); /* of a task that is known */
    fake_assert_thread(a, 0, "m:2 <task A> f:22");
}
EACH_ASYNCIO(ASYNC_RUNNING, a_thread_that_names_another_task_than_it_runs_fails_unless_that_is_known, contradict);

static void be_deep(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    uint64_t task = s.task;
    const char *const wanted = "m:2 <task N> g:32 <task N> g:32 <task N> g:32 <task A> f:22";
    DRIVE(a, 0, s.task, { s.outer, s.f, 2 });
    for (int i = 0; i < 3; i++) {
        const uint64_t next = fake_task(a, "N", fake_coroutine(a, s.g, 2, 0));
        fake_awaited_by(a, task, next);
        task = next;
    }
    fake_assert_thread(a, 0, wanted);
    fake_awaited_by(a, task, s.task); /* in a ring */
    fake_assert_thread(a, 0, wanted);
}
EACH_ASYNCIO(ASYNC_RUNNING, a_chain_of_those_that_wait_is_shown_whole, be_deep);

/* ---- between ---- */

/* A program that does something just before the n-th piece of a tick is read. */
struct between {
    struct fake_asyncio *a;
    const struct scene *s;
    size_t left;
    void (*step)(const struct between *between);
};

static void count(void *self, const struct piece *piece, size_t i)
{
    struct between *between = self;
    (void)piece;
    (void)i;
    if (between->left > 0 && --between->left == 0)
        between->step(between);
}

static void run_the_other(const struct between *between)
{
    const struct scene *s = between->s;
    suspend(between->a, s);
    DRIVE(between->a, 0, s->other, { s->coroutine, s->g, 6 });
}

static void fall_asleep(const struct between *between)
{
    suspend(between->a, between->s);
}

static void wake_up(const struct between *between)
{
    DRIVE(between->a, 0, between->s->task, { between->s->outer, between->s->f, 2 },
          { between->s->inner, between->s->g, 5 });
}

/* Whatever it does between two pieces, the tick ends, and the next one is right. */
static void move_between(struct fake_asyncio *a, void (*step)(const struct between *), bool runs_first,
                         const char *before, const char *after)
{
    const struct scene s = scene(a);
    struct between between = { .a = a, .s = &s, .step = step };
    size_t at = 1;
    for (; at < 200 && between.left == 0; at++) {
        suspend(a, &s);
        if (runs_first)
            wake_up(&between);
        fake_assert_thread(a, 0, before);
        between.left = at;
        fake_remote_hook(count, &between);
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        fake_remote_hook(NULL, NULL);
        if (between.left == 0)
            fake_assert_thread(a, 0, after);
    }
    assert_true(at > 5 && at < 200);
}

static void switch_tasks(struct fake_asyncio *a)
{
    move_between(a, run_the_other, true, "m:2 <task A> f:22 g:35", "m:2 <task B> g:36");
}
EACH_ASYNCIO(ASYNC_RUNNING, a_thread_that_takes_another_task_is_seen_with_it, switch_tasks);

static void stop_a_task(struct fake_asyncio *a)
{
    move_between(a, fall_asleep, true, "m:2 <task A> f:22 g:35", "m:2");
}
EACH_ASYNCIO(ASYNC_RUNNING, a_task_that_falls_asleep_is_not_seen_again, stop_a_task);

static void start_a_task(struct fake_asyncio *a)
{
    move_between(a, wake_up, false, "m:2", "m:2 <task A> f:22 g:35");
}
EACH_ASYNCIO(ASYNC_RUNNING, a_task_that_wakes_is_seen, start_a_task);

TEST_FILE(asyncio_running)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_task_that_a_thread_runs_is_on_its_stack),
        cmocka_unit_test(who_waits_for_the_task_is_above_it),
        cmocka_unit_test(each_thread_has_its_own_task),
        cmocka_unit_test(a_task_that_ran_and_now_waits_is_above_the_one_that_runs),
        cmocka_unit_test(what_the_task_calls_is_below_it),
        cmocka_unit_test(a_coroutine_in_no_task_is_on_the_plain_stack),
        cmocka_unit_test(a_task_that_is_on_no_stack_is_not_shown),
        cmocka_unit_test(a_task_that_is_about_to_wait_is_on_the_stack),
        cmocka_unit_test(a_thread_that_names_another_task_than_it_runs_fails_unless_that_is_known),
        cmocka_unit_test(a_chain_of_those_that_wait_is_shown_whole),
        cmocka_unit_test(a_thread_that_takes_another_task_is_seen_with_it),
        cmocka_unit_test(a_task_that_falls_asleep_is_not_seen_again),
        cmocka_unit_test(a_task_that_wakes_is_seen),
    };
    return run_all(tests);
}
