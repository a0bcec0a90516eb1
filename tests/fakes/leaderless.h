/* SPDX-License-Identifier: MIT */
/* A process with LEADERLESS_THREADS threads that wait, each of which can be ended alone, and the first one, too. */
#ifndef PYREEL_TESTS_FAKES_LEADERLESS_H
#define PYREEL_TESTS_FAKES_LEADERLESS_H

#include "record/process/procfs.h"
#include "tests/fakes/testing.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>

#define LEADERLESS_THREADS 3

static inline void leaderless_end(int signal)
{
    (void)signal;
    syscall(SYS_exit, 0); /* of the thread only */
}

static inline void *leaderless_wait(void *data)
{
    for (;;)
        pause();
    return data;
}

static inline pid_t leaderless_start(void)
{
    const pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        alarm(PATIENCE_S); /* a test that fails leaves it behind */
        signal(SIGUSR1, leaderless_end);
        for (int i = 1; i < LEADERLESS_THREADS; i++)
            if (pthread_create(&thread, NULL, leaderless_wait, NULL) != 0)
                _exit(1);
        leaderless_wait(NULL);
    }
    wait_until(procfs_count_threads(child) == LEADERLESS_THREADS);
    return child;
}

static inline void leaderless_end_thread(pid_t child, pid_t tid)
{
    assert_int_equal(syscall(SYS_tgkill, child, tid, SIGUSR1), 0);
    wait_until(!procfs_thread_lives(child, tid));
}

#endif
