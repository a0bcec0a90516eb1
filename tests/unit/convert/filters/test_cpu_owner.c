/* SPDX-License-Identifier: MIT */
/* How much time a look stands for, and which look gets which CPU time. */
#include "convert/filters/cpu_owner.h"
#include "formats/model/wall.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ON  (STATUS_RECORDED | STATUS_CPU)
#define OFF STATUS_RECORDED

/* ---- wall ---- */

static uint64_t look(struct wall *wall, uint64_t time_us, uint64_t more, bool fresh, uint32_t status)
{
    const struct run run = {
        .time_ns = time_us * 1000, .count = more + 1, .fresh = fresh, .status = status, .stands_ns = MS
    };
    return wall_take(wall, &run, (time_us - 1000 * more) * 1000, false) / 1000;
}

static void a_look_stands_for_the_time_between_looks(void **state)
{
    (void)state;
    struct wall wall = { 0 };
    assert_int_equal(look(&wall, 10000, 0, false, OFF), 1000); /* the first */
    assert_int_equal(look(&wall, 11400, 0, false, OFF), 1000); /* late */
    assert_int_equal(look(&wall, 12000, 0, false, OFF), 1000);
    assert_int_equal(look(&wall, 13000, 0, false, OFF), 1000);
    assert_int_equal(look(&wall, 520000, 0, false, OFF), 506500); /* until then all ticks were missed */
    assert_int_equal(look(&wall, 530000, 9, false, OFF), 10000);  /* a run */
    assert_int_equal(look(&wall, 900000, 0, true, OFF), 1000);    /* the thread was not looked at before */
    assert_int_equal(look(&wall, 901000, 0, false, OFF | STATUS_ELSEWHERE), 0);
}

/* Ticks at any moment of their intervals: the sum is the clock's, and most looks stand for an interval. */
static void jitter_adds_no_time(void **state)
{
    (void)state;
    struct wall wall = { 0 };
    uint64_t sum = 0, exact = 0, dice = 1;
    for (uint64_t tick = 1; tick <= 10000; tick++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        const uint64_t wall_us = look(&wall, tick * 1000 + (dice >> 33) % 1000, 0, false, OFF);
        sum += wall_us;
        exact += wall_us == 1000;
    }
    assert_in_range(sum, 9999000, 10001000);
    assert_in_range(exact, 9900, 10000);
}

/* ---- CPU time ---- */

struct told {
    char text[1024];
    size_t size;
};

/* Whether the event is CPU time alone, which came behind the samples. */
static bool is_late(const struct event *event)
{
    return event->kind == EVENT_RUN && event->run.count == 0;
}

static bool hear(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct told *told = self;
    static const char *const names[] = {
        [EVENT_RUN] = "look", [EVENT_LEFT_OUT] = "left out", [EVENT_THREAD_END] = "end"
    };
    const bool run = event->kind == EVENT_RUN;
    told->size += (size_t)snprintf(told->text + told->size, sizeof(told->text) - told->size, "%s %" PRIu64 " ",
                                   is_late(event) ? "late" : names[event->kind], run ? event->run.cpu_ns : 0);
    return true;
}

/* Notes which stack gets CPU time at a thread's end. */
static bool hear_late(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct told *told = self;
    if (is_late(event))
        told->size += (size_t)snprintf(told->text + told->size, sizeof(told->text) - told->size,
                                       "%" PRIu32 ":%" PRIu64 " ", event->run.stack, event->run.cpu_ns);
    return true;
}

struct given {
    enum event_kind kind;
    uint32_t status;
    uint64_t wall_ns, cpu_ns;
};

static uint64_t tell(struct told *told, const struct given *given, size_t count)
{
    struct cpu_owner owner = { 0 };
    const struct sink output = { .take = hear, .self = told };
    *told = (struct told){ 0 };
    for (size_t i = 0; i < count; i++) {
        struct event event = { .kind = given[i].kind };
        if (event.kind == EVENT_RUN)
            event.run = (struct run){ .count = 1,
                                      .thread = 1,
                                      .status = given[i].status,
                                      .wall_ns = given[i].wall_ns,
                                      .cpu_ns = given[i].cpu_ns,
                                      .stands_ns = 10 };
        else if (event.kind == EVENT_LEFT_OUT)
            event.left_out = (struct left_out){ .thread = 1, .cpu_ns = given[i].cpu_ns };
        else
            event.change.number = 1;
        assert_true(cpu_owner_take(&owner, &event, &output, NULL));
    }
    assert_true(cpu_owner_finish(&owner, &output, NULL));
    const uint64_t unplaced_ns = owner.unplaced_ns;
    cpu_owner_free(&owner);
    return unplaced_ns;
}

static void cpu_time_goes_to_looks_on_a_processor(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t count;
        struct given given[6];
    } cases[] = {
        /* counted late, when the thread sleeps again */
        { "look 8 look 4 look 0 look 6 look 0 ",
          5,
          { { EVENT_RUN, ON, 20, 0 },
            { EVENT_RUN, ON, 10, 0 },
            { EVENT_RUN, OFF, 10, 12 },
            { EVENT_RUN, ON, 10, 0 },
            { EVENT_RUN, OFF, 10, 6 } } },
        /* nobody looked while the thread ran: the next look on a processor has room for some of it */
        { "look 0 look 10 look 0 end 0 ",
          4,
          { { EVENT_RUN, OFF, 10, 7 },
            { EVENT_RUN, ON, 10, 0 },
            { EVENT_RUN, OFF, 10, 3 },
            { EVENT_THREAD_END, 0, 0, 0 } } },
        /* more than may be kept, and the rest */
        { "look 60 late 40 late 600 end 0 ", 2, { { EVENT_RUN, OFF, 100, 700 }, { EVENT_THREAD_END, 0, 0, 0 } } },
        /* seen on a processor more rarely than its CPU time is worth: the look that slept gets nothing */
        { "look 10 look 0 late 20 end 0 ",
          3,
          { { EVENT_RUN, ON, 10, 0 }, { EVENT_RUN, OFF, 100, 30 }, { EVENT_THREAD_END, 0, 0, 0 } } },
        /* a mode left out the looks that show the time; an end shows the rest */
        { "left out 0 look 10 left out 0 late 5 end 0 ",
          4,
          { { EVENT_LEFT_OUT, 0, 0, 9 },
            { EVENT_RUN, ON, 10, 0 },
            { EVENT_LEFT_OUT, 0, 0, 6 },
            { EVENT_THREAD_END, 0, 0, 0 } } },
        /* a recording that was cut */
        { "look 3 ", 1, { { EVENT_RUN, ON, 10, 3 } } },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct told told;
        assert_int_equal(tell(&told, cases[i].given, cases[i].count), 0);
        assert_string_equal(told.text, cases[i].text);
    }
}

/* Looks at stacks 1, 2, 2, 3, each 10 ns of wall-clock time. What is left at the thread's end goes to the looks that
 * had a processor, in proportion, or else to the latest ones, up to their wall-clock time and then to the very latest.
 */
static void the_rest_goes_to_the_latest_looks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t statuses[4];
        uint64_t cpu_ns;
    } cases[] = {
        { "3:10 2:15 ", { OFF, OFF, OFF, OFF }, 25 },
        { "3:10 2:20 1:10 3:5 ", { OFF, OFF, OFF, OFF }, 45 },
        { "2:10 1:5 ", { ON, ON, ON, OFF }, 45 }, /* 30 of it went to the looks themselves */
        { "2:7 ", { OFF, ON, ON, OFF }, 27 },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        static const uint32_t stacks[] = { 1, 2, 2, 3 };
        struct cpu_owner owner = { 0 };
        struct told told = { 0 };
        const struct sink output = { .take = hear_late, .self = &told };
        struct event left_out = { .kind = EVENT_LEFT_OUT, .left_out = { .thread = 1, .cpu_ns = cases[i].cpu_ns } };
        const bool ran = cases[i].statuses[1] == ON;
        if (ran)
            assert_true(cpu_owner_take(&owner, &left_out, &output, NULL));
        for (size_t look = 0; look < countof(stacks); look++) {
            struct event event = { .kind = EVENT_RUN,
                                   .run = { .count = 1,
                                            .thread = 1,
                                            .status = cases[i].statuses[look],
                                            .stack = stacks[look],
                                            .wall_ns = 10 } };
            event.run.stands_ns = 10;
            assert_true(cpu_owner_take(&owner, &event, &output, NULL));
        }
        if (!ran)
            assert_true(cpu_owner_take(&owner, &left_out, &output, NULL));
        assert_true(cpu_owner_finish(&owner, &output, NULL));
        cpu_owner_free(&owner);
        assert_string_equal(told.text, cases[i].text);
    }
}

static bool add_cpu(void *self, struct event *event, struct fault *why)
{
    (void)why;
    uint64_t *by_stack = self;
    if (event->kind == EVENT_RUN)
        by_stack[event->run.stack] += event->run.cpu_ns;
    return true;
}

/* Threads that sleep in stack 0 and work in stack 1 for 6 % of the time, which each look notices, but only some looks
 * see. Each thread has about 12 looks that saw it work, by chance more or fewer. */
static void sleep_gets_no_cpu_time_by_chance(void **state)
{
    (void)state;
    struct cpu_owner owner = { 0 };
    uint64_t by_stack[2] = { 0 }, dice = 1;
    const struct sink output = { .take = add_cpu, .self = by_stack };
    for (uint32_t thread = 1; thread <= 200; thread++)
        for (unsigned tick = 0; tick < 200; tick++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            const bool works = (dice >> 33) % 100 < 6;
            struct event event = { .kind = EVENT_RUN,
                                   .run = { .count = 1,
                                            .thread = thread,
                                            .status = works ? ON : OFF,
                                            .stack = works,
                                            .wall_ns = 1000,
                                            .cpu_ns = 60,
                                            .stands_ns = 1000 } };
            assert_true(cpu_owner_take(&owner, &event, &output, NULL));
        }
    assert_true(cpu_owner_finish(&owner, &output, NULL));
    cpu_owner_free(&owner);
    assert_int_equal(by_stack[0] + by_stack[1], 200 * 200 * 60);
    assert_in_range(by_stack[0], 0, 200 * 200 * 60 / 100);
}

static void cpu_time_without_a_look_is_counted(void **state)
{
    (void)state;
    static const struct given given[] = { { EVENT_LEFT_OUT, 0, 0, 9 }, { EVENT_THREAD_END, 0, 0, 0 } };
    struct told told;
    assert_int_equal(tell(&told, given, countof(given)), 9);
    assert_string_equal(told.text, "left out 0 end 0 ");
}

static bool count_looks(void *self, struct event *event, struct fault *why)
{
    (void)why;
    size_t *looks = self;
    *looks += event->kind == EVENT_RUN;
    return true;
}

static bool hear_threads(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct told *told = self;
    const uint32_t number = event->kind == EVENT_RUN      ? event->run.thread
                            : event->kind == EVENT_THREAD ? event->thread.number
                                                          : 0;
    told->size += (size_t)snprintf(told->text + told->size, sizeof(told->text) - told->size, "%s%" PRIu32 " ",
                                   event->kind == EVENT_TICK ? "tick " : "", number);
    return true;
}

static struct event look_at(uint32_t thread, uint32_t status, uint64_t time_ns)
{
    return (struct event){ EVENT_RUN, .run = { .count = 1,
                                               .thread = thread,
                                               .status = status,
                                               .time_ns = time_ns,
                                               .wall_ns = 10,
                                               .cpu_ns = 3,
                                               .stands_ns = 10 } };
}

/* Events behind a look that waits wait, too; definitions do not. */
static void events_keep_their_order(void **state)
{
    (void)state;
    const struct event story[] = { look_at(1, OFF, 100),
                                   look_at(2, ON, 100),
                                   look_at(3, OFF, 100),
                                   { EVENT_TICK, .tick_ns = 100 },
                                   { EVENT_THREAD, .thread = { .number = 9 } },
                                   look_at(3, ON, 110),
                                   look_at(2, OFF, 110),
                                   { EVENT_TICK, .tick_ns = 110 } };
    struct cpu_owner owner = { 0 };
    struct told told = { 0 };
    const struct sink output = { .take = hear_threads, .self = &told };
    for (size_t i = 0; i < countof(story); i++) {
        struct event event = story[i];
        assert_true(cpu_owner_take(&owner, &event, &output, NULL));
    }
    assert_string_equal(told.text, "1 9 2 3 tick 0 ");
    assert_true(cpu_owner_finish(&owner, &output, NULL));
    assert_string_equal(told.text, "1 9 2 3 tick 0 3 2 tick 0 1 ");
    cpu_owner_free(&owner);
}

/* Nothing waits for ever for a look of a thread at which nobody looks again, and the memory has a bound. */
static void nothing_waits_for_ever(void **state)
{
    (void)state;
    static const uint64_t steps_ns[] = { 1, 1000 * MS };
    for (size_t i = 0; i < countof(steps_ns); i++) {
        size_t looks = 0;
        struct cpu_owner owner = { 0 };
        const struct sink output = { .take = count_looks, .self = &looks };
        struct event silent = look_at(1, ON, 0);
        assert_true(cpu_owner_take(&owner, &silent, &output, NULL));
        for (uint64_t number = 1; number <= 200000 && looks == 0; number++) {
            struct event look = look_at(2, OFF, number * steps_ns[i]);
            struct event tick = { EVENT_TICK, .tick_ns = number * steps_ns[i] };
            assert_true(cpu_owner_take(&owner, &look, &output, NULL));
            assert_true(cpu_owner_take(&owner, &tick, &output, NULL));
        }
        assert_true(looks > 1);
        assert_true(owner.events_room <= 1u << 18);
        cpu_owner_free(&owner);
    }
}

/* A file may claim that its looks stand for next to no time. */
static void few_looks_wait(void **state)
{
    (void)state;
    size_t looks = 0;
    struct cpu_owner owner = { 0 };
    const struct sink output = { .take = count_looks, .self = &looks };
    for (size_t i = 0; i < 1024; i++) {
        struct event event = { .kind = EVENT_RUN, .run = { .count = 1, .thread = 1, .status = ON, .wall_ns = 1 } };
        assert_true(cpu_owner_take(&owner, &event, &output, NULL));
    }
    assert_int_equal(looks, 1024);
    cpu_owner_free(&owner);
}

static bool keep_late(void *self, struct event *event, struct fault *why)
{
    (void)why;
    if (is_late(event))
        *(struct event *)self = *event;
    return true;
}

static void late_cpu_time_is_no_sample(void **state)
{
    (void)state;
    struct cpu_owner owner = { 0 };
    struct event late = { .run.count = 9 };
    const struct sink output = { .take = keep_late, .self = &late };
    struct event run = {
        EVENT_RUN, .run = { .thread = 1, .time_ns = 20, .status = OFF, .count = 2, .wall_ns = 20, .stands_ns = 10 }
    };
    struct event left_out = { EVENT_LEFT_OUT, .left_out = { .thread = 1, .ticks = 1, .cpu_ns = 5 } };
    assert_true(cpu_owner_take(&owner, &run, &output, NULL));
    assert_true(cpu_owner_take(&owner, &left_out, &output, NULL));
    assert_true(cpu_owner_finish(&owner, &output, NULL));
    assert_int_equal(late.run.cpu_ns, 5);
    assert_int_equal(late.run.count, 0);
    assert_int_equal(late.run.wall_ns, 0);
    cpu_owner_free(&owner);
}

TEST_FILE(cpu_owner)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_stands_for_the_time_between_looks),
        cmocka_unit_test(jitter_adds_no_time),
        cmocka_unit_test(cpu_time_goes_to_looks_on_a_processor),
        cmocka_unit_test(the_rest_goes_to_the_latest_looks),
        cmocka_unit_test(sleep_gets_no_cpu_time_by_chance),
        cmocka_unit_test(late_cpu_time_is_no_sample),
        cmocka_unit_test(cpu_time_without_a_look_is_counted),
        cmocka_unit_test(events_keep_their_order),
        cmocka_unit_test(nothing_waits_for_ever),
        cmocka_unit_test(few_looks_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
