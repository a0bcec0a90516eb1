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
        /* each look that saw the thread run gets the same, whenever it was counted */
        { "look 6 look 6 look 0 look 6 look 0 ",
          5,
          { { EVENT_RUN, ON, 10, 0 },
            { EVENT_RUN, ON, 10, 0 },
            { EVENT_RUN, OFF, 10, 12 },
            { EVENT_RUN, ON, 10, 0 },
            { EVENT_RUN, OFF, 10, 6 } } },
        /* at one place for long, and hardly ran */
        { "look 2 look 19 look 0 ",
          3,
          { { EVENT_RUN, ON, 10, 10 }, { EVENT_RUN, ON, 80, 1 }, { EVENT_RUN, OFF, 10, 10 } } },
        /* ready and without a processor: it did not run */
        { "look 0 look 20 ", 2, { { EVENT_RUN, ON | STATUS_READY, 10, 10 }, { EVENT_RUN, ON, 10, 10 } } },
        /* never seen to run, but at one place only */
        { "look 0 end 0 late 620 late 80 ", 2, { { EVENT_RUN, OFF, 100, 700 }, { EVENT_THREAD_END, 0, 0, 0 } } },
        /* a mode left out the looks that show the time; an end shows the rest */
        { "left out 0 look 15 left out 0 end 0 ",
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

/* ---- threads that ended ---- */

enum { MAIN = 1, SHORT, OTHER, ENTRY, THREADS };
enum { NONE, WORK, REST_STACK, SLEEP, STACKS };

struct scene {
    struct cpu_owner owner;
    uint64_t cpu_ns[THREADS + 1][STACKS];
};

static bool add_up(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct scene *scene = self;
    if (event->kind == EVENT_RUN)
        scene->cpu_ns[event->run.thread][event->run.stack] += event->run.cpu_ns;
    return true;
}

static void happens(struct scene *scene, struct event event)
{
    const struct sink output = { .take = add_up, .self = scene };
    assert_true(cpu_owner_take(&scene->owner, &event, &output, NULL));
}

static void begin_threads(struct scene *scene)
{
    *scene = (struct scene){ 0 };
    for (uint32_t i = MAIN; i <= ENTRY; i++)
        happens(scene,
                (struct event){ EVENT_THREAD, .thread = { .number = i,
                                                          .process = 1,
                                                          .tid = i == ENTRY ? 0 : i,
                                                          .name = i == ENTRY ? TEXT(NOT_SAMPLED) : TEXT("t") } });
}

/* Looks in a run, with the CPU time of each. */
static void is_seen_often(struct scene *scene, uint32_t thread, uint32_t stack, uint64_t count, uint64_t cpu_ns)
{
    happens(scene, (struct event){ EVENT_RUN, .run = { .count = count,
                                                       .thread = thread,
                                                       .stack = stack,
                                                       .status = stack == SLEEP ? OFF : ON,
                                                       .wall_ns = count * 10,
                                                       .cpu_ns = count * cpu_ns,
                                                       .stands_ns = 10 } });
}

static void is_seen(struct scene *scene, uint32_t thread, uint32_t stack, uint64_t cpu_ns)
{
    is_seen_often(scene, thread, stack, 1, cpu_ns);
}

static void rest_is_told(struct scene *scene, uint64_t cpu_ns, uint32_t stack)
{
    happens(scene, (struct event){ EVENT_LEFT_OUT,
                                   .left_out = { .thread = ENTRY, .cpu_ns = cpu_ns, .frame = stack, .stack = stack } });
}

static void ends(struct scene *scene, uint32_t thread)
{
    happens(scene, (struct event){ EVENT_THREAD_END, .change.number = thread });
}

static void finish(struct scene *scene)
{
    const struct sink output = { .take = add_up, .self = scene };
    assert_true(cpu_owner_finish(&scene->owner, &output, NULL));
    cpu_owner_free(&scene->owner);
}

/* Of two short threads, one was seen to run twice and one once. Others lived between two looks. */
static void threads_that_ended_share_the_rest_of_the_process(void **state)
{
    (void)state;
    struct scene scene;
    begin_threads(&scene);
    rest_is_told(&scene, 5, REST_STACK); /* before the first look */
    is_seen(&scene, MAIN, WORK, 50);
    is_seen(&scene, SHORT, WORK, 4);
    is_seen(&scene, SHORT, WORK, 10);
    is_seen(&scene, OTHER, WORK, 4);
    ends(&scene, SHORT);
    ends(&scene, OTHER);
    rest_is_told(&scene, 12, NONE);
    happens(&scene, (struct event){ EVENT_TICK, .tick_ns = 1 });
    happens(&scene, (struct event){ EVENT_TICK, .tick_ns = 1000 * MS });
    assert_int_equal(scene.cpu_ns[MAIN][WORK], 50);
    assert_int_equal(scene.cpu_ns[SHORT][WORK], 20);
    assert_int_equal(scene.cpu_ns[OTHER][WORK], 10);
    finish(&scene);
    assert_int_equal(scene.cpu_ns[ENTRY][REST_STACK], 5);
}

/* A thread seems to run at a place where the kernel counts nothing, as when a quota stops it. A reader may give the looks
 * in any parts. */
static void a_run_is_worth_as_much_as_its_looks(void **state)
{
    (void)state;
    static const uint64_t parts[][4] = { { 1, 1, 1, 1 }, { 4 }, { 1, 3 }, { 2, 2 } };
    for (size_t i = 0; i < countof(parts); i++) {
        struct scene scene;
        begin_threads(&scene);
        is_seen(&scene, MAIN, WORK, 10);
        is_seen(&scene, MAIN, SLEEP, 4);
        for (size_t part = 0; part < countof(parts[i]) && parts[i][part]; part++)
            is_seen_often(&scene, MAIN, REST_STACK, parts[i][part], 0);
        is_seen(&scene, MAIN, WORK, 6);
        finish(&scene);
        assert_in_range(scene.cpu_ns[MAIN][REST_STACK], 9, 11); /* 20 of 40: two looks of four */
        assert_int_equal(scene.cpu_ns[MAIN][WORK], 20 - scene.cpu_ns[MAIN][REST_STACK]);
        assert_int_equal(scene.cpu_ns[MAIN][SLEEP], 0);
    }
}

/* Three looks for each thread that ended: more is not the looks' time. It may be that of later threads for a while. */
static void what_the_looks_cannot_stand_for_is_not_sampled(void **state)
{
    (void)state;
    struct scene scene;
    begin_threads(&scene);
    rest_is_told(&scene, 0, REST_STACK);
    is_seen(&scene, SHORT, WORK, 10);
    ends(&scene, SHORT);
    rest_is_told(&scene, 1000, NONE);
    finish(&scene);
    assert_int_equal(scene.cpu_ns[SHORT][WORK], 10 + 30);
    assert_int_equal(scene.cpu_ns[ENTRY][REST_STACK], 1000 - 30);
}

/* A thread that was looked at often enough and never seen to run: the thread is known, the function is not. */
static void a_thread_that_was_never_seen_to_run_keeps_its_time(void **state)
{
    (void)state;
    struct scene scene;
    begin_threads(&scene);
    rest_is_told(&scene, 0, REST_STACK);
    for (unsigned i = 0; i < 20; i++) {
        is_seen(&scene, MAIN, WORK, 10);
        happens(&scene, (struct event){ EVENT_RUN, .run = { .count = 1,
                                                            .thread = OTHER,
                                                            .stack = i % 2 ? SLEEP : NONE,
                                                            .status = OFF,
                                                            .wall_ns = 10,
                                                            .cpu_ns = 1,
                                                            .stands_ns = 10 } });
    }
    finish(&scene);
    assert_int_equal(scene.cpu_ns[MAIN][WORK], 200);
    assert_int_equal(scene.cpu_ns[OTHER][REST_STACK], 20);
    assert_int_equal(scene.cpu_ns[OTHER][SLEEP] + scene.cpu_ns[OTHER][NONE], 0);
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
    assert_string_equal(told.text, "1 9 ");
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
        cmocka_unit_test(threads_that_ended_share_the_rest_of_the_process),
        cmocka_unit_test(a_run_is_worth_as_much_as_its_looks),
        cmocka_unit_test(what_the_looks_cannot_stand_for_is_not_sampled),
        cmocka_unit_test(a_thread_that_was_never_seen_to_run_keeps_its_time),
        cmocka_unit_test(sleep_gets_no_cpu_time_by_chance),
        cmocka_unit_test(late_cpu_time_is_no_sample),
        cmocka_unit_test(cpu_time_without_a_look_is_counted),
        cmocka_unit_test(events_keep_their_order),
        cmocka_unit_test(nothing_waits_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
