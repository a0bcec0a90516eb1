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

#define PATIENCE_NS    50000000u   /* for all threads to stop, unless set */
#define LASTS_MOST_NS  1000000000u /* if a freeze took longer, it was we who were stopped */
#define LOOK_AGAIN_NS  2000000u    /* at a thread that has not stopped: whether it waits deep in the kernel */
#define LINKS_OF_TASKS 2           /* /proc/PID/task has a link for each thread and these */

/* ---- our own signals ---- */

/* A signal handler can only see what the whole process has. The rest is in `struct freeze`. */
static volatile sig_atomic_t holding;    /* so many processes are frozen, or about to be */
static volatile sig_atomic_t stop_later; /* we got a ^Z meanwhile */
static volatile sig_atomic_t seizing;
static sigjmp_buf give_up_seizing;

/* Interrupts a wait. To seize a thread is a wait that goes on after it: a process that runs another program waits for
 * us to reap its other threads, while we wait for it. */
static void on_alarm(int number)
{
    (void)number;
    if (!seizing)
        return;
    seizing = 0;
    siglongjmp(give_up_seizing, 1);
}

/* ^Z stops us, but not while somebody else stands still because of us. */
static void on_terminal_stop(int number)
{
    (void)number;
    if (holding)
        stop_later = 1;
    else
        raise(SIGSTOP);
}

static void handle_signals(void)
{
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_NODEFER }, before;
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    action = (struct sigaction){ .sa_handler = on_terminal_stop, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGTSTP, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGTSTP, &action, NULL);
}

/* While it is on, it interrupts us again and again: a wait may begin right after one alarm. */
static void set_timer(struct freeze *freeze, bool on)
{
    const struct timespec step = { .tv_nsec = on ? LOOK_AGAIN_NS : 0 };
    const struct itimerspec when = { .it_value = step, .it_interval = step };
    if (freeze->timed)
        timer_settime(freeze->timer, 0, &when, NULL);
}

/* ---- one thread ---- */

/* The letter of its state; 0 when there is no such thread. The name before it may have any characters in it. */
static char state_of(const struct freeze *freeze, pid_t tid)
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

/* Whoever traces a thread has to reap it before its process can end; but a child's end is told only once, and it is the
 * recorder that wants to know. */
static void reap(const struct freeze *freeze, pid_t tid)
{
    if (tid != freeze->pid || !freeze->child)
        waitpid(tid, NULL, __WALL | WNOHANG);
}

/* Waits for a seized thread to stop; with WNOHANG, only looks. What it tells is left where it is. */
static enum waited wait_for(const struct freeze *freeze, struct frozen_thread *thread, int options, bool *by_signal)
{
    siginfo_t info = { 0 };
    const int done = waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL | options);
    if (done != 0 && errno != EINTR)
        return WAITED_GONE;
    if (info.si_pid == 0) {
        /* The end of a thread is told a moment later, that of a main one after the others have ended. Else it is not
         * ours: a child can be waited for though another of its threads has the number now. */
        const bool ours = ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) == 0 ||
                          is_dead(state_of(freeze, thread->tid));
        return ours ? WAITED_RUNNING : WAITED_GONE;
    }
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
        reap(freeze, thread->tid);
        return WAITED_GONE;
    }
    const int event = info.si_status >> 8, signal = info.si_status & 0xff;
    thread->hold = HOLD_STOPPED;
    thread->signal = event ? 0 : signal;
    *by_signal |= event == PTRACE_EVENT_STOP && signal != SIGTRAP;
    return WAITED_STOPPED;
}

/* Whether it is ours. A thread that is exiting stops on its way, so that nobody waits for it in vain. */
static bool seize(pid_t tid)
{
    if (sigsetjmp(give_up_seizing, 0) == 0) {
        seizing = 1;
        const long result = ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACEEXIT);
        seizing = 0;
        return result == 0;
    }
    /* It may have been done just before we gave up. */
    siginfo_t info;
    const bool ours = waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL) == 0;
    errno = EAGAIN;
    return ours;
}

enum asked {
    ASKED,
    ASKED_REFUSED,
    ASKED_BUSY, /* it runs another program just now */
    ASKED_DEAD,
    ASKED_GONE,
};

static enum asked ask(const struct freeze *freeze, struct frozen_thread *thread, int *cause)
{
    /* One alarm may have come by chance, in the middle of it. */
    if (seize(thread->tid) || (errno == EAGAIN && seize(thread->tid))) {
        ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL); /* when it is gone, waiting for it tells */
        thread->hold = HOLD_ASKED;
        thread->signal = 0;
        thread->late = false;
        return ASKED;
    }
    *cause = errno;
    if (*cause == EAGAIN)
        return ASKED_BUSY;
    const char state = *cause == ESRCH ? 0 : state_of(freeze, thread->tid);
    if (state == 0)
        return ASKED_GONE;
    return is_dead(state) ? ASKED_DEAD : ASKED_REFUSED;
}

/* Whether it was let go of. It is not when it was killed, or its process ran another program, just now. */
static bool let_go(struct frozen_thread *thread)
{
    const bool good = ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal) == 0;
    thread->hold = good ? HOLD_NONE : HOLD_ASKED;
    return good;
}

/* ---- all threads ---- */

static void forget(struct freeze *freeze, size_t which)
{
    freeze->threads[which] = freeze->threads[--freeze->count];
}

static void add(struct freeze *freeze, pid_t tid)
{
    freeze->threads = alloc_grow(freeze->threads, &freeze->room, freeze->count + 1, sizeof(*freeze->threads));
    freeze->threads[freeze->count++] = (struct frozen_thread){ .tid = tid };
}

/* The threads that are listed; 0 when that is not known. */
static size_t number_of_tasks(const struct freeze *freeze)
{
    struct stat tasks;
    if (fstat(dirfd(freeze->tasks), &tasks) != 0 || tasks.st_nlink < LINKS_OF_TASKS)
        return 0;
    return tasks.st_nlink - LINKS_OF_TASKS;
}

/* Learns of the threads that there are. False when all were known. */
static bool list_threads(struct freeze *freeze)
{
    const size_t known = freeze->count;
    rewinddir(freeze->tasks);
    for (const struct dirent *task; (task = readdir(freeze->tasks));) {
        const pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);
        size_t i = 0;
        while (i < known && freeze->threads[i].tid != tid)
            i++;
        if (tid > 0 && i == known)
            add(freeze, tid);
    }
    return freeze->count > known;
}

/* Notes why a thread could not be seized, once. */
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

/* Asks those to stop that are not asked yet. False when one of them can't be. */
static bool ask_all(struct freeze *freeze)
{
    bool good = true;
    for (size_t i = freeze->count; i-- > 0;) {
        int cause;
        if (freeze->threads[i].hold != HOLD_NONE)
            continue;
        switch (ask(freeze, &freeze->threads[i], &cause)) {
        case ASKED:
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
            forget(freeze, i);
            break;
        }
    }
    return good;
}

/* A thread that runs another program waits for us to reap those that it ended, while we wait for it to stop. They stay
 * in the list, for the caller is in the middle of it, until they are asked again. */
static void reap_ended(struct freeze *freeze)
{
    for (size_t i = 0; i < freeze->count; i++) {
        struct frozen_thread *thread = &freeze->threads[i];
        if (thread->hold != HOLD_NONE && wait_for(freeze, thread, WNOHANG, &freeze->stopped) == WAITED_GONE)
            thread->hold = HOLD_NONE;
    }
}

/* Waits until a thread has stopped or can't run before it does. False when that took too long. */
static bool wait_for_stop(struct freeze *freeze, size_t which, uint64_t give_up_ns)
{
    for (;;) {
        struct frozen_thread *thread = &freeze->threads[which];
        const int options = thread->late || !freeze->timed ? WNOHANG : 0;
        const enum waited waited = wait_for(freeze, thread, options, &freeze->stopped);
        if (waited == WAITED_GONE)
            forget(freeze, which);
        if (waited != WAITED_RUNNING)
            return true;
        reap_ended(freeze);
        const char state = state_of(freeze, thread->tid);
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

/* Those that stand still. So does a main thread that ended before the others: it stays in the kernel's list, others
 * that have ended soon leave it. */
static size_t number_of_standing(const struct freeze *freeze)
{
    size_t standing = 0;
    for (size_t i = 0; i < freeze->count; i++) {
        const struct frozen_thread *thread = &freeze->threads[i];
        standing += thread->hold != HOLD_NONE || (thread->tid == freeze->pid && is_dead(state_of(freeze, thread->tid)));
    }
    return standing;
}

/* Threads that run may start others. Once as many stand still as there are, all do. To find no new one is not enough:
 * the list ends early at a thread that goes just then. Where the number is not told, there is nothing better. */
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
        if (!list_threads(freeze) && number == 0)
            return true;
        reap_ended(freeze);
        sched_yield(); /* to one that ends and is still counted */
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
    /* A main thread that was killed can be reaped after the others only. */
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
    for (size_t i = freeze->count; i-- > 0;) {
        struct frozen_thread *thread = &freeze->threads[i];
        if (thread->hold != HOLD_ASKED)
            continue;
        const enum waited waited = wait_for(freeze, thread, WNOHANG, &unused);
        if (waited == WAITED_GONE)
            forget(freeze, i);
        left |= waited == WAITED_RUNNING || (waited == WAITED_STOPPED && !let_go(thread));
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
    handle_signals();
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
    if (freeze->stopped_count > 0)
        fprintf(stderr, "pyreel-record: a signal had stopped the program in %" PRIu64 " of %" PRIu64 " ticks\n",
                freeze->stopped_count, ticks);
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
