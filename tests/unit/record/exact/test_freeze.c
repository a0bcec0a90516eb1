/* SPDX-License-Identifier: MIT */
/* Children of ours that count as fast as they can, in memory that we share: frozen they must not. */
#include "record/exact/freeze.h"

#include "record/process/clock.h"
#include "record/process/procfs.h"
#include "tests/fakes/testing.h"

#include <errno.h>
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

#define THREADS  5
#define CROWD    2
#define CHILDREN 8

struct shared {
    _Atomic uint64_t counts, births, signals;
};

static struct shared *shared;
static unsigned freezes;         /* in each test */
static pid_t children[CHILDREN]; /* that a test started and has not ended; 0 where there is none */

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

/* They are born detached: pthread_detach() of glibc 2.36 looks at a thread that may have gone since it detached it. */
static void bear_threads(void)
{
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (;;) {
        pthread_create(&thread, &detached, count_and_end, NULL);
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

static void replace_child(pid_t old, pid_t new)
{
    size_t i = 0;
    while (i < CHILDREN && children[i] != old)
        i++;
    assert_in_range(i, 0, CHILDREN - 1);
    children[i] = new;
}

/* Forks one that is its own: when it crashes it ends, and does not go on with our tests. */
static pid_t fork_child(void)
{
    const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) {
        replace_child(0, child);
        return child;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        signal(own[i], SIG_DFL);
    return 0;
}

static pid_t start(void (*live)(void))
{
    atomic_store(&shared->counts, 0);
    atomic_store(&shared->births, 0);
    atomic_store(&shared->signals, 0);
    random(); /* another one for each child */
    const pid_t child = fork_child();
    if (child != 0)
        return child;
    signal(SIGRTMIN, on_signal);
    live();
    _exit(0);
}

/* How it ended when it had not lived until now; else by SIGKILL. */
static int end(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    replace_child(child, 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_lived_until_now(int status)
{
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail_msg("the child ended before: status %#x", (unsigned)status);
}

/* After a test that failed: the next one is to have the machine and the counts for itself. */
static int end_children(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHILDREN; i++) {
        if (children[i] == 0)
            continue;
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
        children[i] = 0;
    }
    return 0;
}

/* Waits until a child has counted on; on a machine that is busy it may be long before it can. */
static void wait_for_life(void)
{
    const uint64_t counts = atomic_load(&shared->counts);
    wait_until(atomic_load(&shared->counts) > counts);
}

/* Freezes a child again and again, and sees that it stands still. */
static void assert_freezes(struct freeze *freeze)
{
    for (unsigned i = 0; i < freezes; i++) {
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
    struct freeze freeze = { .patience_ns = PATIENCE_S * UINT64_C(1000000000) };
    struct fault why = { 0 };
    const pid_t child = start(live);
    wait_for_life();
    if (!freeze_open(&freeze, child, &why))
        fail_msg("%s", why.text);
    assert_freezes(&freeze);
    assert_int_equal(freeze.stopped_count, 0);
    while (freeze_settle(&freeze)) /* a thread that was deep in the kernel in the last freeze */
        nap_us(100);
    wait_for_life();
    freeze_close(&freeze);
    assert_lived_until_now(end(child));
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

static char state_of(pid_t pid)
{
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return strrchr(text, ')')[2];
}

/* A main thread that was asked to stop in its last moments never does. */
static void test_a_main_thread_that_ended_is_not_waited_for(void **state)
{
    (void)state;
    struct freeze freeze = { .patience_ns = PATIENCE_S * UINT64_C(1000000000) };
    struct fault why = { 0 };
    const pid_t child = start(lose_main_thread);
    wait_for_life();
    wait_until(state_of(child) == 'Z');
    assert_true(freeze_open(&freeze, child, &why));
    assert_true(freeze_begin(&freeze));
    freeze_end(&freeze);
    size_t main_thread = 0;
    while (main_thread < freeze.count && freeze.threads[main_thread].tid != child)
        main_thread++;
    assert_in_range(main_thread, 0, freeze.count - 1);
    freeze.threads[main_thread].hold = HOLD_ASKED;
    assert_false(freeze_settle(&freeze));
    freeze_close(&freeze);
    end(child);
}

/* For as long as it was frozen. */
static void test_how_long_it_lasted_is_noted(void **state)
{
    (void)state;
    struct freeze freeze = { .patience_ns = PATIENCE_S * UINT64_C(1000000000) };
    struct fault why = { 0 };
    const pid_t child = start(count_alone);
    wait_for_life();
    assert_true(freeze_open(&freeze, child, &why));
    assert_true(freeze_begin(&freeze));
    const uint64_t frozen = clock_now_ns();
    nap_us(2000);
    const uint64_t thawing = clock_now_ns();
    freeze_end(&freeze);
    assert_true(freeze.lasted_ns >= thawing - frozen);
    assert_true(freeze.lasted_ns <= clock_now_ns() - freeze.began_ns);
    freeze_close(&freeze);
    end(child);
}

static void test_signals_arrive(void **state)
{
    (void)state;
    struct freeze freeze = { .patience_ns = PATIENCE_S * UINT64_C(1000000000) };
    struct fault why = { 0 };
    const pid_t child = start(count_in_threads);
    wait_for_life();
    assert_true(freeze_open(&freeze, child, &why));
    for (unsigned i = 0; i < freezes; i++) {
        kill(child, SIGRTMIN);
        freeze_begin(&freeze);
        kill(child, SIGRTMIN);
        freeze_end(&freeze);
    }
    wait_until(atomic_load(&shared->signals) == 2 * freezes);
    freeze_close(&freeze);
    end(child);
}

static void test_a_stopped_process_stays_stopped(void **state)
{
    (void)state;
    struct freeze freeze = { .patience_ns = PATIENCE_S * UINT64_C(1000000000) };
    struct fault why = { 0 };
    int status;
    const pid_t child = start(count_in_threads);
    wait_for_life();
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(freeze_open(&freeze, child, &why));
    const uint64_t counts = atomic_load(&shared->counts);
    assert_freezes(&freeze);
    assert_int_equal(freeze.stopped_count, freezes);
    assert_int_equal(counts, atomic_load(&shared->counts));
    kill(child, SIGCONT);
    wait_for_life();
    freeze_close(&freeze);
    assert_lived_until_now(end(child));
}

/* Whenever the end comes, it is told to whoever waits for it, once. */
static void test_a_process_that_ends(void **state)
{
    (void)state;
    for (unsigned i = 0; i < freezes; i++) {
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
            nap_us((unsigned)(freeze.lasted_ns / 1000));
        }
        freeze_close(&freeze);
        assert_int_equal(waitpid(child, &status, 0), child);
        replace_child(child, 0);
        assert_true(i % 5 == 4 ? WIFSIGNALED(status) || WIFEXITED(status) : WEXITSTATUS(status) == 7);
    }
}

/* Has a child trace `traced`, says so over the pipe, and stays until it is killed. */
static pid_t start_tracer(pid_t traced)
{
    int said[2];
    char byte;
    assert_int_equal(pipe(said), 0);
    const pid_t child = fork_child();
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
    snprintf(wanted, sizeof(wanted), "process %d (%s) already traces it", (int)tracer, program_invocation_short_name);
    assert_non_null(strstr(why.text, wanted));
    end(tracer);
    why.text[0] = '\0';
    freeze.patience_ns = PATIENCE_S * UINT64_C(1000000000);
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

TEST_FILE(freeze)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_one_thread, end_children),
        cmocka_unit_test_teardown(test_threads, end_children),
        cmocka_unit_test_teardown(test_threads_that_are_born_and_end, end_children),
        cmocka_unit_test_teardown(test_threads_that_end_slowly, end_children),
        cmocka_unit_test_teardown(test_no_main_thread, end_children),
        cmocka_unit_test_teardown(test_a_main_thread_that_ended_is_not_waited_for, end_children),
        cmocka_unit_test_teardown(test_how_long_it_lasted_is_noted, end_children),
        cmocka_unit_test_teardown(test_signals_arrive, end_children),
        cmocka_unit_test_teardown(test_a_stopped_process_stays_stopped, end_children),
        cmocka_unit_test_teardown(test_a_process_that_ends, end_children),
        cmocka_unit_test_teardown(test_a_process_that_another_traces, end_children),
        cmocka_unit_test_teardown(test_no_process, end_children),
    };
    freezes = soak(50);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
