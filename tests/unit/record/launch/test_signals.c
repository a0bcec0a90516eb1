/* SPDX-License-Identifier: MIT */
#include "record/launch/signals.h"

#include "record/launch/command.h"
#include "tests/fakes/fake_remote.h"
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

static int exit_code_of(void (*story)(void))
{
    const int status = wait_status_of(story);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void stop_once(void)
{
    signals_handle();
    if (signals_stop() != 0)
        _exit(1);
    raise(SIGTERM);
    _exit(signals_stop() == SIGTERM ? 42 : 2);
}

#define MS UINT64_C(1000000)

/* timeout(1) sends two in a row: they are one. */
static void stop_by_timeout(void)
{
    signals_handle();
    fake_remote_time(1000 * MS, 0);
    raise(SIGTERM);
    fake_remote_time(1099 * MS, 0);
    raise(SIGTERM);
    _exit(signals_stop() == SIGTERM ? 43 : 2);
}

static void stop_twice(void)
{
    signals_handle();
    fake_remote_time(1000 * MS, 0);
    raise(SIGINT);
    fake_remote_time(1100 * MS, 0);
    raise(SIGTERM);
}

/* The shell and the kernel send one each. A request to stop may follow. */
static void hang_up_often(void)
{
    signals_handle();
    for (int i = 0; i < 3; i++) {
        fake_remote_time((1000 + 200 * (uint64_t)i) * MS, 0);
        raise(SIGHUP);
    }
    raise(SIGTERM);
    _exit(signals_stop() == SIGTERM ? 44 : 2);
}

static void get_a_signal_for_programs(void)
{
    signals_handle();
    raise(SIGRTMIN + 1);
    _exit(signals_stop() == SIGRTMIN + 1 ? 45 : 2);
}

static void get_user_signals(void)
{
    signals_handle();
    raise(SIGUSR2);
    raise(SIGUSR1);
    raise(SIGUSR2);
    raise(SIGWINCH);
    _exit(signals_stop() == 0 && signals_user_count(SIGUSR1) == 1 && signals_user_count(SIGUSR2) == 2 ? 46 : 2);
}

/* Starts a command that sleeps. */
static void start(struct command *command)
{
    char *arguments[] = { (char *)"sleep", (char *)"100", NULL };
    if (!command_prepare(command, arguments, false, NULL))
        _exit(1);
    signals_pass_on_to(command->pid);
    signals_handle();
    if (command_run(command, arguments, NULL) != 0)
        _exit(2);
}

/* A signal that was sent to us is passed on to the command, which it ends. */
static void pass_on(int number)
{
    struct command command;
    start(&command);
    kill(getpid(), number);
    command_wait(&command);
    _exit(signals_stop() == 0 && signals_user_count(number) == 0 ? command_exit_code(&command) - 100 : 3);
}

static void pass_on_user_signal(void)
{
    pass_on(SIGUSR1);
}

static void pass_on_alarm(void)
{
    pass_on(SIGALRM);
}

static void keep_user_signal(void)
{
    struct command command;
    start(&command);
    signals_user_keep(SIGUSR2);
    kill(getpid(), SIGUSR2);
    kill(getpid(), SIGUSR1);
    command_wait(&command);
    const bool kept = signals_user_count(SIGUSR2) == 1 && signals_user_count(SIGUSR1) == 0;
    _exit(kept ? command_exit_code(&command) - 100 : 3);
}

static void a_signal_stops_us_cleanly_and_a_second_one_at_once(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(stop_once), 42);
    assert_int_equal(exit_code_of(stop_by_timeout), 43);
    assert_int_equal(exit_code_of(stop_twice), 128 + SIGTERM);
    assert_int_equal(exit_code_of(get_a_signal_for_programs), 45);
}

static void hangups_never_end_us_at_once(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(hang_up_often), 44);
}

static void user_signals_are_counted_or_passed_on(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(get_user_signals), 46);
    assert_int_equal(exit_code_of(pass_on_user_signal), 28 + SIGUSR1);
    assert_int_equal(exit_code_of(pass_on_alarm), 28 + SIGALRM);
    assert_int_equal(exit_code_of(keep_user_signal), 28 + SIGUSR1);
}

TEST_FILE(signals)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_stops_us_cleanly_and_a_second_one_at_once),
        cmocka_unit_test(hangups_never_end_us_at_once),
        cmocka_unit_test(user_signals_are_counted_or_passed_on),
    };
    return run_all(tests);
}
