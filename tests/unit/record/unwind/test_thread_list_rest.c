/* SPDX-License-Identifier: MIT */
/* Many threads of a program that stands still for a moment: those that had the lock lately are read in it, and the
 * others when the program runs on. */
#include "record/unwind/thread_list.h"

#include "record/process/clock.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

#define THREADS 44
_Static_assert(THREADS > THREAD_LIST_FIRST && THREADS <= FAKE_THREADS, "more threads than are read at one moment");

struct scene {
    struct fake_python *p;
    struct thread_list thread_list;
    uint64_t f;
};

/* Each thread stands on a line of its own. */
static void stand_on(struct scene *s, size_t thread, int line)
{
    fake_stack(s->p, thread, (struct fake_frame[]){ { PLAIN, s->f, line } }, 1);
}

static void begin(struct scene *s, struct fake_python *p, size_t threads)
{
    *s = (struct scene){ .p = p, .f = fake_code(p, "f", 20, 100) };
    while (p->threads_count < threads)
        fake_thread(p, 4711 + (uint32_t)p->threads_count);
    for (size_t t = 0; t < threads; t++)
        stand_on(s, t, (int)t);
    thread_list_open(&s->thread_list, &p->target, &p->codes, THREADS_ALL, false);
    s->thread_list.defers = true;
}

/* As the recorder does while the program stands still. */
static void read_still(struct scene *s)
{
    assert_int_equal(thread_list_read(&s->thread_list, clock_now_ns()), THREAD_LIST_READ);
}

static void read_rest(struct scene *s)
{
    assert_int_equal(thread_list_rest(&s->thread_list, clock_now_ns()), THREAD_LIST_READ);
}

static const struct member *member_of(struct scene *s, size_t thread)
{
    for (size_t i = 0; i < s->thread_list.members_count; i++)
        if (s->thread_list.members[i].address == s->p->threads[thread].address)
            return &s->thread_list.members[i];
    return NULL;
}

/* The threads that are done in this tick: "0 3". */
static void assert_done(struct scene *s, const char *wanted)
{
    char text[300] = "";
    for (size_t t = 0; t < s->p->threads_count; t++) {
        const struct member *member = member_of(s, t);
        if (member && member->tick == s->thread_list.tick)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%zu", text[0] ? " " : "", t);
    }
    if (strcmp(text, wanted) != 0)
        fail_msg("Python %x: done are '%s', and should be '%s'", fake_layout(s->p)->version, text, wanted);
}

static void assert_line(struct scene *s, size_t thread, int line)
{
    char wanted[20];
    const struct member *member = member_of(s, thread);
    snprintf(wanted, sizeof(wanted), "f:%d", 20 + line);
    assert_int_equal(member->tick, s->thread_list.tick);
    assert_int_equal(member->state, UNWIND_DONE);
    const char *seen = fake_walk_text(s->p, &member->walk);
    if (strcmp(seen, wanted) != 0)
        fail_msg("Python %x: thread %zu is at %s, and should be at %s", fake_layout(s->p)->version, thread, seen,
                 wanted);
}

static void assert_lines(struct scene *s)
{
    for (size_t t = 0; t < s->p->threads_count; t++)
        assert_line(s, t, (int)t);
}

/* The first threads, so many of them, without one of them: "0 1 3". */
static const char *all_but(size_t without, size_t count)
{
    static char text[300];
    text[0] = '\0';
    for (size_t t = 0; t < count; t++)
        if (t != without)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%zu", text[0] ? " " : "", t);
    return text;
}

#define ALL all_but(THREADS, THREADS)

static void each_version(bool free_threaded, void (*story)(struct scene *s))
{
    for (size_t v = 0; v < sizeof(fake_versions) / sizeof(fake_versions[0]); v++) {
        struct scene s;
        if ((fake_versions[v] & FAKE_FREE_THREADED) != free_threaded)
            continue;
        struct fake_python *p = fake_python_start(fake_versions[v]);
        begin(&s, p, THREADS);
        story(&s);
        thread_list_close(&s.thread_list);
        fake_python_end(p);
    }
}

static void each_with_a_lock(void (*story)(struct scene *s))
{
    each_version(false, story);
}

/* ---- who is read when ---- */

static void read_holders_first(struct scene *s)
{
    read_still(s);
    assert_true(s->thread_list.rests);
    assert_done(s, "0");
    assert_line(s, 0, 0);
    read_rest(s);
    assert_false(s->thread_list.rests);
    assert_done(s, ALL);
    assert_lines(s);
    assert_int_equal(s->thread_list.moved, 0);

    fake_take_lock(s->p, 3);
    read_still(s);
    assert_done(s, "0 3"); /* who had it, and who has it */
    const uint64_t calls = s->p->target.remote.calls;
    read_rest(s);
    assert_in_range(s->p->target.remote.calls - calls, 0, 1); /* all others are where they were */
    assert_done(s, ALL);
    assert_lines(s);
    assert_int_equal(s->thread_list.moved, 0);
}

static void those_that_had_the_lock_are_read_at_once(void **state)
{
    (void)state;
    each_with_a_lock(read_holders_first);
}

/* Without a lock, those that were attached lately. Nothing proves that the others did not run between the two reads. */
static void read_attached_first(struct scene *s)
{
    fake_take_lock(s->p, 3);
    read_still(s);
    assert_true(s->thread_list.rests);
    assert_done(s, "");
    read_rest(s);
    assert_done(s, ALL);
    assert_line(s, 3, 3);
    assert_int_equal(s->thread_list.moved, THREADS);
    read_still(s);
    assert_done(s, "3");
    read_rest(s);
    assert_done(s, ALL);
    assert_int_equal(s->thread_list.moved, THREADS - 1);
}

static void those_that_ran_are_read_at_once(void **state)
{
    (void)state;
    each_version(true, read_attached_first);
}

/* It went through many hands between two ticks, and is back: all may have moved. */
static void pass_it_round(struct scene *s)
{
    read_still(s);
    read_rest(s);
    for (size_t t = 1; t < THREADS; t++) {
        fake_take_lock(s->p, t);
        stand_on(s, t, (int)t + 12);
    }
    fake_take_lock(s->p, 0);
    stand_on(s, 0, 12);
    read_still(s);
    assert_done(s, "0");
    assert_line(s, 0, 12);
    read_rest(s);
    assert_int_equal(s->thread_list.moved, 0);
    for (size_t t = 0; t < THREADS; t++)
        assert_line(s, t, (int)t + 12);
}

static void the_others_are_read_when_they_may_have_moved(void **state)
{
    (void)state;
    each_with_a_lock(pass_it_round);
}

/* No more than the last few are read while the program stands still. */
static void have_it_by_turns(struct scene *s)
{
    for (size_t turn = 0; turn < 3 * THREADS; turn++) {
        const size_t t = turn % THREADS;
        fake_take_lock(s->p, (t + 5) % THREADS);
        fake_take_lock(s->p, t);
        stand_on(s, t, (int)(turn % 29));
        read_still(s);
        size_t done = 0;
        for (size_t i = 0; i < s->thread_list.members_count; i++)
            done += s->thread_list.members[i].tick == s->thread_list.tick;
        assert_in_range(done, 1, THREAD_LIST_FIRST + 1); /* and who has it now */
        assert_line(s, t, (int)(turn % 29));
        read_rest(s);
        assert_done(s, ALL);
        assert_line(s, t, (int)(turn % 29));
    }
}

static void never_more_than_a_few_are_read_at_once(void **state)
{
    (void)state;
    each_with_a_lock(have_it_by_turns);
}

/* ---- who moved meanwhile ---- */

static void take_it_meanwhile(struct scene *s)
{
    read_still(s);
    assert_done(s, "0");
    const struct gil then = s->p->target.interpreters[0].gil;
    fake_take_lock(s->p, 5);
    stand_on(s, 5, 25);
    read_rest(s);
    assert_int_equal(s->thread_list.moved, 1);
    assert_line(s, 5, 25);
    assert_line(s, 4, 4);
    /* Of this tick it is thread 0 that has the lock. */
    const struct gil *gil = &s->p->target.interpreters[0].gil;
    assert_int_equal(gil->holder, s->p->threads[0].address);
    assert_int_equal(gil->holder, then.holder);
    assert_int_equal(gil->switches, then.switches);
    assert_int_equal(gil->locked, then.locked);
    assert_int_equal(gil->known, then.known);
    assert_true(thread_list_holds(&s->thread_list, member_of(s, 0)));
    assert_false(thread_list_holds(&s->thread_list, member_of(s, 5)));
    /* In the next one it is known that both may have moved. */
    stand_on(s, 0, 20);
    stand_on(s, 5, 26);
    read_still(s);
    assert_done(s, "0 5");
    assert_true(thread_list_holds(&s->thread_list, member_of(s, 5)));
    read_rest(s);
    assert_int_equal(s->thread_list.moved, 0);
    assert_line(s, 0, 20);
    assert_line(s, 5, 26);
    assert_line(s, 4, 4);
}

static void who_takes_the_lock_meanwhile_has_moved(void **state)
{
    (void)state;
    each_with_a_lock(take_it_meanwhile);
}

static void take_it_often(struct scene *s)
{
    read_still(s);
    fake_take_lock(s->p, 5);
    fake_take_lock(s->p, 7);
    fake_take_lock(s->p, 0);
    read_rest(s);
    assert_int_equal(s->thread_list.moved, THREADS - 1); /* nobody knows who */
    read_still(s);
    read_rest(s);
    assert_int_equal(s->thread_list.moved, 0);
    assert_lines(s);
}

static void after_two_switches_all_that_are_read_may_have(void **state)
{
    (void)state;
    each_with_a_lock(take_it_often);
}

/* ---- who comes, who goes ---- */

static void end_meanwhile(struct scene *s)
{
    const struct layout *l = fake_layout(s->p);
    read_still(s);
    /* The one before the last ends: the last is the main thread. */
    const struct fake_thread *before = &s->p->threads[2], *after = &s->p->threads[0];
    fake_poke(s->p, before->address + l->thread_next, after->address);
    fake_poke(s->p, after->address + l->thread_prev, before->address);
    fake_poke(s->p, s->p->threads[1].address + l->thread_interpreter, 0);
    read_rest(s);
    assert_false(s->thread_list.listed);
    assert_line(s, 2, 2);
    assert_line(s, 0, 0);
    read_still(s);
    read_rest(s);
    assert_int_equal(s->thread_list.asked_count, THREADS - 1);
    assert_done(s, all_but(1, THREADS));
    assert_line(s, 11, 11);
}

static void one_that_ended_is_gone_in_the_next_tick(void **state)
{
    (void)state;
    each_with_a_lock(end_meanwhile);
}

static void lose_the_process(struct scene *s)
{
    read_still(s);
    fake_remote_answer(REMOTE_GONE);
    assert_int_equal(thread_list_rest(&s->thread_list, clock_now_ns()), THREAD_LIST_GONE);
    fake_remote_answer(REMOTE_READ);
}

static void the_end_of_the_process_is_told(void **state)
{
    (void)state;
    each_with_a_lock(lose_the_process);
}

/* ---- where nothing is left for later ---- */

static void read_at_once(struct scene *s, const char *wanted)
{
    assert_int_equal(thread_list_read(&s->thread_list, clock_now_ns()), THREAD_LIST_READ);
    assert_false(s->thread_list.rests);
    assert_done(s, wanted);
    const uint64_t calls = s->p->target.remote.calls;
    read_rest(s);
    assert_int_equal(s->p->target.remote.calls, calls);
    assert_int_equal(s->thread_list.moved, 0);
    assert_done(s, wanted);
}

static void need_no_rest(struct scene *s)
{
    s->thread_list.defers = false;
    read_at_once(s, ALL);
    s->thread_list.defers = true;
    s->thread_list.which = THREADS_MAIN;
    s->thread_list.listed = false;
    read_at_once(s, "0");
    read_at_once(s, "0");
    s->thread_list.which = THREADS_GIL;
    s->thread_list.listed = false;
    fake_take_lock(s->p, 3);
    read_at_once(s, "3");
    assert_int_equal(s->thread_list.asked_count, 1);
}

static void a_few_threads(void **state)
{
    (void)state;
    each_with_a_lock(need_no_rest);
    for (size_t v = 0; v < sizeof(fake_versions) / sizeof(fake_versions[0]); v++) {
        struct scene s;
        if (fake_versions[v] & FAKE_FREE_THREADED)
            continue;
        struct fake_python *p = fake_python_start(fake_versions[v]);
        begin(&s, p, THREAD_LIST_FIRST);
        read_at_once(&s, all_but(THREAD_LIST_FIRST, THREAD_LIST_FIRST));
        fake_take_lock(p, 5);
        fake_take_lock(p, 2);
        read_at_once(&s, all_but(THREAD_LIST_FIRST, THREAD_LIST_FIRST));
        assert_lines(&s);
        thread_list_close(&s.thread_list);
        fake_python_end(p);
    }
}

TEST_FILE(thread_list_rest)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_had_the_lock_are_read_at_once),
        cmocka_unit_test(those_that_ran_are_read_at_once),
        cmocka_unit_test(the_others_are_read_when_they_may_have_moved),
        cmocka_unit_test(never_more_than_a_few_are_read_at_once),
        cmocka_unit_test(who_takes_the_lock_meanwhile_has_moved),
        cmocka_unit_test(after_two_switches_all_that_are_read_may_have),
        cmocka_unit_test(one_that_ended_is_gone_in_the_next_tick),
        cmocka_unit_test(the_end_of_the_process_is_told),
        cmocka_unit_test(a_few_threads),
    };
    return run_all(tests);
}
