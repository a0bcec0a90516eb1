/* SPDX-License-Identifier: MIT */
/* Who waits for a task before CPython 3.14, by what wakes those who wait. Whatever is not known for sure, or makes no
 * sense, gives no waiting task. */
#include "record/asyncio/wakers.h"

#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/testing.h"

#define TASKS "/lib/python/asyncio/tasks.py"

/* Tasks A to D of this function, on lines 1 to 4, in the set of all tasks. */
struct scene {
    uint64_t f, tasks[4];
};

static struct scene scene(struct fake_asyncio *a)
{
    struct scene s = { .f = fake_async_code(a, "f", 20, 9) };
    for (int i = 0; i < 4; i++)
        s.tasks[i] = fake_task(a, (const char[]){ (char)('A' + i), '\0' }, fake_coroutine(a, s.f, i + 1, 0));
    fake_all_tasks(a, s.tasks, 4);
    return s;
}

/* A callback like that of gather() for a child, which wakes this future. */
static uint64_t gathers(struct fake_asyncio *a, uint64_t outer)
{
    return fake_function(a, "gather.<locals>._done_callback", TASKS, (uint64_t[]){ a->over, 0, outer, a->loop }, 4);
}

static void await_a_task(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    CALLS(a, s.tasks[1], fake_waker(a, s.tasks[0]));
    CALLS(a, s.tasks[2], fake_waker(a, s.tasks[1]));
    fake_assert_task(a, s.tasks[2], "<task A> f:21 <task B> f:22 <task C> f:23");
    CALLS(a, s.tasks[2], fake_waker(a, s.tasks[3])); /* another one waits */
    fake_assert_task(a, s.tasks[2], "<task D> f:24 <task C> f:23");
    fake_calls(a, s.tasks[2], NULL, 0);
    fake_assert_task(a, s.tasks[2], "<task C> f:23");
}
EACH_OLDER(ASYNC_ALL, a_task_is_shown_below_the_one_that_it_wakes, await_a_task);

static void await_several(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    CALLS(a, s.tasks[2], fake_waker(a, s.tasks[1]), fake_waker(a, s.tasks[0]), fake_waker(a, s.tasks[1]));
    fake_assert_task(a, s.tasks[2], "<task B> f:22 <task C (2 parents)> f:23"); /* B waits the longest */
}
EACH_OLDER(ASYNC_ALL, of_several_the_first_is_shown_and_each_counts_once, await_several);

static void await_futures(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    const uint64_t outer = fake_future(a, fake_waker(a, s.tasks[0]));
    const uint64_t callback = gathers(a, outer);
    CALLS(a, s.tasks[1], callback);
    CALLS(a, s.tasks[2], callback);
    fake_assert_task(a, s.tasks[1], "<task A> f:21 <task B> f:22");
    fake_assert_task(a, s.tasks[2], "<task A> f:21 <task C> f:23");
    CALLS(a, outer, gathers(a, fake_future(a, fake_waker(a, s.tasks[3])))); /* gather() in gather() */
    fake_assert_task(a, s.tasks[1], "<task D> f:24 <task B> f:22");
}
EACH_OLDER(ASYNC_ALL, gather_leads_to_the_task_that_awaits_it, await_futures);

static void await_partial(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    const uint64_t waiter = fake_future(a, fake_waker(a, s.tasks[0]));
    const uint64_t arguments = fake_tuple(a, &waiter, 1);
    CALLS(a, s.tasks[1], MEMBERS(a, a->partial_type, fake_function(a, "_release_waiter", TASKS, NULL, 0), arguments));
    fake_assert_task(a, s.tasks[1], "<task A> f:21 <task B> f:22");
    CALLS(a, s.tasks[1],
          MEMBERS(a, a->partial_type, fake_function(a, "_release_waiter", "/app.py", NULL, 0), arguments));
    fake_assert_task(a, s.tasks[1], "<task B> f:22");
}
EACH_OLDER(ASYNC_ALL, wait_for_leads_to_the_task_that_calls_it, await_partial);

static void call_others(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    const uint64_t method = fake_room(a->p, 64), waker = fake_waker(a, s.tasks[0]);
    const uint64_t futures[] = { fake_future(a, waker), fake_future(a, waker) };
    memcpy(fake_bytes(a->p, method + 16), "cancel", 7);
    fake_poke(a->p, method, method + 16);
    const uint64_t callbacks[] = {
        MEMBERS(a, a->builtin_type, method, s.tasks[0]),                                 /* other.cancel */
        MEMBERS(a, a->builtin_type, a->wakeup, a->over),                                 /* of a task that is done */
        fake_function(a, "gather.<locals>._done_callback", "/app/tasks.py", futures, 1), /* not asyncio's */
        fake_function(a, "my.<locals>._done_callback", TASKS, futures, 1),
        fake_function(a, "gather.<locals>._done_callback", TASKS, futures, 2), /* which of the two? */
        MEMBERS(a, a->method_type, fake_function(a, "TaskGroup._on_task_done", TASKS, NULL, 0), s.tasks[0]),
        MEMBERS(a, a->method_type, fake_function(a, "TaskGroup._on_task_done", "/asyncio/taskgroups.py", NULL, 0),
                a->loop),
        a->loop,
        s.f,
    };
    fake_poke4(a->p, a->over + a->asyncio.tasks.offsets.future_state, 1);
    for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++) {
        CALLS(a, s.tasks[1], callbacks[i]);
        fake_assert_task(a, s.tasks[1], "<task B> f:22");
    }
}
EACH_OLDER(ASYNC_ALL, other_callbacks_wake_nobody, call_others);

/* The task fails in this tick, or is shown without who waits; nothing else is believed, and the tick ends. */
static void assert_no_waiter(struct fake_asyncio *a, uint64_t task, const char *alone)
{
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    const char *seen = fake_task_stack(a, task);
    if (strcmp(seen, alone) != 0 && strncmp(seen, "failed", 6) != 0)
        fail_msg("Python %x: '%s'", fake_layout(a->p)->version, seen);
}

static void lie(struct fake_asyncio *a)
{
    const struct scene s = scene(a);
    const uint64_t outer = fake_future(a, 0), ring = gathers(a, outer);
    CALLS(a, outer, ring); /* a future that its own callback wakes */
    CALLS(a, s.tasks[1], ring);
    assert_no_waiter(a, s.tasks[1], "<task B> f:22");
    uint64_t inner = fake_future(a, fake_waker(a, s.tasks[0]));
    for (int i = 0; i < 100; i++)
        inner = fake_future(a, gathers(a, inner)); /* too deep */
    CALLS(a, s.tasks[1], gathers(a, inner));
    assert_no_waiter(a, s.tasks[1], "<task B> f:22");
    const uint64_t list = a->asyncio.tasks.offsets.future_callbacks;
    const uint64_t sizes[] = { 1, 1000, UINT64_MAX, 1u << 16, (1u << 16) + 1 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        CALLS(a, s.tasks[1], 0);
        fake_poke(a->p, s.tasks[1] + list, MEMBERS(a, a->list_type, sizes[i], 0x7000)); /* items that are not there */
        assert_no_waiter(a, s.tasks[1], "<task B> f:22");
    }
    fake_poke(a->p, s.tasks[1] + list, MEMBERS(a, a->list_type, 0, 0x7000));
    fake_assert_task(a, s.tasks[1], "<task B> f:22");
    CALLS(a, s.tasks[1], MEMBERS(a, a->function_type, 0, 0, 0, 0, 0x7000, 0, 0, 0x7000));
    assert_no_waiter(a, s.tasks[1], "<task B> f:22");
    CALLS(a, s.tasks[1], 0x7000);
    assert_no_waiter(a, s.tasks[1], "<task B> f:22");
}
EACH_OLDER(ASYNC_ALL, memory_that_lies_gives_no_waiting_task, lie);

TEST_FILE(wakers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_is_shown_below_the_one_that_it_wakes),
        cmocka_unit_test(of_several_the_first_is_shown_and_each_counts_once),
        cmocka_unit_test(gather_leads_to_the_task_that_awaits_it),
        cmocka_unit_test(wait_for_leads_to_the_task_that_calls_it),
        cmocka_unit_test(other_callbacks_wake_nobody),
        cmocka_unit_test(memory_that_lies_gives_no_waiting_task),
    };
    return run_all(tests);
}
