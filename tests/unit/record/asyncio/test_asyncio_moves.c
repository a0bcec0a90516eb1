/* SPDX-License-Identifier: MIT */
/* A program whose tasks move: between two ticks, when each tick shows them as they are, and while they are read, when a
 * tick ends all the same, and the next one is right. */
#include "record/asyncio/asyncio.h"

#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define PIECES_MOST 400 /* of a tick */
#define TASKS       3

/* Tasks A, B and C. A awaits g or h in f and waits for B; C awaits nothing that is followed. */
struct scene {
    struct fake_asyncio *a;
    uint64_t f, g, h;
    uint64_t at_f, at_g, at_h, of_b, of_c; /* coroutines */
    uint64_t tasks[TASKS];
    size_t pieces; /* so many more, and the program moves */
    void (*move)(struct scene *s);
};

static void begin(struct scene *s, struct fake_asyncio *a)
{
    *s = (struct scene){ .a = a,
                         .f = fake_async_code(a, "f", 20, 9),
                         .g = fake_async_code(a, "g", 30, 9),
                         .h = fake_async_code(a, "h", 40, 9) };
    s->at_g = fake_coroutine(a, s->g, 1, 0);
    s->at_h = fake_coroutine(a, s->h, 1, 0);
    s->at_f = fake_coroutine(a, s->f, 1, s->at_g);
    s->of_b = fake_coroutine(a, s->g, 2, 0);
    s->of_c = fake_coroutine(a, s->h, 2, 0);
    s->tasks[0] = fake_task(a, "A", s->at_f);
    s->tasks[1] = fake_task(a, "B", s->of_b);
    s->tasks[2] = fake_task(a, "C", s->of_c);
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

static void assert_tasks(struct scene *s, const char *const *wanted)
{
    assert_int_equal(fake_tick(s->a), THREAD_LIST_READ);
    for (size_t i = 0; i < TASKS; i++)
        if (strcmp(fake_task_stack(s->a, s->tasks[i]), wanted[i]) != 0)
            fail_msg("Python %x: '%s' and should be '%s'", fake_layout(s->a->p)->version,
                     fake_task_stack(s->a, s->tasks[i]), wanted[i]);
}

/* The program moves between two ticks. Then it moves before the first piece of a tick, before the second, and so on. */
static void move_once(struct fake_asyncio *a, void (*move)(struct scene *s), const char *const *after)
{
    static const char *const before[TASKS] = { "<task A> f:21 g:31", "<task A> f:21 g:31 <task B> g:32",
                                               "<task C> h:42" };
    struct scene s;
    size_t at = 0;
    begin(&s, a);
    s.move = move;
    do {
        reset(&s);
        assert_tasks(&s, before);
        assert_tasks(&s, before);
        if (at == 0)
            move(&s);
        s.pieces = at;
        fake_remote_hook(before_piece, &s);
        if (at > 0)
            assert_int_equal(fake_tick(a), THREAD_LIST_READ);
        fake_remote_hook(NULL, NULL);
        if (s.pieces == 0)
            assert_tasks(&s, after);
    } while (s.pieces == 0 && ++at < PIECES_MOST);
    assert_true(at > 5 && at < PIECES_MOST);
}

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
EACH_ASYNCIO(ASYNC_ALL, a_task_that_awaits_something_else_is_seen_there, move_a_task);

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
EACH_ASYNCIO(ASYNC_ALL, a_task_that_another_one_waits_for_is_seen_below_it, change_who_waits);

static void wake(struct scene *s)
{
    DRIVE(s->a, 0, s->tasks[0], { s->at_f, s->f, 7 }, { s->at_h, s->h, 8 });
}

static void wake_a_task(struct fake_asyncio *a)
{
    static const char *const after[TASKS] = { "<task A> f:27 h:48", "<task A> f:27 <task B> g:32", "<task C> h:42" };
    move_once(a, wake, after);
}
EACH_ASYNCIO(ASYNC_ALL, a_task_that_wakes_is_seen_on_its_thread, wake_a_task);

static void end_one(struct scene *s)
{
    /* Task B, which A awaits, is over. Another task lies in its place, with another coroutine, name and waiter. */
    fake_suspend(s->a, s->at_f, s->f, 3, 0);
    fake_poke(s->a->p, s->tasks[1] + s->a->asyncio.tasks.offsets.task_coroutine, s->at_h);
    fake_awaited_by(s->a, s->tasks[1], s->tasks[2]);
}

static void replace_a_task(struct fake_asyncio *a)
{
    static const char *const after[TASKS] = { "<task A> f:23", "<task C> h:42 <task B> h:41", "<task C> h:42" };
    move_once(a, end_one, after);
}
EACH_ASYNCIO(ASYNC_ALL, a_task_in_the_place_of_another_is_seen_as_it_is, replace_a_task);

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
EACH_ASYNCIO(ASYNC_ALL, a_task_that_ends_is_not_seen_again, end_a_task);

static void leave_thread(struct scene *s)
{
    fake_list(s->a, fake_thread_tasks(s->a, 0), NULL, 0);
    fake_list(s->a, fake_interpreter_tasks(s->a), s->tasks, TASKS);
}

static void end_a_thread(struct fake_asyncio *a)
{
    static const char *const same[TASKS] = { "<task A> f:21 g:31", "<task A> f:21 g:31 <task B> g:32",
                                             "<task C> h:42" };
    struct scene s;
    begin(&s, a);
    reset(&s);
    assert_tasks(&s, same);
    assert_tasks(&s, same);
    leave_thread(&s);
    assert_tasks(&s, same);
    const struct known_task *task = asyncio_tasks_find(&a->asyncio.tasks, s.tasks[2]);
    assert_int_equal(task->owner, 0);
    assert_int_equal(task->entry->emitted.count,
                     2); /* the stack is emitted anew: the entry of the task is another one */
}
EACH_ASYNCIO(ASYNC_ALL, tasks_that_outlive_their_thread_keep_their_stacks, end_a_thread);

/* A list whose first task was taken out so far: the next one still has it as the one before. */
static void stop_in_the_middle(struct fake_asyncio *a)
{
    struct scene s;
    begin(&s, a);
    reset(&s);
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    fake_poke(a->p, fake_thread_tasks(a, 0), fake_task_node(a, s.tasks[1]));
    fake_assert_task(a, s.tasks[0], "none");
    assert_string_equal(fake_task_stack(a, s.tasks[2]), "<task C> h:42");
    assert_int_equal(a->asyncio.listed_count, 2);
    assert_int_equal(a->asyncio.failed, 0);
}
EACH_ASYNCIO(ASYNC_ALL, a_list_that_is_being_changed_is_followed, stop_in_the_middle);

/* ---- looks that are thrown away ---- */

/* The recorder may look several times before it emits. */
static void throw_away(struct fake_asyncio *a)
{
    struct scene s;
    begin(&s, a);
    reset(&s);
    fake_assert_task(a, s.tasks[2], "<task C> h:42");
    fake_assert_task(a, s.tasks[2], "<task C> h:42");
    fake_suspend(a, s.of_c, s.h, 7, 0);
    for (int i = 0; i < 2; i++) {
        asyncio_prepare(&a->asyncio);
        assert_int_equal(asyncio_read(&a->asyncio, 1, 1), THREAD_LIST_READ);
    }
    fake_assert_task(a, s.tasks[2], "<task C> h:47");
    fake_assert_task(a, s.tasks[2], "<task C> h:47");
    assert_true(asyncio_tasks_find(&a->asyncio.tasks, s.tasks[2])->entry->same);
}
EACH_ASYNCIO(ASYNC_ALL, what_a_look_saw_that_was_thrown_away_is_emitted_later, throw_away);

TEST_FILE(asyncio_moves)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_that_awaits_something_else_is_seen_there),
        cmocka_unit_test(a_task_that_another_one_waits_for_is_seen_below_it),
        cmocka_unit_test(a_task_that_wakes_is_seen_on_its_thread),
        cmocka_unit_test(a_task_in_the_place_of_another_is_seen_as_it_is),
        cmocka_unit_test(a_task_that_ends_is_not_seen_again),
        cmocka_unit_test(tasks_that_outlive_their_thread_keep_their_stacks),
        cmocka_unit_test(a_list_that_is_being_changed_is_followed),
        cmocka_unit_test(what_a_look_saw_that_was_thrown_away_is_emitted_later),
    };
    return run_all(tests);
}
