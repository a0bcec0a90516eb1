/* SPDX-License-Identifier: MIT */
/* Where tasks are kept before CPython 3.14: the sets, the event loops of threads, the dict of the tasks that run. */
#include "record/asyncio/task_sets.h"

#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/testing.h"

#define MANY 100

/* Tasks A to D of this function, on lines 1 to 4, in the set of all tasks. */
struct scene {
    uint64_t f, tasks[4], coroutines[4], table;
};

static struct scene scene(struct fake_asyncio *a)
{
    struct scene s = { .f = fake_async_code(a, "f", 20, 9) };
    for (int i = 0; i < 4; i++) {
        s.coroutines[i] = fake_coroutine(a, s.f, i + 1, 0);
        s.tasks[i] = fake_task(a, (const char[]){ (char)('A' + i), '\0' }, s.coroutines[i]);
    }
    s.table = fake_all_tasks(a, s.tasks, 4);
    return s;
}

static void assert_now(struct fake_asyncio *a, uint64_t task, const char *wanted)
{
    const char *seen = fake_task_stack(a, task);
    if (strcmp(seen, wanted) != 0)
        fail_msg("Python %x: '%s' and should be '%s'", fake_layout(a->p)->version, seen, wanted);
}

static void list(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    fake_assert_task(a, s.tasks[0], "<task A> f:21");
    assert_now(a, s.tasks[3], "<task D> f:24");
    fake_assert_task(a, s.tasks[3], "<task D> f:24"); /* and so in the next look, which reads less */

    fake_poke4(a->p, s.tasks[0] + a->asyncio.tasks.offsets.future_state, 2);    /* is done, and still kept */
    fake_poke(a->p, fake_member(a, fake_peek(a->p, s.table + 16), 0), a->loop); /* a dead reference: None */
    fake_poke(a->p, s.table + 2 * 16 + 8, UINT64_MAX);                          /* was taken out */
    fake_assert_task(a, s.tasks[3], "<task D> f:24");
    for (int i = 0; i < 3; i++)
        assert_now(a, s.tasks[i], "none");
    assert_int_equal(a->asyncio.failed, 0);
}
EACH_OLDER(ASYNC_ALL, all_tasks_of_the_set_are_found_but_those_that_are_done, list);

static void grow(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    uint64_t tasks[MANY];
    for (int i = 0; i < MANY; i++)
        tasks[i] = i < 4 ? s.tasks[i] : fake_task(a, "more", fake_coroutine(a, s.f, 5, 0));
    fake_assert_task(a, s.tasks[3], "<task D> f:24");
    for (int round = 0; round < 3; round++) {
        fake_all_tasks(a, tasks, MANY); /* has another table */
        fake_assert_task(a, tasks[MANY - 1], "<task more> f:25");
        assert_int_equal(a->asyncio.listed_count, MANY);
        fake_all_tasks(a, tasks, 1);
        fake_assert_task(a, tasks[0], "<task A> f:21");
        assert_now(a, tasks[MANY - 1], "none");
    }
}
EACH_OLDER(ASYNC_ALL, a_set_with_another_table_is_followed, grow);

static void be_of_a_loop(struct fake_asyncio *a)
{
    const struct layout *l = fake_layout(a->p);
    const struct scene s = scene(a);
    if (!l->thread_loop)
        return; /* tests/e2e has the dicts of threads */
    fake_poke(a->p, s.tasks[1] + a->asyncio.tasks.offsets.future_loop, 0x7000);
    fake_assert_task(a, s.tasks[0], "<task A> f:21");
    assert_int_equal(asyncio_tasks_find(&a->asyncio.tasks, s.tasks[0])->owner, 1);
    assert_int_equal(asyncio_tasks_find(&a->asyncio.tasks, s.tasks[1])->owner, 0); /* of a loop that does not run */
    fake_poke(a->p, a->p->threads[0].address + l->thread_loop, 0);
    fake_assert_task(a, s.tasks[0], "<task A> f:21");
    assert_int_equal(asyncio_tasks_find(&a->asyncio.tasks, s.tasks[0])->owner, 0);
}
EACH_OLDER(ASYNC_ALL, a_task_belongs_to_the_thread_that_runs_its_loop, be_of_a_loop);

static void lie(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    const uint64_t set = a->asyncio.tasks.module.tasks, mask = fake_member(a, set, 2), table = fake_member(a, set, 3);
    fake_assert_task(a, s.tasks[0], "<task A> f:21");
    const uint64_t masks[] = { UINT64_MAX, 1u << 20, (1u << 20) - 1, 0x7000, 0 };
    for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
        fake_poke(a->p, mask, masks[i]);
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    }
    fake_poke(a->p, mask, 7);
    fake_poke(a->p, table, 0x7000);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_true(a->asyncio.failed > 0); /* tasks may lack, and this is said */
    fake_poke(a->p, table, s.table);
    fake_poke(a->p, s.table + 16, 0x7000); /* a reference that is not there */
    fake_assert_task(a, s.tasks[0], "<task A> f:21");
    assert_now(a, s.tasks[2], "<task C> f:23");
    fake_poke(a->p, s.table + 16, s.tasks[1]); /* that is no reference: its first member is its loop */
    fake_assert_task(a, s.tasks[0], "<task A> f:21");
    assert_now(a, s.tasks[1], "none");
}
EACH_OLDER(ASYNC_ALL, a_set_that_makes_no_sense_is_bounded, lie);

/* ---- what runs ---- */

static void run(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    CALLS(a, s.tasks[1], fake_waker(a, s.tasks[0]));
    DRIVE(a, 0, s.tasks[1], { s.coroutines[1], s.f, 5 });
    fake_assert_thread(a, 0, "m:2 <task A> f:21 <task B> f:25");
    fake_assert_thread(a, 0, "m:2 <task A> f:21 <task B> f:25");
    fake_wait(a, 0);
    fake_suspend(a, s.coroutines[1], s.f, 6, 0);
    fake_assert_thread(a, 0, "m:2");
    DRIVE(a, 0, s.tasks[2], { s.coroutines[2], s.f, 7 });
    fake_assert_thread(a, 0, "m:2 <task C> f:27");
}
EACH_OLDER(ASYNC_RUNNING, a_thread_has_the_task_whose_coroutine_it_runs, run);

/* A coroutine that no task has, and a dict that names one that the stack does not have. */
static void run_no_task(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    const uint64_t free = fake_coroutine(a, s.f, 1, 0);
    DRIVE(a, 0, 0, { free, s.f, 5 });
    fake_assert_thread(a, 0, "m:2 f:25");
    fake_current_task(a, 0, s.tasks[1]);
    fake_assert_thread(a, 0, "m:2 f:25");
    fake_current_task(a, 0, 0x7000);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    const uint64_t keys = fake_member(a, a->asyncio.tasks.module.current, 2);
    fake_poke(a->p, keys, 0x7000);
    fake_assert_thread(a, 0, "failed");
}
EACH_OLDER(ASYNC_RUNNING, a_coroutine_outside_all_tasks_is_no_task, run_no_task);

/* The memory of a task and of its coroutine is used again. */
static void run_another(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    DRIVE(a, 0, s.tasks[1], { s.coroutines[1], s.f, 5 });
    fake_assert_thread(a, 0, "m:2 <task B> f:25");
    fake_poke(a->p, s.tasks[1] + a->asyncio.tasks.offsets.task_coroutine, s.coroutines[3]);
    fake_poke(a->p, s.tasks[2] + a->asyncio.tasks.offsets.task_coroutine, s.coroutines[1]);
    fake_current_task(a, 0, s.tasks[2]);
    fake_assert_thread(a, 0, "m:2 <task C> f:25");
    fake_poke(a->p, s.tasks[2] + fake_layout(a->p)->object_type, 0x7000); /* no object any more */
    fake_poke(a->p, s.tasks[3] + a->asyncio.tasks.offsets.task_coroutine, s.coroutines[1]);
    fake_current_task(a, 0, s.tasks[3]);
    fake_assert_thread(a, 0, "m:2 <task D> f:25");
}
EACH_OLDER(ASYNC_RUNNING, a_task_that_has_ended_is_not_shown_for_the_next, run_another);

TEST_FILE(task_sets)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_tasks_of_the_set_are_found_but_those_that_are_done),
        cmocka_unit_test(a_set_with_another_table_is_followed),
        cmocka_unit_test(a_task_belongs_to_the_thread_that_runs_its_loop),
        cmocka_unit_test(a_set_that_makes_no_sense_is_bounded),
        cmocka_unit_test(a_thread_has_the_task_whose_coroutine_it_runs),
        cmocka_unit_test(a_coroutine_outside_all_tasks_is_no_task),
        cmocka_unit_test(a_task_that_has_ended_is_not_shown_for_the_next),
    };
    return run_all(tests);
}
