/* SPDX-License-Identifier: MIT */
/* Which task waits for which, and the stacks that this gives: those that wait are above the one that they wait for. */
#include "record/asyncio/await_graph.h"

#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/testing.h"

#include <stdio.h>

#define CROWD 100

/* Tasks A to D of this function, on lines 1 to 4, all in the list of the first thread. */
struct scene {
    uint64_t f, tasks[4], coroutines[4];
};

static struct scene scene(struct fake_asyncio *a)
{
    struct scene s = { .f = fake_async_code(a, "f", 20, 9) };
    for (int i = 0; i < 4; i++) {
        s.coroutines[i] = fake_coroutine(a, s.f, i + 1, 0);
        s.tasks[i] = fake_task(a, (const char[]){ (char)('A' + i), '\0' }, s.coroutines[i]);
    }
    fake_list(a, fake_thread_tasks(a, 0), s.tasks, 4);
    return s;
}

static void assert_stack(struct fake_asyncio *a, uint64_t task, const char *wanted)
{
    const char *seen = fake_task_stack(a, task);
    if (strcmp(seen, wanted) != 0)
        fail_msg("Python %x: '%s' and should be '%s'", fake_layout(a->p)->version, seen, wanted);
}

/* ---- who waits ---- */

static void wait_one_for_the_other(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_awaited_by(a, s.tasks[1], s.tasks[0]);
    fake_awaited_by(a, s.tasks[2], s.tasks[1]);
    fake_assert_task(a, s.tasks[2], "<task A> f:21 <task B> f:22 <task C> f:23");
    assert_stack(a, s.tasks[1], "<task A> f:21 <task B> f:22");
    assert_stack(a, s.tasks[0], "<task A> f:21");
    assert_stack(a, s.tasks[3], "<task D> f:24");
}
EACH_ASYNCIO(ASYNC_ALL, a_task_is_shown_below_the_one_that_waits_for_it, wait_one_for_the_other);

/* As with asyncio.gather() and with a task group. */
static void wait_for_two(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_awaited_by(a, s.tasks[1], s.tasks[0]);
    fake_awaited_by(a, s.tasks[2], s.tasks[0]);
    fake_assert_task(a, s.tasks[1], "<task A> f:21 <task B> f:22");
    assert_stack(a, s.tasks[2], "<task A> f:21 <task C> f:23");
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_waits_for_two_is_shown_above_both, wait_for_two);

static void wait_both(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_assert_task(a, s.tasks[0], "<task A> f:21"); /* A has the smaller number */
    fake_awaited_by_all(a, s.tasks[2], (uint64_t[]){ s.tasks[1], s.tasks[0] }, 2);
    fake_assert_task(a, s.tasks[2], "<task A> f:21 <task C (2 parents)> f:23");
    fake_awaited_by_all(a, s.tasks[2], (uint64_t[]){ s.tasks[0], s.tasks[3], s.tasks[1] }, 3);
    fake_assert_task(a, s.tasks[2], "<task A> f:21 <task C (3 parents)> f:23");
    fake_awaited_by_all(a, s.tasks[2], (uint64_t[]){ s.tasks[1] }, 1);
    fake_assert_task(a, s.tasks[2], "<task B> f:22 <task C> f:23");
    fake_awaited_by_all(a, s.tasks[2], NULL, 0);
    fake_assert_task(a, s.tasks[2], "<task C> f:23");
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_several_wait_for_is_shown_below_the_first_of_them, wait_both);

static void wait_as_a_crowd(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    uint64_t crowd[CROWD];
    for (int i = 0; i < CROWD; i++)
        crowd[i] = fake_task(a, "W", fake_coroutine(a, s.f, 5, 0)); /* in no list */
    fake_awaited_by_all(a, s.tasks[0], crowd, CROWD);
    fake_assert_task(a, s.tasks[0], "<task W> f:25 <task A (100 parents)> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_a_crowd_waits_for_says_how_many, wait_as_a_crowd);

static void wait_another(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_awaited_by(a, s.tasks[2], s.tasks[0]);
    fake_assert_task(a, s.tasks[2], "<task A> f:21 <task C> f:23");
    fake_awaited_by(a, s.tasks[2], s.tasks[1]);
    fake_assert_task(a, s.tasks[2], "<task B> f:22 <task C> f:23");
    fake_suspend(a, s.coroutines[1], s.f, 7, 0); /* the one that waits moves */
    fake_assert_task(a, s.tasks[2], "<task B> f:27 <task C> f:23");
    fake_awaited_by(a, s.tasks[1], s.tasks[3]); /* and another one waits for it */
    fake_assert_task(a, s.tasks[2], "<task D> f:24 <task B> f:27 <task C> f:23");
    fake_awaited_by(a, s.tasks[2], 0);
    fake_assert_task(a, s.tasks[2], "<task C> f:23");
    assert_stack(a, s.tasks[1], "<task D> f:24 <task B> f:27");
}
EACH_ASYNCIO(ASYNC_ALL, who_waits_may_change, wait_another);

static void wait_as_no_task(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    const uint64_t future = fake_object(a, a->future_type, 256);
    const uint64_t no_task = fake_task(a, "N", s.coroutines[3]);
    *fake_bytes(a->p, no_task + a->asyncio.tasks.offsets.task_is_task) = 0;
    fake_awaited_by(a, s.tasks[1], future);
    fake_awaited_by_all(a, s.tasks[2], (uint64_t[]){ future, s.tasks[0], no_task }, 3);
    fake_assert_task(a, s.tasks[1], "<task B> f:22");
    assert_stack(a, s.tasks[2], "<task A> f:21 <task C> f:23");
}
EACH_ASYNCIO(ASYNC_ALL, who_waits_and_is_no_task_is_not_shown, wait_as_no_task);

/* ---- rings ---- */

static void wait_for_itself(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_awaited_by(a, s.tasks[0], s.tasks[0]);
    fake_assert_task(a, s.tasks[0], "<task A> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_waits_for_itself_is_shown_once, wait_for_itself);

static void wait_in_a_ring(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_awaited_by(a, s.tasks[0], s.tasks[1]);
    fake_awaited_by(a, s.tasks[1], s.tasks[2]);
    fake_awaited_by(a, s.tasks[2], s.tasks[0]);
    fake_awaited_by(a, s.tasks[3], s.tasks[0]);
    fake_assert_task(a, s.tasks[0], "<task C> f:23 <task B> f:22 <task A> f:21");
    assert_stack(a, s.tasks[1], "<task A> f:21 <task C> f:23 <task B> f:22");
    assert_stack(a, s.tasks[3], "<task C> f:23 <task B> f:22 <task A> f:21 <task D> f:24");
    assert_int_equal(a->asyncio.failed, 0);
}
EACH_ASYNCIO(ASYNC_ALL, tasks_that_wait_in_a_ring_are_shown_once_round, wait_in_a_ring);

/* ---- tasks that run ---- */

/* A task that waits for another and runs all the same, as its own callback may have it: the thread's stack tells where.
 */
static void run_and_wait(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_awaited_by(a, s.tasks[1], s.tasks[0]);
    fake_assert_task(a, s.tasks[1], "<task A> f:21 <task B> f:22");
    DRIVE(a, 0, s.tasks[0], { s.coroutines[0], s.f, 6 });
    fake_assert_task(a, s.tasks[1], "<task A> f:26 <task B> f:22");
    assert_stack(a, s.tasks[0], "<task A> f:26");
}
EACH_ASYNCIO(ASYNC_ALL, a_waiting_task_is_shown_below_the_one_that_runs, run_and_wait);

static void run_the_awaited(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_awaited_by(a, s.tasks[1], s.tasks[0]);
    DRIVE(a, 0, s.tasks[1], { s.coroutines[1], s.f, 6 });
    fake_assert_task(a, s.tasks[1], "<task A> f:21 <task B> f:26");
    assert_stack(a, s.tasks[0], "<task A> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_runs_is_shown_below_the_one_that_waits, run_the_awaited);

/* A task that is starting or ending. */
static void run_on_no_stack(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_assert_task(a, s.tasks[0], "<task A> f:21");
    fake_set_state(a, s.coroutines[0], fake_layout(a->p)->state_runs);
    fake_assert_task(a, s.tasks[0], "<task A>");
    assert_stack(a, s.tasks[1], "<task B> f:22");
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_runs_on_no_stack_has_no_frames, run_on_no_stack);

/* ---- numbers ---- */

static uint32_t number_of(const struct fake_asyncio *a, uint64_t task)
{
    return asyncio_tasks_find(&a->asyncio.tasks, task)->number;
}

static void define(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    const uint32_t before = number_of(a, s.tasks[0]), others = number_of(a, s.tasks[1]);
    assert_int_not_equal(before, others);
    assert_text(tables_task(&a->tables, before)->task.name, "A");
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_int_equal(number_of(a, s.tasks[0]), before);
    /* Another name, or another coroutine, is another task at the address. */
    fake_poke(a->p, s.tasks[0] + a->asyncio.tasks.offsets.task_name, fake_str(a, "Z"));
    fake_assert_task(a, s.tasks[0], "<task Z> f:21");
    const uint32_t renamed = number_of(a, s.tasks[0]);
    assert_true(renamed > before);
    assert_text(tables_task(&a->tables, renamed)->task.name, "Z");
    fake_poke(a->p, s.tasks[0] + a->asyncio.tasks.offsets.task_coroutine, fake_coroutine(a, s.f, 8, 0));
    fake_assert_task(a, s.tasks[0], "<task Z> f:28");
    assert_true(number_of(a, s.tasks[0]) > renamed);
    assert_int_equal(number_of(a, s.tasks[1]), others);
}
EACH_ASYNCIO(ASYNC_ALL, each_task_is_defined_once, define);

TEST_FILE(await_graph)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_is_shown_below_the_one_that_waits_for_it),
        cmocka_unit_test(a_task_that_waits_for_two_is_shown_above_both),
        cmocka_unit_test(a_task_that_several_wait_for_is_shown_below_the_first_of_them),
        cmocka_unit_test(a_task_that_a_crowd_waits_for_says_how_many),
        cmocka_unit_test(who_waits_may_change),
        cmocka_unit_test(who_waits_and_is_no_task_is_not_shown),
        cmocka_unit_test(a_task_that_waits_for_itself_is_shown_once),
        cmocka_unit_test(tasks_that_wait_in_a_ring_are_shown_once_round),
        cmocka_unit_test(a_waiting_task_is_shown_below_the_one_that_runs),
        cmocka_unit_test(a_task_that_runs_is_shown_below_the_one_that_waits),
        cmocka_unit_test(a_task_that_runs_on_no_stack_has_no_frames),
        cmocka_unit_test(each_task_is_defined_once),
    };
    return run_all(tests);
}
