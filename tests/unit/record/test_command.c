/* SPDX-License-Identifier: MIT */
#include "record/command.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void exit_codes_are_those_of_a_shell(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        int code;
    } rows[] = {
        { "exit 0", 0 },          { "exit 3", 3 },          { "exit 255", 255 },
        { "kill -TERM $$", 143 }, { "kill -KILL $$", 137 }, { "kill -INT $$", 130 },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        char *arguments[] = { (char *)"sh", (char *)"-c", (char *)rows[i].script, NULL };
        struct command command;
        struct fault why = { 0 };
        assert_true(command_prepare(&command, arguments, false, &why));
        assert_false(command_ended(&command));
        assert_int_equal(command_run(&command, arguments, &why), 0);
        command_wait(&command);
        assert_true(command_ended(&command));
        assert_int_equal(command_exit_code(&command), rows[i].code);
    }
}

static void a_command_that_can_not_run_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *program;
        int code;
        const char *reason;
    } rows[] = {
        { "/no/such/program", 127, "cannot run /no/such/program: No such file or directory" },
        { "no-such-program-anywhere", 127, "cannot run no-such-program-anywhere: No such file or directory" },
        { "/etc/passwd", 126, "cannot run /etc/passwd: Permission denied" },
        { "/etc", 126, "cannot run /etc: Permission denied" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        char *arguments[] = { (char *)rows[i].program, NULL };
        struct command command;
        struct fault why = { 0 };
        assert_true(command_prepare(&command, arguments, false, &why));
        assert_int_equal(command_run(&command, arguments, &why), rows[i].code);
        assert_string_equal(why.text, rows[i].reason);
        assert_true(command_ended(&command));
    }
}

/* It waits at its gate until it may run: nothing of it happens before. */
static void a_command_waits_for_its_start(void **state)
{
    (void)state;
    int said[2];
    char word[8] = "";
    assert_int_equal(pipe(said), 0);
    char script[64];
    snprintf(script, sizeof(script), "echo went >&%d", said[1]);
    char *arguments[] = { (char *)"sh", (char *)"-c", script, NULL };
    struct command command;
    assert_true(command_prepare(&command, arguments, false, NULL));
    struct pollfd ready = { .fd = said[0], .events = POLLIN };
    assert_int_equal(poll(&ready, 1, 50), 0);
    assert_int_equal(command_run(&command, arguments, NULL), 0);
    assert_int_equal(poll(&ready, 1, 10000), 1);
    assert_int_equal(read(said[0], word, 5), 5);
    assert_string_equal(word, "went\n");
    command_wait(&command);
    close(said[0]);
    close(said[1]);
}

static void a_cancelled_command_never_runs(void **state)
{
    (void)state;
    char *arguments[] = { (char *)"sh", (char *)"-c", (char *)"exit 7", NULL };
    struct command command;
    assert_true(command_prepare(&command, arguments, false, NULL));
    const pid_t pid = command.pid;
    command_cancel(&command);
    assert_true(command.ended);
    assert_int_equal(command_exit_code(&command), 125);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    command_cancel(&command);
    struct command none = { 0 };
    command_cancel(&none);
}

static void its_output_goes_where_it_is_told(void **state)
{
    (void)state;
    for (int to_stderr = 0; to_stderr < 2; to_stderr++) {
        int out[2], err[2];
        char word[8] = "";
        assert_int_equal(pipe(out), 0);
        assert_int_equal(pipe(err), 0);
        fflush(NULL);
        const int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        char *arguments[] = { (char *)"echo", (char *)"said", NULL };
        struct command command;
        command_prepare(&command, arguments, to_stderr, NULL);
        command_run(&command, arguments, NULL);
        command_wait(&command);
        dup2(saved_out, STDOUT_FILENO);
        dup2(saved_err, STDERR_FILENO);
        close(out[1]);
        close(err[1]);
        assert_int_equal(read(to_stderr ? err[0] : out[0], word, 5), 5);
        assert_string_equal(word, "said\n");
        assert_int_equal(read(to_stderr ? out[0] : err[0], word, 5), 0);
        close(out[0]);
        close(err[0]);
        close(saved_out);
        close(saved_err);
    }
}

/* In a process of its own, since the second signal ends it: the exit code tells what became of it. */
static int thread_status_of(void (*story)(void))
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        story();
        _exit(99);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void stop_once(void)
{
    signals_handle(NULL);
    if (signals_stop() != 0)
        _exit(1);
    raise(SIGTERM);
    _exit(signals_stop() == SIGTERM ? 42 : 2);
}

/* timeout(1) sends two in a row: they are one. */
static void stop_by_timeout(void)
{
    signals_handle(NULL);
    raise(SIGTERM);
    raise(SIGTERM);
    _exit(signals_stop() == SIGTERM ? 43 : 2);
}

static void stop_twice(void)
{
    signals_handle(NULL);
    raise(SIGINT);
    usleep(200000);
    raise(SIGTERM);
}

/* A signal that was sent to us is passed on to the command, which it ends. */
static void pass_on(void)
{
    char *arguments[] = { (char *)"sleep", (char *)"100", NULL };
    struct command command;
    if (!command_prepare(&command, arguments, false, NULL))
        _exit(1);
    signals_handle(&command);
    if (command_run(&command, arguments, NULL) != 0)
        _exit(2);
    kill(getpid(), SIGUSR1);
    command_wait(&command);
    _exit(signals_stop() == 0 ? command_exit_code(&command) - 100 : 3);
}

static void signals_stop_us_cleanly_then_at_once(void **state)
{
    (void)state;
    int status = thread_status_of(stop_once);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    status = thread_status_of(stop_by_timeout);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 43);
    status = thread_status_of(stop_twice);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
    status = thread_status_of(pass_on);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 28 + SIGUSR1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes_are_those_of_a_shell),  cmocka_unit_test(a_command_that_can_not_run_is_told),
        cmocka_unit_test(a_command_waits_for_its_start),    cmocka_unit_test(a_cancelled_command_never_runs),
        cmocka_unit_test(its_output_goes_where_it_is_told), cmocka_unit_test(signals_stop_us_cleanly_then_at_once),
    };
    return run_all(tests);
}
