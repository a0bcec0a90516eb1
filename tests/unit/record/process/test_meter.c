/* SPDX-License-Identifier: MIT */
/* What processes use, asked of children of ours: one that holds memory, one that computes, one that has ended. */
#include "record/process/meter.h"

#include "record/process/procfs.h"
#include "tests/fakes/testing.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HELD ((size_t)64 << 20)

/* Starts a child that holds memory and computes. The child is ready when it has held the memory. */
static pid_t start_child(void)
{
    int ends[2];
    char ready;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        char *held = malloc(HELD);
        memset(held, 1, HELD);
        if (write(ends[1], held, 1) != 1)
            _exit(1);
        for (;;)
            held[0]++;
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    return child;
}

static void memory_and_time_are_those_of_the_process(void **state)
{
    (void)state;
    struct meter meter;
    const pid_t child = start_child();
    meter_open(&meter, child);
    const struct metered first = meter_read(&meter);
    assert_true(first.resident_bytes != METER_UNKNOWN && first.resident_bytes >= HELD);
    struct metered later = first;
    wait_until((later = meter_read(&meter)).cpu_ns >= first.cpu_ns + 10000000);
    assert_true(later.cpu_ns != METER_UNKNOWN);

    kill(child, SIGKILL);
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    const struct metered zombie = meter_read(&meter);
    assert_true(zombie.resident_bytes == METER_UNKNOWN);
    assert_true(zombie.cpu_ns != METER_UNKNOWN && zombie.cpu_ns >= later.cpu_ns);
    assert_int_equal(waitpid(child, NULL, 0), child);
    const struct metered gone = meter_read(&meter);
    assert_true(gone.resident_bytes == METER_UNKNOWN && gone.cpu_ns == METER_UNKNOWN);
    meter_close(&meter);
    meter_close(&meter);
}

static int ends[2];

static void *live_on(void *self)
{
    (void)self;
    char *held = malloc(HELD), byte;
    memset(held, 1, HELD);
    if (write(ends[1], held, 1) != 1)
        _exit(1);
    return read(ends[0], &byte, 1) ? NULL : self; /* for ever */
}

/* The memory is that of the threads that go on: here of one, then of none. */
static void the_first_thread_may_have_ended(void **state)
{
    (void)state;
    struct meter meter;
    char ready;
    assert_int_equal(pipe(ends), 0);
    const int ready_of = ends[0];
    const pid_t child = fork();
    if (child == 0) {
        pthread_t other;
        int never[2];
        if (pipe(never) != 0)
            _exit(1);
        ends[0] = never[0];
        pthread_create(&other, NULL, live_on, NULL);
        pthread_exit(NULL);
    }
    meter_open(&meter, child);
    assert_int_equal(read(ready_of, &ready, 1), 1);
    wait_until(!procfs_thread_lives(child, child));
    for (int i = 0; i < 2; i++) {
        const uint64_t bytes = meter_read(&meter).resident_bytes;
        assert_true(bytes != METER_UNKNOWN && bytes >= HELD);
    }
    close(meter.statm); /* as if the thread had ended before its file could be opened */
    meter.statm = -1;
    assert_true(meter_read(&meter).resident_bytes != METER_UNKNOWN);
    assert_true(procfs_pages(child) * (uint64_t)sysconf(_SC_PAGESIZE) >= HELD);
    kill(child, SIGKILL);
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    assert_true(meter_read(&meter).resident_bytes == METER_UNKNOWN);
    assert_int_equal(waitpid(child, NULL, 0), child);
    meter_close(&meter);
    close(ends[0]);
    close(ends[1]);
}

static void nothing_is_known_of_no_process(void **state)
{
    (void)state;
    struct meter meter;
    meter_open(&meter, 0x7FFFFFF0);
    const struct metered metered = meter_read(&meter);
    assert_true(metered.resident_bytes == METER_UNKNOWN && metered.cpu_ns == METER_UNKNOWN);
    meter_close(&meter);
}

static void our_own_time_grows(void **state)
{
    (void)state;
    const uint64_t before_ns = meter_own_cpu_ns();
    while (meter_own_cpu_ns() < before_ns + 1000000)
        ;
    assert_true(meter_own_cpu_ns() > before_ns);
}

TEST_FILE(meter)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_and_time_are_those_of_the_process),
        cmocka_unit_test(the_first_thread_may_have_ended),
        cmocka_unit_test(nothing_is_known_of_no_process),
        cmocka_unit_test(our_own_time_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
