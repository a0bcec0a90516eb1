/* SPDX-License-Identifier: MIT */
#include "record/launch/signals.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Two signals within this time count as one: timeout(1) signals its child, and then the process group. */
#define ONE_SIGNAL_NS 500000u

static volatile sig_atomic_t stop_signal;
static volatile sig_atomic_t continued;
static volatile pid_t passed_on_to;
static volatile uint64_t stopped_ns; /* when stop_signal arrived (monotonic) */

static const struct {
    int number;
    bool stops; /* stops pyreel-record; other signals are only passed on to the command */
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

/* Does nothing: with a handler, the end of the command interrupts a sleep. */
static void on_child(int number)
{
    (void)number;
}

static void on_continue(int number)
{
    (void)number;
    continued = 1;
}

/* Whether nohup(1) made pyreel-record ignore SIGHUP: the signal stays ignored then. */
static bool under_nohup(void)
{
    struct sigaction hangup;
    return sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
}

void signals_handle(bool with_command)
{
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < countof(handled); i++)
        if ((with_command || handled[i].stops) && !(handled[i].number == SIGHUP && under_nohup()))
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

void signals_pass_on_to(pid_t pid)
{
    passed_on_to = pid;
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
