/* SPDX-License-Identifier: MIT */
/* Whether a process slept, asked of children of ours that sleep, work, or have several threads. */
#include "record/process/idle.h"

#include "record/process/procfs.h"
#include "tests/fakes/testing.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(long ms)
{
    const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&time, NULL);
}

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void *work_on(void *unused)
{
    for (volatile unsigned long count = 0;; count++) {
    }
    return unused;
}

enum life { SLEEPS, WORKS, WAKES, GROWS /* makes a thread that sleeps, each time that it is woken */ };

static void wake(int signal)
{
    (void)signal;
}

static void start_thread(void *(*life)(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, life, NULL);
}

/* A process whose main thread has this life, with `sleepers` and `workers` more threads. */
static pid_t start_family(enum life life, int sleepers, int workers)
{
    const pid_t child = fork();
    if (child != 0) {
        nap(100);
        return child;
    }
    signal(SIGUSR1, wake);
    for (int i = 0; i < sleepers; i++)
        start_thread(sleep_on);
    for (int i = 0; i < workers; i++)
        start_thread(work_on);
    for (volatile unsigned long count = 0;; count++) {
        if (life == SLEEPS || life == GROWS)
            pause();
        else if (life == WAKES)
            nap(1);
        if (life == GROWS)
            start_thread(sleep_on);
    }
}

static pid_t start_child(enum life life)
{
    return start_family(life, 0, 0);
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Looks, as the sampler does: whether each after the first was known to be as the one before. */
static unsigned still_looks(struct idle *idle, unsigned looks, long pause_ms)
{
    unsigned still = 0;
    for (unsigned i = 0; i < looks; i++) {
        if (idle_still(idle))
            still++;
        else
            idle_learn(idle);
        nap(pause_ms);
    }
    return still;
}

static void a_process_that_sleeps_is_still(void **state)
{
    (void)state;
    const pid_t child = start_child(SLEEPS);
    struct idle idle;
    idle_open(&idle, child);
    assert_false(idle_still(&idle)); /* nobody has looked yet */
    assert_true(still_looks(&idle, 20, 1) >= 10);
    assert_true(idle_still(&idle));
    idle_forget(&idle);
    assert_false(idle_still(&idle));
    assert_true(still_looks(&idle, 20, 1) >= 10);
    kill(child, SIGUSR1); /* it wakes and sleeps again */
    nap(50);
    assert_false(idle_still(&idle));
    assert_false(idle_still(&idle));
    assert_true(still_looks(&idle, 20, 1) >= 10);
    end_child(child);
    assert_false(idle_still(&idle));
    still_looks(&idle, 4, 0);
    assert_false(idle_still(&idle));
    idle_close(&idle);
}

static void a_process_that_works_is_not(void **state)
{
    (void)state;
    const pid_t child = start_child(WORKS);
    struct idle idle;
    idle_open(&idle, child);
    assert_int_equal(still_looks(&idle, 40, 1), 0);
    end_child(child);
    idle_close(&idle);
}

/* It may be seen asleep, but not for longer than it sleeps. */
static void a_process_that_wakes_now_and_then_is_not(void **state)
{
    (void)state;
    const pid_t child = start_child(WAKES);
    struct idle idle;
    idle_open(&idle, child);
    assert_int_equal(still_looks(&idle, 20, 100), 0);
    end_child(child);
    idle_close(&idle);
}

/* Looks until the process is known to sleep. */
static void look_until_still(struct idle *idle)
{
    for (int i = 0; i < 5000 && !idle_still(idle); i++) {
        idle_learn(idle);
        nap(1);
    }
    assert_true(idle_still(idle));
}

/* Wakes a thread, and waits until that was seen. */
static void wake_thread(struct idle *idle, pid_t tid)
{
    syscall(SYS_tgkill, idle->pid, tid, SIGUSR1);
    for (int i = 0; i < 5000 && idle_still(idle); i++)
        nap(1);
    assert_false(idle_still(idle));
}

static void threads_that_all_sleep_are_still(void **state)
{
    (void)state;
    const pid_t child = start_family(SLEEPS, IDLE_THREADS - 1, 0);
    pid_t tids[IDLE_THREADS + 1];
    struct idle idle;
    assert_int_equal(procfs_threads(child, tids, IDLE_THREADS + 1), IDLE_THREADS);
    idle_open(&idle, child);
    for (int i = 0; i < IDLE_THREADS; i++) {
        look_until_still(&idle);
        wake_thread(&idle, tids[i]);
        assert_int_equal(idle.threads[0].tid, tids[i]); /* next time it is asked first */
    }
    look_until_still(&idle);
    end_child(child);
    assert_false(idle_still(&idle));
    idle_close(&idle);
}

static void one_thread_that_works_is_enough(void **state)
{
    (void)state;
    const pid_t child = start_family(SLEEPS, 2, 1);
    struct idle idle;
    idle_open(&idle, child);
    assert_int_equal(still_looks(&idle, 40, 1), 0);
    end_child(child);
    idle_close(&idle);
}

static void new_threads_are_known(void **state)
{
    (void)state;
    const pid_t child = start_family(GROWS, 0, 0);
    struct idle idle;
    idle_open(&idle, child);
    for (size_t count = 1; count <= 3; count++) {
        look_until_still(&idle);
        assert_int_equal(idle.count, count);
        wake_thread(&idle, child);
    }
    end_child(child);
    idle_close(&idle);
}

static void very_many_threads_are_never_still(void **state)
{
    (void)state;
    const pid_t child = start_family(SLEEPS, IDLE_THREADS, 0);
    struct idle idle;
    idle_open(&idle, child);
    assert_int_equal(still_looks(&idle, 20, 1), 0);
    assert_int_equal(idle.count, 0);
    end_child(child);
    idle_close(&idle);
}

static void what_is_no_process_is_not(void **state)
{
    (void)state;
    struct idle idle;
    idle_open(&idle, 0x7FFFFFFF);
    assert_int_equal(still_looks(&idle, 4, 0), 0);
    idle_close(&idle);
    assert_int_equal(still_looks(&idle, 4, 0), 0);
    idle_close(&idle);
}

TEST_FILE(idle)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_sleeps_is_still),           cmocka_unit_test(a_process_that_works_is_not),
        cmocka_unit_test(a_process_that_wakes_now_and_then_is_not), cmocka_unit_test(threads_that_all_sleep_are_still),
        cmocka_unit_test(one_thread_that_works_is_enough),          cmocka_unit_test(new_threads_are_known),
        cmocka_unit_test(very_many_threads_are_never_still),        cmocka_unit_test(what_is_no_process_is_not),
    };
    return run_all(tests);
}
