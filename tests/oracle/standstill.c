/* SPDX-License-Identifier: MIT */
#include "tests/oracle/standstill.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define LISTINGS 100 /* of threads in one look: those that run may start others */

static bool is_known(const struct standstill *s, pid_t tid)
{
    for (size_t i = 0; i < s->threads_count; i++)
        if (s->threads[i].tid == tid)
            return true;
    return false;
}

/* Asks those to stop that were not asked yet. False when there were none. */
static bool ask_new_threads(struct standstill *s, const char *folder)
{
    const size_t before = s->threads_count;
    DIR *tasks = opendir(folder);
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        const pid_t tid = atoi(task->d_name);
        if (tid <= 0 || is_known(s, tid))
            continue;
        s->threads = alloc_grow(s->threads, &s->threads_room, s->threads_count + 1, sizeof(*s->threads));
        const bool seized = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0;
        s->threads[s->threads_count++] = (struct traced){ .tid = tid, .ours = seized };
        if (seized)
            ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    }
    if (tasks)
        closedir(tasks);
    return s->threads_count > before;
}

/* A thread that stopped for a signal gets that when it goes on. */
static void wait_for(struct traced *thread)
{
    int status = 0;
    pid_t stopped;
    while ((stopped = waitpid(thread->tid, &status, __WALL)) < 0 && errno == EINTR)
        continue;
    thread->ours = stopped > 0 && WIFSTOPPED(status);
    thread->signal = thread->ours && status >> 16 == 0 ? WSTOPSIG(status) : 0;
}

/* The processor is ours until we wait: what is asked first has not moved since we woke. */
bool standstill_begin(struct standstill *s, struct fault *why)
{
    char folder[64];
    snprintf(folder, sizeof(folder), "/proc/%d/task", (int)s->pid);
    s->threads_count = 0;
    size_t waited = 0;
    for (int listing = 0; ask_new_threads(s, folder); listing++) {
        for (; waited < s->threads_count; waited++)
            if (s->threads[waited].ours)
                wait_for(&s->threads[waited]);
        if (listing == LISTINGS)
            return fault(why, "process %d starts threads without end", (int)s->pid);
    }
    for (size_t i = 0; i < s->threads_count; i++)
        if (s->threads[i].tid == s->pid && s->threads[i].ours)
            return true;
    return fault(why, "process %d can't be stopped, or has ended", (int)s->pid);
}

void standstill_end(struct standstill *s)
{
    for (size_t i = 0; i < s->threads_count; i++)
        if (s->threads[i].ours)
            ptrace(PTRACE_DETACH, s->threads[i].tid, NULL, (void *)(intptr_t)s->threads[i].signal);
    s->threads_count = 0;
}

static void keep_on(pid_t pid, const cpu_set_t *processors)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *task; tasks && (task = readdir(tasks));)
        if (task->d_name[0] != '.')
            sched_setaffinity(atoi(task->d_name), sizeof(*processors), processors);
    if (tasks)
        closedir(tasks);
}

/* Brings the process to the processor that we are on, and gives back where it was. */
static void share_processor(struct standstill *s)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_getaffinity(s->pid, sizeof(s->before), &s->before);
    sched_setaffinity(0, sizeof(one), &one);
    for (int i = 0; i < 10; i++) /* a thread may have been started meanwhile */
        keep_on(s->pid, &one);
}

/* Whoever is on the processor has to give way at once. Where that is not allowed, waking up mostly does it. */
static void be_first(void)
{
    const struct sched_param least = { .sched_priority = 1 };
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least) != 0)
        setpriority(PRIO_PROCESS, 0, -20);
    clock_be_punctual();
}

void standstill_open(struct standstill *s)
{
    share_processor(s);
    be_first();
}

void standstill_close(struct standstill *s)
{
    keep_on(s->pid, &s->before);
    free(s->threads);
}
