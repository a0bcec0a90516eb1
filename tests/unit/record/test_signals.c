/* SPDX-License-Identifier: MIT */
#include "record/launch/signals.h"

#include "record/launch/command.h"
#include "tests/fakes/testing.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a process of its own, since the second signal ends it: the exit code tells what became of it. */
static int wait_status_of(void (*story)(void))
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
    signals_handle(false);
    if (signals_stop() != 0)
        _exit(1);
    raise(SIGTERM);
    _exit(signals_stop() == SIGTERM ? 42 : 2);
}

/* timeout(1) sends two in a row: they are one. */
static void stop_by_timeout(void)
{
    signals_handle(false);
    raise(SIGTERM);
    raise(SIGTERM);
    _exit(signals_stop() == SIGTERM ? 43 : 2);
}

static void stop_twice(void)
{
    signals_handle(false);
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
    signals_pass_on_to(command.pid);
    signals_handle(true);
    if (command_run(&command, arguments, NULL) != 0)
        _exit(2);
    kill(getpid(), SIGUSR1);
    command_wait(&command);
    _exit(signals_stop() == 0 ? command_exit_code(&command) - 100 : 3);
}

static void a_signal_stops_us_cleanly_and_a_second_one_at_once(void **state)
{
    (void)state;
    int status = wait_status_of(stop_once);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    status = wait_status_of(stop_by_timeout);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 43);
    status = wait_status_of(stop_twice);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
    status = wait_status_of(pass_on);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 28 + SIGUSR1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_stops_us_cleanly_and_a_second_one_at_once),
    };
    return run_all(tests);
}
