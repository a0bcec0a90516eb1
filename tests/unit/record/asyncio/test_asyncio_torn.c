/* SPDX-License-Identifier: MIT */
/* A program whose tasks move while they are read. The stack that is shown of a task is one that the task had, or there
 * is none: it is never put together from two. */
#include "record/asyncio/asyncio.h"

#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

#define PIECES_MOST 400  /* of a tick in which the program moves once */
#define LINES       3000 /* of a function that goes on and on */
#define TICKS       12
#define TASKS       3
#define APART       4096 /* bytes between objects, so that each is a piece of its own */

/* Tasks A, B and C. A awaits g or h in f and waits for B; C awaits nothing that is followed. */
struct scene {
    struct fake_asyncio *a;
    uint64_t f, g, h;
    uint64_t at_f, at_g, at_h, of_b, of_c; /* coroutines */
    uint64_t tasks[TASKS];
    size_t pieces; /* so many more, and the program moves */
    void (*move)(struct scene *s);
    uint64_t steps, every; /* of a program that moves again and again */
};

static uint64_t apart(struct fake_asyncio *a, uint64_t object)
{
    fake_room(a->p, APART);
    return object;
}

static void begin(struct scene *s, struct fake_asyncio *a)
{
    *s = (struct scene){ .a = a,
                         .f = fake_async_code(a, "f", 20, 9),
                         .g = fake_async_code(a, "g", 30, 9),
                         .h = fake_async_code(a, "h", 40, 9) };
    apart(a, 0);
    s->at_g = apart(a, fake_coroutine(a, s->g, 1, 0));
    s->at_h = apart(a, fake_coroutine(a, s->h, 1, 0));
    s->at_f = apart(a, fake_coroutine(a, s->f, 1, s->at_g));
    s->of_b = apart(a, fake_coroutine(a, s->g, 2, 0));
    s->of_c = apart(a, fake_coroutine(a, s->h, 2, 0));
    for (size_t i = 0; i < TASKS; i++) {
        const uint64_t name = apart(a, fake_str(a, (const char[]){ (char)('A' + i), '\0' }));
        s->tasks[i] = apart(a, fake_task_called(a, name, i == 0 ? s->at_f : i == 1 ? s->of_b : s->of_c));
    }
}

/* All as it is before the program moves. */
static void reset(struct scene *s)
{
    struct fake_asyncio *a = s->a;
    const struct asyncio_layout *o = &a->asyncio.tasks.offsets;
    fake_wait(a, 0);
    fake_suspend(a, s->at_g, s->g, 1, 0);
    fake_suspend(a, s->at_h, s->h, 1, 0);
    fake_suspend(a, s->at_f, s->f, 1, s->at_g);
    fake_suspend(a, s->of_b, s->g, 2, 0);
    fake_suspend(a, s->of_c, s->h, 2, 0);
    fake_poke(a->p, s->tasks[0] + o->task_coroutine, s->at_f);
    fake_poke(a->p, s->tasks[1] + o->task_coroutine, s->of_b);
    fake_awaited_by(a, s->tasks[1], s->tasks[0]);
    fake_awaited_by(a, s->tasks[2], 0);
    fake_list(a, fake_thread_tasks(a, 0), s->tasks, TASKS);
}

static void before_piece(void *self, const struct piece *piece, size_t i)
{
    struct scene *s = self;
    (void)piece;
    (void)i;
    if (s->pieces > 0 && --s->pieces == 0)
        s->move(s);
}

/* What is seen of the tasks: "A's stack | B's | C's". */
static const char *seen_of(struct scene *s)
{
    static char text[1024];
    size_t used = 0;
    for (size_t i = 0; i < TASKS; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " | " : "",
                                 fake_task_stack(s->a, s->tasks[i]));
    return text;
}

static void assert_seen(struct scene *s, const char *const *wanted)
{
    assert_int_equal(fake_tick(s->a), THREAD_LIST_READ);
    for (size_t i = 0; i < TASKS; i++)
        assert_string_equal(fake_task_stack(s->a, s->tasks[i]), wanted[i]);
}

/* The program moves once: before the first piece of a tick, before the second, and so on. */
static void move_once(struct fake_asyncio *a, void (*move)(struct scene *s), const char *const *after)
{
    static const char *const before[TASKS] = { "<task A> f:21 g:31", "<task A> f:21 g:31 <task B> g:32",
                                               "<task C> h:42" };
    struct scene s;
    size_t at = 1;
    begin(&s, a);
    s.move = move;
    for (; at < PIECES_MOST; at++) {
        reset(&s);
        assert_seen(&s, before);
        assert_seen(&s, before); /* it is used to it */
        s.pieces = at;
        fake_remote_hook(before_piece, &s);
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        fake_remote_hook(NULL, NULL);
        for (size_t i = 0; i < TASKS; i++) {
            const char *seen = fake_task_stack(a, s.tasks[i]);
            if (strcmp(seen, before[i]) != 0 && strcmp(seen, after[i]) != 0)
                fail_msg("Python %x, moved at piece %zu: '%s'", fake_layout(a->p)->version, at, seen_of(&s));
        }
        if (s.pieces > 0)
            break;
        assert_seen(&s, after);
    }
    assert_true(at > 10 && at < PIECES_MOST);
}

/* ---- one move ---- */

static void move_on(struct scene *s)
{
    fake_suspend(s->a, s->at_h, s->h, 5, 0);
    fake_suspend(s->a, s->at_f, s->f, 6, s->at_h);
}

static void move_a_task(struct fake_asyncio *a)
{
    static const char *const after[TASKS] = { "<task A> f:26 h:45", "<task A> f:26 h:45 <task B> g:32",
                                              "<task C> h:42" };
    move_once(a, move_on, after);
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_awaits_something_else_is_not_mixed, move_a_task);

static void wait_for_another(struct scene *s)
{
    fake_suspend(s->a, s->at_f, s->f, 6, s->at_h);
    fake_awaited_by(s->a, s->tasks[1], s->tasks[2]);
    fake_awaited_by(s->a, s->tasks[2], s->tasks[0]);
}

static void change_who_waits(struct fake_asyncio *a)
{
    static const char *const after[TASKS] = { "<task A> f:26 h:41", "<task A> f:26 h:41 <task C> h:42 <task B> g:32",
                                              "<task A> f:26 h:41 <task C> h:42" };
    move_once(a, wait_for_another, after);
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_another_one_waits_for_is_not_mixed, change_who_waits);

static void wake(struct scene *s)
{
    DRIVE(s->a, 0, s->tasks[0], { s->at_f, s->f, 7 }, { s->at_h, s->h, 8 });
}

static void wake_a_task(struct fake_asyncio *a)
{
    static const char *const after[TASKS] = { "<task A> f:27 h:48", "<task A> f:27 <task B> g:32", "<task C> h:42" };
    move_once(a, wake, after);
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_wakes_is_not_mixed, wake_a_task);

static void end_one(struct scene *s)
{
    /* What A awaited is over, and B has another coroutine, name and waiter: it is another task. */
    fake_suspend(s->a, s->at_f, s->f, 3, 0);
    fake_poke(s->a->p, s->tasks[1] + s->a->asyncio.tasks.offsets.task_coroutine, s->at_h);
    fake_awaited_by(s->a, s->tasks[1], s->tasks[2]);
}

static void replace_a_task(struct fake_asyncio *a)
{
    static const char *const after[TASKS] = { "<task A> f:23", "<task C> h:42 <task B> h:41", "<task C> h:42" };
    move_once(a, end_one, after);
}
EACH_ASYNCIO(ASYNC_ALL, a_task_in_the_place_of_another_is_not_mixed_with_it, replace_a_task);

static void leave_list(struct scene *s)
{
    LIST(s->a, fake_thread_tasks(s->a, 0), s->tasks[0], s->tasks[2]);
    fake_poke(s->a->p, fake_task_node(s->a, s->tasks[1]), 0);
    fake_poke(s->a->p, fake_task_node(s->a, s->tasks[1]) + 8, 0);
    fake_suspend(s->a, s->at_f, s->f, 3, 0);
}

static void end_a_task(struct fake_asyncio *a)
{
    static const char *const after[TASKS] = { "<task A> f:23", "none", "<task C> h:42" };
    move_once(a, leave_list, after);
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_ends_is_whole_or_not_there, end_a_task);

/* ---- moves without end ---- */

/* Each step is one line further on, in both coroutines of A. */
static void step(struct scene *s)
{
    s->steps++;
    fake_suspend(s->a, s->at_g, s->g, (int)(s->steps % LINES), 0);
    fake_suspend(s->a, s->at_f, s->f, (int)(s->steps % LINES), s->at_g);
    s->pieces = s->every;
}

static void assert_never_mixed(struct scene *s, size_t *failed)
{
    const char *seen = fake_task_stack(s->a, s->tasks[0]);
    unsigned outer = 0, inner = 0;
    if (strcmp(seen, "failed: changed while read") == 0 || strcmp(seen, "failed: it was never known") == 0)
        ++*failed;
    else if (sscanf(seen, "<task A> f:%u g:%u", &outer, &inner) != 2 || inner != outer + 10000)
        fail_msg("Python %x, a step in each %zu pieces: '%s'", fake_layout(s->a->p)->version, (size_t)s->every, seen);
}

static void move_always(struct fake_asyncio *a)
{
    struct scene s;
    begin(&s, a);
    s.f = fake_async_code(a, "f", 20000, LINES);
    s.g = fake_async_code(a, "g", 30000, LINES);
    s.move = step;
    reset(&s);
    for (s.every = 1; s.every < 400; s.every += 1 + s.every / 4) {
        size_t failed = 0;
        step(&s);
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        fake_remote_hook(before_piece, &s);
        for (int tick = 0; tick < TICKS; tick++) {
            const size_t failed_before = failed;
            assert_int_equal(fake_tick(a), THREAD_LIST_READ);
            assert_never_mixed(&s, &failed);
            assert_int_equal(a->asyncio.failed > 0, failed > failed_before);
            assert_string_equal(fake_task_stack(a, s.tasks[2]), "<task C> h:42"); /* others are read all the same */
        }
        fake_remote_hook(NULL, NULL);
        assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        assert_int_equal(a->asyncio.failed, 0);
        if (s.every == 1)
            assert_int_equal(failed, TICKS); /* it has moved in each round */
        if (s.every > 100)
            assert_int_equal(failed, 0);
    }
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_moves_all_the_time_fails_or_is_whole, move_always);

/* ---- a list that changes ---- */

static void turn_around(struct scene *s)
{
    LIST(s->a, fake_thread_tasks(s->a, 0), s->tasks[2], s->tasks[1], s->tasks[0]);
}

static void change_the_order(struct fake_asyncio *a)
{
    static const char *const same[TASKS] = { "<task A> f:21 g:31", "<task A> f:21 g:31 <task B> g:32",
                                             "<task C> h:42" };
    move_once(a, turn_around, same);
}
EACH_ASYNCIO(ASYNC_ALL, a_list_whose_order_changes_loses_no_task, change_the_order);

/* ---- a round that takes long ---- */

/* A recorder that was interrupted does not believe what it copied in the tick before: a task may have come and gone. */
static void be_slow(struct fake_asyncio *a)
{
    static const char *const before[TASKS] = { "<task A> f:21 g:31", "<task A> f:21 g:31 <task B> g:32",
                                               "<task C> h:42" };
    struct scene s;
    begin(&s, a);
    reset(&s);
    assert_seen(&s, before);
    assert_seen(&s, before);
    assert_int_equal(a->asyncio.rounds, 1);
    fake_remote_time(2000000000, 1000000); /* each read takes a millisecond */
    assert_seen(&s, before);
    assert_int_equal(a->asyncio.rounds, 2);
}
EACH_ASYNCIO(ASYNC_ALL, a_slow_round_is_made_again, be_slow);

TEST_FILE(asyncio_torn)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_that_awaits_something_else_is_not_mixed),
        cmocka_unit_test(a_task_that_another_one_waits_for_is_not_mixed),
        cmocka_unit_test(a_task_that_wakes_is_not_mixed),
        cmocka_unit_test(a_task_in_the_place_of_another_is_not_mixed_with_it),
        cmocka_unit_test(a_task_that_ends_is_whole_or_not_there),
        cmocka_unit_test(a_task_that_moves_all_the_time_fails_or_is_whole),
        cmocka_unit_test(a_list_whose_order_changes_loses_no_task),
        cmocka_unit_test(a_slow_round_is_made_again),
    };
    return run_all(tests);
}
