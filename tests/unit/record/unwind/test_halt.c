/* SPDX-License-Identifier: MIT */
#include "record/unwind/halt.h"

#include "tests/fakes/testing.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
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
    assert_int_equal(halt.total_ns, 3 * MS);
    go_on(child);
    assert_false(halt_look(&halt, 9 * MS));
    assert_int_equal(halt.total_ns, 3 * MS);
    stop(child);
    assert_true(halt_look(&halt, 10 * MS));
    halt_close(&halt);
    assert_false(halt.stands);
    halt_open(&halt, child);
    assert_true(halt_look(&halt, 20 * MS));
    assert_true(halt_look(&halt, 21 * MS));
    assert_int_equal(halt.total_ns, 4 * MS);
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
    assert_int_equal(ptrace(PTRACE_DETACH, child, 0, 0), 0);
    end(child);
    halt_close(&halt);
}

static void what_is_not_open_knows_what_it_is_told(void **state)
{
    (void)state;
    struct halt halt = { 0 };
    assert_false(halt_look(&halt, 1 * MS));
    halt_note(&halt, true, 2 * MS);
    assert_true(halt_look(&halt, 3 * MS));
    halt_note(&halt, true, 4 * MS);
    halt_note(&halt, false, 5 * MS);
    assert_int_equal(halt.total_ns, 2 * MS);
    halt_close(&halt);
}

TEST_FILE(halt)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_process_is_a_halt),
        cmocka_unit_test(a_process_that_a_debugger_stopped_is_a_halt),
        cmocka_unit_test(what_is_not_open_knows_what_it_is_told),
    };
    return run_all(tests);
}
