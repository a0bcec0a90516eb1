/* SPDX-License-Identifier: MIT */
#include "record/launch/command.h"

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
    assert_int_equal(poll(&ready, 1, PATIENCE_S * 1000), 1);
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

TEST_FILE(command)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes_are_those_of_a_shell),  cmocka_unit_test(a_command_that_can_not_run_is_told),
        cmocka_unit_test(a_command_waits_for_its_start),    cmocka_unit_test(a_cancelled_command_never_runs),
        cmocka_unit_test(its_output_goes_where_it_is_told),
    };
    setenv("PATH", "/usr/bin:/bin", 1); /* a folder that we may not search would be another reason */
    return run_all(tests);
}
