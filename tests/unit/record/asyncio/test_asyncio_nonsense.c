/* SPDX-License-Identifier: MIT */
/* Memory that no asyncio ever has. A tick ends after a bounded number of calls, whatever it finds (fake_tick() counts
 * them), and what is right again is seen right again. */
#include "record/asyncio/asyncio.h"

#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS    400
#define WORDS     8 /* that are changed at once, at most */
#define CROWD     300
#define APART     4096 /* bytes between objects, so that each is a piece of its own */
#define TASKS     5
#define RECOVERED 3 /* ticks */

/* Some of all that there is: A runs, waited for by B and C; B and C are waited for by D; D awaits a wrapper; E has left
 * its thread. */
struct scene {
    struct fake_asyncio *a;
    uint64_t f, begin, end; /* a function; all objects are between these addresses */
    uint64_t tasks[TASKS], coroutines[TASKS];
    uint64_t random;
};

static const char *const right[TASKS] = {
    "<task D> f:24 f:26 <task B> f:22 <task A (2 parents)> f:27",
    "<task D> f:24 f:26 <task B> f:22",
    "<task D> f:24 f:26 <task C> f:23",
    "<task D> f:24 f:26",
    "<task Task-9> f:25",
};

static void begin(struct scene *s, struct fake_asyncio *a)
{
    *s = (struct scene){ .a = a, .f = fake_async_code(a, "f", 20, 9), .random = 42 };
    s->begin = fake_room(a->p, 8);
    for (int i = 0; i < TASKS; i++) {
        const uint64_t awaited = i == 3 ? fake_wrapper(a, fake_coroutine(a, s->f, 6, 0)) : 0;
        const uint64_t name = i == 4 ? fake_int(a, 9) : fake_str(a, (const char[]){ (char)('A' + i), '\0' });
        fake_room(a->p, i == 1 ? APART : 8);
        s->coroutines[i] = fake_coroutine(a, s->f, i + 1, awaited);
        fake_room(a->p, i == 1 ? APART : 8);
        s->tasks[i] = fake_task_called(a, name, s->coroutines[i]);
    }
    fake_awaited_by_all(a, s->tasks[0], (uint64_t[]){ s->tasks[1], s->tasks[2] }, 2);
    fake_awaited_by(a, s->tasks[1], s->tasks[3]);
    fake_awaited_by(a, s->tasks[2], s->tasks[3]);
    s->end = fake_room(a->p, 8);
    fake_list(a, fake_thread_tasks(a, 0), s->tasks, 4);
    LIST(a, fake_interpreter_tasks(a), s->tasks[4]);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ); /* numbers in the order of the list */
    DRIVE(a, 0, s->tasks[0], { s->coroutines[0], s->f, 7 });
}

/* A task that had another name for a while is another one, with a larger number: then A is shown below C. */
static bool is_right(const char *seen, const char *wanted)
{
    const char *const b = strstr(wanted, "<task B> f:22 <task A"), *const c = strstr(seen, "<task C> f:23 <task A");
    return strcmp(seen, wanted) == 0 || (b && c && c - seen == b - wanted &&
                                         strncmp(seen, wanted, (size_t)(c - seen)) == 0 && strcmp(c + 13, b + 13) == 0);
}

static void assert_right(struct scene *s)
{
    for (int i = 0; i < RECOVERED; i++)
        assert_int_equal(fake_tick(s->a), THREAD_LIST_READ);
    for (size_t i = 0; i < TASKS; i++)
        if (!is_right(fake_task_stack(s->a, s->tasks[i]), right[i]))
            fail_msg("Python %x: '%s' and should be '%s'", fake_layout(s->a->p)->version,
                     fake_task_stack(s->a, s->tasks[i]), right[i]);
}

static uint64_t any(struct scene *s, uint64_t most)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (s->random >> 32) % most;
}

/* ---- words at random ---- */

static uint64_t any_value(struct scene *s, uint64_t old)
{
    const uint64_t there = s->begin + any(s, s->end - s->begin);
    const uint64_t values[] = { 0,
                                1,
                                UINT64_MAX,
                                UINT64_MAX - any(s, 4096),
                                there,
                                there & ~UINT64_C(7),
                                any(s, 64),
                                s->tasks[any(s, TASKS)],
                                old + 8,
                                s->coroutines[any(s, TASKS)],
                                old ^ UINT64_C(1) << any(s, 64),
                                FAKE_BASE + FAKE_SIZE - any(s, 64) };
    return values[any(s, sizeof(values) / sizeof(*values))];
}

static void damage(struct scene *s)
{
    for (uint64_t left = 1 + any(s, WORDS); left > 0; left--) {
        const uint64_t at = s->begin + any(s, (s->end - s->begin) / 8) * 8;
        fake_poke(s->a->p, at, any_value(s, fake_peek(s->a->p, at)));
    }
}

static void damage_at_random(struct fake_asyncio *a)
{
    struct scene s;
    begin(&s, a);
    assert_right(&s);
    const size_t size = (size_t)(s.end - s.begin);
    unsigned char *kept = malloc(size);
    assert_non_null(kept);
    memcpy(kept, fake_bytes(a->p, s.begin), size);
    for (int i = 0; i < ROUNDS; i++) {
        damage(&s);
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        memcpy(fake_bytes(a->p, s.begin), kept, size);
        assert_right(&s);
    }
    free(kept);
}
EACH_ASYNCIO(ASYNC_ALL, damaged_objects_end_no_tick_and_are_not_believed_later, damage_at_random);

static void damage_a_running_one(struct fake_asyncio *a)
{
    static const char wanted[] = "m:2 <task D> f:24 f:26 <task B> f:22 <task A (2 parents)> f:27";
    struct scene s;
    begin(&s, a);
    const size_t size = (size_t)(s.end - s.begin);
    unsigned char *kept = malloc(size);
    assert_non_null(kept);
    memcpy(kept, fake_bytes(a->p, s.begin), size);
    for (int i = 0; i < ROUNDS; i++) {
        damage(&s);
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        memcpy(fake_bytes(a->p, s.begin), kept, size);
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        if (!is_right(fake_thread_stack(a, 0), wanted))
            fail_msg("Python %x: '%s'", fake_layout(a->p)->version, fake_thread_stack(a, 0));
    }
    free(kept);
}
EACH_ASYNCIO(ASYNC_RUNNING, damaged_objects_of_a_task_that_runs_are_not_believed_later, damage_a_running_one);

/* ---- lists ---- */

static void damage_lists(struct fake_asyncio *a)
{
    struct scene s;
    begin(&s, a);
    assert_right(&s);
    const uint64_t head = fake_thread_tasks(a, 0), a_node = fake_task_node(a, s.tasks[0]);
    const uint64_t b_node = fake_task_node(a, s.tasks[1]), last = fake_task_node(a, s.tasks[3]);
    const struct {
        uint64_t at, value;
    } rows[] = {
        { a_node, a_node }, /* a task follows itself */
        { last, a_node },   /* a ring that does not come back to the head */
        { last, b_node },
        { last, last },
        { head, head }, /* it is empty all at once */
        { head, 0 },
        { head, 1 },
        { head, UINT64_MAX },
        { head, 0x7000 },
        { head, a_node + 1 }, /* unaligned */
        { head, FAKE_BASE + FAKE_SIZE - 4 },
        { b_node, 0 },
        { b_node, UINT64_MAX - 7 },
        { b_node + 8, 0 }, /* the one before is another */
        { b_node + 8, b_node },
        { a_node, s.tasks[0] }, /* into the middle of an object */
        { head + 8, 0 },
        { fake_interpreter_tasks(a), a_node }, /* into another list */
        { fake_interpreter_tasks(a), UINT64_MAX },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const uint64_t before = fake_peek(a->p, rows[i].at);
        fake_poke(a->p, rows[i].at, rows[i].value);
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        fake_poke(a->p, rows[i].at, before);
        assert_right(&s);
    }
}
EACH_ASYNCIO(ASYNC_ALL, a_list_that_leads_astray_ends_no_tick, damage_lists);

/* A list that is broken off tells nothing of the tasks behind the gap: they are there still. */
static void break_a_list(struct fake_asyncio *a)
{
    struct scene s;
    begin(&s, a);
    assert_right(&s);
    fake_poke(a->p, fake_task_node(a, s.tasks[0]), 0x7000);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    for (size_t i = 1; i < TASKS; i++)
        assert_string_equal(fake_task_stack(a, s.tasks[i]), right[i]);
}
EACH_ASYNCIO(ASYNC_ALL, the_tasks_behind_a_gap_in_a_list_are_kept, break_a_list);

/* ---- counts ---- */

static void crowd(struct fake_asyncio *a)
{
    static uint64_t tasks[CROWD];
    struct scene s;
    begin(&s, a);
    /* Each waits for all. */
    const uint64_t coroutine = fake_coroutine(a, s.f, 8, 0), name = fake_str(a, "W");
    for (size_t i = 0; i < CROWD; i++)
        tasks[i] = fake_task_called(a, name, coroutine);
    fake_awaited_by_all(a, tasks[0], tasks, CROWD);
    const struct asyncio_layout *o = &a->asyncio.tasks.offsets;
    for (size_t i = 1; i < CROWD; i++) {
        fake_poke(a->p, tasks[i] + o->task_waiter, fake_peek(a->p, tasks[0] + o->task_waiter));
        *fake_bytes(a->p, tasks[i] + o->task_waiter_is_set) = 1;
    }
    fake_awaited_by(a, s.tasks[4], tasks[0]);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_true(a->asyncio.tasks.count <= CROWD + TASKS);
    assert_string_equal(fake_task_stack(a, s.tasks[1]), right[1]);
}
EACH_ASYNCIO(ASYNC_ALL, a_crowd_that_waits_for_itself_is_bounded, crowd);

/* ---- a thread that is unreadable ---- */

static void hide_a_thread(struct fake_asyncio *a)
{
    struct scene s;
    begin(&s, a);
    assert_right(&s);
    fake_remote_hide(fake_thread_tasks(a, 0), 16);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    for (size_t i = 0; i < TASKS; i++)
        assert_string_equal(fake_task_stack(a, s.tasks[i]), right[i]);
    fake_remote_hide(0, 0);
    assert_right(&s);
    /* Of an object that is not there only what needs it fails. */
    fake_remote_hide(s.coroutines[1], 64);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_string_equal(fake_task_stack(a, s.tasks[1]), "failed: changed while read");
    assert_string_equal(fake_task_stack(a, s.tasks[2]), right[2]);
    fake_remote_hide(0, 0);
    assert_right(&s);
}
EACH_ASYNCIO(ASYNC_ALL, what_can_not_be_read_takes_nothing_else_along, hide_a_thread);

TEST_FILE(asyncio_nonsense)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_objects_end_no_tick_and_are_not_believed_later),
        cmocka_unit_test(damaged_objects_of_a_task_that_runs_are_not_believed_later),
        cmocka_unit_test(a_list_that_leads_astray_ends_no_tick),
        cmocka_unit_test(the_tasks_behind_a_gap_in_a_list_are_kept),
        cmocka_unit_test(a_crowd_that_waits_for_itself_is_bounded),
        cmocka_unit_test(what_can_not_be_read_takes_nothing_else_along),
    };
    return run_all(tests);
}
