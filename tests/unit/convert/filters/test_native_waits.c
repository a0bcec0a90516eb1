/* SPDX-License-Identifier: MIT */
/* Which threads wait for native threads, and whose CPU time they get. Native threads are one process here. */
#include "convert/filters/native_waits.h"

#include "convert/filters/cpu_owner.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#define RUNS  (STATUS_RECORDED | STATUS_CPU)
#define WAITS STATUS_RECORDED
#define ROUND (40 * MS) /* a thread runs for the half, and waits for the other half */

enum { PLACE = 1, OTHER_PLACE };

static struct native_process *begin_process(void)
{
    return alloc_zeroed(1, sizeof(struct native_process));
}

static struct run look_at(uint64_t from_ns, uint64_t to_ns, uint32_t status)
{
    return (struct run){ .count = 1, .stack = PLACE, .status = status, .time_ns = to_ns, .wall_ns = to_ns - from_ns };
}

static void work(struct native_process *process, uint64_t from_ns, uint64_t to_ns, uint64_t cpu_ns)
{
    struct run look = look_at(from_ns, to_ns, RUNS);
    look.counted_ns = cpu_ns;
    native_process_ran(process, &look);
}

static void runs(struct native_waiter *waiter, struct native_process *process, uint64_t from_ns, uint64_t to_ns)
{
    const struct run look = look_at(from_ns, to_ns, RUNS);
    native_waiter_ran(waiter, process, &look);
}

static struct run waits(struct native_waiter *waiter, struct native_process *process, uint64_t from_ns, uint64_t to_ns)
{
    struct run look = look_at(from_ns, to_ns, WAITS);
    native_waiter_waits(waiter, process, &look);
    return look;
}

static void assert_waits_for_natives(const struct run *look, bool wanted, uint64_t native_ns)
{
    assert_int_equal((look->status & STATUS_NATIVE_WAIT) != 0, wanted);
    assert_int_equal(look->native_ns, native_ns);
}

/* Native threads work in the second half of each round, and nobody else does. */
static void who_waits_when_they_work_has_their_time(void **state)
{
    (void)state;
    struct native_process *process = begin_process();
    struct native_waiter waiter = { 0 };
    for (uint64_t from_ns = 0; from_ns < 10 * ROUND; from_ns += ROUND) {
        runs(&waiter, process, from_ns, from_ns + ROUND / 2);
        for (int i = 0; i < 2; i++) /* two native threads */
            work(process, from_ns + ROUND / 2, from_ns + ROUND, 15 * MS);
        const struct run look = waits(&waiter, process, from_ns + ROUND / 2, from_ns + ROUND);
        assert_waits_for_natives(&look, true, 30 * MS);
    }
    free(process);
}

static void who_runs_beside_them_does_not_wait_for_them(void **state)
{
    (void)state;
    struct native_process *process = begin_process();
    struct native_waiter waiter = { 0 };
    for (uint64_t from_ns = 0; from_ns < 10 * ROUND; from_ns += ROUND) {
        work(process, from_ns, from_ns + ROUND, ROUND);
        runs(&waiter, process, from_ns, from_ns + ROUND / 2);
        const struct run look = waits(&waiter, process, from_ns + ROUND / 2, from_ns + ROUND);
        assert_waits_for_natives(&look, false, 0);
    }
    free(process);
}

static void of_a_thread_that_hardly_runs_nobody_knows(void **state)
{
    (void)state;
    struct native_process *process = begin_process();
    struct native_waiter waiter = { 0 };
    runs(&waiter, process, 0, 9 * MS);
    for (uint64_t from_ns = ROUND; from_ns < 10 * ROUND; from_ns += ROUND) {
        work(process, from_ns, from_ns + ROUND, ROUND);
        const struct run look = waits(&waiter, process, from_ns, from_ns + ROUND);
        assert_waits_for_natives(&look, false, 0);
    }
    free(process);
}

/* Less than a quarter of a processor is no work. */
static void nobody_waits_for_a_little_work(void **state)
{
    (void)state;
    struct native_process *process = begin_process();
    struct native_waiter waiter = { 0 };
    runs(&waiter, process, 0, ROUND);
    work(process, ROUND, 2 * ROUND, ROUND / 5);
    struct run look = waits(&waiter, process, ROUND, 2 * ROUND);
    assert_waits_for_natives(&look, false, 0);
    work(process, 3 * ROUND, 4 * ROUND, ROUND / 2);
    look = waits(&waiter, process, 2 * ROUND, 3 * ROUND); /* the same wait: 0.1 of the processor so far */
    assert_waits_for_natives(&look, false, 0);
    look = waits(&waiter, process, 3 * ROUND, 4 * ROUND); /* and less than a quarter still */
    assert_waits_for_natives(&look, false, 0);
    runs(&waiter, process, 4 * ROUND, 5 * ROUND);
    work(process, 5 * ROUND, 6 * ROUND, ROUND / 2);
    look = waits(&waiter, process, 5 * ROUND, 6 * ROUND); /* another wait */
    assert_waits_for_natives(&look, true, ROUND / 2);
    free(process);
}

static void a_wait_ends_where_the_thread_uses_cpu_time_or_waits_elsewhere(void **state)
{
    (void)state;
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct native_process *process = begin_process();
        struct native_waiter waiter = { 0 };
        runs(&waiter, process, 0, ROUND);
        work(process, ROUND, 2 * ROUND, ROUND);
        struct run look = waits(&waiter, process, ROUND, 2 * ROUND);
        assert_waits_for_natives(&look, true, ROUND);
        look = waits(&waiter, process, 2 * ROUND, 3 * ROUND); /* half a processor in the wait as a whole */
        assert_waits_for_natives(&look, true, 0);
        look = look_at(3 * ROUND, 4 * ROUND, WAITS);
        look.stack = elsewhere ? OTHER_PLACE : PLACE;
        native_waiter_waits(&waiter, process, &look);
        assert_waits_for_natives(&look, !elsewhere, 0); /* a third of a processor in the waits at one place */
        look = waits(&waiter, process, 4 * ROUND, 5 * ROUND);
        look = waits(&waiter, process, 5 * ROUND, 6 * ROUND);
        look = waits(&waiter, process, 6 * ROUND, 7 * ROUND);
        assert_waits_for_natives(&look, false, 0);
        free(process);
    }
}

static void two_callers_do_not_get_the_same_time_twice(void **state)
{
    (void)state;
    struct native_process *process = begin_process();
    struct native_waiter waiters[2] = { { .ran = { 0 } } };
    for (int i = 0; i < 2; i++)
        runs(&waiters[i], process, 0, ROUND);
    for (int i = 0; i < 2; i++)
        work(process, ROUND, 2 * ROUND, ROUND);
    struct run look = waits(&waiters[0], process, ROUND, ROUND + ROUND / 2);
    assert_waits_for_natives(&look, true, ROUND);
    look = waits(&waiters[1], process, ROUND, 2 * ROUND);
    assert_waits_for_natives(&look, true, ROUND);
    look = waits(&waiters[0], process, ROUND + ROUND / 2, 2 * ROUND);
    assert_waits_for_natives(&look, true, 0);
    free(process);
}

static void without_native_threads_nobody_waits_for_them(void **state)
{
    (void)state;
    struct native_waiter waiter = { 0 };
    runs(&waiter, NULL, 0, ROUND);
    const struct run look = waits(&waiter, NULL, ROUND, 2 * ROUND);
    assert_waits_for_natives(&look, false, 0);
}

/* ---- times of any kind ---- */

/* The slots have the latest 4 s only. */
static void a_wait_may_be_longer_than_the_slots(void **state)
{
    (void)state;
    const uint64_t second = 1000 * MS, latest = (NATIVE_SLOTS - 1) * NATIVE_SLOT_NS;
    struct native_process *process = begin_process();
    struct native_waiter waiter = { 0 };
    runs(&waiter, process, 0, second);
    work(process, second, 61 * second, 60 * second);
    struct run look = waits(&waiter, process, second, 61 * second);
    assert_true(look.status & STATUS_NATIVE_WAIT);
    assert_in_range(look.native_ns, latest - NATIVE_SLOTS, latest);
    look = waits(&waiter, process, second, 61 * second);
    assert_in_range(look.native_ns, 0, NATIVE_SLOTS); /* what rounding left */
    work(process, second, 2 * second, second);        /* too long ago */
    look = waits(&waiter, process, second, 2 * second);
    assert_int_equal(look.native_ns, 0);
    free(process);
}

static void a_look_may_stand_for_no_time(void **state)
{
    (void)state;
    struct native_process *process = begin_process();
    struct native_waiter waiter = { 0 };
    for (uint64_t time_ns = 0; time_ns <= ROUND; time_ns += ROUND) {
        runs(&waiter, process, time_ns, time_ns);
        work(process, time_ns, time_ns, 0);
        const struct run look = waits(&waiter, process, time_ns, time_ns);
        assert_waits_for_natives(&look, false, 0);
    }
    runs(&waiter, process, ROUND, 2 * ROUND);
    work(process, 2 * ROUND, 2 * ROUND, ROUND); /* it ran until now, all the same */
    struct run look = waits(&waiter, process, 2 * ROUND, 2 * ROUND);
    assert_waits_for_natives(&look, false, 0);
    work(process, 2 * ROUND, 3 * ROUND, 3 * ROUND);
    look = waits(&waiter, process, 2 * ROUND, 3 * ROUND);
    assert_true(look.status & STATUS_NATIVE_WAIT);
    look = waits(&waiter, process, 3 * ROUND, 3 * ROUND);
    assert_waits_for_natives(&look, true, 0);
    free(process);
}

/* A damaged recording may say anything. Each of these ends, and gives no more than there is. */
static void times_may_be_anything(void **state)
{
    (void)state;
    static const uint64_t some[] = {
        0, 1, NATIVE_SLOT_NS, UINT64_C(1) << 63, UINT64_MAX - NATIVE_SLOT_NS, UINT64_MAX - 1, UINT64_MAX
    };
    for (size_t i = 0; i < countof(some) * countof(some) * countof(some); i++) {
        struct native_process *process = begin_process();
        struct native_waiter waiter = { .ran.time_ns = 20 * MS };
        struct run look = look_at(0, 0, RUNS);
        look.time_ns = some[i % countof(some)];
        look.wall_ns = some[i / countof(some) % countof(some)];
        look.counted_ns = some[i / countof(some) / countof(some)];
        native_process_ran(process, &look);
        const uint64_t counted_ns = look.counted_ns;
        look.counted_ns = 0;
        look.status = WAITS;
        native_waiter_waits(&waiter, process, &look);
        assert_true(look.native_ns <= counted_ns);
        assert_true(waiter.places[0].waits.time_ns <= look.time_ns && waiter.places[0].waits.time_ns <= look.wall_ns);
        native_waiter_ran(&waiter, process, &look);
        free(process);
    }
}

/* ---- behind the CPU owner ---- */

enum { CALLER = 1, WORKER, TASK };

struct heard {
    uint64_t native_ns[TASK + 1], looks[TASK + 1], last_ns;
    bool waited[TASK + 1];
};

static bool hear_wait(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct heard *heard = self;
    if (event->kind != EVENT_RUN)
        return true;
    const struct run *look = &event->run;
    assert_true(look->time_ns >= heard->last_ns);
    heard->last_ns = look->time_ns;
    heard->looks[look->thread] += look->count;
    heard->native_ns[look->thread] += look->native_ns;
    heard->waited[look->thread] |= (look->status & STATUS_NATIVE_WAIT) != 0;
    return true;
}

static const struct event definitions[] = {
    { EVENT_RECORDING, .recording = { .mode = T("wall"), .interval_ns = MS, .time_unit_ns = 1000 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(CALLER, 1, 4242, "python3"),
    THREAD(WORKER, 1, 4243, "worker"),
    THREAD(TASK, 1, 4242, "task"),
    STRING(1, "f"),
    STRING(2, "<native thread worker>"),
    FUNCTION(1, 1, 0, 7),
    { EVENT_FUNCTION, .function = { .number = 2, .name = 2, .kind = KIND_NATIVE } },
    FRAME(1, 1, 8),
    { EVENT_FRAME, .frame = { .number = 2, .function = 2, .column = -1, .end_column = -1 } },
};

static void sees(struct cpu_owner *owner, struct tables *tables, const struct event *given, const struct sink *output)
{
    struct fault why;
    struct event event = *given;
    assert_true(tables_take(tables, &event, &why));
    assert_true(cpu_owner_take(owner, &event, output, &why));
}

static void sees_sample(struct cpu_owner *owner, struct tables *tables, uint32_t thread, uint64_t time_ns,
                        uint32_t status, uint64_t cpu_ns, const struct sink *output)
{
    const uint32_t frame = thread == WORKER ? 2 : 1;
    const struct event event = { EVENT_SAMPLE, .sample = { .thread = thread,
                                                           .pushed = 1,
                                                           .frames = &frame,
                                                           .time_ns = time_ns,
                                                           .status = status,
                                                           .cpu_ns = cpu_ns,
                                                           .count = 1 } };
    sees(owner, tables, &event, output);
}

/* The caller runs and waits in turns; the task waits and runs as the caller does. */
static void each_look_comes_once_and_in_order(void **state)
{
    (void)state;
    struct heard heard = { 0 };
    struct tables tables = { 0 };
    struct cpu_owner owner = { .tables = &tables };
    const struct sink output = { .take = hear_wait, .self = &heard };
    for (size_t i = 0; i < countof(definitions); i++)
        sees(&owner, &tables, &definitions[i], &output);
    for (uint64_t tick = 1; tick <= 2000; tick++) {
        const bool works = tick / 50 % 2;
        sees_sample(&owner, &tables, CALLER, tick * MS, works ? WAITS : RUNS, works ? 0 : MS, &output);
        sees_sample(&owner, &tables, WORKER, tick * MS, works ? RUNS : WAITS, works ? MS : 0, &output);
        sees_sample(&owner, &tables, TASK, tick * MS, works ? WAITS | STATUS_TASK_WAITS : RUNS, 0, &output);
        sees(&owner, &tables, &(struct event)TICK(tick * MS), &output);
    }
    assert_true(cpu_owner_finish(&owner, &output, NULL));
    for (uint32_t thread = CALLER; thread <= TASK; thread++) {
        assert_int_equal(heard.looks[thread], 2000);
        assert_int_equal(heard.waited[thread], thread == CALLER);
    }
    assert_in_range(heard.native_ns[CALLER], 950 * MS, 1000 * MS);
    cpu_owner_free(&owner);
    tables_free(&tables);
}

TEST_FILE(native_waits)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_when_they_work_has_their_time),
        cmocka_unit_test(who_runs_beside_them_does_not_wait_for_them),
        cmocka_unit_test(of_a_thread_that_hardly_runs_nobody_knows),
        cmocka_unit_test(nobody_waits_for_a_little_work),
        cmocka_unit_test(a_wait_ends_where_the_thread_uses_cpu_time_or_waits_elsewhere),
        cmocka_unit_test(two_callers_do_not_get_the_same_time_twice),
        cmocka_unit_test(without_native_threads_nobody_waits_for_them),
        cmocka_unit_test(a_wait_may_be_longer_than_the_slots),
        cmocka_unit_test(a_look_may_stand_for_no_time),
        cmocka_unit_test(times_may_be_anything),
        cmocka_unit_test(each_look_comes_once_and_in_order),
    };
    return run_all(tests);
}
