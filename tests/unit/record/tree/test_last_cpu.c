/* SPDX-License-Identifier: MIT */
/* What processes used until their ends. */
#include "record/tree/last_cpu.h"

#include "record/process/clock.h"
#include "tests/fakes/testing.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MS UINT64_C(1000000)

static struct last_cpu last;

/* A process that uses 20 ms as soon as it may. */
static pid_t begin_process(int *pidfd, int *go)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct rusage usage = { 0 };
        close(ends[1]);
        if (read(ends[0], &byte, 1) == 0)
            while (usage.ru_utime.tv_sec == 0 && usage.ru_utime.tv_usec < 20000)
                getrusage(RUSAGE_SELF, &usage);
        _exit(0);
    }
    assert_true(pid > 0);
    close(ends[0]);
    *go = ends[1];
    *pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return pid;
}

/* Ends a process as its parent. Returns the CPU time that the kernel says. */
static uint64_t reap(pid_t pid)
{
    struct rusage usage;
    assert_int_equal(wait4(pid, NULL, 0, &usage), pid);
    const uint64_t user_us = (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec;
    return (user_us + (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec) * 1000;
}

static void an_end_is_told_once_with_its_time(void **state)
{
    (void)state;
    int pidfd, go;
    uint64_t cpu_ns = 0;
    const pid_t pid = begin_process(&pidfd, &go);
    if (pidfd < 0) {
        close(go);
        reap(pid);
        skip(); /* no pidfds */
    }
    last_cpu_open(&last);
    assert_true(last.open);
    last_cpu_watch(&last, pid, pidfd);
    assert_int_equal(last_cpu_take(&last, pid), 0);
    close(go);
    wait_until((cpu_ns = last_cpu_take(&last, pid)) > 0);
    assert_int_equal(last_cpu_take(&last, pid), 0);
    const uint64_t right_ns = reap(pid);
    assert_true(cpu_ns <= right_ns + MS && right_ns <= cpu_ns + MS && cpu_ns >= 20 * MS);
    last_cpu_close(&last);
    assert_int_equal(last_cpu_take(&last, pid), 0);
    close(pidfd);
}

static void an_end_that_nobody_wants_is_not_told(void **state)
{
    (void)state;
    int pidfds[2], gos[2];
    siginfo_t info;
    const pid_t unwanted = begin_process(&pidfds[0], &gos[0]), wanted = begin_process(&pidfds[1], &gos[1]);
    const bool can = pidfds[0] >= 0 && pidfds[1] >= 0;
    last_cpu_open(&last);
    if (can) {
        last_cpu_watch(&last, unwanted, pidfds[0]);
        last_cpu_watch(&last, wanted, pidfds[1]);
        last_cpu_forget(&last, pidfds[0]);
    }
    kill(unwanted, SIGTERM);
    waitid(P_PID, (id_t)unwanted, &info, WEXITED | WNOWAIT);
    kill(wanted, SIGTERM);
    if (can) {
        wait_until(last_cpu_take(&last, wanted) > 0);
        assert_int_equal(last_cpu_take(&last, unwanted), 0);
    }
    last_cpu_close(&last);
    reap(unwanted);
    reap(wanted);
    for (int i = 0; i < 2; i++) {
        close(gos[i]);
        close(pidfds[i]);
    }
}

TEST_FILE(last_cpu)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_is_told_once_with_its_time),
        cmocka_unit_test(an_end_that_nobody_wants_is_not_told),
    };
    return run_all(tests);
}
