/* SPDX-License-Identifier: MIT */
/* What is read of a task: its name, whether it is one, and for how long the task is remembered. */
#include "record/asyncio/asyncio_tasks.h"

#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

#define LONG      600
#define FORGOTTEN 8300 /* ticks after which a task that is over is not remembered */

/* The one task of the program. */
static uint64_t only_task(struct fake_asyncio *a, uint64_t name)
{
    const uint64_t task = fake_task_called(a, name, fake_coroutine(a, fake_async_code(a, "f", 20, 9), 1, 0));
    LIST(a, fake_thread_tasks(a, 0), task);
    return task;
}

static void rename_task(struct fake_asyncio *a, uint64_t task, uint64_t name)
{
    fake_poke(a->p, task + a->asyncio.tasks.offsets.task_name, name);
}

/* ---- names ---- */

static void give_names(struct fake_asyncio *a)
{
    const uint64_t task = only_task(a, fake_str(a, "reader"));
    fake_assert_task(a, task, "<task reader> f:21");
    rename_task(a, task, fake_str(a, ""));
    fake_assert_task(a, task, "<task > f:21");
    rename_task(a, task, fake_str(a, "a b;c>"));
    fake_assert_task(a, task, "<task a b;c>> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, a_task_has_the_name_it_was_given, give_names);

static void give_numbers(struct fake_asyncio *a)
{
    const uint64_t task = only_task(a, fake_int(a, 7));
    fake_assert_task(a, task, "<task Task-7> f:21");
    rename_task(a, task, fake_int(a, 0));
    fake_assert_task(a, task, "<task Task-0> f:21");
    rename_task(a, task, fake_int(a, (UINT64_C(1) << 30) + 5)); /* a number of two digits */
    fake_assert_task(a, task, "<task Task-1073741829> f:21");
    rename_task(a, task, fake_int(a, (UINT64_C(1) << 60) - 1));
    fake_assert_task(a, task, "<task Task-1152921504606846975> f:21");
    rename_task(a, task, fake_int(a, UINT64_C(1) << 60)); /* of three: nobody starts so many tasks */
    fake_assert_task(a, task, "failed: changed while read");
}
EACH_ASYNCIO(ASYNC_ALL, a_task_without_a_name_has_its_number, give_numbers);

static void give_a_long_name(struct fake_asyncio *a)
{
    char name[LONG + 1] = { 0 };
    memset(name, 'x', LONG);
    const uint64_t task = only_task(a, fake_str(a, name));
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    const char *seen = fake_task_stack(a, task);
    assert_memory_equal(seen, "<task xxxxxxxx", 14);
    assert_true(strspn(seen + 6, "x") == 255);
    assert_string_equal(seen + 6 + 255, "\xe2\x80\xa6> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, a_long_name_is_cut_with_a_mark, give_a_long_name);

static void give_nonsense(struct fake_asyncio *a)
{
    const struct layout *l = fake_layout(a->p);
    const uint64_t task = only_task(a, fake_str(a, "A")), name = fake_str(a, "B");
    fake_assert_task(a, task, "<task A> f:21");
    const uint64_t wrong[] = { 0, 8, 0x7000, UINT64_MAX, a->future, FAKE_BASE + FAKE_SIZE - 8 };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        rename_task(a, task, wrong[i]);
        fake_assert_task(a, task, "failed: changed while read");
    }
    rename_task(a, task, name);
    fake_assert_task(a, task, "<task B> f:21");
    fake_poke4(a->p, name + l->string_state, 0); /* not a state that a str can have */
    fake_assert_task(a, task, "failed: changed while read");
    fake_poke4(a->p, name + l->string_state, fake_peek4(a->p, fake_str(a, "C") + l->string_state));
    fake_poke(a->p, name + l->string_length, UINT64_MAX);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ); /* a name that goes on into other memory, or none */
    fake_poke(a->p, name + l->string_length, 1);
    fake_assert_task(a, task, "<task B> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, a_name_that_can_not_be_fails, give_nonsense);

/* ---- what is a task ---- */

static void subclass_it(struct fake_asyncio *a)
{
    const uint64_t task = only_task(a, fake_str(a, "A"));
    const uint64_t class = fake_type(a, "MyTask", a->asyncio.tasks.offsets.task_size + 16, true);
    fake_poke(a->p, task + fake_layout(a->p)->object_type, class);
    fake_assert_task(a, task, "<task A> f:21");
}
EACH_ASYNCIO(ASYNC_ALL, an_object_of_a_class_made_from_task_is_one, subclass_it);

static void be_no_task(struct fake_asyncio *a)
{
    const uint64_t task = only_task(a, fake_str(a, "A"));
    fake_poke(a->p, task + fake_layout(a->p)->object_type, a->future_type);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_null(asyncio_tasks_find(&a->asyncio.tasks, task)->entry);
    assert_int_equal(a->asyncio.failed, 0);
    assert_int_equal(a->tables.tasks_count, 0);
}
EACH_ASYNCIO(ASYNC_ALL, an_object_too_small_for_a_task_is_none, be_no_task);

/* ---- sets ---- */

static void damage_the_set(struct fake_asyncio *a)
{
    const struct layout *l = fake_layout(a->p);
    const uint64_t task = only_task(a, fake_str(a, "A")), waiter = fake_task(a, "W", fake_coroutine(a, a->m, 1, 0));
    fake_awaited_by_all(a, task, &waiter, 1);
    fake_assert_task(a, task, "<task W> m:2 <task A> f:21");
    const uint64_t set = fake_peek(a->p, task + a->asyncio.tasks.offsets.task_waiter);
    const uint64_t mask = fake_peek(a->p, set + l->set_mask), table = fake_peek(a->p, set + l->set_table);
    static const uint64_t masks[] = { 1u << 20, UINT32_MAX, UINT64_MAX, UINT64_MAX / 16 };
    for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
        fake_poke(a->p, set + l->set_mask, masks[i]);
        fake_assert_task(a, task, "failed: changed while read");
    }
    fake_poke(a->p, set + l->set_mask, mask);
    static const uint64_t tables[] = { 0, 8, 0x7000, UINT64_MAX, UINT64_MAX - 64 };
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        fake_poke(a->p, set + l->set_table, tables[i]);
        fake_assert_task(a, task, "failed: changed while read");
    }
    fake_poke(a->p, set + l->set_table, table);
    fake_assert_task(a, task, "<task W> m:2 <task A> f:21");
    fake_poke(a->p, table, 0x7000); /* and what is in it is somewhere else */
    fake_assert_task(a, task, "failed: changed while read");
}
EACH_ASYNCIO(ASYNC_ALL, a_set_that_can_not_be_fails, damage_the_set);

/* ---- memory ---- */

/* Objects of a program's heap lie on pages of their own; what follows may not be there. */
static void end_at_a_page(struct fake_asyncio *a)
{
    const uint64_t task = only_task(a, fake_str(a, "A"));
    const uint64_t f = fake_async_code(a, "g", 30, 9), inner = fake_coroutine(a, f, 2, 0);
    const uint64_t pages = fake_pages(a->p, 2 * FAKE_PAGE);
    const uint32_t size = fake_layout(a->p)->generator_frame + fake_layout(a->p)->frame_locals +
                          (FAKE_LOCALS + FAKE_STACK) * 8;
    const uint64_t last = pages + FAKE_PAGE - size;
    memcpy(fake_bytes(a->p, last), fake_bytes(a->p, inner), size);
    fake_suspend(a, last, f, 2, 0);
    fake_poke(a->p, task + a->asyncio.tasks.offsets.task_coroutine, last);
    fake_remote_hide(pages + FAKE_PAGE, FAKE_PAGE);
    fake_assert_task(a, task, "<task A> g:32");
}
EACH_ASYNCIO(ASYNC_ALL, an_object_at_the_end_of_a_page_is_read, end_at_a_page);

/* ---- what is remembered ---- */

static void forget(struct fake_asyncio *a)
{
    const uint64_t f = fake_async_code(a, "g", 30, 9), head = fake_thread_tasks(a, 0);
    const uint64_t stays = fake_task(a, "A", fake_coroutine(a, f, 1, 0));
    for (int i = 0; i < 50; i++) {
        const uint64_t goes = fake_task(a, "B", fake_coroutine(a, f, 2, 0));
        LIST(a, head, goes, stays);
        fake_assert_task(a, goes, "<task B> g:32");
    }
    assert_int_equal(a->asyncio.tasks.count, 51);
    LIST(a, head, stays);
    for (int i = 0; i < FORGOTTEN; i++)
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_int_equal(a->asyncio.tasks.count, 1);
    fake_assert_task(a, stays, "<task A> g:31");
    assert_int_equal(asyncio_tasks_find(&a->asyncio.tasks, stays)->number, 2); /* it is the same as ever */
}
EACH_ASYNCIO(ASYNC_ALL, tasks_that_are_over_are_forgotten_at_last, forget);

TEST_FILE(asyncio_tasks)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_has_the_name_it_was_given),
        cmocka_unit_test(a_task_without_a_name_has_its_number),
        cmocka_unit_test(a_long_name_is_cut_with_a_mark),
        cmocka_unit_test(a_name_that_can_not_be_fails),
        cmocka_unit_test(an_object_of_a_class_made_from_task_is_one),
        cmocka_unit_test(an_object_too_small_for_a_task_is_none),
        cmocka_unit_test(a_set_that_can_not_be_fails),
        cmocka_unit_test(an_object_at_the_end_of_a_page_is_read),
        cmocka_unit_test(tasks_that_are_over_are_forgotten_at_last),
    };
    return run_all(tests);
}
