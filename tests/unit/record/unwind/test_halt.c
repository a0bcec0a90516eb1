/* SPDX-License-Identifier: MIT */
#include "record/unwind/halt.h"

#include "tests/fakes/leaderless.h"
#include "tests/fakes/testing.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

/* A process that waits for its end. */
static pid_t start(void)
{
    const pid_t child = fork();
    while (child == 0)
        pause();
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void stop(pid_t child)
{
    int status;
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
}

static void go_on(pid_t child)
{
    int status;
    kill(child, SIGCONT);
    assert_int_equal(waitpid(child, &status, WCONTINUED), child);
}

static void a_stopped_process_is_a_halt(void **state)
{
    (void)state;
    struct halt halt = { 0 };
    const pid_t child = start();
    halt_open(&halt, child);
    assert_false(halt_look(&halt, 1 * MS));
    stop(child);
    assert_false(halt_look(&halt, 1 * MS)); /* once for each time */
    assert_true(halt_look(&halt, 2 * MS));
    assert_true(halt_look(&halt, 5 * MS));
    assert_true(halt_look(&halt, 4 * MS));
    assert_int_equal(halt.total_ns[HALT_SIGNAL], 3 * MS);
    go_on(child);
    assert_false(halt_look(&halt, 9 * MS));
    assert_int_equal(halt.total_ns[HALT_SIGNAL], 3 * MS);
    stop(child);
    assert_true(halt_look(&halt, 10 * MS));
    halt_close(&halt);
    assert_false(halt.kind);
    halt_open(&halt, child);
    assert_true(halt_look(&halt, 20 * MS));
    assert_true(halt_look(&halt, 21 * MS));
    assert_int_equal(halt.total_ns[HALT_SIGNAL], 4 * MS);
    end(child);
    assert_false(halt_look(&halt, 22 * MS));
    halt_close(&halt);
}

static void a_process_that_a_debugger_stopped_is_a_halt(void **state)
{
    (void)state;
    struct halt halt = { 0 };
    const pid_t child = start();
    halt_open(&halt, child);
    if (ptrace(PTRACE_SEIZE, child, 0, 0) != 0) {
        end(child);
        halt_close(&halt);
        skip(); /* the sandbox of a build does not let us trace */
    }
    assert_false(halt_look(&halt, 1 * MS));
    assert_int_equal(ptrace(PTRACE_INTERRUPT, child, 0, 0), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(halt_look(&halt, 2 * MS));
    assert_int_equal(halt.kind, HALT_TRACER);
    assert_int_equal(ptrace(PTRACE_DETACH, child, 0, 0), 0);
    end(child);
    halt_close(&halt);
}

static void set_frozen(int file, bool frozen)
{
    assert_int_equal(pwrite(file, frozen ? "frozen 1\n" : "frozen 0\n", 9, 0), 9);
}

/* The state of a frozen process is that of one that sleeps. A signal that stops it is told before. */
static void a_frozen_process_is_a_halt(void **state)
{
    (void)state;
    char path[] = "/tmp/pyreel-halt-XXXXXX";
    struct halt halt = { 0 };
    const pid_t child = start();
    const int file = mkstemp(path);
    assert_true(file >= 0);
    unlink(path);
    set_frozen(file, false);
    halt_open(&halt, child);
    halt.freezer = (struct freezer){ .opened = true, .events = dup(file), .state = -1 };
    uint64_t now_ns = MS;
    assert_false(halt_look(&halt, now_ns));
    set_frozen(file, true);
    wait_until(procfs_sleeps(child, child));
    assert_true(halt_look(&halt, now_ns += MS));
    assert_int_equal(halt.kind, HALT_FROZEN);
    assert_true(halt_look(&halt, now_ns += 4 * MS));
    assert_int_equal(halt.total_ns[HALT_FROZEN], 4 * MS);
    stop(child);
    assert_true(halt_look(&halt, now_ns += MS)); /* it was frozen until then */
    assert_int_equal(halt.kind, HALT_SIGNAL);
    assert_true(halt_look(&halt, now_ns += 2 * MS));
    assert_int_equal(halt.total_ns[HALT_FROZEN], 5 * MS);
    assert_int_equal(halt.total_ns[HALT_SIGNAL], 2 * MS);
    go_on(child);
    set_frozen(file, false);
    assert_false(halt_look(&halt, now_ns + MS));
    halt_close(&halt);
    close(file);
    end(child);
}

/* Any thread knows a halt, as long as it lives. */
static void a_halt_is_known_when_threads_end(void **state)
{
    (void)state;
    struct halt halt = { 0 };
    const pid_t child = leaderless_start();
    halt_open(&halt, child);
    assert_false(halt_look(&halt, 1 * MS));
    for (uint64_t now_ns = 2 * MS; procfs_thread_lives(child, procfs_reader(child)); now_ns += 2 * MS) {
        stop(child);
        assert_true(halt_look(&halt, now_ns));
        go_on(child);
        assert_false(halt_look(&halt, now_ns + MS));
        leaderless_end_thread(child, procfs_reader(child));
    }
    halt_close(&halt);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void what_is_not_open_knows_what_it_is_told(void **state)
{
    (void)state;
    struct halt halt = { 0 };
    assert_false(halt_look(&halt, 1 * MS));
    halt_note(&halt, HALT_SIGNAL, 2 * MS);
    assert_true(halt_look(&halt, 3 * MS));
    halt_note(&halt, HALT_SIGNAL, 4 * MS);
    halt_note(&halt, HALT_NONE, 5 * MS);
    assert_int_equal(halt.total_ns[HALT_SIGNAL], 2 * MS);
    halt_close(&halt);
}

TEST_FILE(halt)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_process_is_a_halt),
        cmocka_unit_test(a_process_that_a_debugger_stopped_is_a_halt),
        cmocka_unit_test(a_frozen_process_is_a_halt),
        cmocka_unit_test(a_halt_is_known_when_threads_end),
        cmocka_unit_test(what_is_not_open_knows_what_it_is_told),
    };
    return run_all(tests);
}
