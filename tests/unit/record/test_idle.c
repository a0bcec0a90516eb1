/* SPDX-License-Identifier: MIT */
/* Whether a process slept, asked of children of ours that sleep, work, or have two threads. */
#include "record/process/idle.h"

#include "tests/fakes/testing.h"

#include <pthread.h>
#include <signal.h>
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

enum life { SLEEPS, WORKS, SLEEPS_TWICE, WAKES };

static void wake(int signal)
{
    (void)signal;
}

static pid_t start_child(enum life life)
{
    const pid_t child = fork();
    if (child != 0) {
        nap(100);
        return child;
    }
    signal(SIGUSR1, wake);
    pthread_t other;
    if (life == SLEEPS_TWICE)
        pthread_create(&other, NULL, sleep_on, NULL);
    for (volatile unsigned long count = 0;; count++) {
        if (life == SLEEPS || life == SLEEPS_TWICE)
            pause();
        else if (life == WAKES)
            nap(1);
    }
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Looks, as the sampler does: whether each after the first was known to be as the one before. */
static unsigned still_looks(struct idle *idle, pid_t child, unsigned looks, long pause_ms)
{
    unsigned still = 0;
    for (unsigned i = 0; i < looks; i++) {
        if (idle_still(idle))
            still++;
        else
            idle_learn(idle, child);
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
    assert_true(still_looks(&idle, child, 20, 1) >= 10);
    assert_true(idle_still(&idle));
    idle_forget(&idle);
    assert_false(idle_still(&idle));
    assert_true(still_looks(&idle, child, 20, 1) >= 10);
    kill(child, SIGUSR1); /* it wakes and sleeps again */
    nap(50);
    assert_false(idle_still(&idle));
    assert_false(idle_still(&idle));
    assert_true(still_looks(&idle, child, 20, 1) >= 10);
    end_child(child);
    assert_false(idle_still(&idle));
    still_looks(&idle, child, 4, 0);
    assert_false(idle_still(&idle));
    idle_close(&idle);
}

static void a_process_that_works_is_not(void **state)
{
    (void)state;
    const pid_t child = start_child(WORKS);
    struct idle idle;
    idle_open(&idle, child);
    assert_int_equal(still_looks(&idle, child, 40, 1), 0);
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
    assert_int_equal(still_looks(&idle, child, 20, 100), 0);
    end_child(child);
    idle_close(&idle);
}

static void a_process_with_two_threads_is_not(void **state)
{
    (void)state;
    const pid_t child = start_child(SLEEPS_TWICE);
    struct idle idle;
    idle_open(&idle, child);
    assert_int_equal(still_looks(&idle, child, 20, 1), 0);
    end_child(child);
    idle_close(&idle);
}

static void what_is_no_process_is_not(void **state)
{
    (void)state;
    struct idle idle;
    idle_open(&idle, 0x7FFFFFFF);
    assert_int_equal(still_looks(&idle, 0x7FFFFFFF, 4, 0), 0);
    idle_close(&idle);
    assert_int_equal(still_looks(&idle, 1, 4, 0), 0);
    idle_close(&idle);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_sleeps_is_still),
        cmocka_unit_test(a_process_that_works_is_not),
        cmocka_unit_test(a_process_that_wakes_now_and_then_is_not),
        cmocka_unit_test(a_process_with_two_threads_is_not),
        cmocka_unit_test(what_is_no_process_is_not),
    };
    return run_all(tests);
}
