/* SPDX-License-Identifier: MIT */
/* What priority we get, and that nothing of ours keeps a processor with it. Each test is a process of its own: limits
 * and signals are the whole process's. */
#include "record/process/priority.h"

#include "tests/fakes/testing.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPIN_MOST_S 5 /* of processor time: the watchdog waits for half a second */

enum { GOOD, BAD, NOT_PERMITTED };

static int run_apart(int (*part)(void))
{
    int status;
    const pid_t child = fork();
    if (child == 0)
        _exit(part());
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : BAD;
}

static void assert_apart(int (*part)(void))
{
    const int result = run_apart(part);
    if (result == NOT_PERMITTED) {
        print_message("not tested: real time is not permitted here\n");
        skip();
    }
    assert_int_equal(result, GOOD);
}

static int policy_of(pid_t thread)
{
    return sched_getscheduler(thread) & ~SCHED_RESET_ON_FORK;
}

static pid_t thread_id(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* ---- what is taken is had ---- */

static int check_what_is_had(void)
{
    const int nice = getpriority(PRIO_PROCESS, 0);
    switch (priority_raise()) {
    case PRIORITY_REAL_TIME:
        return policy_of(0) == SCHED_FIFO ? GOOD : BAD;
    case PRIORITY_NICE:
        return policy_of(0) == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) == -20 ? GOOD : BAD;
    default:
        return policy_of(0) == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) == nice ? GOOD : BAD;
    }
}

static void what_is_said_is_had(void **state)
{
    (void)state;
    assert_apart(check_what_is_had);
}

/* Nobody else's may, so we take less, and say so. */
static int check_nobody(void)
{
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return BAD;
    const struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_NICE, &none);
    setrlimit(RLIMIT_RTPRIO, &none);
    const int nice = getpriority(PRIO_PROCESS, 0);
    const enum priority priority = priority_raise();
    const bool less = priority == PRIORITY_OWN || priority == PRIORITY_SLICE;
    return less && policy_of(0) == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) == nice ? GOOD : BAD;
}

static void who_may_not_takes_less(void **state)
{
    (void)state;
    assert_apart(check_nobody);
}

/* ---- real time ---- */

/* Programs that we start are not ours. */
static int check_child(void)
{
    if (priority_raise() != PRIORITY_REAL_TIME)
        return NOT_PERMITTED;
    int status;
    const pid_t child = fork();
    if (child == 0)
        _exit(policy_of(0) == SCHED_OTHER ? GOOD : BAD);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : BAD;
}

static void a_child_does_not_inherit_it(void **state)
{
    (void)state;
    assert_apart(check_child);
}

static bool runs_on(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec < SPIN_MOST_S;
}

static int check_watchdog(void)
{
    if (priority_raise() != PRIORITY_REAL_TIME)
        return NOT_PERMITTED;
    while (policy_of(0) == SCHED_FIFO && runs_on())
        continue;
    return policy_of(0) == SCHED_OTHER ? GOOD : BAD;
}

static void who_runs_on_gets_it_back(void **state)
{
    (void)state;
    assert_apart(check_watchdog);
}

/* Who sleeps now and then keeps it. */
static int check_pauses(void)
{
    if (priority_raise() != PRIORITY_REAL_TIME)
        return NOT_PERMITTED;
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 7; i++) {
        do
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < (i + 1) * 100);
        usleep(1000);
    }
    return policy_of(0) == SCHED_FIFO ? GOOD : BAD; /* 0.7 s of processor time */
}

static void who_sleeps_now_and_then_keeps_it(void **state)
{
    (void)state;
    assert_apart(check_pauses);
}

struct other {
    sem_t raised, over;
    pid_t id;
    enum priority priority;
    bool spins, back;
};

static void *be_other(void *data)
{
    struct other *other = data;
    other->id = thread_id();
    other->priority = priority_raise();
    sem_post(&other->raised);
    if (other->spins)
        while (policy_of(0) == SCHED_FIFO && runs_on())
            continue;
    else
        sem_wait(&other->over);
    other->back = policy_of(0) == SCHED_OTHER;
    return NULL;
}

/* Which thread it was is not told, so all go back: one that waits, one that spins, and the first. */
static int check_threads(void)
{
    if (priority_raise() != PRIORITY_REAL_TIME)
        return NOT_PERMITTED;
    struct other others[2] = { { .spins = false }, { .spins = true } };
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        sem_init(&others[i].raised, 0, 0);
        sem_init(&others[i].over, 0, 0);
        pthread_create(&threads[i], NULL, be_other, &others[i]);
        while (sem_wait(&others[i].raised) != 0)
            continue;
    }
    pthread_join(threads[1], NULL);
    const bool all = policy_of(others[0].id) == SCHED_OTHER && policy_of(0) == SCHED_OTHER;
    sem_post(&others[0].over);
    pthread_join(threads[0], NULL);
    const bool had = others[0].priority == PRIORITY_REAL_TIME && others[1].priority == PRIORITY_REAL_TIME;
    return had && all && others[0].back && others[1].back ? GOOD : BAD;
}

static void all_threads_get_it_back(void **state)
{
    (void)state;
    assert_apart(check_threads);
}

static void each_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(priority_text(PRIORITY_OWN), "unchanged");
    assert_string_equal(priority_text(PRIORITY_SLICE), "short time slices");
    assert_string_equal(priority_text(PRIORITY_NICE), "nice -20");
    assert_string_equal(priority_text(PRIORITY_REAL_TIME), "real-time");
}

TEST_FILE(priority)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_is_had),
        cmocka_unit_test(who_may_not_takes_less),
        cmocka_unit_test(a_child_does_not_inherit_it),
        cmocka_unit_test(who_runs_on_gets_it_back),
        cmocka_unit_test(who_sleeps_now_and_then_keeps_it),
        cmocka_unit_test(all_threads_get_it_back),
        cmocka_unit_test(each_has_a_name),
    };
    return run_all(tests);
}
