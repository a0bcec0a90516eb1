/* SPDX-License-Identifier: MIT */
#include "record/tree/last_cpu.h"

#include "record/process/own_thread.h"
#include "record/tree/facts.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STOP_ID 0 /* epoll's data of `stop`; of a pidfd: the number of the process */

static void note_end(struct last_cpu *last, pid_t pid)
{
    uint64_t cpu_ns;
    if (!facts_used(pid, &cpu_ns))
        return;
    pthread_mutex_lock(&last->lock);
    const uint64_t at = last->count++ % LAST_CPU_MOST;
    last->ends[at].pid = pid;
    last->ends[at].cpu_ns = cpu_ns;
    pthread_mutex_unlock(&last->lock);
}

static void *wait_for_ends(void *self)
{
    struct last_cpu *last = self;
    for (;;) {
        struct epoll_event event;
        if (epoll_wait(last->epoll, &event, 1, -1) != 1)
            continue;
        if (event.data.u64 == STOP_ID)
            return NULL;
        note_end(last, (pid_t)event.data.u64);
    }
}

void last_cpu_open(struct last_cpu *last)
{
    *last = (struct last_cpu){ .epoll = epoll_create1(EPOLL_CLOEXEC), .stop = eventfd(0, EFD_CLOEXEC) };
    pthread_mutex_init(&last->lock, NULL);
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = STOP_ID };
    last->open = last->epoll >= 0 && last->stop >= 0 &&
                 epoll_ctl(last->epoll, EPOLL_CTL_ADD, last->stop, &event) == 0 &&
                 own_thread_start(&last->thread, NULL, NULL, wait_for_ends, last);
    if (last->open)
        return;
    if (last->epoll >= 0)
        close(last->epoll);
    if (last->stop >= 0)
        close(last->stop);
}

void last_cpu_watch(struct last_cpu *last, pid_t pid, int pidfd)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)pid };
    if (last->open)
        epoll_ctl(last->epoll, EPOLL_CTL_ADD, pidfd, &event);
}

void last_cpu_forget(struct last_cpu *last, int pidfd)
{
    if (last->open)
        epoll_ctl(last->epoll, EPOLL_CTL_DEL, pidfd, NULL);
}

uint64_t last_cpu_take(struct last_cpu *last, pid_t pid)
{
    uint64_t cpu_ns = 0;
    if (!last->open)
        return 0;
    pthread_mutex_lock(&last->lock);
    for (size_t i = 0; i < LAST_CPU_MOST; i++)
        if (last->ends[i].pid == pid) {
            cpu_ns = last->ends[i].cpu_ns;
            last->ends[i].pid = 0;
        }
    pthread_mutex_unlock(&last->lock);
    return cpu_ns;
}

void last_cpu_close(struct last_cpu *last)
{
    if (!last->open)
        return;
    eventfd_write(last->stop, 1);
    pthread_join(last->thread, NULL);
    close(last->epoll);
    close(last->stop);
    pthread_mutex_destroy(&last->lock);
    last->open = false;
}
