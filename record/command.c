/* SPDX-License-Identifier: MIT */
#include "record/command.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127
#define LOOK_AGAIN_NS       1000000u /* at a command that stopped and has not ended */
#define ONE_SIGNAL_NS       500000u  /* timeout(1) sends its signal to us and, within microseconds, to our group */

static volatile sig_atomic_t stop_signal;
static volatile sig_atomic_t continued;
static volatile pid_t passed_on_to;
static volatile uint64_t stopped_ns; /* when stop_signal came */

/* ---- the command ---- */

static void run_child(char **arguments, int gate, int verdict, bool to_stderr)
{
    char go;
    if (read(gate, &go, 1) != 1)
        _exit(EXIT_OURS);
    if (to_stderr)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(arguments[0], arguments);
    const int cause = errno;
    if (write(verdict, &cause, sizeof(cause)) != sizeof(cause))
        _exit(EXIT_OURS);
    _exit(EXIT_NOT_FOUND);
}

bool command_prepare(struct command *command, char **arguments, bool to_stderr, struct fault *why)
{
    int gate[2], verdict[2];
    *command = (struct command){ .gate = -1, .verdict = -1 };
    if (pipe2(gate, O_CLOEXEC) != 0 || pipe2(verdict, O_CLOEXEC) != 0)
        return fault(why, "cannot make a pipe: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid < 0)
        return fault(why, "cannot start a process: %s", strerror(errno));
    if (pid == 0) {
        close(gate[1]);
        run_child(arguments, gate[0], verdict[1], to_stderr);
    }
    close(gate[0]);
    close(verdict[1]);
    *command = (struct command){ .pid = pid, .gate = gate[1], .verdict = verdict[0] };
    return true;
}

static void open_gate(struct command *command)
{
    const ssize_t done = write(command->gate, "g", 1);
    (void)done; /* when it can't be written the child is gone, which its verdict or end will tell */
    close(command->gate);
    command->gate = -1;
}

int command_run(struct command *command, char **arguments, struct fault *why)
{
    int cause = 0;
    ssize_t got;
    open_gate(command);
    do
        got = read(command->verdict, &cause, sizeof(cause));
    while (got < 0 && errno == EINTR);
    close(command->verdict);
    command->verdict = -1;
    if (got != sizeof(cause))
        return 0; /* it was closed by a successful exec */
    command_wait(command);
    fault(why, "cannot run %s: %s", arguments[0], strerror(cause));
    return cause == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

void command_cancel(struct command *command)
{
    if (command->pid == 0 || command->ended)
        return;
    close(command->gate); /* it ends when it sees that nobody will open it */
    close(command->verdict);
    command->gate = command->verdict = -1;
    command_wait(command);
}

static bool is_end(const siginfo_t *info)
{
    return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED;
}

/* Whether it has ended. A child that we trace is waited for when it stops, too, whether asked for or not: that is no
 * end. Its number is free for others once it is reaped: signals must not be passed on to it any more then. */
static bool wait_for(struct command *command, int options)
{
    siginfo_t info = { 0 };
    int done;
    if (command->ended)
        return true;
    do
        done = waitid(P_PID, (id_t)command->pid, &info, WEXITED | WNOWAIT | options);
    while (done != 0 && errno == EINTR);
    if (done == 0 && !is_end(&info))
        return false;
    passed_on_to = 0;
    command->ended = true;
    waitpid(command->pid, &command->wait_status, 0);
    return true;
}

bool command_ended(struct command *command)
{
    return wait_for(command, WNOHANG);
}

void command_wait(struct command *command)
{
    while (!wait_for(command, 0))
        clock_sleep_until(clock_now_ns() + LOOK_AGAIN_NS);
}

int command_exit_code(const struct command *command)
{
    if (WIFSIGNALED(command->wait_status))
        return 128 + WTERMSIG(command->wait_status);
    return WEXITSTATUS(command->wait_status);
}

/* ---- signals ---- */

static const struct {
    int number;
    bool stops; /* us; the others are for the command only */
} handled[] = {
    { SIGINT, true }, { SIGTERM, true }, { SIGHUP, true }, { SIGQUIT, true }, { SIGUSR1, false }, { SIGUSR2, false },
};

static bool stops_us(int number)
{
    for (size_t i = 0; i < countof(handled); i++)
        if (handled[i].number == number)
            return handled[i].stops;
    return false;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    const int saved = errno;
    const bool from_terminal = info->si_code == SI_KERNEL;
    if (passed_on_to && !from_terminal)
        kill(passed_on_to, number);
    if (stops_us(number)) {
        const uint64_t now = clock_now_ns();
        const bool same_event = !from_terminal && now - stopped_ns < ONE_SIGNAL_NS;
        if (stop_signal && !same_event)
            _exit(128 + number);
        if (!stop_signal)
            stopped_ns = now;
        stop_signal = number;
    }
    errno = saved;
}

/* Only there so that the end of the command interrupts a sleep. */
static void on_child(int number)
{
    (void)number;
}

static void on_continue(int number)
{
    (void)number;
    continued = 1;
}

/* nohup has us ignore the end of the terminal: that stays so. */
static bool under_nohup(void)
{
    struct sigaction hangup;
    return sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
}

void signals_handle(const struct command *command)
{
    passed_on_to = command ? command->pid : 0;
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < countof(handled); i++)
        if ((command || handled[i].stops) && !(handled[i].number == SIGHUP && under_nohup()))
            sigaction(handled[i].number, &action, NULL);
    struct sigaction child = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };
    sigemptyset(&child.sa_mask);
    sigaction(SIGCHLD, &child, NULL);
    struct sigaction go_on = { .sa_handler = on_continue, .sa_flags = SA_RESTART };
    sigemptyset(&go_on.sa_mask);
    sigaction(SIGCONT, &go_on, NULL);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), with a message, ... */
    signal(SIGXFSZ, SIG_IGN); /* ... and so is the limit for files (ulimit -f) */
}

int signals_stop(void)
{
    return stop_signal;
}

bool signals_continued(void)
{
    const bool was_stopped = continued;
    continued = 0;
    return was_stopped;
}
