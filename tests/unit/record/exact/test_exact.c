/* SPDX-License-Identifier: MIT */
/* Looks at one moment: who has the lock, and where that thread runs, is in fake memory; the processors are true. */
#include "record/exact/exact.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#define RSEQ  32         /* bytes from a thread pointer to the thread's note ... */
#define NOTE  (RSEQ + 4) /* ... of its processor */
#define LOOKS 16

static cpu_set_t allowed;

struct scene {
    struct fake_python *p;
    struct thread_list thread_list;
    struct exact exact;
    uint64_t f;
    uint64_t pointers[2];
    int looks;
    uint64_t reads; /* calls of the first look */
    bool looking;
    struct {
        int processor;
        bool standing;
    } seen[LOOKS];
    void (*meanwhile)(struct scene *s); /* what happens in each look, before a piece of it is read; NULL: nothing */
    size_t before;                      /* the place of that piece; the first two are the witness */
    int happens;                        /* in so many looks */
    uint64_t works;                     /* looks so far, as far as was noticed */
    uint32_t random;
    bool again; /* other programs interrupted what is told: it is told again, from the beginning */
};

static uint32_t processor_after(int before)
{
    int processor = before + 1;
    while (processor < CPU_SETSIZE && !CPU_ISSET(processor, &allowed))
        processor++;
    return (uint32_t)processor;
}

static void need_two(void)
{
    if (CPU_COUNT(&allowed) >= 2)
        return;
    print_message("not tested: needs two processors\n");
    skip();
}

/* From now on the thread runs there. */
static void run_on(struct scene *s, size_t thread, uint32_t processor)
{
    fake_poke4(s->p, s->pointers[thread] + NOTE, processor);
}

static enum thread_list_state look(void *self, uint64_t now_ns)
{
    struct scene *s = self;
    assert_true(s->looks < LOOKS);
    s->seen[s->looks].processor = sched_getcpu();
    s->seen[s->looks].standing = s->exact.standing;
    s->looks++;
    s->looking = true;
    const uint64_t calls = s->p->target.remote.calls;
    const enum thread_list_state state = thread_list_read(&s->thread_list, now_ns);
    s->reads = s->looks == 1 ? s->p->target.remote.calls - calls : s->reads;
    s->looking = false;
    return state;
}

static enum thread_list_state read_soon(struct scene *s)
{
    const uint64_t now_ns = clock_now_ns();
    exact_appoint(&s->exact, look, s, &(struct moments){ .due_ns = now_ns + 50000 });
    return exact_read(&s->exact, look, s, now_ns);
}

static void happen(void *self, const struct piece *piece, size_t i)
{
    struct scene *s = self;
    (void)piece;
    if (!s->looking || !s->meanwhile || s->happens == 0 || i != s->before)
        return;
    s->happens--;
    s->looking = false; /* once in a look */
    s->meanwhile(s);
}

static void begin(struct scene *s, struct fake_python *p)
{
    *s = (struct scene){ .p = p, .f = fake_code(p, "f", 20, 9), .before = 1 };
    const struct layout *l = fake_layout(p);
    fake_thread(p, 4712);
    for (size_t t = 0; t < 2; t++) {
        fake_stack(p, t, (struct fake_frame[]){ { PLAIN, s->f, (int)t } }, 1);
        s->pointers[t] = fake_room(p, 128);
        fake_poke(p, p->threads[t].address + l->thread_id, s->pointers[t]);
        run_on(s, t, processor_after(-1));
    }
    fake_take_lock(p, 0);
    p->target.runtime.rseq = RSEQ;
    sched_setaffinity(0, sizeof(allowed), &allowed);
    thread_list_open(&s->thread_list, &p->target, &p->codes, THREADS_ALL, false);
    exact_open(&s->exact, &s->thread_list, false);
    fake_remote_hook(happen, s);
    for (int i = 0; i < 3; i++) /* what there is to learn is known then */
        assert_int_equal(read_soon(s), THREAD_LIST_READ);
    s->looks = 0;
    s->exact.hops = 0;
}

static void end(struct scene *s)
{
    fake_remote_hook(NULL, NULL);
    exact_close(&s->exact);
    thread_list_close(&s->thread_list);
}

static void read_now(struct scene *s)
{
    s->looks = 0;
    s->exact.hops = 0;
    assert_int_equal(read_soon(s), THREAD_LIST_READ);
    if (s->exact.proven)
        assert_true(s->seen[s->looks - 1].standing);
}

static void assert_line(struct scene *s, size_t thread, const char *wanted)
{
    for (size_t i = 0; i < s->thread_list.members_count; i++)
        if (s->thread_list.members[i].address == s->p->threads[thread].address)
            assert_string_equal(fake_walk_text(s->p, &s->thread_list.members[i].walk), wanted);
}

/* On a machine that takes processors away a look may be no moment, or have to be repeated, though nothing happened. */
static bool is_as_told(struct scene *s, bool as_told)
{
    s->again = !as_told;
    return as_told;
}

static void each_version(bool free_threaded, void (*story)(struct scene *s))
{
    const time_t since = time(NULL);
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct scene s;
        if ((fake_versions[v] & FAKE_FREE_THREADED) != free_threaded)
            continue;
        do {
            assert_true(is_patient(since));
            struct fake_python *p = fake_python_start(fake_versions[v]);
            begin(&s, p);
            story(&s);
            end(&s);
            fake_python_end(p);
        } while (s.again);
    }
}

static void each_with_a_lock(void (*story)(struct scene *s))
{
    each_version(false, story);
}

static void read_until_it_stays(struct scene *s)
{
    const time_t since = time(NULL);
    do {
        assert_true(is_patient(since));
        read_now(s);
    } while (!s->exact.proven || s->exact.hops > 0);
}

/* ---- one moment ---- */

static void look_there(struct scene *s)
{
    for (uint32_t p = processor_after(-1); p < CPU_SETSIZE; p = processor_after((int)p)) {
        run_on(s, 0, p);
        read_until_it_stays(s);
        assert_int_equal(s->looks, 1);
        assert_int_equal(s->seen[0].processor, p);
        assert_true(s->seen[0].standing);
        assert_line(s, 0, "f:20");
    }
}

static void a_look_is_where_the_holder_runs(void **state)
{
    (void)state;
    each_with_a_lock(look_there);
}

static void follow(struct scene *s)
{
    const uint32_t first = processor_after(-1), second = processor_after((int)first);
    for (int i = 0; i < 6; i++) {
        const size_t thread = i % 2 ? 0 : 1;
        run_on(s, thread, i % 2 ? first : second);
        fake_take_lock(s->p, thread);
        fake_stack(s->p, thread, (struct fake_frame[]){ { PLAIN, s->f, i + 1 } }, 1);
        read_until_it_stays(s);
        assert_int_equal(s->seen[0].processor, i % 2 ? first : second);
        assert_line(s, thread, (const char *[]){ "f:21", "f:22", "f:23", "f:24", "f:25", "f:26" }[i]);
    }
}

static void the_lock_is_followed_from_tick_to_tick(void **state)
{
    (void)state;
    need_two();
    each_with_a_lock(follow);
}

/* ---- what is new is learnt before ---- */

/* A thread begins, with a stack and code that were never seen, and takes the lock. */
static void begin_thread(struct scene *s, uint32_t number, const char *function)
{
    const uint64_t code = fake_code(s->p, function, 30, 9), pointer = fake_room(s->p, 128);
    const size_t thread = fake_thread(s->p, number);
    fake_stack(s->p, thread, (struct fake_frame[]){ { PLAIN, s->f, 1 }, { PLAIN, code, 0 } }, 2);
    fake_poke(s->p, s->p->threads[thread].address + fake_layout(s->p)->thread_id, pointer);
    fake_poke4(s->p, pointer + NOTE, processor_after((int)processor_after(-1)));
    fake_take_lock(s->p, thread);
}

/* The look reads no more than it does when all is known. */
static void learn_ahead(struct scene *s)
{
    const uint32_t second = processor_after((int)processor_after(-1));
    read_until_it_stays(s);
    const uint64_t usual = s->reads;
    begin_thread(s, 4713, "g");
    read_now(s);
    assert_true(s->reads > usual + 2);
    begin_thread(s, 4714, "h");
    exact_look_ahead(&s->exact, clock_now_ns());
    read_now(s);
    if (!is_as_told(s, s->exact.proven && s->exact.hops == 0))
        return;
    assert_true(s->reads <= usual + 1); /* the code of two functions is asked for in one call more */
    assert_int_equal(s->seen[0].processor, second);
    assert_line(s, 3, "f:21 h:30");
}

static void what_is_new_is_learnt_before_the_look(void **state)
{
    (void)state;
    need_two();
    each_with_a_lock(learn_ahead);
}

/* ---- what moved is read again ---- */

static void pass_the_lock(struct scene *s)
{
    fake_take_lock(s->p, 1);
    fake_stack(s->p, 1, (struct fake_frame[]){ { PLAIN, s->f, 7 } }, 1);
}

static void lose_the_lock(struct scene *s)
{
    run_on(s, 1, processor_after((int)processor_after(-1)));
    s->meanwhile = pass_the_lock;
    s->happens = 1;
    read_now(s);
    assert_int_equal(s->happens, 0);
    if (!is_as_told(s, s->exact.proven))
        return;
    assert_true(s->exact.hops >= 1); /* more where other programs interrupt a look */
    assert_int_equal(s->looks, s->exact.hops + 1);
    assert_int_equal(s->seen[0].processor, processor_after(-1));
    assert_int_equal(s->seen[s->looks - 1].processor, processor_after((int)processor_after(-1)));
    assert_line(s, 1, "f:27");
}

static void a_look_in_which_the_lock_went_on_is_thrown_away(void **state)
{
    (void)state;
    need_two();
    each_with_a_lock(lose_the_lock);
}

static void go_elsewhere(struct scene *s)
{
    run_on(s, 0, processor_after((int)processor_after(-1)));
    fake_stack(s->p, 0, (struct fake_frame[]){ { PLAIN, s->f, 6 } }, 1);
}

static void lose_the_holder(struct scene *s)
{
    s->meanwhile = go_elsewhere;
    s->happens = 1;
    read_now(s);
    assert_int_equal(s->happens, 0);
    if (!is_as_told(s, s->exact.proven))
        return;
    assert_true(s->exact.hops >= 1); /* more where other programs interrupt a look */
    assert_int_equal(s->seen[s->looks - 1].processor, processor_after((int)processor_after(-1)));
    assert_line(s, 0, "f:26");
}

static void a_look_in_which_the_holder_went_away_is_too(void **state)
{
    (void)state;
    need_two();
    each_with_a_lock(lose_the_holder);
}

/* ---- what sleeps ---- */

static void set_lock(struct scene *s, bool locked)
{
    fake_poke4(s->p, s->p->target.interpreters[0].gil_at + 8, locked);
}

static void wake_elsewhere(struct scene *s)
{
    go_elsewhere(s);
    set_lock(s, true);
}

static void wake_in_a_look(struct scene *s)
{
    set_lock(s, false);
    read_until_it_stays(s);
    s->meanwhile = wake_elsewhere;
    s->happens = 1;
    s->before = 2;
    read_now(s);
    if (!is_as_told(s, s->happens == 0 && s->exact.hops == 0))
        return;
    assert_int_equal(s->looks, 1);
    assert_false(s->exact.proven);
}

/* Another look would show what the program does after it slept. */
static void a_look_at_a_program_that_slept_is_kept(void **state)
{
    (void)state;
    need_two();
    each_with_a_lock(wake_in_a_look);
}

static void had_woken_elsewhere(struct scene *s)
{
    set_lock(s, false);
    read_until_it_stays(s);
    wake_elsewhere(s);
    read_now(s);
    if (!is_as_told(s, s->exact.proven))
        return;
    assert_true(s->exact.hops >= 1); /* more where other programs interrupt a look */
    assert_line(s, 0, "f:26");
}

static void one_that_had_woken_before_is_followed(void **state)
{
    (void)state;
    need_two();
    each_with_a_lock(had_woken_elsewhere);
}

/* ---- who ends ---- */

/* The thread that had the lock in the last tick has ended, and its memory is gone. False when that was interrupted, or
 * took more looks than `hops` and one. */
static bool end_holder(struct scene *s, int hops)
{
    fake_remote_hide(s->pointers[0] + NOTE, 4);
    const uint64_t calls = s->p->target.remote.calls;
    read_now(s);
    fake_remote_hide(0, 0);
    assert_in_range(s->p->target.remote.calls - calls, 1, 40); /* what can't be read is not tried again and again */
    return is_as_told(s, s->exact.proven && (int)s->exact.hops <= hops);
}

static void hand_it_on_here(struct scene *s)
{
    pass_the_lock(s);
    if (end_holder(s, 0))
        assert_line(s, 1, "f:27");
}

static void the_next_holder_may_run_where_one_ended(void **state)
{
    (void)state;
    each_with_a_lock(hand_it_on_here);
}

static void hand_it_on_elsewhere(struct scene *s)
{
    const uint32_t other = processor_after((int)processor_after(-1));
    run_on(s, 1, other);
    pass_the_lock(s);
    if (!end_holder(s, LOOKS))
        return;
    assert_int_equal(s->seen[s->looks - 1].processor, other);
    assert_line(s, 1, "f:27");
}

static void or_elsewhere(void **state)
{
    (void)state;
    need_two();
    each_with_a_lock(hand_it_on_elsewhere);
}

static void leave_the_lock(struct scene *s)
{
    set_lock(s, false);
    if (end_holder(s, 0))
        assert_line(s, 1, "f:21");
}

static void or_nobody_has_the_lock(void **state)
{
    (void)state;
    each_with_a_lock(leave_the_lock);
}

/* Two threads on two processors hand the lock on faster than we can follow: another draw for each look. */
static void hand_it_on_often(void *self, const struct piece *piece, size_t i)
{
    struct scene *s = self;
    (void)piece;
    if (i != 0 || s->works == s->exact.stand.works)
        return;
    s->works = s->exact.stand.works;
    s->random = s->random * 1103515245u + 12345u;
    fake_take_lock(s->p, (s->random >> 16) % 5 == 0); /* thread 1 has it for a fifth of the time */
}

static void see_both(struct scene *s)
{
    const uint32_t other = processor_after((int)processor_after(-1));
    int seen = 0, of_thread_1 = 0;
    run_on(s, 1, other);
    fake_remote_hook(hand_it_on_often, s);
    for (const time_t since = time(NULL); seen < 400;) {
        assert_true(is_patient(since));
        s->looks = 0;
        assert_int_equal(read_soon(s), THREAD_LIST_READ);
        seen += s->exact.proven;
        of_thread_1 += s->exact.proven && s->exact.holder.thread == s->p->threads[1].address;
    }
    fake_remote_hook(NULL, NULL);
    if (of_thread_1 < seen * 0.08 || of_thread_1 > seen * 0.36) /* six times the deviation of such draws */
        fail_msg("thread 1 had the lock for a fifth of the time, and in %d of %d looks", of_thread_1, seen);
}

static void each_holder_is_seen_as_often_as_it_has_the_lock(void **state)
{
    (void)state;
    need_two();
    each_with_a_lock(see_both);
}

/* The same thread has it, on the same processor, and another had it meanwhile. */
static void pass_to_and_fro(struct scene *s)
{
    fake_take_lock(s->p, 1);
    fake_take_lock(s->p, 0);
}

static void never_stay(struct scene *s)
{
    s->meanwhile = pass_to_and_fro;
    s->happens = LOOKS;
    read_now(s);
    assert_false(s->exact.proven);
    if (!is_as_told(s, s->exact.hops == 5))
        return;
    assert_int_equal(s->looks, 6); /* the last one is kept as it is */
    assert_true(s->seen[5].standing);
    usleep(1000);
    assert_int_equal(s->looks, 6);
    s->meanwhile = NULL;
    read_until_it_stays(s);
}

static void after_some_the_last_look_is_kept(void **state)
{
    (void)state;
    each_with_a_lock(never_stay);
}

/* The post goes by at the next moment too, which it was told of, and nobody has appointed a look there yet. */
static void come_late(struct scene *s)
{
    for (const time_t since = time(NULL); is_patient(since);) {
        const uint64_t now_ns = clock_now_ns(), next_ns = now_ns + 400000;
        s->looks = 0;
        exact_appoint(&s->exact, look, s, &(struct moments){ now_ns + 50000, { next_ns } });
        assert_int_equal(exact_read(&s->exact, look, s, now_ns), THREAD_LIST_READ);
        usleep(1000);
        s->looks = 0;
        exact_appoint(&s->exact, look, s, &(struct moments){ .due_ns = next_ns });
        assert_int_equal(exact_read(&s->exact, look, s, next_ns), THREAD_LIST_READ);
        assert_true(s->looks > 0);
        if (s->exact.proven)
            return;
    }
    fail_msg("it was not proved");
}

static void a_moment_that_has_passed_is_taken_later(void **state)
{
    (void)state;
    need_two();
    each_with_a_lock(come_late);
}

/* ---- out of reach ---- */

static void assert_unproved(struct scene *s)
{
    for (int i = 0; i < 3; i++) {
        read_now(s);
        assert_int_equal(s->looks, 1);
        assert_int_equal(s->exact.hops, 0);
        assert_false(s->seen[0].standing);
        assert_false(s->exact.proven);
    }
}

static void run_far_away(struct scene *s)
{
    run_on(s, 0, CPU_SETSIZE - 1);
    read_now(s); /* where the holder was, and then as it is */
    assert_unproved(s);
    run_on(s, 0, UINT32_MAX); /* the kernel's word for a thread that never ran */
    assert_unproved(s);
    run_on(s, 0, processor_after(-1));
    read_until_it_stays(s);
}

static void where_we_may_not_run_it_is_not_proved(void **state)
{
    (void)state;
    each_with_a_lock(run_far_away);
}

/* Threads that hand the lock on, some of them where we may not look. */
static void be_partly_far_away(struct scene *s)
{
    for (int i = 0; i < 4; i++) {
        s->exact.lost[0] = s->exact.lost[1] = s->exact.looks + 1;
        s->exact.recent[1] = (struct recent_holder){ 8, CPU_SETSIZE - 1, s->exact.looks };
        s->looks = 0;
        assert_int_equal(read_soon(s), THREAD_LIST_READ);
        assert_null(s->exact.refusal);
    }
    read_until_it_stays(s);
}

static void where_we_may_run_it_is_exact_nonetheless(void **state)
{
    (void)state;
    each_with_a_lock(be_partly_far_away);
}

/* The look is kept: it is not read again. */
static void come_long_after(struct scene *s)
{
    for (int i = 0; i < 4; i++) {
        const uint64_t now_ns = clock_now_ns();
        s->looks = 0;
        s->exact.hops = 0;
        exact_appoint(&s->exact, look, s, &(struct moments){ .due_ns = now_ns + 50000 });
        s->exact.work.due_ns -= 1000000; /* as if it had been due a millisecond ago */
        assert_int_equal(exact_read(&s->exact, look, s, now_ns), THREAD_LIST_READ);
        if (s->exact.hops == 0) {
            assert_false(s->exact.proven);
            assert_int_equal(s->looks, 1);
            assert_true(s->seen[0].standing);
        }
    }
    read_until_it_stays(s);
}

static void a_look_that_comes_late_is_not_proved(void **state)
{
    (void)state;
    need_two();
    each_with_a_lock(come_long_after);
}

/* ---- several threads that run at the same time ---- */

static void attach_thread(struct scene *s, size_t thread, uint32_t attachment)
{
    fake_poke4(s->p, s->p->threads[thread].address + fake_layout(s->p)->thread_attachment, attachment);
}

/* Both threads run, each on its own processor. */
static void run_both(struct scene *s)
{
    const uint32_t first = processor_after(-1);
    attach_thread(s, 0, THREAD_ATTACHED);
    attach_thread(s, 1, THREAD_ATTACHED);
    run_on(s, 0, first);
    run_on(s, 1, processor_after((int)first));
}

static void detach_thread(struct scene *s)
{
    attach_thread(s, 1, THREAD_DETACHED);
}

static void attach_again(struct scene *s)
{
    attach_thread(s, 1, THREAD_ATTACHED);
}

static void stand_on_both(struct scene *s)
{
    run_both(s);
    read_until_it_stays(s);
    assert_int_equal(s->exact.work.posts.count, 2);
    assert_int_equal(s->exact.moved, 0);
    assert_line(s, 0, "f:20");
    assert_line(s, 1, "f:21");
}

/* A thread that is not attached runs no Python, wherever it is. */
static void let_one_wait(struct scene *s)
{
    run_both(s);
    attach_thread(s, 1, THREAD_DETACHED);
    run_on(s, 1, CPU_SETSIZE);
    read_until_it_stays(s);
    assert_int_equal(s->exact.work.posts.count, 1);
}

/* The look is kept, and one thread of it is not proved. */
static void see_one_move(struct scene *s, enum attachment before, void (*move)(struct scene *s))
{
    run_both(s);
    attach_thread(s, 1, before);
    read_until_it_stays(s);
    s->meanwhile = move;
    s->happens = 1;
    read_now(s);
    s->meanwhile = NULL;
    is_as_told(s, !s->again && s->exact.proven && s->exact.hops == 0 && s->exact.moved == 1);
}

/* A look that began while a thread ran elsewhere is followed by another one, which is kept. */
static void see_one_elsewhere(struct scene *s)
{
    run_both(s);
    read_until_it_stays(s);
    run_on(s, 1, CPU_SETSIZE);
    read_now(s);
    is_as_told(s, !s->again && s->exact.proven && s->exact.hops == 1 && s->exact.moved == 1);
}

static void move_one(struct scene *s)
{
    see_one_move(s, THREAD_ATTACHED, detach_thread);
    see_one_move(s, THREAD_DETACHED, attach_again);
    see_one_elsewhere(s);
}

static void without_a_lock_a_look_stands_on_all_processors(void **state)
{
    (void)state;
    need_two();
    each_version(true, stand_on_both);
}

static void who_runs_no_python_needs_no_post(void **state)
{
    (void)state;
    need_two();
    each_version(true, let_one_wait);
}

static void one_thread_that_moves_spoils_no_other(void **state)
{
    (void)state;
    need_two();
    each_version(true, move_one);
}

static void take_second_lock(struct scene *s)
{
    s->meanwhile = NULL;
    fake_take_lock(s->p, 1);
}

/* A second interpreter with a lock of its own. */
static void have_two_locks(struct scene *s)
{
    struct fake_python *p = s->p;
    const struct layout *l = fake_layout(p);
    if (!l->interpreter_gil)
        return; /* one lock for all */
    const uint64_t second = fake_room(p, FAKE_INTERPRETER);
    fake_poke(p, second + l->interpreter_id, 1);
    fake_poke(p, second + l->interpreter_gil, second + l->interpreter_own_gil - 8);
    fake_poke(p, p->interpreter + l->interpreter_next, second);
    thread_list_distrust(&s->thread_list);
    read_now(s); /* finds it: what the new lock's threads did meanwhile is not known */
    assert_true(s->exact.hops > 0);
    read_until_it_stays(s);
    assert_true(s->exact.work.crowd);
    s->meanwhile = take_second_lock;
    s->happens = 1;
    read_now(s);
    if (is_as_told(s, s->exact.proven && s->exact.hops == 0))
        assert_int_equal(s->exact.moved, 2); /* all threads that need this lock */
}

static void with_two_locks_both_holders_stand_still(void **state)
{
    (void)state;
    need_two();
    each_with_a_lock(have_two_locks);
}

static void lose_the_process(struct scene *s)
{
    fake_remote_answer(REMOTE_GONE);
    assert_int_equal(exact_read(&s->exact, look, s, clock_now_ns()), THREAD_LIST_GONE);
    fake_remote_answer(REMOTE_READ);
}

static void the_end_of_the_process_is_told(void **state)
{
    (void)state;
    each_with_a_lock(lose_the_process);
}

TEST_FILE(exact)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_is_where_the_holder_runs),
        cmocka_unit_test(the_lock_is_followed_from_tick_to_tick),
        cmocka_unit_test(what_is_new_is_learnt_before_the_look),
        cmocka_unit_test(a_look_in_which_the_lock_went_on_is_thrown_away),
        cmocka_unit_test(a_look_in_which_the_holder_went_away_is_too),
        cmocka_unit_test(a_look_at_a_program_that_slept_is_kept),
        cmocka_unit_test(one_that_had_woken_before_is_followed),
        cmocka_unit_test(the_next_holder_may_run_where_one_ended),
        cmocka_unit_test(or_elsewhere),
        cmocka_unit_test(or_nobody_has_the_lock),
        cmocka_unit_test(each_holder_is_seen_as_often_as_it_has_the_lock),
        cmocka_unit_test(after_some_the_last_look_is_kept),
        cmocka_unit_test(a_moment_that_has_passed_is_taken_later),
        cmocka_unit_test(where_we_may_not_run_it_is_not_proved),
        cmocka_unit_test(where_we_may_run_it_is_exact_nonetheless),
        cmocka_unit_test(a_look_that_comes_late_is_not_proved),
        cmocka_unit_test(without_a_lock_a_look_stands_on_all_processors),
        cmocka_unit_test(who_runs_no_python_needs_no_post),
        cmocka_unit_test(one_thread_that_moves_spoils_no_other),
        cmocka_unit_test(with_two_locks_both_holders_stand_still),
        cmocka_unit_test(the_end_of_the_process_is_told),
    };
    sched_getaffinity(0, sizeof(allowed), &allowed);
    return run_all(tests);
}
