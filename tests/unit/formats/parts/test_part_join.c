/* SPDX-License-Identifier: MIT */
/* A recording in parts reads as if it were in one. */
#include "formats/parts/part_join.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGINS(start, number)                                                                                          \
    {                                                                                                                  \
        EVENT_RECORDING, .recording = {                                                                                \
            .interval_ns = 100 * MS,                                                                                   \
            .time_unit_ns = MS,                                                                                        \
            .start_monotonic_ns = (uint64_t)1000 * MS + (start),                                                       \
            .part = number,                                                                                            \
            .series = 7                                                                                                \
        }                                                                                                              \
    }
#define SERIAL(kind, number, is)                                                                                       \
    {                                                                                                                  \
        EVENT_SERIAL, .serial = { kind, number, is }                                                                   \
    }
#define ENDS(ns, why, tick_count, sample_count)                                                                        \
    {                                                                                                                  \
        EVENT_END, .end = { why, ns, tick_count, sample_count, 0, 0, -1 }                                              \
    }

/* Thread 2 of the whole recording begins in the second part, thread 1 ends there. */
static const struct event first[] = {
    BEGINS(0, 1),
    SERIAL(SERIAL_PROCESS, 1, 1),
    PROCESS(1, 7, "/"),
    SERIAL(SERIAL_THREAD, 1, 1),
    THREAD(1, 1, 7, "python3"),
    STRING(1, "f"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 3),
    FRAME(2, 1, 4),
    SAMPLE(100 * MS, 1, 0, 1, 2),
    TICK(100 * MS),
    SAME(200 * MS, 1, 2),
    TICK(200 * MS),
    COUNTER("samples", 2),
    COUNTER("disturb_limit_ppm", 10000),
    ENDS(250 * MS, END_CONTINUED, 2, 2),
};

static const struct event second[] = {
    BEGINS(200 * MS, 2),
    SERIAL(SERIAL_PROCESS, 1, 1),
    PROCESS(1, 7, "/"),
    SERIAL(SERIAL_THREAD, 1, 1),
    THREAD(1, 1, 7, "python3"),
    STRING(1, "g"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 5),
    STRING(2, "f"),
    FUNCTION(2, 2, 0, 1),
    FRAME(2, 2, 3),
    SAMPLE(100 * MS, 1, 0, 2, 1),
    TICK(100 * MS),
    { EVENT_THREAD_END, .change = { 1, 150 * MS, { 0 }, false } },
    SERIAL(SERIAL_THREAD, 2, 2),
    THREAD(2, 1, 8, "worker"),
    SAMPLE(200 * MS, 2, 0, 1),
    TICK(200 * MS),
    COUNTER("samples", 2),
    COUNTER("disturb_limit_ppm", 10000),
    ENDS(250 * MS, END_TARGET, 2, 2),
};

static const struct event whole[] = {
    { EVENT_RECORDING,
      .recording = { .interval_ns = 100 * MS, .time_unit_ns = MS, .start_monotonic_ns = (uint64_t)1000 * MS } },
    PROCESS(1, 7, "/"),
    THREAD(1, 1, 7, "python3"),
    STRING(1, "f"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 3),
    FRAME(2, 1, 4),
    SAMPLE(100 * MS, 1, 0, 1, 2),
    TICK(100 * MS),
    SAME(200 * MS, 1, 2),
    TICK(200 * MS),
    COUNTER("samples", 2), /* so far */
    COUNTER("disturb_limit_ppm", 10000),
    STRING(2, "g"),
    FUNCTION(2, 2, 0, 1),
    FRAME(3, 2, 5),
    SAMPLE(300 * MS, 1, 0, 1, 3),
    TICK(300 * MS),
    { EVENT_THREAD_END, .change = { 1, 350 * MS, { 0 }, false } },
    { EVENT_THREAD, .thread = { 2, 1, 8, false, 0, 200 * MS, T("worker"), 0 } },
    SAMPLE(400 * MS, 2, 0, 3),
    TICK(400 * MS),
    COUNTER("samples", 4),
    COUNTER("disturb_limit_ppm", 10000),
    ENDS(450 * MS, END_TARGET, 4, 4),
};

static void tell_part(struct part_join *join, const struct event *part, size_t count, bool gap)
{
    part_join_next(join, gap);
    for (size_t i = 0; i < count; i++) {
        struct event event = part[i];
        struct fault why = { 0 };
        if (!part_join_take(join, &event, &why))
            fail_msg("event %zu of the part: %s", i, why.text);
    }
}

static void parts_read_as_one_recording(void **state)
{
    (void)state;
    struct journal joined = { 0 }, wanted = { 0 };
    struct part_join join = { .to = journal_sink(&joined) };
    tell_part(&join, first, countof(first), false);
    tell_part(&join, second, countof(second), false);
    assert_true(part_join_finish(&join, NULL));
    journal_tell(&wanted, whole, countof(whole));
    assert_same_lines(journal_text(&joined), journal_text(&wanted));
    part_join_free(&join);
    journal_free(&joined);
    journal_free(&wanted);
}

/* Whether the samples that came are fresh: 'f', or '-'. */
static bool note_fresh(void *self, struct event *event, struct fault *why)
{
    (void)why;
    char *room = self;
    if (event->kind == EVENT_SAMPLE)
        strcat(room, event->sample.fresh ? "f" : "-");
    return true;
}

/* In a later part, a reader of that part alone takes the first tick for one behind others. */
static void tell_fresh(struct part_join *join, bool gap, bool later)
{
    struct event part[countof(second)];
    const size_t count = later ? countof(second) : countof(first);
    memcpy(part, later ? second : first, later ? sizeof(second) : sizeof(first));
    for (size_t i = 0; i < count; i++)
        if (part[i].kind == EVENT_SAMPLE)
            part[i].sample.fresh = part[i].sample.keep == 0 && !(later && part[i].sample.time_ns == 100 * MS);
    tell_part(join, part, count, gap);
}

static void the_first_look_of_a_part_follows_the_last_one_before(void **state)
{
    (void)state;
    char room[20] = "";
    struct part_join join = { .to = { note_fresh, room } };
    tell_fresh(&join, false, false);
    tell_fresh(&join, false, true);
    assert_string_equal(room, "f--f");
    part_join_free(&join);
    room[0] = '\0';
    join = (struct part_join){ .to = { note_fresh, room } };
    tell_fresh(&join, false, false);
    tell_fresh(&join, true, true); /* a part in between is missing */
    assert_string_equal(room, "f-ff");
    part_join_free(&join);
}

/* Thread 1 is read in the first tick of the second part; "left" says what comes behind its last look before. */
static void tell_absent(char *room, struct event left, uint64_t ticks)
{
    struct part_join join = { .to = { note_fresh, room } };
    tell_part(&join, first, 12, false); /* to the end of the second tick */
    assert_true(part_join_take(&join, &left, NULL));
    for (uint64_t i = 0; i < ticks; i++) {
        struct event tick = TICK((300 + i * 100) * MS);
        assert_true(part_join_take(&join, &tick, NULL));
    }
    room[0] = '\0';
    tell_fresh(&join, false, true);
    part_join_free(&join);
}

static void a_look_behind_ticks_without_one_is_fresh(void **state)
{
    (void)state;
    char room[20] = "";
    tell_absent(room, (struct event)TICK(200 * MS), 1);
    assert_string_equal(room, "ff");
    const struct event left_out = { EVENT_LEFT_OUT, .left_out = { 1, 1, 300 * MS, 0, 0, 0 } };
    tell_absent(room, left_out, 1);
    assert_string_equal(room, "ff");
    const struct event failed = { EVENT_FAILED, .failed = { 1, FAILURE_CHANGED, 300 * MS, 0 } };
    tell_absent(room, failed, 1);
    assert_string_equal(room, "-f");
}

/* ---- titles ---- */

static const struct event titled_first[] = {
    BEGINS(0, 1),
    SERIAL(SERIAL_PROCESS, 1, 1),
    PROCESS(1, 7, "/"),
    SERIAL(SERIAL_PROCESS, 2, 2),
    PROCESS(2, 8, "/"),
    TITLE(2, 50 * MS, "'worker: idle'"),
    ENDS(250 * MS, END_CONTINUED, 0, 0),
};

/* The title that process 2 has in the beginning of this part is that of the part before, or another one. */
static void tell_titled(struct part_join *join, const char *title)
{
    const struct event part[] = {
        BEGINS(300 * MS, 2),          SERIAL(SERIAL_PROCESS, 1, 2), PROCESS(1, 8, "/"),
        SERIAL(SERIAL_PROCESS, 2, 1), PROCESS(2, 7, "/"),           TITLE(1, 50 * MS, "'worker: GET /'"),
    };
    struct event own[countof(part)];
    memcpy(own, part, sizeof(part));
    own[2].process.command = text_of(title);
    tell_part(join, titled_first, countof(titled_first), false);
    tell_part(join, own, countof(own), true);
}

static void a_title_goes_on_in_the_next_part(void **state)
{
    (void)state;
    static const struct {
        const char *begins, *told;
    } rows[] = {
        { "'worker: idle'",
          "process 2 at 50000000 is ''worker: idle''\nprocess 2 at 350000000 is ''worker: GET /''\n" },
        { "'late'", "process 2 at 50000000 is ''worker: idle''\nprocess 2 at 300000000 is ''late''\n"
                    "process 2 at 350000000 is ''worker: GET /''\n" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct journal journal = { 0 };
        struct part_join join = { .to = journal_sink(&journal) };
        tell_titled(&join, rows[i].begins);
        char *text = journal_text(&journal);
        assert_string_equal(strstr(text, "process 2 at 50000000"), rows[i].told);
        free(text);
        part_join_free(&join);
        journal_free(&journal);
    }
}

/* ---- times ---- */

static bool note_times(void *self, struct event *event, struct fault *why)
{
    (void)why;
    char *room = self;
    if (event->kind != EVENT_SAMPLE && event->kind != EVENT_TICK)
        return true;
    const bool sample = event->kind == EVENT_SAMPLE;
    if (sample)
        sprintf(room + strlen(room), "%d-%d, ", (int)(sample_first_ns(&event->sample) / MS),
                (int)(event->sample.time_ns / MS));
    else
        sprintf(room + strlen(room), "tick %d; ", (int)(event->tick_ns / MS));
    return true;
}

/* The parts begin 200 ms apart. */
static void runs_move_with_their_part(void **state)
{
    (void)state;
    char room[200] = "";
    struct part_join join = { .to = { note_times, room } };
    struct event run = { EVENT_SAMPLE,
                         .sample = { .thread = 1, .first_ns = 100 * MS, .time_ns = 200 * MS, .count = 2 } };
    struct event again = run;
    struct event ticks = { EVENT_TICK, .tick_ns = 200 * MS, .more_ticks = 1 };
    tell_part(&join, first, countof(first), false);
    tell_part(&join, second, 5, false);
    room[0] = '\0';
    assert_true(part_join_take(&join, &run, NULL));
    assert_true(part_join_take(&join, &again, NULL));
    assert_true(part_join_take(&join, &ticks, NULL));
    assert_string_equal(room, "300-400, 300-400, tick 400; ");
    part_join_free(&join);
}

/* A part that says it began before the one before ended: no time goes back. */
static void looks_never_come_before_those_of_the_part_before(void **state)
{
    (void)state;
    char room[200] = "";
    struct part_join join = { .to = { note_times, room } };
    struct event early[countof(second)];
    memcpy(early, second, sizeof(second));
    early[0].recording.start_monotonic_ns -= 150 * MS; /* 50 ms behind the first part, whose last tick is at 200 ms */
    tell_part(&join, first, countof(first), false);
    room[0] = '\0';
    tell_part(&join, early, countof(early), false);
    assert_string_equal(room, "200-200, tick 200; 250-250, tick 250; ");
    part_join_free(&join);
}

static void a_serial_is_of_one_thread_in_a_part(void **state)
{
    (void)state;
    struct journal joined = { 0 };
    struct part_join join = { .to = journal_sink(&joined) };
    struct event serial = SERIAL(SERIAL_THREAD, 2, 1), thread = THREAD(2, 1, 9, "twin");
    tell_part(&join, first, countof(first), false);
    tell_part(&join, second, 5, false);
    assert_true(part_join_take(&join, &serial, NULL));
    assert_true(part_join_take(&join, &thread, NULL));
    assert_int_equal(thread.thread.number, 2);
    part_join_free(&join);
    journal_free(&joined);
}

static void numbers_that_are_not_defined_become_none(void **state)
{
    (void)state;
    struct journal joined = { 0 };
    struct part_join join = { .to = journal_sink(&joined) };
    struct fault why = { 0 };
    tell_part(&join, first, 8, false);
    struct event sample = SAMPLE(100 * MS, 1, 0, 77);
    assert_false(part_join_take(&join, &sample, &why));
    assert_non_null(strstr(why.text, "not defined"));
    assert_false(join.refused);
    struct event far = STRING(UINT32_MAX, "x");
    assert_false(part_join_take(&join, &far, &why));
    assert_true(join.refused);
    for (uint32_t i = 1; i < 5; i++) { /* the limit is one for all */
        struct event skipping = STRING(1 + i * 1000000, "x");
        assert_true(part_join_take(&join, &skipping, &why));
    }
    far = (struct event)STRING(4500000, "x");
    assert_false(part_join_take(&join, &far, &why));
    struct event twice = STRING(1, "x");
    assert_false(part_join_take(&join, &twice, &why));
    part_join_free(&join);
    journal_free(&joined);
}

static void without_an_end_there_is_none(void **state)
{
    (void)state;
    struct journal joined = { 0 };
    struct part_join join = { .to = journal_sink(&joined) };
    tell_part(&join, first, countof(first), false);
    tell_part(&join, second, countof(second) - 1, false);
    assert_true(part_join_finish(&join, NULL));
    assert_int_equal(joined.tables.end.reason, 0);
    assert_int_equal(joined.tables.samples, 4);
    part_join_free(&join);
    journal_free(&joined);
}

TEST_FILE(part_join)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_title_goes_on_in_the_next_part),
        cmocka_unit_test(parts_read_as_one_recording),
        cmocka_unit_test(the_first_look_of_a_part_follows_the_last_one_before),
        cmocka_unit_test(a_look_behind_ticks_without_one_is_fresh),
        cmocka_unit_test(runs_move_with_their_part),
        cmocka_unit_test(looks_never_come_before_those_of_the_part_before),
        cmocka_unit_test(a_serial_is_of_one_thread_in_a_part),
        cmocka_unit_test(numbers_that_are_not_defined_become_none),
        cmocka_unit_test(without_an_end_there_is_none),
    };
    return run_all(tests);
}
