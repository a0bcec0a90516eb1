/* SPDX-License-Identifier: MIT */
/* All tasks of a program, in the lists that CPython has of them. */
#include "record/asyncio/asyncio.h"

#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdio.h>

#define MANY 300

static uint64_t task_on_line(struct fake_asyncio *a, const char *name, uint64_t code, int line)
{
    return fake_task(a, name, fake_coroutine(a, code, line, 0));
}

static void assert_stack(struct fake_asyncio *a, uint64_t task, const char *wanted)
{
    assert_string_equal(fake_task_stack(a, task), wanted);
}

static const struct member *owner_of(struct fake_asyncio *a, uint64_t task)
{
    const struct known_task *known = asyncio_tasks_find(&a->asyncio.tasks, task);
    assert_non_null(known);
    return known->owner ? &a->thread_list.members[known->owner - 1] : NULL;
}

/* The task that the main thread runs, after a tick; 0: none. */
static uint64_t task_of_thread(struct fake_asyncio *a)
{
    const struct thread_task *runs = asyncio_thread(&a->asyncio, 0);
    return runs && runs->task ? a->asyncio.tasks.rows[runs->task - 1].address : 0;
}

/* ---- lists ---- */

static void list_a_thread(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "f", 20, 9);
    const uint64_t tasks[] = { task_on_line(a, "A", f, 1), task_on_line(a, "B", f, 2), task_on_line(a, "C", f, 3) };
    fake_list(a, fake_thread_tasks(a, 0), tasks, 3);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_int_equal(a->asyncio.listed_count, 3);
    assert_stack(a, tasks[0], "<task A> f:21");
    assert_stack(a, tasks[1], "<task B> f:22");
    assert_stack(a, tasks[2], "<task C> f:23");
    assert_int_equal(a->asyncio.failed, 0);
}
EACH_ASYNCIO(ASYNC_ALL, the_tasks_of_a_thread_are_found, list_a_thread);

static void list_two_threads(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "f", 20, 9);
    const size_t second = fake_thread(a->p, 4712);
    const uint64_t first_task = task_on_line(a, "A", f, 1), second_task = task_on_line(a, "B", f, 2);
    fake_wait(a, second);
    LIST(a, fake_thread_tasks(a, 0), first_task);
    LIST(a, fake_thread_tasks(a, second), second_task);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_stack(a, first_task, "<task A> f:21");
    assert_stack(a, second_task, "<task B> f:22");
    assert_int_equal(owner_of(a, first_task)->address, a->p->threads[0].address);
    assert_int_equal(owner_of(a, second_task)->address, a->p->threads[second].address);
}
EACH_ASYNCIO(ASYNC_ALL, the_tasks_of_each_thread_are_found, list_two_threads);

static void list_an_interpreter(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "f", 20, 9);
    const uint64_t task = task_on_line(a, "A", f, 1),
                   left[] = { task_on_line(a, "B", f, 2), task_on_line(a, "C", f, 3) };
    LIST(a, fake_thread_tasks(a, 0), task);
    fake_list(a, fake_interpreter_tasks(a), left, 2);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_stack(a, task, "<task A> f:21");
    assert_stack(a, left[0], "<task B> f:22");
    assert_stack(a, left[1], "<task C> f:23");
    assert_null(owner_of(a, left[0]));
    assert_non_null(owner_of(a, task));
}
EACH_ASYNCIO(ASYNC_ALL, tasks_whose_thread_has_ended_are_found, list_an_interpreter);

static void list_nothing(struct fake_asyncio *a)
{
    fake_thread(a->p, 4712); /* its list was never begun: the head is zero */
    fake_list(a, fake_thread_tasks(a, 0), NULL, 0);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_int_equal(a->asyncio.listed_count, 0);
    assert_int_equal(a->asyncio.failed, 0);
}
EACH_ASYNCIO(ASYNC_ALL, a_thread_without_tasks_has_none, list_nothing);

static void come_and_go(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "f", 20, 9), head = fake_thread_tasks(a, 0);
    const uint64_t tasks[] = { task_on_line(a, "A", f, 1), task_on_line(a, "B", f, 2), task_on_line(a, "C", f, 3) };
    fake_list(a, head, tasks, 2);
    fake_assert_task(a, tasks[0], "<task A> f:21");
    fake_list(a, head, tasks + 1, 2);
    fake_assert_task(a, tasks[0], "none");
    assert_stack(a, tasks[1], "<task B> f:22");
    assert_stack(a, tasks[2], "<task C> f:23");
    assert_int_equal(a->asyncio.listed_count, 2);
    fake_list(a, head, NULL, 0);
    fake_assert_task(a, tasks[1], "none");
    assert_int_equal(a->asyncio.listed_count, 0);
}
EACH_ASYNCIO(ASYNC_ALL, a_task_is_listed_from_its_begin_to_its_end, come_and_go);

static void take_a_new_thread(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "f", 20, 9);
    const uint64_t first_task = task_on_line(a, "A", f, 1), second_task = task_on_line(a, "B", f, 2);
    LIST(a, fake_thread_tasks(a, 0), first_task);
    fake_assert_task(a, first_task, "<task A> f:21");
    const size_t second = fake_thread(a->p, 4712);
    fake_wait(a, second);
    LIST(a, fake_thread_tasks(a, second), second_task);
    fake_take_lock(a->p, second);
    fake_assert_task(a, second_task, "<task B> f:22");
    assert_stack(a, first_task, "<task A> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, the_tasks_of_a_new_thread_are_found, take_a_new_thread);

/* Tasks of the main thread are read alone when only that thread is asked for. */
static void list_the_main_thread(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "f", 20, 9);
    const size_t second = fake_thread(a->p, 4712);
    const uint64_t first_task = task_on_line(a, "A", f, 1), second_task = task_on_line(a, "B", f, 2);
    fake_wait(a, second);
    LIST(a, fake_thread_tasks(a, 0), first_task);
    LIST(a, fake_thread_tasks(a, second), second_task);
    a->thread_list.which = THREADS_MAIN;
    fake_assert_task(a, first_task, "<task A> f:21");
    assert_stack(a, second_task, "none");
}
EACH_ASYNCIO(ASYNC_ALL, only_the_tasks_of_the_threads_asked_for_are_found, list_the_main_thread);

/* ---- many ---- */

struct many {
    uint64_t tasks[MANY], coroutines[MANY], f;
};

static struct many make_many(struct fake_asyncio *a)
{
    struct many many = { .f = fake_async_code(a, "f", 20, 9) };
    for (size_t i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof(name), "T%zu", i);
        many.coroutines[i] = fake_coroutine(a, many.f, (int)(i % 8), 0);
        many.tasks[i] = fake_task(a, name, many.coroutines[i]);
    }
    fake_list(a, fake_thread_tasks(a, 0), many.tasks, MANY);
    return many;
}

static void assert_many(struct fake_asyncio *a, const struct many *many, size_t except, int line)
{
    for (size_t i = 0; i < MANY; i++) {
        char wanted[32];
        snprintf(wanted, sizeof(wanted), "<task T%zu> f:%d", i, 20 + (i == except ? line : (int)(i % 8)));
        assert_stack(a, many->tasks[i], wanted);
    }
}

static void read_many(struct fake_asyncio *a)
{
    const struct many many = make_many(a);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        assert_many(a, &many, MANY, 0);
    }
    /* Tasks that stay as they are take the calls of the plan, and none of their own. */
    const uint64_t calls = a->p->target.remote.calls;
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_true(a->p->target.remote.calls - calls < 10);
    for (size_t i = 0; i < MANY; i++)
        assert_true(asyncio_tasks_find(&a->asyncio.tasks, many.tasks[i])->entry->same);
    /* And one of them that moves is seen. */
    fake_suspend(a, many.coroutines[100], many.f, 8, 0);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_many(a, &many, 100, 8);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_many(a, &many, 100, 8);
}
EACH_ASYNCIO(ASYNC_ALL, many_tasks_that_wait_are_read_with_few_calls, read_many);

/* ---- a task that runs ---- */

static void run_one(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "f", 20, 9), g = fake_async_code(a, "g", 30, 9);
    const uint64_t inner = fake_coroutine(a, g, 1, 0), outer = fake_coroutine(a, f, 1, inner);
    const uint64_t runs = fake_task(a, "A", outer), waits = task_on_line(a, "B", f, 3);
    LIST(a, fake_thread_tasks(a, 0), runs, waits);
    fake_assert_task(a, runs, "<task A> f:21 g:31");
    assert_int_equal(task_of_thread(a), 0);
    DRIVE(a, 0, runs, { outer, f, 4 }, { inner, g, 5 });
    fake_assert_task(a, runs, "<task A> f:24 g:35");
    assert_stack(a, waits, "<task B> f:23");
    assert_int_equal(task_of_thread(a), runs);
    DRIVE(a, 0, runs, { outer, f, 4 }, { inner, g, 6 });
    fake_assert_task(a, runs, "<task A> f:24 g:36");
    fake_wait(a, 0);
    fake_suspend(a, outer, f, 7, inner);
    fake_suspend(a, inner, g, 8, 0);
    fake_assert_task(a, runs, "<task A> f:27 g:38");
    assert_int_equal(task_of_thread(a), 0);
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_runs_has_the_frames_of_its_thread, run_one);

/* A task that begins another one eagerly: the other runs inside, on the same stack. */
static void run_one_inside(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "f", 20, 9), g = fake_async_code(a, "g", 30, 9);
    const uint64_t outer = fake_coroutine(a, f, 1, 0), inner = fake_coroutine(a, g, 1, 0);
    const uint64_t first = fake_task(a, "A", outer), second = fake_task(a, "B", inner);
    LIST(a, fake_thread_tasks(a, 0), first, second);
    DRIVE(a, 0, second, { outer, f, 4 }, { inner, g, 5 });
    fake_assert_task(a, first, "<task A> f:24");
    assert_stack(a, second, "<task B> g:35");
    assert_int_equal(task_of_thread(a), second);
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_runs_inside_another_has_its_own_frames_only, run_one_inside);

/* The state of a coroutine changes a moment before its frame leaves the stack. */
static void be_about_to_wait(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "f", 20, 9), outer = fake_coroutine(a, f, 1, 0);
    const uint64_t task = fake_task(a, "A", outer);
    const struct layout *l = fake_layout(a->p);
    const uint64_t values = outer + l->generator_frame + l->frame_stack, end = fake_peek(a->p, values);
    LIST(a, fake_thread_tasks(a, 0), task);
    DRIVE(a, 0, task, { outer, f, 4 });
    fake_assert_task(a, task, "<task A> f:24");
    fake_set_state(a, outer, l->state_waits_first);
    fake_poke(a->p, values, end);
    fake_poke(a->p, end - (uint64_t)l->awaited_words * 8, a->future);
    fake_assert_task(a, task, "<task A> f:24");
    assert_int_equal(task_of_thread(a), task);
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_is_about_to_wait_is_on_its_thread, be_about_to_wait);

/* ---- who awaits a task ---- */

static void assert_waiter(struct fake_asyncio *a, uint64_t task, uint64_t waiter, uint32_t waiters)
{
    const struct known_task *known = asyncio_tasks_find(&a->asyncio.tasks, task);
    const struct task_row *row = tables_task(&a->tables, known->number);
    assert_int_equal(row->waiter, waiter ? asyncio_tasks_find(&a->asyncio.tasks, waiter)->number : 0);
    assert_int_equal(row->waiters, waiters);
}

static void await(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "f", 20, 9);
    const uint64_t first = task_on_line(a, "A", f, 1), second = task_on_line(a, "B", f, 2),
                   third = task_on_line(a, "C", f, 3);
    LIST(a, fake_thread_tasks(a, 0), first, second, third);
    fake_awaited_by(a, third, first);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_waiter(a, first, 0, 0);
    assert_waiter(a, third, first, 1);
    const uint64_t both[] = { first, second };
    fake_awaited_by_all(a, third, both, 2);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_waiter(a, third, first, 2);
    fake_awaited_by(a, third, second);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_waiter(a, third, second, 1);
    fake_awaited_by(a, third, 0); /* who waited last stays known */
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_waiter(a, third, second, 1);
}
EACH_ASYNCIO(ASYNC_ALL, who_awaits_a_task_is_said, await);

/* ---- a process that is gone ---- */

static void lose_the_process(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "f", 20, 9), task = task_on_line(a, "A", f, 1);
    LIST(a, fake_thread_tasks(a, 0), task);
    fake_assert_task(a, task, "<task A> f:21");
    fake_remote_answer(REMOTE_GONE);
    assert_int_equal(fake_tick(a), THREAD_LIST_GONE);
}
EACH_ASYNCIO(ASYNC_ALL, a_process_that_is_gone_is_told, lose_the_process);

TEST_FILE(asyncio_all)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tasks_of_a_thread_are_found),
        cmocka_unit_test(the_tasks_of_each_thread_are_found),
        cmocka_unit_test(tasks_whose_thread_has_ended_are_found),
        cmocka_unit_test(a_thread_without_tasks_has_none),
        cmocka_unit_test(a_task_is_listed_from_its_begin_to_its_end),
        cmocka_unit_test(the_tasks_of_a_new_thread_are_found),
        cmocka_unit_test(only_the_tasks_of_the_threads_asked_for_are_found),
        cmocka_unit_test(many_tasks_that_wait_are_read_with_few_calls),
        cmocka_unit_test(a_task_that_runs_has_the_frames_of_its_thread),
        cmocka_unit_test(a_task_that_runs_inside_another_has_its_own_frames_only),
        cmocka_unit_test(a_task_that_is_about_to_wait_is_on_its_thread),
        cmocka_unit_test(who_awaits_a_task_is_said),
        cmocka_unit_test(a_process_that_is_gone_is_told),
    };
    return run_all(tests);
}
