/* SPDX-License-Identifier: MIT */
#include "record/exact/freeze.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/process/procfs.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_NS    50000000u   /* default of freeze->patience_ns */
#define LASTS_MOST_NS  1000000000u /* limit of freeze->lasted_ns: in a longer freeze the recorder itself was stopped */
#define LOOK_AGAIN_NS  2000000u    /* how often to check whether a thread that has not stopped waits in the kernel */
#define LINKS_OF_TASKS 2           /* /proc/PID/task has one link per thread, and this number of others */

/* ---- signals to the recorder ---- */

/* State for the signal handlers, which cannot see a `struct freeze`. */
static volatile sig_atomic_t holding;    /* number of processes that are frozen, or about to be */
static volatile sig_atomic_t stop_later; /* a ^Z arrived during a freeze */
static volatile sig_atomic_t seizing;    /* a PTRACE_SEIZE is in progress */
static sigjmp_buf give_up_seizing;

/* Interrupts a wait for a thread. PTRACE_SEIZE continues after a signal, so the handler leaves it with siglongjmp().
 * Without that, execve causes a deadlock: the process waits until the recorder reaps its other threads, and the
 * recorder waits in PTRACE_SEIZE. */
static void on_alarm(int number)
{
    (void)number;
    if (!seizing)
        return;
    seizing = 0;
    siglongjmp(give_up_seizing, 1);
}

/* ^Z stops the recorder, but not during a freeze: the frozen processes would stay frozen. */
static void on_terminal_stop(int number)
{
    (void)number;
    if (holding)
        stop_later = 1;
    else
        raise(SIGSTOP);
}

static void freeze_handle_signals(void)
{
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_NODEFER }, before;
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    action = (struct sigaction){ .sa_handler = on_terminal_stop, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGTSTP, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGTSTP, &action, NULL);
}

/* Turns the timer on or off. The timer repeats, because a wait may begin right after an alarm. */
static void set_timer(struct freeze *freeze, bool on)
{
    const struct timespec step = { .tv_nsec = on ? LOOK_AGAIN_NS : 0 };
    const struct itimerspec when = { .it_value = step, .it_interval = step };
    if (freeze->timed)
        timer_settime(freeze->timer, 0, &when, NULL);
}

/* ---- one thread ---- */

/* The letter of a thread's state; 0: there is no such thread. In /proc/.../stat, the state follows the thread's name,
 * which may have any characters, so the last ")" ends the name. */
static char frozen_thread_state(const struct freeze *freeze, pid_t tid)
{
    char path[64], stat[512];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)freeze->pid, (int)tid);
    FILE *file = fopen(path, "re");
    const size_t size = file ? fread(stat, 1, sizeof(stat) - 1, file) : 0;
    if (file)
        fclose(file);
    stat[size] = '\0';
    const char *rest = strrchr(stat, ')');
    return rest && rest[1] == ' ' ? rest[2] : 0;
}

static bool is_dead(char state)
{
    return state == 'Z' || state == 'X';
}

enum waited {
    WAITED_STOPPED,
    WAITED_RUNNING, /* or interrupted by a signal */
    WAITED_GONE,
};

/* Reaps a thread that has ended: a process cannot end before its tracer has reaped its threads. The exception is the
 * main thread of a child of the recorder: command_wait() reaps the child, and needs its exit status. */
static void freeze_reap(const struct freeze *freeze, pid_t tid)
{
    if (tid != freeze->pid || !freeze->child)
        waitpid(tid, NULL, __WALL | WNOHANG);
}

/* Waits for a seized thread to stop; with WNOHANG, only checks. Leaves the status for a later waitid(). */
static enum waited frozen_thread_wait(const struct freeze *freeze, struct frozen_thread *thread, int options,
                                      bool *by_signal)
{
    siginfo_t info = { 0 };
    const int done = waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL | options);
    if (done != 0 && errno != EINTR)
        return WAITED_GONE;
    if (info.si_pid == 0) {
        /* No status. A dead thread's status comes a moment later, and that of a main thread after all others have
         * ended. If the thread is neither traced nor dead, it is gone. A child of the recorder can still be waited for
         * then, when another of its threads has taken over the number (execve). */
        const bool ours = ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) == 0 ||
                          is_dead(frozen_thread_state(freeze, thread->tid));
        return ours ? WAITED_RUNNING : WAITED_GONE;
    }
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
        freeze_reap(freeze, thread->tid);
        return WAITED_GONE;
    }
    const int event = info.si_status >> 8, signal = info.si_status & 0xff;
    thread->hold = HOLD_STOPPED;
    thread->signal = event ? 0 : signal;
    *by_signal |= event == PTRACE_EVENT_STOP && signal != SIGTRAP;
    return WAITED_STOPPED;
}

/* Seizes a thread. Returns whether the recorder traces the thread. PTRACE_O_TRACEEXIT makes an exiting thread stop, so
 * that nobody waits for it in vain. */
static bool seize(pid_t tid)
{
    if (sigsetjmp(give_up_seizing, 0) == 0) {
        seizing = 1;
        const long result = ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACEEXIT);
        seizing = 0;
        return result == 0;
    }
    /* The alarm interrupted the call. The thread may have been seized just before. */
    siginfo_t info;
    const bool ours = waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL) == 0;
    errno = EAGAIN;
    return ours;
}

static void freeze_add(struct freeze *freeze, pid_t tid)
{
    freeze->threads = alloc_grow(freeze->threads, &freeze->room, freeze->count + 1, sizeof(*freeze->threads));
    freeze->threads[freeze->count++] = (struct frozen_thread){ .tid = tid };
}

/* A thread that calls execve takes the number of the main thread over, and stays seized. Its own number is gone then,
 * and the row of the main thread does not say that the recorder has it. Returns whether that was so. */
static bool find_successor(struct freeze *freeze)
{
    size_t i = 0;
    while (i < freeze->count && freeze->threads[i].tid != freeze->pid)
        i++;
    const bool held = i < freeze->count && freeze->threads[i].hold != HOLD_NONE;
    if (held || freeze->pid == 0 || ptrace(PTRACE_INTERRUPT, freeze->pid, NULL, NULL) != 0)
        return false; /* the call fails unless the recorder has seized the thread */
    if (i == freeze->count)
        freeze_add(freeze, freeze->pid);
    freeze->threads[i] = (struct frozen_thread){ .tid = freeze->pid, .hold = HOLD_ASKED };
    return true;
}

enum asked {
    ASKED_SEIZED, /* seized and asked to stop */
    ASKED_REFUSED,
    ASKED_BUSY, /* the process is in the middle of an execve */
    ASKED_DEAD,
    ASKED_GONE,
};

static enum asked frozen_thread_ask(struct freeze *freeze, struct frozen_thread *thread, int *cause)
{
    /* A single alarm may have come at the wrong time, so try twice. */
    if (seize(thread->tid) || (errno == EAGAIN && seize(thread->tid))) {
        ptrace(PTRACE_INTERRUPT, thread->tid, NULL,
               NULL); /* if the thread is gone, frozen_thread_wait() reports that */
        thread->hold = HOLD_ASKED;
        thread->signal = 0;
        thread->late = false;
        return ASKED_SEIZED;
    }
    *cause = errno;
    if (*cause == EPERM && find_successor(freeze)) /* it is the recorder that traces the thread */
        return ASKED_SEIZED;
    if (*cause == EAGAIN)
        return ASKED_BUSY;
    const char state = *cause == ESRCH ? 0 : frozen_thread_state(freeze, thread->tid);
    if (state == 0)
        return ASKED_GONE;
    return is_dead(state) ? ASKED_DEAD : ASKED_REFUSED;
}

/* Releases a thread. False when the thread was just killed, or its process made an execve. */
static bool let_go(struct frozen_thread *thread)
{
    const bool good = ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal) == 0;
    thread->hold = good ? HOLD_NONE : HOLD_ASKED;
    return good;
}

/* ---- all threads ---- */

static void freeze_forget(struct freeze *freeze, size_t which)
{
    freeze->threads[which] = freeze->threads[--freeze->count];
}

/* The number of threads in /proc/PID/task; 0: not known. */
static size_t number_of_tasks(const struct freeze *freeze)
{
    struct stat tasks;
    if (fstat(dirfd(freeze->tasks), &tasks) != 0 || tasks.st_nlink < LINKS_OF_TASKS)
        return 0;
    return tasks.st_nlink - LINKS_OF_TASKS;
}

/* Adds the threads of /proc/PID/task that are not known yet. Returns whether there was one. */
static bool freeze_list_threads(struct freeze *freeze)
{
    const size_t known = freeze->count;
    rewinddir(freeze->tasks);
    for (const struct dirent *task; (task = readdir(freeze->tasks));) {
        const pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);
        size_t i = 0;
        while (i < known && freeze->threads[i].tid != tid)
            i++;
        if (tid > 0 && i == known)
            freeze_add(freeze, tid);
    }
    return freeze->count > known;
}

/* Notes why a thread could not be seized. The first reason stays. */
static void note_refusal(struct freeze *freeze, pid_t tid, int cause)
{
    char path[64];
    uint64_t tracer = 0;
    if (freeze->refusal[0])
        return;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
    procfs_number(path, "TracerPid", 10, &tracer);
    const struct text name = procfs_thread_name((pid_t)tracer, (pid_t)tracer);
    if (tracer)
        snprintf(freeze->refusal, sizeof(freeze->refusal),
                 "process %d (%.*s) already traces it, and only one process can", (int)tracer, (int)name.size,
                 name.bytes);
    else
        snprintf(freeze->refusal, sizeof(freeze->refusal), "its thread %d cannot be stopped: %s", (int)tid,
                 strerror(cause));
    text_free(name);
}

/* Asks all threads to stop that were not asked yet. False when a thread cannot be asked. */
static bool ask_all(struct freeze *freeze)
{
    bool good = true;
    for (size_t i = freeze->count; i-- > 0;) {
        int cause;
        if (freeze->threads[i].hold != HOLD_NONE)
            continue;
        switch (frozen_thread_ask(freeze, &freeze->threads[i], &cause)) {
        case ASKED_SEIZED:
            break;
        case ASKED_REFUSED:
            note_refusal(freeze, freeze->threads[i].tid, cause);
            good = false;
            break;
        case ASKED_BUSY:
            return false;
        case ASKED_DEAD:
            break;
        case ASKED_GONE:
            freeze_forget(freeze, i);
            break;
        }
    }
    return good;
}

/* Reaps threads that have ended. A thread in an execve waits until the recorder reaps the other threads of its process,
 * and only then stops. The rows stay, because the caller iterates over them; the next ask_all() removes them. */
static void reap_ended(struct freeze *freeze)
{
    for (size_t i = 0; i < freeze->count; i++) {
        struct frozen_thread *thread = &freeze->threads[i];
        if (thread->hold != HOLD_NONE && frozen_thread_wait(freeze, thread, WNOHANG, &freeze->stopped) == WAITED_GONE)
            thread->hold = HOLD_NONE;
    }
}

/* Waits until a thread has stopped, or will run no code of its program before it stops. False after `give_up_ns`. */
static bool wait_for_stop(struct freeze *freeze, size_t which, uint64_t give_up_ns)
{
    for (;;) {
        struct frozen_thread *thread = &freeze->threads[which];
        const int options = thread->late || !freeze->timed ? WNOHANG : 0;
        const enum waited waited = frozen_thread_wait(freeze, thread, options, &freeze->stopped);
        if (waited == WAITED_GONE)
            freeze_forget(freeze, which);
        if (waited != WAITED_RUNNING)
            return true;
        reap_ended(freeze);
        const char state = frozen_thread_state(freeze, thread->tid);
        thread->late = state == 'D' || is_dead(state);
        if (thread->late || clock_now_ns() >= give_up_ns)
            return thread->late;
    }
}

static bool wait_for_all(struct freeze *freeze, uint64_t give_up_ns)
{
    bool good = true;
    for (size_t i = freeze->count; i-- > 0;)
        if (freeze->threads[i].hold == HOLD_ASKED)
            good &= wait_for_stop(freeze, i, give_up_ns);
    return good;
}

/* Whether a thread that was asked has nothing to stop for any more: a main thread that has ended before the others. Its
 * status comes when they have ended, too. */
static bool ended_before_others(const struct freeze *freeze, const struct frozen_thread *thread)
{
    return thread->tid == freeze->pid && is_dead(frozen_thread_state(freeze, thread->tid));
}

/* The number of threads that stand still. A main thread that ended before the others counts, too: it stays in
 * /proc/PID/task. Other threads that have ended soon leave /proc/PID/task. */
static size_t number_of_standing(const struct freeze *freeze)
{
    size_t standing = 0;
    for (size_t i = 0; i < freeze->count; i++) {
        const struct frozen_thread *thread = &freeze->threads[i];
        standing += thread->hold != HOLD_NONE || ended_before_others(freeze, thread);
    }
    return standing;
}

/* Stops all threads. A running thread may start others, so the loop goes on until as many threads stand still as
 * /proc/PID/task has. Finding no new thread is a weaker proof, because readdir() ends early when a thread ends at the
 * same time. It is used only where the number of threads is not known. */
static bool stop_all(struct freeze *freeze)
{
    const uint64_t give_up_ns = clock_now_ns() + (freeze->patience_ns ? freeze->patience_ns : PATIENCE_NS);
    freeze->stopped = false;
    freeze_settle(freeze);
    do {
        const bool asked = ask_all(freeze);
        const bool stopped = wait_for_all(freeze, give_up_ns);
        if (!asked || !stopped)
            return false;
        const size_t number = number_of_tasks(freeze);
        if (freeze->count > 0 && number_of_standing(freeze) == number)
            return true;
        if (!freeze_list_threads(freeze) && number == 0)
            return true;
        reap_ended(freeze);
        sched_yield(); /* a thread that is ending may still be counted: let it run */
    } while (clock_now_ns() < give_up_ns);
    return false;
}

bool freeze_begin(struct freeze *freeze)
{
    holding++;
    freeze->began_ns = clock_now_ns();
    set_timer(freeze, true);
    const bool good = stop_all(freeze);
    set_timer(freeze, false);
    freeze->partial_count += !good;
    freeze->stopped_count += freeze->stopped;
    return good;
}

void freeze_end(struct freeze *freeze)
{
    /* In reverse: the main thread comes last, because it can only be reaped after all others. */
    for (size_t i = freeze->count; i-- > 0;)
        if (freeze->threads[i].hold == HOLD_STOPPED)
            let_go(&freeze->threads[i]);
    holding--;
    const uint64_t lasted_ns = clock_now_ns() - freeze->began_ns;
    freeze->lasted_ns = lasted_ns < LASTS_MOST_NS ? lasted_ns : LASTS_MOST_NS;
    if (!stop_later || holding)
        return;
    stop_later = 0;
    raise(SIGSTOP);
}

bool freeze_settle(struct freeze *freeze)
{
    bool left = false, unused = false;
    find_successor(freeze);
    for (size_t i = freeze->count; i-- > 0;) {
        struct frozen_thread *thread = &freeze->threads[i];
        if (thread->hold != HOLD_ASKED)
            continue;
        const enum waited waited = frozen_thread_wait(freeze, thread, WNOHANG, &unused);
        if (waited == WAITED_GONE)
            freeze_forget(freeze, i);
        left |= (waited == WAITED_RUNNING && !ended_before_others(freeze, thread)) ||
                (waited == WAITED_STOPPED && !let_go(thread));
    }
    return left;
}

/* ---- from open to close ---- */

bool freeze_open(struct freeze *freeze, pid_t pid, struct fault *why)
{
    char path[64];
    uint64_t parent = 0;
    if (freeze->tasks)
        closedir(freeze->tasks);
    freeze->pid = pid;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    freeze->tasks = opendir(path);
    if (!freeze->tasks)
        return fault(why, "there is no process %d", (int)pid);
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    freeze->child = procfs_number(path, "PPid", 10, &parent) && (pid_t)parent == getpid();
    freeze_handle_signals();
    struct sigevent alarm = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
    freeze->timed = freeze->timed || timer_create(CLOCK_MONOTONIC, &alarm, &freeze->timer) == 0;

    const uint64_t partial = freeze->partial_count, stopped = freeze->stopped_count;
    freeze->refusal[0] = '\0';
    freeze_begin(freeze);
    freeze_end(freeze);
    freeze->partial_count = partial;
    freeze->stopped_count = stopped;
    return !freeze->refusal[0] || fault(why, "%s", freeze->refusal);
}

void freeze_report(const struct freeze *freeze, uint64_t ticks)
{
    if (freeze->partial_count > 0)
        fprintf(stderr, "pyreel-record: the program was not stopped in %" PRIu64 " of %" PRIu64 " ticks: %s\n",
                freeze->partial_count, ticks, freeze->refusal[0] ? freeze->refusal : "a thread did not stop in time");
}

void freeze_close(struct freeze *freeze)
{
    if (freeze->pid)
        freeze_settle(freeze);
    if (freeze->tasks)
        closedir(freeze->tasks);
    if (freeze->timed)
        timer_delete(freeze->timer);
    free(freeze->threads);
    *freeze = (struct freeze){ 0 };
}
