/* SPDX-License-Identifier: MIT */
/* What the kernel says of a thread that computes. */
#include "record/process/cpu.h"

#include "record/process/clock.h"
#include "tests/fakes/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)

/* A thread that computes until it is told to stop. */
struct busy {
    pthread_t thread;
    _Atomic pid_t tid;
    atomic_bool stop;
    struct cpu cpu;
};

static void *compute(void *data)
{
    struct busy *busy = data;
    atomic_store(&busy->tid, (pid_t)syscall(SYS_gettid));
    while (!atomic_load(&busy->stop))
        continue;
    return NULL;
}

static void begin(struct busy *busy)
{
    *busy = (struct busy){ 0 };
    assert_int_equal(pthread_create(&busy->thread, NULL, compute, busy), 0);
    while (!atomic_load(&busy->tid))
        usleep(100);
    cpu_open(&busy->cpu, getpid(), atomic_load(&busy->tid));
}

static void end(struct busy *busy)
{
    atomic_store(&busy->stop, true);
    pthread_join(busy->thread, NULL);
    cpu_close(&busy->cpu);
}

static void used_time_is_the_time_that_passed_at_most(void **state)
{
    (void)state;
    struct busy busy;
    uint64_t used_ns = 0;
    const uint64_t begin_ns = clock_now_ns();
    begin(&busy);
    for (int i = 0; i < 100; i++) {
        usleep(500);
        const struct cpu_look look = cpu_look(&busy.cpu, true, clock_now_ns());
        assert_true(look.known && look.running);
        used_ns += look.used_ns;
    }
    assert_true(used_ns <= clock_now_ns() - begin_ns + 10 * MS); /* the kernel's note is renewed each few ms */
    end(&busy);
}

/* The times of looks need not rise. */
static void a_look_with_an_earlier_time_adds_no_time(void **state)
{
    (void)state;
    struct busy busy;
    const uint64_t begin_ns = clock_now_ns();
    begin(&busy);
    for (int i = 0; i < 200; i++) {
        usleep(100);
        const struct cpu_look look = cpu_look(&busy.cpu, true, begin_ns + (i % 2 ? 0 : S));
        assert_true(look.used_ns <= 2 * S);
    }
    end(&busy);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(used_time_is_the_time_that_passed_at_most),
        cmocka_unit_test(a_look_with_an_earlier_time_adds_no_time),
    };
    return run_all(tests);
}
