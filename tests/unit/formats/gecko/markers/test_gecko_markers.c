/* SPDX-License-Identifier: MIT */
/* Which markers a recording has, and which of them a profile keeps. */
#include "formats/gecko/markers/markers.h"
#include "formats/gecko/markers/task_rows.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the store ---- */

static const struct marker_budget plenty = {
    .bytes = 1u << 30,
    .each_bytes = { 100, 100, 100, 100, 100, 100, 100, 100, 100, 100 },
};

/* Adds markers of 1, 2, ... ms, in an order that looks random. */
static void add_many(struct marker_store *store, enum marker_kind kind, uint32_t thread, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t ms = 1 + (uint64_t)i * 7919 % count; /* a prime: each length comes once */
        const struct marker marker = {
            .kind = kind, .thread = thread, .start_ns = ms * 1000 * MS, .end_ns = ms * 1001 * MS, .weight = ms * MS
        };
        marker_store_add(store, &marker);
    }
}

static void the_heaviest_are_kept(void **state)
{
    (void)state;
    struct marker_store store = { 0 };
    struct marker_budget budget = plenty;
    budget.bytes = 1000 + 99;
    add_many(&store, MARKER_GC, 3, 500);
    marker_store_settle(&store, &budget);
    size_t count;
    const struct marker *kept = marker_store_of(&store, 3, &count);
    assert_int_equal(count, 10);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(kept[i].weight, (491 + i) * MS); /* in the order of time */
    assert_int_equal(store.heaps[MARKER_GC].left_out.count, 490);
    assert_int_equal(store.heaps[MARKER_GC].left_out.longest_ns, 490 * MS);
    assert_null(marker_store_of(&store, 2, &count));
    assert_null(marker_store_of(&store, 4, &count));
    marker_store_free(&store);
}

/* Tasks of one name and one line that live at the same time have different rows; a row is free when its task has ended.
 */
static void tasks_of_one_time_have_rows_of_their_own(void **state)
{
    (void)state;
    const struct {
        uint32_t thread, name, start_ms, end_ms, row;
    } tasks[] = {
        { 1, 7, 0, 50, 0 },  { 1, 7, 0, 20, 1 },  { 1, 7, 10, 30, 2 }, { 1, 8, 10, 60, 0 }, /* another name */
        { 1, 7, 20, 80, 1 }, { 1, 7, 50, 50, 0 }, { 1, 7, 50, 90, 0 }, { 2, 7, 5, 95, 0 },  /* another line */
    };
    struct marker markers[countof(tasks)];
    uint32_t names[countof(tasks)];
    for (size_t i = 0; i < countof(tasks); i++) {
        names[i] = tasks[i].name;
        markers[i] = (struct marker){ .kind = MARKER_TASK,
                                      .thread = tasks[i].thread,
                                      .start_ns = tasks[i].start_ms * MS,
                                      .end_ns = tasks[i].end_ms * MS };
    }
    task_rows_assign(markers, countof(markers), names);
    for (size_t i = 0; i < countof(tasks); i++)
        assert_int_equal(markers[i].row, tasks[i].row);
}

/* Of markers that begin together the longest comes first, so that the others lie in it. */
static void the_longest_of_one_start_comes_first(void **state)
{
    (void)state;
    struct marker_store store = { 0 };
    size_t count;
    for (uint64_t i = 0; i < 5; i++) {
        const struct marker marker = { .kind = MARKER_TASK, .thread = 1, .end_ns = (1 + i * 3 % 5) * MS, .weight = 1 };
        marker_store_add(&store, &marker);
    }
    marker_store_settle(&store, &plenty);
    const struct marker *markers = marker_store_of(&store, 1, &count);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(markers[i].end_ns, (5 - i) * MS);
    marker_store_free(&store);
}

/* However many come, memory is bounded, and the heaviest are there. */
static void no_more_than_the_limit_are_held(void **state)
{
    (void)state;
    struct marker_store store = { 0 };
    add_many(&store, MARKER_GIL_WAIT, 1, 3 * MARKERS_LIMIT + 1);
    assert_int_equal(store.heaps[MARKER_GIL_WAIT].count, MARKERS_LIMIT);
    assert_int_equal(store.heaps[MARKER_GIL_WAIT].left_out.count, 2 * MARKERS_LIMIT + 1);
    assert_int_equal(store.heaps[MARKER_GIL_WAIT].left_out.longest_ns, (2 * MARKERS_LIMIT + 1) * (uint64_t)MS);
    marker_store_settle(&store, &plenty);
    size_t count;
    const struct marker *kept = marker_store_of(&store, 1, &count);
    assert_int_equal(count, MARKERS_LIMIT);
    assert_int_equal(kept[0].weight, (2 * MARKERS_LIMIT + 2) * (uint64_t)MS);
    marker_store_free(&store);
}

/* Markers of several threads come in any order. */
static void of_equal_markers_the_first_threads_stay(void **state)
{
    (void)state;
    enum { COUNT = MARKERS_LIMIT + 3 };
    struct marker_store store = { 0 };
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct marker marker = {
            .kind = MARKER_EXCEPTION, .thread = 1 + i * 7919 % COUNT, .start_ns = MS, .end_ns = 2 * MS, .weight = MS
        };
        marker_store_add(&store, &marker);
    }
    marker_store_settle(&store, &plenty);
    size_t count;
    assert_non_null(marker_store_of(&store, 1, &count));
    assert_non_null(marker_store_of(&store, MARKERS_LIMIT, &count));
    assert_null(marker_store_of(&store, MARKERS_LIMIT + 1, &count));
    marker_store_free(&store);
}

/* A kind with few markers keeps all; the others share what is left. */
static void kinds_share(void **state)
{
    (void)state;
    struct marker_store store = { 0 };
    add_many(&store, MARKER_GIL_WAIT, 1, MARKERS_LIMIT);
    add_many(&store, MARKER_TASK, 1, MARKERS_LIMIT);
    add_many(&store, MARKER_GAP, 2, 100);
    marker_store_settle(&store, &plenty);
    assert_int_equal(marker_store_count(&store, MARKER_GAP), 100);
    assert_int_equal(marker_store_count(&store, MARKER_GIL_WAIT), (MARKERS_LIMIT - 100) / 2);
    assert_int_equal(marker_store_count(&store, MARKER_TASK), (MARKERS_LIMIT - 100) / 2);
    assert_int_equal(store.settled_count, MARKERS_LIMIT);
    marker_store_free(&store);
}

static void a_kind_may_have_bytes_of_its_own(void **state)
{
    (void)state;
    struct marker_store store = { 0 };
    struct marker_budget budget = plenty;
    budget.bytes = 0;
    budget.least_bytes[MARKER_TASK] = 5000;
    add_many(&store, MARKER_TASK, 1, 500);
    add_many(&store, MARKER_GC, 1, 500);
    marker_store_settle(&store, &budget);
    assert_int_equal(marker_store_count(&store, MARKER_TASK), 50);
    assert_int_equal(marker_store_count(&store, MARKER_GC), 0);
    marker_store_free(&store);
}

/* ---- what is found ---- */

#define RUNS  (STATUS_RECORDED | STATUS_CPU)
#define HOLDS (RUNS | STATUS_GIL)
#define WAITS (STATUS_RECORDED | STATUS_GIL_WAIT)

/* clang-format off */
#define BEGINNING \
    { EVENT_RECORDING, .recording = { .interval_ns = 10 * MS, .time_unit_ns = 1000 } }, \
    PROCESS(1, 4242, "/home/u"), THREAD(1, 1, 4242, "python3"), THREAD(2, 1, 4243, "b"), THREAD(3, 1, 4244, "c"), \
    STRING(1, "<module>"), STRING(2, "/a.py"), STRING(3, "f"), STRING(4, "g"), STRING(5, "<GC>"), \
    STRING(6, "BaseEventLoop._run_once"), STRING(7, "/usr/lib/python3.15/asyncio/base_events.py"), \
    STRING(8, "Handle._run"), STRING(9, "/usr/lib/python3.15/asyncio/events.py"), STRING(10, "EpollSelector.select"), \
    STRING(11, "/usr/lib/python3.15/selectors.py"), \
    FUNCTION(1, 1, 2, 1), FUNCTION(2, 3, 2, 5), FUNCTION(3, 4, 2, 9), SYNTHETIC(4, 5, KIND_GC), FUNCTION(5, 6, 7, 1), \
    FUNCTION(6, 8, 9, 1), FUNCTION(7, 10, 11, 1), \
    FRAME(1, 1, 3), FRAME(2, 2, 6), FRAME(3, 3, 10), FRAME(4, 4, 0), FRAME(5, 5, 2), FRAME(6, 6, 2), FRAME(7, 7, 2)
/* clang-format on */

struct finding {
    struct tables tables;
    struct markers markers;
};

static void begin(struct finding *finding, const struct event *story, size_t count)
{
    *finding = (struct finding){ 0 };
    markers_begin(&finding->markers, &finding->tables, 15 * MS);
    for (size_t i = 0; i < count; i++) {
        struct event event = story[i];
        assert_true(tables_take(&finding->tables, &event, NULL));
        markers_take(&finding->markers, &event);
        if (event.kind == EVENT_RUN)
            markers_take_run(&finding->markers, &event.run, event.run.thread);
    }
}

/* A line for each marker: "3: wait 10-30 by 1 in f". Frees all. */
static void assert_found(struct finding *finding, const char *wanted)
{
    static const char *const names[] = { "wait", "gc", "exception", "gap", "blocked", "task" };
    char text[4096] = "";
    size_t used = 0;
    markers_settle(&finding->markers, 1u << 30);
    for (size_t i = 0; i < finding->markers.store.settled_count; i++) {
        const struct marker *marker = &finding->markers.store.settled[i];
        const struct text function = tables_function_name(&finding->tables, marker->function);
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%" PRIu32 ": %s %" PRIu64 "-%" PRIu64 " of %" PRIu32 " in %.*s, %" PRIu32 "\n",
                                 marker->thread, names[marker->kind], marker->start_ns / MS, marker->end_ns / MS,
                                 marker->subject, (int)function.size, function.size ? function.bytes : "",
                                 marker->count);
    }
    assert_string_equal(text, wanted);
    markers_free(&finding->markers);
    tables_free(&finding->tables);
}

/* Thread 1 waits for 40 ms, in which 3 holds the lock longest, though 2 comes first; the holder comes behind the
 * waiter. A shorter wait is left out. */
static void a_wait_knows_who_held_the_lock(void **state)
{
    (void)state;
    const struct event story[] = {
        BEGINNING,
        STATUS_SAMPLE(10 * MS, 1, 0, WAITS, 0, 1),
        STATUS_SAMPLE(10 * MS, 2, 0, HOLDS, 0, 2),
        STATUS_SAMPLE(10 * MS, 3, 0, RUNS, 0, 1),
        TICK(10 * MS),
        STATUS_SAME(20 * MS, 1, 1, WAITS, 0),
        STATUS_SAMPLE(20 * MS, 3, 0, HOLDS, 0, 3),
        STATUS_SAME(20 * MS, 2, 1, WAITS, 0),
        TICK(20 * MS),
        STATUS_SAME(30 * MS, 1, 1, WAITS, 0),
        STATUS_SAME(30 * MS, 2, 1, RUNS, 0),
        STATUS_SAMPLE(30 * MS, 3, 0, HOLDS, 0, 2),
        TICK(30 * MS),
        FAILED(40 * MS, 1, FAILURE_CHANGED),
        STATUS_SAMPLE(40 * MS, 3, 0, HOLDS, 0, 3),
        TICK(40 * MS),
        STATUS_SAME(50 * MS, 1, 1, HOLDS, 0),
        TICK(50 * MS),
    };
    struct finding finding;
    begin(&finding, story, countof(story));
    assert_int_equal(finding.markers.store.heaps[MARKER_GIL_WAIT].left_out.count, 1);
    assert_int_equal(finding.markers.store.heaps[MARKER_GIL_WAIT].left_out.longest_ns, 10 * MS);
    assert_found(&finding, "1: wait 10-50 of 3 in g, 0\n");
}

/* The thread ends before the last samples of its tick come: that is one wait. */
static void a_wait_ends_with_its_thread(void **state)
{
    (void)state;
    const struct event story[] = {
        BEGINNING,
        STATUS_SAMPLE(10 * MS, 2, 0, WAITS, 0, 1),
        TICK(10 * MS),
        { EVENT_THREAD_END, .change = { 2, 28 * MS, { 0 }, false } },
        STATUS_SAME(20 * MS, 2, 1, WAITS, 0),
        TICK(20 * MS),
        STATUS_SAMPLE(30 * MS, 1, 0, RUNS, 0, 1),
        TICK(30 * MS),
    };
    struct finding finding;
    begin(&finding, story, countof(story));
    assert_found(&finding, "2: wait 10-28 of 0 in , 0\n");
}

/* f begins a collection, and then <module> begins another; the last look at a collection knows its generation. */
static void collections_are_told_apart(void **state)
{
    (void)state;
    const struct event story[] = {
        BEGINNING,
        SAMPLE(10 * MS, 1, 0, 1, 2, 4),
        TICK(10 * MS),
        SAMPLE(20 * MS, 1, 3, 3), /* a finalizer */
        TICK(20 * MS),
        { EVENT_SAMPLE, .sample = { .count = 1,
                                    .thread = 1,
                                    .keep = 1,
                                    .pushed = 1,
                                    .frames = (const uint32_t[]){ 4 },
                                    .time_ns = 30 * MS,
                                    .collection = 3 } },
        TICK(30 * MS),
        SAMPLE(40 * MS, 1, 1, 2),
        TICK(40 * MS),
    };
    struct finding finding;
    begin(&finding, story, countof(story));
    assert_found(&finding, "1: gc 10-30 of 0 in f, 0\n"
                           "1: gc 30-40 of 0 in <module>, 3\n");
}

/* Looks with an exception that are close together are one marker; it says for how long there was one. */
static void exceptions_are_merged(void **state)
{
    (void)state;
    struct finding finding;
    static const struct event beginning[] = { BEGINNING };
    static const bool is[] = { true, false, true, true, false, false, false, false, true, false };
    begin(&finding, beginning, countof(beginning));
    for (uint64_t i = 0; i < countof(is); i++) {
        struct event story[] = {
            STATUS_SAMPLE((i + 1) * 10 * MS, 1, 0, RUNS | (is[i] ? STATUS_EXCEPTION : 0), 0, 1),
            TICK((i + 1) * 10 * MS),
        };
        for (size_t k = 0; k < countof(story); k++) {
            assert_true(tables_take(&finding.tables, &story[k], NULL));
            markers_take(&finding.markers, &story[k]);
            if (k == 0)
                markers_take_run(&finding.markers, &story[k].run, 1);
        }
    }
    markers_settle(&finding.markers, 1u << 30);
    size_t count;
    const struct marker *found = marker_store_of(&finding.markers.store, 1, &count);
    assert_int_equal(count, 2);
    assert_int_equal(found[0].start_ns, 10 * MS);
    assert_int_equal(found[0].end_ns, 50 * MS);
    assert_int_equal(found[0].amount_ns, 30 * MS);
    assert_int_equal(found[1].start_ns, 90 * MS);
    assert_int_equal(found[1].amount_ns, 10 * MS);
    markers_free(&finding.markers);
    tables_free(&finding.tables);
}

static void gaps_count_what_was_missed(void **state)
{
    (void)state;
    const struct event story[] = {
        BEGINNING,
        SAMPLE(10 * MS, 2, 0, 1),
        SAMPLE(10 * MS, 1, 0, 1),
        TICK(10 * MS),
        MISSED(4),
        FAILED(60 * MS, 0, FAILURE_THREADS),
        TICK(60 * MS),
        SAME(70 * MS, 2, 1),
        SAME(70 * MS, 1, 1),
        TICK(70 * MS),
        MISSED(1),
        SAME(90 * MS, 1, 1),
        TICK(90 * MS),
        SAME(190 * MS, 1, 1), /* the recorder left ticks out: no gap */
        TICK(190 * MS),
    };
    struct finding finding;
    begin(&finding, story, countof(story));
    assert_int_equal(finding.markers.store.heaps[MARKER_GAP].left_out.count, 1);
    assert_found(&finding, "1: gap 10-70 of 0 in , 4\n");
}

/* A mode kept one sample in a second, in which one tick was missed: nobody knows more of the second than that. */
static void missed_ticks_do_not_explain_what_a_mode_leaves_out(void **state)
{
    (void)state;
    const struct event story[] = {
        BEGINNING, SAMPLE(10 * MS, 1, 0, 1), TICK(10 * MS), MISSED(1), SAME(1010 * MS, 1, 1), TICK(1010 * MS),
    };
    struct finding finding;
    begin(&finding, story, countof(story));
    assert_found(&finding, "");
}

/* The tables then have no stacks at all. */
static void a_recording_without_frames_has_no_markers(void **state)
{
    (void)state;
    const struct event story[] = {
        BEGINNING,
        { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .status = HOLDS } },
        TICK(0),
    };
    struct finding finding;
    begin(&finding, story, countof(story));
    assert_found(&finding, "");
}

/* ---- blocked loops ---- */

/* Tells looks at a loop, so many ms apart: 'f' and 'g' in a callback of these functions, which is proved to run since
 * its first look; 'F' and 'G' in one of which this look proves nothing; 's' in no callback. */
static void tell_loop(struct finding *finding, const char *looks, uint64_t apart)
{
    static const struct event beginning[] = { BEGINNING };
    static const uint32_t in_f[] = { 1, 5, 6, 2 }, in_g[] = { 1, 5, 6, 3 };
    begin(finding, beginning, countof(beginning));
    uint64_t since_ns = 0;
    char before = 's';
    for (uint64_t i = 0; looks[i]; i++) {
        const char look = looks[i];
        const uint64_t now_ns = (i + 1) * apart * MS;
        const bool f = strchr("fF", look) != NULL, g = strchr("gG", look) != NULL, proved = strchr("fg", look) != NULL;
        if (tolower(look) != tolower(before))
            since_ns = now_ns;
        before = look;
        struct event event = { EVENT_SAMPLE, .sample = { .count = 1,
                                                         .thread = 1,
                                                         .time_ns = now_ns,
                                                         .stands_ns = apart * MS,
                                                         .status = HOLDS,
                                                         .callback_ns = proved ? since_ns : 0 } };
        event.sample.frames = f ? in_f : in_g;
        event.sample.pushed = f || g ? 4 : 2;
        struct event tick = TICK(now_ns);
        assert_true(tables_take(&finding->tables, &event, NULL));
        markers_take_run(&finding->markers, &event.run, 1);
        assert_true(tables_take(&finding->tables, &tick, NULL));
        markers_take(&finding->markers, &tick);
    }
}

static void assert_blocked(const char *looks, uint64_t apart, const char *wanted)
{
    struct finding finding;
    tell_loop(&finding, looks, apart);
    assert_found(&finding, wanted);
}

static void a_long_callback_blocks_the_loop(void **state)
{
    (void)state;
    assert_blocked("ssffffffffss", 10, "1: blocked 30-100 of 0 in f, 0\n");
    assert_blocked("ssfffffgggggss", 10, ""); /* too short, each of them */
    assert_blocked("ssffffffggggggss", 10, "1: blocked 30-80 of 0 in f, 0\n1: blocked 90-140 of 0 in g, 0\n");
    assert_blocked("ssffffff", 10, "1: blocked 30-80 of 0 in f, 0\n"); /* the recording ends */
}

static void what_is_not_proved_is_no_marker(void **state)
{
    (void)state;
    assert_blocked("FFFFFFFFFFFFFFFFFFFFFFFF", 10, "");
    assert_blocked("ssfffFFFFFFs", 10, "");                                 /* another callback of f, maybe */
    assert_blocked("ssfffFFfffss", 10, "1: blocked 30-100 of 0 in f, 0\n"); /* no: it still runs */
    assert_blocked("ssssssssssssssssss", 10, "");
}

/* Three looks may fall into a block of 100 ms that prove no more than what is between them. */
static void rare_looks_prove_less(void **state)
{
    (void)state;
    assert_blocked("ssfffs", 33, "1: blocked 99-165 of 0 in f, 0\n");
    assert_blocked("ssfffs", 24, "1: blocked 72-120 of 0 in f, 0\n");
    assert_blocked("ssffffs", 10, "");                                /* frequent looks: it was not so long */
    assert_blocked("ssFFfs", 24, "1: blocked 72-120 of 0 in f, 0\n"); /* the first two are known by the third */
    assert_blocked("ssFfs", 40, "");
    assert_blocked("ssfs", 80, "");
}

/* Names and files of asyncio that are not asyncio's. */
static void only_asyncio_has_loops(void **state)
{
    (void)state;
    const struct event story[] = {
        BEGINNING,
        STRING(12, "my_run_once"),
        FUNCTION(8, 12, 7, 1),
        FUNCTION(9, 6, 2, 1),
        FRAME(8, 8, 1),
        FRAME(9, 9, 1),
        SAMPLE(10 * MS, 1, 0, 1, 8, 6, 2),
        SAMPLE(10 * MS, 2, 0, 1, 9, 6, 2),
        SAMPLE(10 * MS, 3, 0, 1, 5, 6, 2),
    };
    static const enum loop_place places[] = { LOOP_NONE, LOOP_NONE, LOOP_CALLBACK };
    struct finding finding;
    begin(&finding, story, countof(story));
    for (uint32_t thread = 1; thread <= countof(places); thread++) {
        const struct thread_row *row = &finding.tables.threads[thread];
        assert_int_equal(stack_facts_of(&finding.markers.facts, row->stacks[row->depth - 1])->loop, places[thread - 1]);
    }
    assert_found(&finding, "");
}

/* ---- spans of OpenTelemetry ---- */

/* Tells looks at a thread each 10 ms: 'a' and 'b' on these spans, '.' on none, ' ' no look. */
static void assert_traced(const char *looks, const char *wanted)
{
    static const struct event beginning[] = { BEGINNING };
    static const uint32_t frames[] = { 1 };
    struct finding finding;
    begin(&finding, beginning, countof(beginning));
    for (uint64_t i = 0; looks[i]; i++) {
        const uint64_t now_ns = (i + 1) * 10 * MS;
        struct event event = { EVENT_SAMPLE, .sample = { .count = 1,
                                                         .thread = 1,
                                                         .time_ns = now_ns,
                                                         .stands_ns = 10 * MS,
                                                         .status = HOLDS,
                                                         .pushed = 1,
                                                         .frames = frames } };
        struct event tick = TICK(now_ns);
        if (looks[i] != '.')
            event.sample.span = (struct span_ids){ 7, 8, (uint64_t)looks[i] };
        if (looks[i] != ' ') {
            assert_true(tables_take(&finding.tables, &event, NULL));
            markers_take_run(&finding.markers, &event.run, 1);
        }
        assert_true(tables_take(&finding.tables, &tick, NULL));
        markers_take(&finding.markers, &tick);
    }
    markers_settle(&finding.markers, 1 << 20);
    char found[512] = "";
    size_t count;
    const struct marker *markers = marker_store_of(&finding.markers.store, 1, &count);
    for (size_t i = 0; i < count; i++)
        if (markers[i].kind == MARKER_SPAN)
            snprintf(found + strlen(found), sizeof(found) - strlen(found), "%c %" PRIu64 "-%" PRIu64 "\n",
                     (int)markers[i].span.id, markers[i].start_ns / MS, markers[i].end_ns / MS);
    assert_string_equal(found, wanted);
    markers_free(&finding.markers);
    tables_free(&finding.tables);
}

static void each_stretch_of_a_span_is_a_marker(void **state)
{
    (void)state;
    assert_traced("....", "");
    assert_traced("..aaaa..", "a 30-70\n");
    assert_traced("aab.a", "a 10-30\nb 30-40\na 50-60\n"); /* the recording ends */
    assert_traced("aa   aa.", "a 10-30\na 60-80\n");       /* the thread was absent */
}

TEST_FILE(gecko_markers)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_of_one_time_have_rows_of_their_own),
        cmocka_unit_test(the_longest_of_one_start_comes_first),
        cmocka_unit_test(the_heaviest_are_kept),
        cmocka_unit_test(no_more_than_the_limit_are_held),
        cmocka_unit_test(of_equal_markers_the_first_threads_stay),
        cmocka_unit_test(kinds_share),
        cmocka_unit_test(a_kind_may_have_bytes_of_its_own),
        cmocka_unit_test(a_wait_knows_who_held_the_lock),
        cmocka_unit_test(a_wait_ends_with_its_thread),
        cmocka_unit_test(collections_are_told_apart),
        cmocka_unit_test(exceptions_are_merged),
        cmocka_unit_test(gaps_count_what_was_missed),
        cmocka_unit_test(a_recording_without_frames_has_no_markers),
        cmocka_unit_test(missed_ticks_do_not_explain_what_a_mode_leaves_out),
        cmocka_unit_test(a_long_callback_blocks_the_loop),
        cmocka_unit_test(what_is_not_proved_is_no_marker),
        cmocka_unit_test(rare_looks_prove_less),
        cmocka_unit_test(only_asyncio_has_loops),
        cmocka_unit_test(each_stretch_of_a_span_is_a_marker),
    };
    return run_all(tests);
}
