/* SPDX-License-Identifier: MIT */
#include "record/launch/signals.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

/* Two signals within this time are one request to stop: timeout(1) signals its child, and then the process group. On a
 * busy machine some time passes in between. */
#define ONE_REQUEST_NS 100000000u

enum meaning {
    MEANING_STOP,   /* pyreel-record stops cleanly, at the second request at once */
    MEANING_HANGUP, /* pyreel-record stops cleanly, unless signals_user_keep() said that it is for another purpose */
    MEANING_USER,   /* for pyreel-record if signals_user_keep() said so, or if there is no command */
    MEANING_END,    /* for the command; without a command, pyreel-record stops cleanly */
    MEANING_NONE,   /* for the command */
};

/* Signals that end a program that does not handle them, and SIGWINCH, for which some servers wait. SIGALRM gets another
 * handler with --blocking. */
static const struct handled {
    int number;
    enum meaning meaning;
    bool terminal; /* a terminal sends the signal to the whole foreground process group */
} handled[] = {
    { SIGINT, MEANING_STOP, true },   { SIGQUIT, MEANING_STOP, true },   { SIGTERM, MEANING_STOP, false },
    { SIGHUP, MEANING_HANGUP, true }, { SIGUSR1, MEANING_USER, false },  { SIGUSR2, MEANING_USER, false },
    { SIGALRM, MEANING_END, false },  { SIGVTALRM, MEANING_END, false }, { SIGPROF, MEANING_END, false },
    { SIGIO, MEANING_END, false },    { SIGPWR, MEANING_END, false },    { SIGSTKFLT, MEANING_END, false },
    { SIGWINCH, MEANING_NONE, true },
};
static const struct handled real_time = { 0, MEANING_END, false }; /* SIGRTMIN to SIGRTMAX */

enum { USER_1, USER_2, USER_HANGUP, USER_SIGNALS };

static volatile sig_atomic_t stop_signal;
static volatile sig_atomic_t kept[USER_SIGNALS]; /* whether signals_user_keep() was called */
static volatile pid_t passed_on_to;
static volatile uint64_t requested_ns; /* when the first MEANING_STOP arrived (monotonic); 0: none did */
static atomic_uint continued_count;
static atomic_uint user_counts[USER_SIGNALS];

static const struct handled *handled_find(int number)
{
    for (size_t i = 0; i < countof(handled); i++)
        if (handled[i].number == number)
            return &handled[i];
    return &real_time;
}

static size_t user_index(int number)
{
    return number == SIGHUP ? USER_HANGUP : number == SIGUSR2 ? USER_2 : USER_1;
}

/* Whether the process is in another session than pyreel-record: what happens at the terminal of pyreel-record is not
 * for that process. */
static bool has_own_session(pid_t pid)
{
    return getsid(pid) != getsid(0);
}

/* Whether the hangup of the terminal reaches pyreel-record alone. */
static bool leads_session(void)
{
    return getsid(0) == getpid();
}

static void signal_pass_on(pid_t pid, int number, bool from_terminal)
{
    const bool hung_up = from_terminal && number == SIGHUP && leads_session();
    if (from_terminal && (has_own_session(pid) || (getpgid(pid) == getpgrp() && !hung_up)))
        return;
    kill(pid, number);
    if (hung_up)
        kill(pid, SIGCONT); /* the kernel sends both */
}

/* Notes a request to stop. A key is pressed once for each request. */
static void ask_to_stop(int number, bool from_terminal)
{
    const uint64_t now_ns = clock_now_ns();
    const bool same_request = !from_terminal && now_ns - requested_ns < ONE_REQUEST_NS;
    if (requested_ns && !same_request)
        _exit(128 + number);
    if (!requested_ns)
        requested_ns = now_ns;
    stop_signal = number;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    const int saved = errno;
    const pid_t command = passed_on_to;
    const struct handled *row = handled_find(number);
    const bool from_terminal = row->terminal && info->si_code == SI_KERNEL;
    const bool is_user = row->meaning == MEANING_USER && (kept[user_index(number)] || !command);
    const bool is_kept_hangup = row->meaning == MEANING_HANGUP && kept[USER_HANGUP] && !from_terminal;
    if (is_user || is_kept_hangup)
        atomic_fetch_add(&user_counts[user_index(number)], 1);
    else if (command)
        signal_pass_on(command, number, from_terminal);
    if (row->meaning == MEANING_STOP)
        ask_to_stop(number, from_terminal);
    else if (!stop_signal &&
             ((row->meaning == MEANING_HANGUP && !is_kept_hangup) || (row->meaning == MEANING_END && !command)))
        stop_signal = number;
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
    atomic_fetch_add(&continued_count, 1);
}

/* Whether nohup(1) made pyreel-record ignore SIGHUP: the signal stays ignored then. */
static bool under_nohup(void)
{
    struct sigaction hangup;
    return sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
}

void signals_handle(void)
{
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < countof(handled); i++)
        if (handled[i].number != SIGHUP || !under_nohup())
            sigaction(handled[i].number, &action, NULL);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        sigaction(number, &action, NULL);
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

void signals_user_keep(int number)
{
    kept[user_index(number)] = 1;
}

uint32_t signals_user_count(int number)
{
    return atomic_load(&user_counts[user_index(number)]);
}

uint32_t signals_continued(void)
{
    return atomic_load(&continued_count);
}
