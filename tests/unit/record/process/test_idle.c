/* SPDX-License-Identifier: MIT */
/* Whether a process slept, asked of children of ours that sleep, work, or have several threads. */
#include "record/process/idle.h"

#include "record/process/procfs.h"
#include "tests/fakes/testing.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic unsigned *wakes; /* of a child that wakes now and then */

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void tell_ready(int ready)
{
    if (write(ready, "r", 1) != 1)
        _exit(1);
}

static void *work_on(void *ready)
{
    tell_ready(*(const int *)ready);
    for (volatile unsigned long count = 0;; count++) {
    }
    return NULL;
}

enum life { SLEEPS, WORKS, WAKES, GROWS /* makes a thread that sleeps, each time that it is woken */ };

static void wake(int signal)
{
    (void)signal;
}

static void start_thread(void *(*life)(void *), void *data)
{
    pthread_t thread;
    pthread_create(&thread, NULL, life, data);
}

static void live(enum life life)
{
    for (;;) {
        if (life == SLEEPS || life == GROWS)
            pause();
        else if (life == WAKES)
            usleep(1000);
        if (life == GROWS)
            start_thread(sleep_on, NULL);
        atomic_fetch_add(wakes, 1);
    }
}

/* A process whose main thread has this life, with `sleepers` and `workers` more threads, which are all there. */
static pid_t start_family(enum life life, int sleepers, int workers)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGUSR1, wake);
        for (int i = 0; i < sleepers; i++)
            start_thread(sleep_on, NULL);
        for (int i = 0; i < workers; i++)
            start_thread(work_on, &ready[1]);
        tell_ready(ready[1]);
        live(life);
    }
    for (int i = 0; i < 1 + workers; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
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

/* A look, as the sampler does it: whether the process was known to be as it was at the one before. */
static bool look(struct idle *idle)
{
    const bool still = idle_still(idle);
    if (!still)
        idle_learn(idle);
    return still;
}

static unsigned still_looks(struct idle *idle, unsigned looks)
{
    unsigned still = 0;
    for (unsigned i = 0; i < looks; i++, usleep(500))
        still += look(idle);
    return still;
}

static void a_process_that_sleeps_is_still(void **state)
{
    (void)state;
    const pid_t child = start_child(SLEEPS);
    struct idle idle;
    idle_open(&idle, child);
    assert_false(idle_still(&idle)); /* nobody has looked yet */
    wait_until(look(&idle));         /* it is about to fall asleep */
    assert_int_equal(still_looks(&idle, 20), 20);
    idle_forget(&idle);
    assert_false(idle_still(&idle));
    assert_in_range(still_looks(&idle, 20), 10, 19);
    kill(child, SIGUSR1); /* it wakes and sleeps again */
    wait_until(!idle_still(&idle));
    assert_false(idle_still(&idle));
    wait_until(look(&idle));
    assert_int_equal(still_looks(&idle, 20), 20);
    end_child(child);
    assert_false(idle_still(&idle));
    assert_int_equal(still_looks(&idle, 4), 0);
    idle_close(&idle);
}

static void a_process_that_works_is_not(void **state)
{
    (void)state;
    const pid_t child = start_child(WORKS);
    struct idle idle;
    idle_open(&idle, child);
    assert_int_equal(still_looks(&idle, 40), 0);
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
    for (int i = 0; i < 100; i++) {
        const unsigned before = atomic_load(wakes);
        assert_false(look(&idle));
        wait_until(atomic_load(wakes) >= before + 2);
    }
    end_child(child);
    idle_close(&idle);
}

/* Wakes a thread, and waits until that was seen. */
static void wake_thread(struct idle *idle, pid_t tid)
{
    syscall(SYS_tgkill, idle->pid, tid, SIGUSR1);
    wait_until(!idle_still(idle));
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
        wait_until(look(&idle));
        wake_thread(&idle, tids[i]);
        assert_int_equal(idle.threads[0].tid, tids[i]); /* next time it is asked first */
    }
    wait_until(look(&idle));
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
    assert_int_equal(still_looks(&idle, 40), 0);
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
        wait_until(look(&idle));
        assert_int_equal(idle.count, count);
        wake_thread(&idle, child);
        wait_until(procfs_count_threads(child) == count + 1);
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
    assert_int_equal(still_looks(&idle, 20), 0);
    assert_int_equal(idle.count, 0);
    end_child(child);
    idle_close(&idle);
}

static void what_is_no_process_is_not(void **state)
{
    (void)state;
    struct idle idle;
    idle_open(&idle, 0x7FFFFFFF);
    assert_int_equal(still_looks(&idle, 4), 0);
    idle_close(&idle);
    assert_int_equal(still_looks(&idle, 4), 0);
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
    wakes = mmap(NULL, sizeof(*wakes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return wakes == MAP_FAILED ? 1 : run_all(tests);
}
