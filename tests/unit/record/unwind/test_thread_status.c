/* SPDX-License-Identifier: MIT */
/* What threads do: the lock, the wait for it, and exceptions are a small CPython's in fake memory; processors are what
 * the kernel says of threads of this test. */
#include "record/unwind/thread_status.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOKS    20
#define PATIENCE 1000000 /* looks, 100 us apart or more */
#define FACTS    (STATUS_GIL | STATUS_GIL_WAIT | STATUS_EXCEPTION)
#define WORKER   1 /* the second thread's place */

/* ---- a thread of this test ---- */

enum life { COMPUTES, SLEEPS };

struct worker {
    pthread_t thread;
    enum life life;
    _Atomic pid_t tid;
    atomic_bool stop;
    pthread_mutex_t held; /* what one that sleeps waits for */
};

static void *live(void *data)
{
    struct worker *worker = data;
    atomic_store(&worker->tid, (pid_t)syscall(SYS_gettid));
    if (worker->life == SLEEPS)
        pthread_mutex_lock(&worker->held);
    while (!atomic_load(&worker->stop))
        continue;
    return NULL;
}

static void begin_worker(struct worker *worker, enum life life)
{
    *worker = (struct worker){ .life = life };
    pthread_mutex_init(&worker->held, NULL);
    pthread_mutex_lock(&worker->held);
    assert_int_equal(pthread_create(&worker->thread, NULL, live, worker), 0);
    while (!atomic_load(&worker->tid))
        usleep(100);
}

static void end_worker(struct worker *worker)
{
    atomic_store(&worker->stop, true);
    pthread_mutex_unlock(&worker->held);
    pthread_join(worker->thread, NULL);
}

/* ---- the scene ---- */

struct scene {
    struct fake_python *p;
    struct thread_list thread_list;
    struct statuses statuses;
    struct watch watch;
};

static void begin(struct scene *s, struct fake_python *p, enum mode mode)
{
    *s = (struct scene){ .p = p, .statuses = { .mode = mode, .interval_ns = 1000000 } };
    const uint64_t f = fake_code(p, "f", 20, 9);
    fake_thread(p, 4712);
    for (size_t t = 0; t < 2; t++)
        fake_stack(p, t, (struct fake_frame[]){ { PLAIN, f, 1 } }, 1);
    thread_list_open(&s->thread_list, &p->target, &p->codes, THREADS_ALL, false);
    s->thread_list.unwinder.statuses = true;
    thread_status_open(&s->statuses, getpid());
}

static void end(struct scene *s)
{
    thread_status_watch_close(&s->statuses, &s->watch);
    thread_list_close(&s->thread_list);
}

static uint64_t true_time_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void read_threads(struct scene *s)
{
    assert_int_equal(thread_list_read(&s->thread_list, clock_now_ns()), THREAD_LIST_READ);
}

static struct member *member_at(struct scene *s, uint64_t address)
{
    for (size_t i = 0; i < s->thread_list.members_count; i++)
        if (s->thread_list.members[i].address == address)
            return &s->thread_list.members[i];
    fail_msg("there is no such thread");
    return NULL;
}

static struct member *member_of(struct scene *s, size_t thread)
{
    return member_at(s, s->p->threads[thread].address);
}

/* The status of a thread, whose processor is that of our thread `tid`. */
static uint32_t status_of(struct scene *s, struct member *member, pid_t tid)
{
    thread_status_tick(&s->statuses);
    return thread_status_of(&s->statuses, &s->watch, &s->thread_list, member, tid, true_time_ns());
}

static uint32_t facts_of(struct scene *s, size_t thread)
{
    const uint32_t status = status_of(s, member_of(s, thread), getpid());
    assert_int_equal(status & STATUS_RECORDED, STATUS_RECORDED);
    return status & FACTS;
}

/* ---- the lock ---- */

static void hold(struct fake_python *p)
{
    struct scene s;
    begin(&s, p, MODE_WALL);
    read_threads(&s);
    assert_int_equal(facts_of(&s, 0), STATUS_GIL);
    assert_int_equal(facts_of(&s, 1), 0);
    fake_take_lock(p, 1);
    read_threads(&s);
    assert_int_equal(facts_of(&s, 0), 0);
    assert_int_equal(facts_of(&s, 1), STATUS_GIL);
    end(&s);
}
EACH_VERSION(one_thread_has_the_lock, hold);

static void wait_for_lock(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct scene s;
    if (!l->thread_gil_wait)
        return;
    begin(&s, p, MODE_WALL);
    for (size_t t = 0; t < 2; t++)
        fake_poke4(p, p->threads[t].address + l->thread_gil_wait, 1);
    read_threads(&s);
    assert_int_equal(facts_of(&s, 0), STATUS_GIL); /* it has just been given the lock */
    assert_int_equal(facts_of(&s, 1), STATUS_GIL_WAIT);
    end(&s);
}
EACH_VERSION(a_thread_that_waits_for_the_lock_says_so_and_one_that_has_it_does_not, wait_for_lock);

/* ---- exceptions ---- */

static void handle(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct scene s;
    begin(&s, p, MODE_WALL);
    fake_poke(p, p->threads[1].address + l->thread_exception, 0x7000);
    read_threads(&s);
    assert_int_equal(facts_of(&s, 0), STATUS_GIL);
    assert_int_equal(facts_of(&s, 1), STATUS_EXCEPTION);
    end(&s);
}
EACH_VERSION(a_thread_that_raises_an_exception_says_so, handle);

/* ---- processors ---- */

static void look_at_one_that_computes(struct fake_python *p)
{
    struct worker worker;
    struct scene s;
    uint64_t used_ns = 0;
    begin(&s, p, MODE_CPU);
    read_threads(&s);
    begin_worker(&worker, COMPUTES);
    const uint64_t begin_ns = true_time_ns();
    for (int i = 0; i < LOOKS || (used_ns == 0 && i < PATIENCE); i++) {
        usleep(500);
        const uint32_t status = status_of(&s, member_of(&s, WORKER), atomic_load(&worker.tid));
        assert_int_equal(status & ~(uint32_t)STATUS_READY, STATUS_RECORDED | STATUS_CPU);
        used_ns += s.watch.cpu_ns;
    }
    assert_true(used_ns > 0);
    assert_true(used_ns <= true_time_ns() - begin_ns + 20000000); /* the kernel's note is renewed each few ms */
    end_worker(&worker);
    end(&s);
}
EACH_VERSION(a_thread_that_computes_has_a_processor, look_at_one_that_computes);

static void look_at_one_that_sleeps(struct fake_python *p)
{
    struct worker worker;
    struct scene s;
    begin(&s, p, MODE_CPU);
    read_threads(&s);
    begin_worker(&worker, SLEEPS);
    const pid_t tid = atomic_load(&worker.tid);
    /* At first it is about to fall asleep. */
    int asleep = 0;
    for (int i = 0; i < PATIENCE && asleep < LOOKS; i++) {
        const uint32_t status = status_of(&s, member_of(&s, WORKER), tid);
        asleep = status == STATUS_RECORDED && s.watch.cpu_ns == 0 ? asleep + 1 : 0;
        usleep(100);
    }
    assert_int_equal(asleep, LOOKS);
    end_worker(&worker);
    /* It ends somewhat later than the one that waits for its end is told. */
    uint32_t status = 0;
    for (int i = 0; i < PATIENCE && !(status & STATUS_CPU_UNKNOWN); i++) {
        status = status_of(&s, member_of(&s, WORKER), tid);
        usleep(100);
    }
    assert_int_equal(status, STATUS_RECORDED | STATUS_CPU_UNKNOWN);
    assert_int_equal(s.watch.cpu_ns, 0);
    end(&s);
}
EACH_VERSION(a_thread_that_sleeps_has_no_processor, look_at_one_that_sleeps);

/* It has the lock, and neither works nor waits. */
static void look_at_one_that_is_stopped(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct halt halt = { .kind = HALT_FROZEN };
    struct worker worker;
    struct scene s;
    begin(&s, p, MODE_WALL);
    if (l->thread_gil_wait)
        fake_poke4(p, p->threads[WORKER].address + l->thread_gil_wait, 1);
    fake_poke(p, p->threads[WORKER].address + l->thread_exception, 0x7000);
    read_threads(&s);
    begin_worker(&worker, SLEEPS);
    const pid_t tid = atomic_load(&worker.tid);
    while (status_of(&s, member_of(&s, 0), tid) & STATUS_CPU)
        usleep(100); /* it is about to fall asleep */
    s.statuses.halt = &halt;
    assert_int_equal(status_of(&s, member_of(&s, 0), tid), STATUS_RECORDED);
    assert_int_equal(status_of(&s, member_of(&s, WORKER), tid), STATUS_RECORDED | STATUS_EXCEPTION);
    halt.kind = HALT_NONE;
    assert_int_equal(status_of(&s, member_of(&s, 0), tid), STATUS_RECORDED | STATUS_GIL);
    end_worker(&worker);
    end(&s);
}
EACH_VERSION(a_thread_of_a_stopped_process_has_no_state, look_at_one_that_is_stopped);

/* One that ran without having had the lock may wait for the lock by now: it is read again where that is kept. */
static void run_and_perhaps_wait(struct fake_python *p)
{
    const bool is_kept = fake_layout(p)->thread_gil_wait != 0;
    struct worker worker;
    struct scene s;
    begin(&s, p, MODE_CPU);
    read_threads(&s);
    begin_worker(&worker, COMPUTES);
    struct member *member = member_of(&s, WORKER);
    member->walk.since.known = true;
    status_of(&s, member, atomic_load(&worker.tid));
    assert_int_equal(member->walk.since.known, !is_kept);
    end_worker(&worker);
    end(&s);
}
EACH_VERSION(a_thread_that_ran_is_read_again_where_its_wait_is_kept, run_and_perhaps_wait);

/* A look of an earlier tick that nobody took (-t gil) says nothing of this one; its CPU time is not lost. */
static void leave_a_look(struct fake_python *p)
{
    struct worker worker;
    struct scene s;
    begin(&s, p, MODE_WALL);
    read_threads(&s);
    begin_worker(&worker, SLEEPS);
    struct member *member = member_of(&s, WORKER);
    const pid_t tid = atomic_load(&worker.tid);
    for (int i = 0; i < PATIENCE && status_of(&s, member, tid) & STATUS_CPU; i++)
        usleep(100);
    s.watch.asked_ahead = true;
    s.watch.ahead = (struct cpu_look){ .known = true, .running = true, .used_ns = 12345 };
    assert_false(status_of(&s, member, tid) & STATUS_CPU);
    assert_true(s.watch.cpu_ns >= 12345);
    end_worker(&worker);
    end(&s);
}
EACH_VERSION(a_look_of_another_tick_is_not_taken, leave_a_look);

/* ---- a thread without a state ---- */

/* A thread of C between two calls of Python: the kernel alone says what it does. */
static void be_outside(struct fake_python *p)
{
    struct worker worker;
    struct scene s;
    begin(&s, p, MODE_CPU);
    read_threads(&s);
    begin_worker(&worker, COMPUTES);
    uint64_t cpu_ns = 0;
    for (int i = 0; i < PATIENCE && cpu_ns == 0; i++) {
        assert_int_equal(status_of(&s, NULL, atomic_load(&worker.tid)) & ~(uint32_t)(STATUS_CPU | STATUS_READY),
                         STATUS_RECORDED);
        assert_true(s.watch.known);
        cpu_ns += s.watch.cpu_ns;
        usleep(100);
    }
    assert_true(cpu_ns > 0);
    end_worker(&worker);
    end(&s);
}
EACH_VERSION(a_thread_without_a_state_has_a_processor, be_outside);

/* ---- what is asked, and what is kept ---- */

/* Runs until the CPU clock of the process has moved, which a virtual machine's may not do for a moment. */
static void run_on(void)
{
    struct timespec before, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec == before.tv_sec && now.tv_nsec == before.tv_nsec);
}

static void asking_about_others_takes_a_part_of_the_time(void **state)
{
    (void)state;
    static const struct {
        enum mode mode;
        uint64_t interval_ns;
        size_t threads;
        uint64_t tick_ns; /* between two ticks, as the budget allows */
        int least, most;  /* how often the others are asked in 1000 ticks */
    } rows[] = {
        { MODE_WALL, 1000000, 100, 1000000, 1000, 1000 }, { MODE_WALL, 1000000, 200, 1000000, 500, 550 },
        { MODE_WALL, 1000000, 200, 4000000, 1000, 1000 }, { MODE_WALL, 1000000, 1000, 5000000, 500, 511 },
        { MODE_GIL, 100000, 10, 100000, 1000, 1000 },     { MODE_CPU, 10000, 10000, 10000, 1000, 1000 },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct statuses statuses = { .mode = rows[i].mode, .interval_ns = rows[i].interval_ns };
        thread_status_open(&statuses, getpid());
        int asked = 0;
        for (uint64_t tick = 1; tick <= 1000; tick++) {
            run_on();
            thread_status_tick(&statuses);
            assert_true(statuses.ask_cpu);
            assert_true(statuses.ran); /* this test did */
            const uint64_t now_ns = 10000000000 + tick * rows[i].tick_ns;
            asked += thread_status_ask_others(&statuses, 0, rows[i].threads, now_ns);
        }
        assert_in_range(asked, rows[i].least, rows[i].most);
    }
}

static void others_sleep_when_all_time_is_known(void **state)
{
    (void)state;
    struct statuses statuses = { .mode = MODE_WALL, .interval_ns = 1000000 };
    thread_status_open(&statuses, getpid());
    thread_status_tick(&statuses);
    const uint64_t ended_ns = 1000;
    thread_status_asked_all(&statuses, statuses.process.used_ns - ended_ns);
    for (int unknown_ns = 0; unknown_ns < 2; unknown_ns++) {
        thread_status_tick(&statuses);
        const uint64_t known_ns = statuses.process.used_ns - ended_ns - (uint64_t)unknown_ns;
        assert_int_equal(thread_status_ask_others(&statuses, known_ns, 1, 2000000000), unknown_ns == 1);
        assert_int_equal(statuses.ran, unknown_ns == 1);
    }
}

static void ask_about_none(struct fake_python *p)
{
    struct scene s;
    begin(&s, p, MODE_WALL);
    s.statuses.interval_ns = 0;
    read_threads(&s);
    assert_int_equal(status_of(&s, member_of(&s, 0), getpid()), STATUS_RECORDED | STATUS_GIL | STATUS_CPU_UNKNOWN);
    assert_int_equal(s.watch.cpu_ns, 0);
    assert_false(s.watch.cpu.watched); /* no file was opened */
    end(&s);
}
EACH_VERSION(a_processor_that_is_not_asked_about_is_unknown, ask_about_none);

static void a_mode_keeps_what_it_is_about(void **state)
{
    (void)state;
    for (uint32_t status = 0; status <= STATUS_BITS; status++) {
        const bool kept[MODES] = {
            [MODE_WALL] = true,
            [MODE_CPU] = status & STATUS_CPU && !(status & STATUS_CPU_UNKNOWN),
            [MODE_GIL] = status & STATUS_GIL,
            [MODE_EXCEPTION] = status & STATUS_EXCEPTION,
        };
        for (int mode = 0; mode < MODES; mode++) {
            const struct statuses statuses = { .mode = (enum mode)mode };
            assert_int_equal(thread_status_kept(&statuses, status | STATUS_RECORDED), kept[mode]);
        }
    }
}

static void each_mode_has_a_name(void **state)
{
    (void)state;
    static const char *const names[MODES] = {
        [MODE_WALL] = "wall", [MODE_CPU] = "cpu", [MODE_GIL] = "gil", [MODE_EXCEPTION] = "exception"
    };
    for (int mode = 0; mode < MODES; mode++)
        assert_string_equal(mode_names[mode], names[mode]);
}

TEST_FILE(thread_status)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_has_the_lock),
        cmocka_unit_test(a_thread_that_waits_for_the_lock_says_so_and_one_that_has_it_does_not),
        cmocka_unit_test(a_thread_that_raises_an_exception_says_so),
        cmocka_unit_test(a_thread_that_computes_has_a_processor),
        cmocka_unit_test(a_thread_that_sleeps_has_no_processor),
        cmocka_unit_test(a_thread_of_a_stopped_process_has_no_state),
        cmocka_unit_test(a_thread_that_ran_is_read_again_where_its_wait_is_kept),
        cmocka_unit_test(a_thread_without_a_state_has_a_processor),
        cmocka_unit_test(a_look_of_another_tick_is_not_taken),
        cmocka_unit_test(asking_about_others_takes_a_part_of_the_time),
        cmocka_unit_test(others_sleep_when_all_time_is_known),
        cmocka_unit_test(a_processor_that_is_not_asked_about_is_unknown),
        cmocka_unit_test(a_mode_keeps_what_it_is_about),
        cmocka_unit_test(each_mode_has_a_name),
    };
    return run_all(tests);
}
