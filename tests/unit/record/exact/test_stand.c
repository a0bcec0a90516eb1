/* SPDX-License-Identifier: MIT */
/* Work that is done on a processor, on the processors that this machine has. */
#include "record/exact/stand.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/testing.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define US 1000u
#define MS 1000000u

static cpu_set_t allowed; /* to this test, when it began */

/* What work found. */
struct found {
    int processor;
    pid_t thread;
    uint64_t begin_ns, end_ns;
    uint64_t spent_ns; /* processor time in it */
    uint64_t spin_ns, sleep_us;
    int sleeps, times; /* it sleeps in so many of the times that it is done */
    struct stay before, after;
    struct intruder *intruder; /* to be woken and awaited */
};

struct intruder {
    sem_t wake;
    uint32_t processor;
    bool permitted;
    atomic_bool ready, over;
    atomic_uint wakes;
};

static uint64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool work(void *data, uint32_t processor, uint64_t now_ns)
{
    (void)processor, (void)now_ns;
    struct found *found = data;
    const uint64_t spent_ns = thread_ns();
    found->processor = sched_getcpu();
    found->thread = (pid_t)syscall(SYS_gettid);
    found->begin_ns = clock_now_ns();
    found->before = stand_stay_now();
    if (found->intruder) {
        const unsigned wakes = atomic_load(&found->intruder->wakes);
        sem_post(&found->intruder->wake);
        while (atomic_load(&found->intruder->wakes) == wakes)
            continue;
    }
    while (thread_ns() - spent_ns < found->spin_ns)
        continue;
    if (found->times++ < found->sleeps)
        usleep((useconds_t)found->sleep_us);
    found->after = stand_stay_now();
    found->end_ns = clock_now_ns();
    found->spent_ns = thread_ns() - spent_ns;
    return true;
}

#define POSTS(processor) ((const struct posts){ .processors = { (processor) }, .count = 1 })
#define AT(due, ...)     ((const struct moments){ .due_ns = (due), .next_ns = { __VA_ARGS__ } })

/* Work that is done as soon as can be. A post that does not get its processor, as other programs have it, is not waited
 * for and has done nothing: it is asked again. So is all else here that other programs may prevent. */
static bool stand_do(struct stand *stand, uint32_t processor, stand_work *does, void *data)
{
    for (const time_t since = time(NULL); is_patient(since);) {
        if (!stand_appoint(stand, &POSTS(processor), &AT(clock_now_ns(), 0), does, data))
            return false;
        if (stand_meet(stand))
            return true;
    }
    return false;
}

static void begin(struct stand *stand)
{
    sched_setaffinity(0, sizeof(allowed), &allowed);
    stand_open(stand, false);
}

static uint32_t processor_after(int before)
{
    int processor = before + 1;
    while (processor < CPU_SETSIZE && !CPU_ISSET(processor, &allowed))
        processor++;
    return (uint32_t)processor;
}

static void need_processors(int count)
{
    if (CPU_COUNT(&allowed) >= count)
        return;
    print_message("not tested: needs %d processors\n", count);
    skip();
}

static bool count_up(void *data, uint32_t processor, uint64_t now_ns)
{
    (void)processor, (void)now_ns;
    ++*(unsigned *)data; /* not atomic: nobody else is at it */
    return true;
}

/* ---- where ---- */

static void work_is_done_where_it_was_asked_for(void **state)
{
    (void)state;
    struct stand stand;
    begin(&stand);
    assert_int_equal(stand.count, CPU_COUNT(&allowed));
    for (int round = 0; round < 3; round++)
        for (uint32_t p = processor_after(-1); p < CPU_SETSIZE; p = processor_after((int)p)) {
            struct found found = { .processor = -1 };
            const uint64_t before_ns = clock_now_ns();
            assert_true(stand_may(&stand, p));
            assert_true(stand_do(&stand, p, work, &found));
            assert_int_equal(found.processor, p);
            assert_in_range(found.begin_ns, before_ns, found.end_ns);
            assert_true(found.end_ns <= clock_now_ns()); /* and it is over */
        }
    assert_int_equal(stand.works, 3 * CPU_COUNT(&allowed));
    stand_close(&stand);
}

/* The caller would be in the program's way too. */
static void the_caller_is_somewhere_else(void **state)
{
    (void)state;
    need_processors(2);
    struct stand stand;
    begin(&stand);
    for (int round = 0; round < 20; round++) {
        const uint32_t p = (uint32_t)sched_getcpu();
        struct found found = { 0 };
        assert_true(stand_do(&stand, p, work, &found));
        assert_int_equal(found.processor, p);
        assert_int_not_equal(found.thread, syscall(SYS_gettid));
        assert_int_not_equal(sched_getcpu(), p);
    }
    stand_close(&stand);
}

/* It is told of its waits for a post, so that it knows when it waited for something else. To step aside is no wait for
 * the program. */
static void the_caller_s_waits_are_those_for_a_post(void **state)
{
    (void)state;
    need_processors(2);
    struct stand stand;
    begin(&stand);
    unsigned waited = 0, told = 0;
    while (waited < 40) {
        struct found found = { .spin_ns = 200 * US }; /* longer than the caller spins */
        const uint64_t before = stand_stay_now().waits, told_before = stand.waits;
        assert_true(stand_do(&stand, (uint32_t)sched_getcpu(), work, &found));
        const uint64_t waits = stand_stay_now().waits - before;
        waited += waits > 0;
        told += waits > 0 && stand.waits - told_before == waits;
    }
    assert_in_range(told, 20, waited); /* to make a post may be to wait */
    stand_close(&stand);
}

static void a_processor_that_is_not_ours_is_refused(void **state)
{
    (void)state;
    need_processors(2);
    struct stand stand;
    struct found found = { .processor = -1 };
    const uint32_t first = processor_after(-1), second = processor_after((int)first);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    stand_open(&stand, false);
    assert_int_equal(stand.count, 1);
    const uint32_t others[] = { second, CPU_SETSIZE - 1, CPU_SETSIZE, UINT32_MAX };
    for (size_t i = 0; i < countof(others); i++) {
        assert_false(stand_may(&stand, others[i]));
        assert_false(stand_do(&stand, others[i], work, &found));
    }
    assert_int_equal(found.processor, -1);
    assert_int_equal(stand.works, 0);
    assert_int_equal(stand_taken_ns(&stand), 0);
    stand_close(&stand);
    sched_setaffinity(0, sizeof(allowed), &allowed);
}

static void with_one_processor_the_caller_does_it(void **state)
{
    (void)state;
    struct stand stand;
    const uint32_t first = processor_after(-1);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    stand_open(&stand, false);
    struct found found = { .spin_ns = 3 * MS };
    assert_true(stand_do(&stand, first, work, &found));
    assert_int_equal(found.processor, first);
    assert_int_equal(found.thread, syscall(SYS_gettid));
    assert_true(stand_taken_ns(&stand) >= found.spent_ns);
    assert_false(stand.waited);
    found = (struct found){ .sleep_us = 2000, .sleeps = 100 };
    assert_true(stand_do(&stand, first, work, &found));
    assert_true(stand.waited);
    assert_false(stand.stayed);
    stand_close(&stand);
    sched_setaffinity(0, sizeof(allowed), &allowed);
}

/* ---- how it went ---- */

static void short_work_stays(void **state)
{
    (void)state;
    struct stand stand;
    unsigned stayed = 0;
    begin(&stand);
    for (const time_t since = time(NULL); stayed < 100;) { /* a busy machine takes it away from some */
        struct found found = { .spin_ns = 5 * US };
        assert_true(is_patient(since));
        assert_true(stand_do(&stand, processor_after(-1), work, &found));
        assert_false(stand.waited);
        if (stand.stayed)
            assert_int_equal(found.before.preemptions, found.after.preemptions);
        stayed += stand.stayed;
    }
    stand_close(&stand);
}

static void work_that_sleeps_has_waited(void **state)
{
    (void)state;
    struct stand stand;
    begin(&stand);
    for (int i = 0; i < 20; i++) {
        struct found found = { .sleep_us = 500, .sleeps = i % 2 ? 100 : 0 };
        assert_true(stand_do(&stand, processor_after(-1), work, &found));
        assert_int_equal(stand.waited, i % 2);
        if (i % 2)
            assert_false(stand.stayed);
        assert_in_range(found.times, i % 2 ? 2 : 1, i % 2 ? 10 : 1);
    }
    stand_close(&stand);
}

/* What it waited for may be over: it was the program's, which went on until we woke. */
static void work_that_has_waited_is_done_again(void **state)
{
    (void)state;
    struct stand stand;
    unsigned stayed = 0;
    begin(&stand);
    for (const time_t since = time(NULL); stayed < 20;) {
        struct found found = { .sleep_us = 500, .sleeps = 1 };
        assert_true(is_patient(since));
        const uint64_t before_ns = clock_now_ns();
        assert_true(stand_do(&stand, processor_after(-1), work, &found));
        assert_true(stand.waited);
        assert_int_equal(found.times, 2);
        assert_in_range(stand.began_ns, before_ns, found.begin_ns - 500 * US); /* the first time */
        stayed += stand.stayed;
    }
    stand_close(&stand);
}

/* Takes the processor from whoever has it, each time it is woken. */
static void *intrude(void *data)
{
    struct intruder *intruder = data;
    const struct sched_param first = { .sched_priority = 5 };
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(intruder->processor, &one);
    intruder->permitted = sched_setaffinity(0, sizeof(one), &one) == 0 &&
                          sched_setscheduler(0, SCHED_FIFO, &first) == 0;
    atomic_store(&intruder->ready, true);
    while (!atomic_load(&intruder->over)) {
        sem_wait(&intruder->wake);
        atomic_fetch_add(&intruder->wakes, 1);
    }
    return NULL;
}

static void work_that_another_interrupts_has_not_stayed(void **state)
{
    (void)state;
    need_processors(2);
    struct stand stand;
    begin(&stand);
    struct intruder intruder = { .processor = processor_after(-1) };
    pthread_t thread;
    sem_init(&intruder.wake, 0, 0);
    pthread_create(&thread, NULL, intrude, &intruder);
    while (!atomic_load(&intruder.ready))
        usleep(100);
    for (int i = 0; i < 20 && intruder.permitted; i++) {
        struct found found = { .intruder = &intruder };
        assert_true(stand_do(&stand, intruder.processor, work, &found));
        assert_false(stand.stayed);
        assert_false(stand.waited);
    }
    atomic_store(&intruder.over, true);
    sem_post(&intruder.wake);
    pthread_join(thread, NULL);
    stand_close(&stand);
    if (!intruder.permitted) {
        print_message("not tested: real time is not permitted here\n");
        skip();
    }
}

/* ---- several processors ---- */

static struct posts both_processors(void)
{
    struct posts posts = { 0 };
    posts_add(&posts, processor_after(-1));
    posts_add(&posts, processor_after((int)posts.processors[0]));
    return posts;
}

/* Work of the last post to come. Nothing of it is atomic: only one post is at it. */
struct shared_work {
    struct stand *stand;
    unsigned sleeps;     /* so often */
    unsigned done, came; /* how often it was done; posts that had come */
    bool elsewhere;      /* it ran on another processor than it was told */
    bool stayed;         /* nobody passed the moment until the work was done */
};

static bool see_who_stays(void *data, uint32_t processor, uint64_t now_ns)
{
    (void)now_ns;
    struct shared_work *shared = data;
    const uint64_t spent_ns = thread_ns();
    shared->came = atomic_load(&shared->stand->came);
    const uint32_t passes = atomic_load(
        &shared->stand->passes); /* now that all are here, they have passed all before */
    shared->elsewhere |= sched_getcpu() != (int)processor;
    while (thread_ns() - spent_ns < 10 * US)
        continue;
    if (shared->done++ < shared->sleeps)
        usleep(2000);
    shared->stayed = atomic_load(&shared->stand->passes) == passes;
    return true;
}

static void the_last_post_to_come_does_it_and_the_others_stay(void **state)
{
    (void)state;
    need_processors(2);
    struct stand stand;
    const struct posts posts = both_processors();
    unsigned met = 0;
    begin(&stand);
    for (const time_t since = time(NULL); met < 100;) {
        struct shared_work shared = { .stand = &stand };
        assert_true(is_patient(since));
        assert_true(stand_appoint(&stand, &posts, &AT(clock_now_ns() + 200 * US, 0), see_who_stays, &shared));
        const bool done = stand_meet(&stand);
        assert_int_equal(shared.done > 0, done);
        if (!done) /* a busy machine lets one come when the other has given up */
            continue;
        assert_true(shared.came == 2 && !shared.elsewhere);
        assert_true(shared.stayed || !stand.stayed);
        for (size_t i = 0; i < posts.count; i++)
            assert_true(stand_stayed_on(&stand, posts.processors[i]) || !stand.stayed);
        met += stand.stayed;
    }
    stand_close(&stand);
}

/* Whoever stays while the work sleeps does so for a while only. */
static void work_that_sleeps_keeps_nobody(void **state)
{
    (void)state;
    need_processors(2);
    struct stand stand;
    const struct posts posts = both_processors();
    unsigned met = 0;
    begin(&stand);
    for (const time_t since = time(NULL); met < 20;) {
        struct shared_work shared = { .stand = &stand, .sleeps = 1 };
        assert_true(is_patient(since));
        assert_true(stand_appoint(&stand, &posts, &AT(clock_now_ns(), 0), see_who_stays, &shared));
        if (!stand_meet(&stand))
            continue;
        met++;
        assert_true(stand.waited && !stand.stayed && shared.done > 1);
    }
    stand_close(&stand);
}

/* Does nothing. */
static bool find_nothing(void *data, uint32_t processor, uint64_t now_ns)
{
    count_up(data, processor, now_ns);
    return false;
}

static void work_of_nobody_is_not_done(void **state)
{
    (void)state;
    need_processors(2);
    struct stand stand;
    const struct posts posts = both_processors();
    unsigned asked = 0, after = 0;
    begin(&stand);
    for (const time_t since = time(NULL); asked < 50;) {
        assert_true(is_patient(since));
        assert_true(stand_appoint(&stand, &posts, &AT(clock_now_ns(), 0), find_nothing, &asked));
        assert_false(stand_meet(&stand));
    }
    assert_true(stand_do(&stand, posts.processors[1], count_up, &after)); /* and the posts are free again */
    stand_close(&stand);
}

/* A post that comes after the work is over does nothing. */
static void who_comes_late_has_nothing_to_do(void **state)
{
    (void)state;
    need_processors(2);
    struct stand stand;
    const struct posts posts = both_processors();
    begin(&stand);
    const time_t since = time(NULL);
    for (int i = 0; i < 100; i++) {
        unsigned done = 0;
        do {
            assert_true(is_patient(since));
            assert_true(stand_appoint(&stand, &posts, &AT(clock_now_ns(), clock_now_ns() + MS), count_up, &done));
        } while (!stand_meet(&stand));
        const unsigned then = done;
        assert_in_range(then, 1, 4); /* more than once if it waited */
        usleep(i % 3 * 500);
        assert_int_equal(done, then);
    }
    stand_close(&stand);
}

/* ---- what it took ---- */

static void what_work_takes_is_counted(void **state)
{
    (void)state;
    struct stand stand;
    begin(&stand);
    uint64_t spent_ns = 0;
    const uint64_t begin_ns = clock_now_ns();
    for (uint64_t i = 1; i <= 12; i++) {
        struct found found = { .spin_ns = i * 300 * US };
        const uint64_t before_ns = stand_taken_ns(&stand);
        assert_true(stand_do(&stand, processor_after(-1), work, &found));
        const uint64_t taken_ns = stand_taken_ns(&stand) - before_ns;
        spent_ns += found.spent_ns;
        assert_true(taken_ns + 2 * US >= found.spent_ns); /* the kernel's are whole microseconds */
    }
    assert_true(stand_taken_ns(&stand) >= spent_ns);
    assert_true(stand_taken_ns(&stand) <= clock_now_ns() - begin_ns + 5 * MS);
    struct found asleep = { .sleep_us = 200000, .sleeps = 1 };
    const uint64_t before_ns = stand_taken_ns(&stand);
    assert_true(stand_do(&stand, processor_after(-1), work, &asleep));
    assert_true(stand_taken_ns(&stand) - before_ns < 100 * MS); /* others have the processor meanwhile */
    stand_close(&stand);
}

static void nothing_is_free(void **state)
{
    (void)state;
    struct stand stand;
    struct found found = { 0 };
    begin(&stand);
    for (uint64_t i = 0; i < 100; i++)
        assert_true(stand_do(&stand, processor_after(-1), work, &found));
    assert_in_range(stand_taken_ns(&stand), 100 * 7 * US, 1000 * MS); /* each wake counts */
    stand_close(&stand);
}

static uint64_t spin(uint64_t ns)
{
    const uint64_t begin_ns = thread_ns();
    while (thread_ns() - begin_ns < ns)
        continue;
    return thread_ns() - begin_ns;
}

/* Where posts have all processors, the caller takes its time from the program, too. That of ticks counts. What the
 * caller does between ticks does not: it would do that with fewer ticks, too. */
static void between_ticks_nothing_is_counted(void **state)
{
    (void)state;
    need_processors(2);
    struct stand stand;
    const struct posts posts = both_processors();
    cpu_set_t both;
    CPU_ZERO(&both);
    for (size_t i = 0; i < posts.count; i++)
        CPU_SET(posts.processors[i], &both);
    sched_setaffinity(0, sizeof(both), &both);
    stand_open(&stand, false);
    uint64_t in_ticks_ns = 0, between_ns = 0;
    const time_t since = time(NULL);
    for (unsigned i = 0, done = 0; i < 20; i++) {
        assert_true(is_patient(since));
        between_ns += spin(4 * MS);
        const uint64_t begin_ns = thread_ns();
        assert_true(stand_appoint(&stand, &posts, &AT(clock_now_ns(), clock_now_ns() + 100 * MS), count_up, &done));
        stand_meet(&stand);
        spin(1 * MS);
        stand_end_tick(&stand);
        in_ticks_ns += thread_ns() - begin_ns;
    }
    assert_true(stand.crowded);
    assert_true(stand_taken_ns(&stand) >= 15 * MS);
    assert_true(stand_taken_ns(&stand) < in_ticks_ns + between_ns / 2); /* and what the posts took */
    stand_close(&stand);
}

/* ---- many, and the end ---- */

static void many_in_a_row(void **state)
{
    (void)state;
    struct stand stand;
    const unsigned works = soak(500);
    unsigned count = 0;
    begin(&stand);
    uint32_t p = processor_after(-1);
    for (unsigned i = 0; i < works; i++) {
        assert_true(stand_do(&stand, p, count_up, &count));
        assert_int_equal(count, i + 1);
        p = i % 7 ? p : processor_after((int)p);
        p = p < CPU_SETSIZE ? p : processor_after(-1);
    }
    assert_int_equal(stand.works, works);
    stand_close(&stand);
}

static void it_can_be_closed_at_any_time(void **state)
{
    (void)state;
    struct stand stand = { 0 };
    unsigned count = 0;
    stand_close(&stand);
    assert_false(stand_do(&stand, 0, count_up, &count));
    for (int i = 0; i < 50; i++) {
        begin(&stand);
        if (i % 2)
            assert_true(stand_do(&stand, processor_after(-1), count_up, &count));
        stand_close(&stand);
        stand_close(&stand);
    }
    assert_int_equal(count, 25);
    assert_false(stand_may(&stand, processor_after(-1)));
}

/* Who has others to serve does not wait for the ends of posts. */
static void the_end_is_not_waited_for(void **state)
{
    (void)state;
    struct stand stand;
    struct found found = { 0 };
    need_processors(2);
    begin(&stand);
    assert_true(stand_do(&stand, processor_after(-1), work, &found));
    assert_int_equal(stand.posts_count, 1);
    stand_end(&stand);
    wait_until(stand_ended(&stand));
    assert_int_equal(stand.posts_count, 0);
    stand_close(&stand);
}

/* ---- moments ---- */

/* As a clock appoints: each moment, and the one after. */
static void work_begins_at_its_moment(void **state)
{
    (void)state;
    struct stand stand;
    unsigned met = 0;
    const uint32_t first = processor_after(-1);
    begin(&stand);
    uint64_t moment_ns = clock_now_ns() + 5 * MS;
    for (const time_t since = time(NULL); met < 50; moment_ns += MS) {
        struct found found = { 0 };
        assert_true(is_patient(since));
        if (moment_ns < clock_now_ns()) /* the machine kept us */
            moment_ns = clock_now_ns() + MS;
        assert_true(
            stand_appoint(&stand, &POSTS(first), &AT(moment_ns, moment_ns + MS, moment_ns + 2 * MS), work, &found));
        if (!stand_meet(&stand))
            continue; /* the machine kept us: it was appointed too late */
        met++;
        assert_in_range(stand.began_ns, moment_ns, found.begin_ns);
    }
    assert_int_equal(stand.works, met);
    stand_close(&stand);
}

static void what_is_called_off_is_not_done(void **state)
{
    (void)state;
    need_processors(2);
    struct stand stand;
    unsigned count = 0;
    const uint32_t first = processor_after(-1);
    begin(&stand);
    const time_t since = time(NULL);
    for (int i = 0; i < 50;) {
        const unsigned before = count;
        const uint64_t moment_ns = clock_now_ns() + 3 * MS;
        assert_true(is_patient(since));
        assert_true(stand_appoint(&stand, &POSTS(first), &AT(moment_ns, 0), count_up, &count));
        stand_cancel(&stand);
        if (clock_now_ns() >= moment_ns)
            continue; /* called off too late */
        usleep(i++ % 10 == 0 ? 5000 : 0);
        assert_int_equal(count, before);
        assert_true(stand_do(&stand, processor_after(-1), count_up, &count));
        assert_int_equal(count, before + 1);
    }
    stand_close(&stand);
}

/* A post that was not appointed for a second ends; the next appointment makes another one. */
static void posts_that_are_not_used_end(void **state)
{
    (void)state;
    need_processors(2);
    struct stand stand;
    begin(&stand);
    unsigned done = 0;
    const uint32_t first = processor_after(-1), second = processor_after((int)first);
    for (unsigned round = 1; round <= 3; round++) {
        const uint64_t now_ns = clock_now_ns();
        assert_true(stand_do(&stand, first, count_up, &done));
        assert_true(stand_do(&stand, second, count_up, &done));
        stand_trim(&stand, now_ns);
        assert_int_equal(stand.posts_count, 2);
        const uint64_t later_ns = clock_now_ns() + 2 * MS;
        stand_appoint(&stand, &POSTS(second), &AT(later_ns, later_ns + 2 * MS, later_ns + 4 * MS), count_up, &done);
        stand_cancel(&stand);
        const unsigned before = done;
        stand_trim(&stand, UINT64_MAX);
        assert_int_equal(stand.posts_count, 0);
        stand_cancel(&stand); /* there is nothing to call off */
        wait_until((stand_trim(&stand, now_ns), !stand.ending));
        assert_int_equal(done, before);
    }
    assert_true(stand_do(&stand, first, count_up, &done));
    stand_trim(&stand, UINT64_MAX);
    stand_close(&stand); /* waits for the thread */
    assert_int_equal(stand.posts_count, 0);
    assert_null(stand.ending);
}

TEST_FILE(stand)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_done_where_it_was_asked_for),
        cmocka_unit_test(the_caller_is_somewhere_else),
        cmocka_unit_test(the_caller_s_waits_are_those_for_a_post),
        cmocka_unit_test(a_processor_that_is_not_ours_is_refused),
        cmocka_unit_test(with_one_processor_the_caller_does_it),
        cmocka_unit_test(short_work_stays),
        cmocka_unit_test(work_that_sleeps_has_waited),
        cmocka_unit_test(work_that_has_waited_is_done_again),
        cmocka_unit_test(work_that_another_interrupts_has_not_stayed),
        cmocka_unit_test(the_last_post_to_come_does_it_and_the_others_stay),
        cmocka_unit_test(work_that_sleeps_keeps_nobody),
        cmocka_unit_test(work_of_nobody_is_not_done),
        cmocka_unit_test(who_comes_late_has_nothing_to_do),
        cmocka_unit_test(what_work_takes_is_counted),
        cmocka_unit_test(nothing_is_free),
        cmocka_unit_test(between_ticks_nothing_is_counted),
        cmocka_unit_test(many_in_a_row),
        cmocka_unit_test(the_end_is_not_waited_for),
        cmocka_unit_test(work_begins_at_its_moment),
        cmocka_unit_test(what_is_called_off_is_not_done),
        cmocka_unit_test(it_can_be_closed_at_any_time),
        cmocka_unit_test(posts_that_are_not_used_end),
    };
    sched_getaffinity(0, sizeof(allowed), &allowed);
    return run_all(tests);
}
