/* SPDX-License-Identifier: MIT */
/* Children of ours that count as fast as they can, in memory that we share: frozen they must not. */
#include "record/freeze.h"

#include "record/clock.h"
#include "record/procfs.h"
#include "tests/testing.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FREEZES 200
#define THREADS 5
#define CROWD   4

struct shared {
    _Atomic uint64_t counts, births, signals;
};

static struct shared *shared;

static void nap_us(long us)
{
    const struct timespec time = { 0, us * 1000 };
    nanosleep(&time, NULL);
}

/* ---- children ---- */

static void *count_on(void *unused)
{
    for (;;)
        atomic_fetch_add(&shared->counts, 1);
    return unused;
}

static void *count_and_end(void *unused)
{
    for (int i = 0; i < 1000; i++)
        atomic_fetch_add(&shared->counts, 1);
    return unused;
}

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&shared->signals, 1);
}

static void count_alone(void)
{
    count_on(NULL);
}

static void count_in_threads(void)
{
    pthread_t thread;
    for (int i = 1; i < THREADS; i++)
        pthread_create(&thread, NULL, count_on, NULL);
    count_on(NULL);
}

static void bear_threads(void)
{
    pthread_t thread;
    for (;;) {
        if (pthread_create(&thread, NULL, count_and_end, NULL) == 0)
            pthread_detach(thread);
        atomic_fetch_add(&shared->births, 1);
    }
}

static void lose_main_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, count_on, NULL);
    syscall(SYS_exit, 0);
}

static void end_soon(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, count_on, NULL);
    nap_us(random() % 1000);
    _exit(7);
}

static pid_t start(void (*live)(void))
{
    atomic_store(&shared->counts, 0);
    atomic_store(&shared->births, 0);
    atomic_store(&shared->signals, 0);
    random(); /* another one for each child */
    const pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGRTMIN, on_signal);
    live();
    _exit(0);
}

static int end(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void wait_for_life(void)
{
    while (atomic_load(&shared->counts) == 0)
        nap_us(100);
}

/* Freezes a child again and again, and sees that it stands still. */
static void assert_freezes(struct freeze *freeze)
{
    for (int i = 0; i < FREEZES; i++) {
        assert_true(freeze_begin(freeze));
        const uint64_t counts = atomic_load(&shared->counts), births = atomic_load(&shared->births);
        nap_us(i % 10 ? 20 : 1000);
        assert_int_equal(counts, atomic_load(&shared->counts));
        assert_int_equal(births, atomic_load(&shared->births));
        freeze_end(freeze);
        nap_us(i % 7 * 50);
    }
    assert_int_equal(freeze->partial_count, 0);
}

static void assert_stands_still(void (*live)(void))
{
    struct freeze freeze = { .patience_ns = 5000000000u };
    struct fault why = { 0 };
    const pid_t child = start(live);
    wait_for_life();
    if (!freeze_open(&freeze, child, &why))
        fail_msg("%s", why.text);
    assert_freezes(&freeze);
    assert_int_equal(freeze.stopped_count, 0);
    const uint64_t counts = atomic_load(&shared->counts);
    nap_us(100000);
    assert_true(atomic_load(&shared->counts) > counts);
    freeze_close(&freeze);
    assert_true(WIFSIGNALED(end(child)));
}

static void test_one_thread(void **state)
{
    (void)state;
    assert_stands_still(count_alone);
}

static void test_threads(void **state)
{
    (void)state;
    assert_stands_still(count_in_threads);
}

static void test_threads_that_are_born_and_end(void **state)
{
    (void)state;
    assert_stands_still(bear_threads);
}

static void keep_busy(void)
{
    for (volatile int i = 0;; i++)
        ;
}

/* With more to do than processors, a thread that ends stays in the lists for as long as it waits for one. */
static void test_threads_that_end_slowly(void **state)
{
    (void)state;
    pid_t others[CROWD];
    for (size_t i = 0; i < CROWD; i++)
        others[i] = start(keep_busy);
    assert_stands_still(bear_threads);
    for (size_t i = 0; i < CROWD; i++)
        end(others[i]);
}

static void test_no_main_thread(void **state)
{
    (void)state;
    assert_stands_still(lose_main_thread);
}

/* For as long as it was frozen. */
static void test_it_is_to_be_left_alone(void **state)
{
    (void)state;
    struct freeze freeze = { .patience_ns = 5000000000u };
    struct fault why = { 0 };
    const pid_t child = start(count_alone);
    wait_for_life();
    assert_true(freeze_open(&freeze, child, &why));
    assert_true(freeze_begin(&freeze));
    const uint64_t frozen = clock_now_ns();
    nap_us(2000);
    const uint64_t thawing = clock_now_ns();
    freeze_end(&freeze);
    assert_true(freeze.leave_alone_until_ns >= thawing + (thawing - frozen));
    assert_true(freeze.leave_alone_until_ns <= clock_now_ns() + (clock_now_ns() - freeze.began_ns));
    freeze_close(&freeze);
    end(child);
}

static void test_signals_arrive(void **state)
{
    (void)state;
    struct freeze freeze = { .patience_ns = 5000000000u };
    struct fault why = { 0 };
    const pid_t child = start(count_in_threads);
    wait_for_life();
    assert_true(freeze_open(&freeze, child, &why));
    for (int i = 0; i < FREEZES; i++) {
        kill(child, SIGRTMIN);
        freeze_begin(&freeze);
        kill(child, SIGRTMIN);
        freeze_end(&freeze);
    }
    for (int i = 0; i < 5000 && atomic_load(&shared->signals) < 2 * FREEZES; i++)
        nap_us(1000);
    assert_int_equal(atomic_load(&shared->signals), 2 * FREEZES);
    freeze_close(&freeze);
    end(child);
}

static void test_a_stopped_process_stays_stopped(void **state)
{
    (void)state;
    struct freeze freeze = { .patience_ns = 5000000000u };
    struct fault why = { 0 };
    int status;
    const pid_t child = start(count_in_threads);
    wait_for_life();
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(freeze_open(&freeze, child, &why));
    const uint64_t counts = atomic_load(&shared->counts);
    assert_freezes(&freeze);
    assert_int_equal(freeze.stopped_count, FREEZES);
    assert_int_equal(counts, atomic_load(&shared->counts));
    kill(child, SIGCONT);
    nap_us(100000);
    assert_true(atomic_load(&shared->counts) > counts);
    freeze_close(&freeze);
    end(child);
}

/* Whenever the end comes, it is told to whoever waits for it, once. */
static void test_a_process_that_ends(void **state)
{
    (void)state;
    for (int i = 0; i < FREEZES; i++) {
        struct freeze freeze = { 0 };
        struct fault why = { 0 };
        siginfo_t info = { 0 };
        int status;
        const pid_t child = start(end_soon);
        bool open = freeze_open(&freeze, child, &why);
        while (info.si_pid == 0 && open) {
            freeze_begin(&freeze);
            if (i % 5 == 4)
                kill(child, SIGKILL); /* while it is frozen */
            freeze_end(&freeze);
            freeze_settle(&freeze);
            assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT), 0);
        }
        freeze_close(&freeze);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(i % 5 == 4 ? WIFSIGNALED(status) || WIFEXITED(status) : WEXITSTATUS(status) == 7);
    }
}

/* Has a child trace `traced`, says so over the pipe, and stays until it is killed. */
static pid_t start_tracer(pid_t traced)
{
    int said[2];
    char byte;
    assert_int_equal(pipe(said), 0);
    const pid_t child = fork();
    if (child == 0) {
        const bool good = ptrace(PTRACE_SEIZE, traced, NULL, NULL) == 0;
        _exit(write(said[1], good ? "y" : "n", 1) == 1 ? pause() : 1);
    }
    close(said[1]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    close(said[0]);
    if (byte == 'y')
        return child;
    end(child);
    return 0;
}

static void test_a_process_that_another_traces(void **state)
{
    (void)state;
    struct freeze freeze = { 0 };
    struct fault why = { 0 };
    char wanted[64];
    const pid_t child = start(count_alone);
    wait_for_life();
    const pid_t tracer = start_tracer(child);
    if (tracer == 0) {
        end(child);
        skip(); /* a security module lets parents only */
    }
    assert_false(freeze_open(&freeze, child, &why));
    snprintf(wanted, sizeof(wanted), "process %d (test_freeze) traces it", (int)tracer);
    assert_non_null(strstr(why.text, wanted));
    end(tracer);
    why.text[0] = '\0';
    freeze.patience_ns = 5000000000u;
    assert_true(freeze_open(&freeze, child, &why));
    assert_freezes(&freeze);
    freeze_close(&freeze);
    end(child);
}

static void test_no_process(void **state)
{
    (void)state;
    struct freeze freeze = { 0 };
    struct fault why = { 0 };
    const pid_t child = start(end_soon);
    end(child);
    assert_false(freeze_open(&freeze, child, &why));
    freeze_close(&freeze);
    freeze_close(&freeze);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_threads_that_are_born_and_end),
        cmocka_unit_test(test_threads_that_end_slowly),
        cmocka_unit_test(test_no_main_thread),
        cmocka_unit_test(test_it_is_to_be_left_alone),
        cmocka_unit_test(test_signals_arrive),
        cmocka_unit_test(test_a_stopped_process_stays_stopped),
        cmocka_unit_test(test_a_process_that_ends),
        cmocka_unit_test(test_a_process_that_another_traces),
        cmocka_unit_test(test_no_process),
    };
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
