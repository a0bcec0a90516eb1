/* SPDX-License-Identifier: MIT */
#include "formats/model/tables.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>

#include <string.h>

/* Two processes' worth of definitions: frames 1 to 4 are <module>:3, main:7, f:11, f:12. */
static const struct event definitions[] = {
    PROCESS(1, 4313, "/home/u"),
    THREAD(1, 1, 4313, "python3"),
    THREAD(2, 1, 4314, "worker"),
    STRING(1, "<module>"),
    STRING(2, "main"),
    STRING(3, "f"),
    STRING(4, "/home/u/app.py"),
    FUNCTION(1, 1, 4, 1),
    FUNCTION(2, 2, 4, 6),
    FUNCTION(3, 3, 4, 10),
    FRAME(1, 1, 3),
    FRAME(2, 2, 7),
    FRAME(3, 3, 11),
    FRAME(4, 3, 12),
};

static void define(struct tables *tables)
{
    for (size_t i = 0; i < countof(definitions); i++) {
        struct event event = definitions[i];
        assert_true(tables_take(tables, &event, NULL));
    }
}

/* A stack is its caller's stack and one frame: those that share a root share its rows. */
static const struct {
    struct event event;
    uint32_t stack;
} folded[] = {
    { SAMPLE(1, 1, 0, 1, 2, 3), 3 }, /* <module> main f:11 */
    { SAME(2, 1, 3), 3 },
    { SAMPLE(3, 1, 2, 4), 4 },    /* <module> main f:12 */
    { SAME(4, 1, 1), 1 },         /* <module> */
    { SAMPLE(5, 2, 0, 1, 2), 2 }, /* another thread, the same stacks */
    { SAMPLE(6, 2, 2, 3), 3 },
    { SAME(7, 1, 0), 0 },         /* no frames at all */
    { SAMPLE(8, 1, 0, 3), 5 },    /* f:11 with nobody below it is another stack */
    { SAMPLE(9, 1, 1, 3, 3), 7 }, /* recursion */
    { SAMPLE(10, 1, 1, 3), 6 },
};

static void folds_stacks_into_a_tree(void **state)
{
    (void)state;
    static const struct stack stacks[] = { { 0, 0 }, { 0, 1 }, { 1, 2 }, { 2, 3 },
                                           { 2, 4 }, { 0, 3 }, { 5, 3 }, { 6, 3 } };
    struct tables tables = { 0 };
    define(&tables);
    for (size_t i = 0; i < countof(folded); i++) {
        struct event event = folded[i].event;
        assert_true(tables_take(&tables, &event, NULL));
        assert_int_equal(event.run.stack, folded[i].stack);
    }
    assert_int_equal(tables.stacks_count, countof(stacks));
    assert_memory_equal(tables.stacks + 1, stacks + 1, sizeof(stacks) - sizeof(*stacks));
    assert_int_equal(tables.samples, countof(folded));
    assert_int_equal(tables.threads[1].samples, 8);
    assert_int_equal(tables.threads[2].samples, 2);
    assert_int_equal(tables.last_ns, 10);
    tables_free(&tables);
}

static const struct {
    struct event event;
    const char *reason;
} broken[] = {
    { PROCESS(1, 1, "/"), "process 1 is defined twice" },
    { PROCESS(0, 1, "/"), "process 0 is defined twice" },
    { PROCESS(3, 1, "/"), "process 3 is defined out of order (expected 2)" },
    { THREAD(3, 2, 9, "t"), "thread 3 refers to something that is not defined" },
    { THREAD(2, 1, 9, "t"), "thread 2 is defined twice" },
    { THREAD(UINT32_MAX, 1, 9, "t"), "thread 4294967295 is defined out of order (expected 3)" },
    { STRING(4, "again"), "string 4 is defined twice" },
    { STRING(6, "early"), "string 6 is defined out of order (expected 5)" },
    { FUNCTION(4, 5, 4, 1), "function 4 refers to something that is not defined" },
    { FUNCTION(4, 0, 4, 1), "function 4 refers to something that is not defined" },
    { FUNCTION(4, 1, 5, 1), "function 4 refers to something that is not defined" },
    { FUNCTION(3, 1, 4, 1), "function 3 is defined twice" },
    { FRAME(5, 4, 1), "frame 5 refers to something that is not defined" },
    { FRAME(5, 0, 1), "frame 5 refers to something that is not defined" },
    { FRAME(4, 3, 1), "frame 4 is defined twice" },
    { SAMPLE(9, 3, 0, 1), "a sample of thread 3 refers to something that is not defined" },
    { SAMPLE(9, 0, 0, 1), "a sample of thread 0 refers to something that is not defined" },
    { SAMPLE(9, 1, 0, 5), "a sample of thread 1 refers to something that is not defined" },
    { SAMPLE(9, 2, 0, 0), "a sample of thread 2 refers to something that is not defined" },
    { SAME(9, 2, 1), "a sample keeps 1 frames of a stack of 0" },
    { { EVENT_THREAD_END, .change = { .number = 3 } }, "a change of thread 3 refers to something that is not defined" },
    { { EVENT_THREAD_NAME, .change = { .number = 0 } },
      "a change of thread 0 refers to something that is not defined" },
    { TITLE(2, 9, "late"), "a title of process 2 refers to something that is not defined" },
    { { EVENT_PROCESS_END, .process_end = { .number = 2 } },
      "the end of process 2 refers to something that is not defined" },
    { MEASURE(9, 2, 0, 0, 0), "a measure of process 2 refers to something that is not defined" },
    { MEASURE(9, 0, 0, 0, 0), "a measure of process 0 refers to something that is not defined" },
    { TASK(2, 1, "early"), "task 2 is defined out of order (expected 1)" },
    { TASK(1, 2, "t"), "task 1 refers to something that is not defined" },
    { TASK_WAITER(9, 1, 0, 0), "who waits for task 1 refers to something that is not defined" },
    { TASK_ENTRY(3, 1, 9, 1, "t"), "thread 3 refers to something that is not defined" },
    { TASK_SAMPLE(9, 1, 1, 0, 1), "the task of a sample of thread 1 refers to something that is not defined" },
    { COUNTER("Reads", 1), "a counter has an invalid name" },
    { { .kind = 0 }, "an event of unknown kind 0" },
};

static void refuses_what_breaks_a_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(broken); i++) {
        struct tables tables = { 0 };
        struct fault why = { 0 };
        struct event event = broken[i].event;
        define(&tables);
        if (tables_take(&tables, &event, &why))
            fail_msg("row %zu was taken", i);
        assert_string_equal(why.text, broken[i].reason);
        assert_int_equal(tables.samples, 0);
        assert_int_equal(tables.processes_count, 2);
        assert_int_equal(tables.threads_count, 3);
        assert_int_equal(tables.strings_count, 5);
        assert_int_equal(tables.functions_count, 4);
        assert_int_equal(tables.frames_count, 5);
        tables_free(&tables);
    }
}

/* CPU times never go back; an amount that is not known is none; a measure of a lost process says so. */
static void measures_are_summed_up(void **state)
{
    (void)state;
    const struct {
        struct event event;
        uint32_t process;
        uint64_t cpu_ns;
    } rows[] = {
        { MEASURE(1, 1, MEASURE_UNKNOWN, MEASURE_UNKNOWN, MEASURE_UNKNOWN), 1, MEASURE_UNKNOWN },
        { MEASURE(2, 1, 8192, 100, 7), 1, 100 },
        { MEASURE(3, 1, 12288, 300, 8), 1, 300 },
        { MEASURE(4, 1, 4096, 250, 9), 1, 300 },
        { MEASURE(5, 1, MEASURE_UNKNOWN, MEASURE_UNKNOWN, 9), 1, MEASURE_UNKNOWN },
        { MEASURE(6, 7, 1 << 30, 900, 900), 0, 900 },
    };
    struct tables tables = { .forgiving = true };
    define(&tables);
    for (size_t i = 0; i < countof(rows); i++) {
        struct event event = rows[i].event;
        assert_true(tables_take(&tables, &event, NULL));
        assert_int_equal(event.measure.process, rows[i].process);
        assert_true(event.measure.cpu_ns == rows[i].cpu_ns);
    }
    const struct measures *measures = &tables.processes[1].measures;
    assert_int_equal(measures->count, 5);
    assert_int_equal(measures->latest.time_ns, 5);
    assert_int_equal(measures->latest.resident_bytes, 4096);
    assert_int_equal(measures->most_resident_bytes, 12288);
    assert_int_equal(measures->first_cpu_ns, 100);
    assert_int_equal(measures->latest.cpu_ns, 300);
    assert_int_equal(measures->first_recorder_cpu_ns, 7);
    assert_int_equal(measures->latest.recorder_cpu_ns, 9);
    tables_free(&tables);
}

static void a_recording_is_described_once(void **state)
{
    (void)state;
    struct tables tables = { 0 };
    struct event event = { EVENT_RECORDING, .recording = { .host = T("here"), .interval_ns = 7 } };
    assert_true(tables_take(&tables, &event, NULL));
    assert_false(tables_take(&tables, &event, NULL));
    assert_text(tables.recording.host, "here");
    assert_int_equal(tables.recording.interval_ns, 7);
    tables_free(&tables);
}

/* After a loss numbers may jump; what is built on lost ground is counted and not shown. */
static const struct {
    struct event event;
    uint32_t stack;
} forgiven[] = {
    { STRING(9, "late"), 0 },
    { FUNCTION(6, 9, 0, 1), 0 },
    { FRAME(8, 6, 1), 0 },
    { SAMPLE(1, 1, 0, 1, 8), 2 },          /* whole */
    { SAMPLE(2, 1, 1, 6, 8), STACK_LOST }, /* frame 6 was lost, so is all that it called */
    { SAMPLE(3, 1, 2, 8), STACK_LOST },
    { SAMPLE(4, 1, 1, 2), 3 }, /* above it the stack is good again */
    { SAMPLE(5, 7, 0, 1), STACK_LOST },
    { SAMPLE(6, 2, 0, 99), STACK_LOST },
    { FUNCTION(7, 7, 0, 1), 0 }, /* of a lost name, so it is lost too */
    { FRAME(9, 7, 1), 0 },       /* and this with it */
    { SAMPLE(6, 2, 0, 9), STACK_LOST },
    { THREAD(5, 1, 9, "t"), 0 },
    { SAMPLE(7, 4, 0, 1), STACK_LOST }, /* thread 4 was passed over */
    { SAMPLE(8, 5, 0, 1), 1 },
    { { EVENT_THREAD_END, .change = { .number = 4 } }, 0 }, /* news of what was lost is no news */
    { THREAD(6, 3, 9, "t"), 0 },                            /* of a lost process */
    { SAMPLE(9, 6, 0, 1), STACK_LOST },
    { TASK(3, 1, "t"), 0 },
    { TASK_SAMPLE(10, 1, 3, 0, 1), 1 },
    { TASK_SAMPLE(11, 1, 2, 1, 2), 3 },    /* what task it ran is lost, its stack is not */
    { TASK_ENTRY(7, 1, 9, 2, "lost"), 0 }, /* nobody knows what this stands for */
    { TASK_SAMPLE(12, 7, 2, 0, 1), STACK_LOST },
};

static void forgives_what_a_lost_block_took(void **state)
{
    (void)state;
    struct tables tables = { .forgiving = true };
    define(&tables);
    for (size_t i = 0; i < countof(forgiven); i++) {
        struct event event = forgiven[i].event;
        if (!tables_take(&tables, &event, NULL))
            fail_msg("row %zu was refused", i);
        if (forgiven[i].event.kind == EVENT_SAMPLE)
            assert_int_equal(event.run.stack, forgiven[i].stack);
    }
    assert_int_equal(tables.samples, 5);
    assert_int_equal(tables.lost_samples, 8);
    assert_int_equal(tables.tasks[3].samples, 1);
    assert_int_equal(tables.tasks[2].samples, 0);
    assert_int_equal(tables_task(&tables, 2)->task.number, 0);
    assert_int_equal(tables_string(&tables, 7).size, 0);
    tables_free(&tables);
}

static void jumps_are_bounded_in_all(void **state)
{
    (void)state;
    struct tables tables = { .forgiving = true };
    define(&tables);
    struct event far = STRING(4194304 + 6, "too far"), most = STRING(4194304 + 5, "as far as it goes");
    struct event more = FRAME(6, 1, 1), next = STRING(4194304 + 6, "no jump");
    assert_false(tables_take(&tables, &far, NULL));
    assert_true(tables_take(&tables, &most, NULL));
    assert_false(tables_take(&tables, &more, NULL));
    assert_true(tables_take(&tables, &next, NULL));
    tables_free(&tables);
}

static void counts_what_happened(void **state)
{
    (void)state;
    static const struct event events[] = {
        FAILED(1, 1, FAILURE_CHANGED),
        FAILED(1, 0, FAILURE_THREADS),
        FAILED(1, 2, FAILURE_CHANGED),
        FAILED(1, 2, (enum failure)77),
        MISSED(5),
        MISSED(2),
        TICK(10),
        TICK(20),
        { EVENT_THREAD_NAME, .change = { 2, 15, T("renamed"), false } },
        { EVENT_THREAD_END, .change = { 2, 17, { 0 }, false } },
        { EVENT_PROCESS_END, .process_end = { 1, 19, FATE_UNKNOWN, -1 } },
        COUNTER("reads", 5),
        COUNTER("pieces", 6),
        COUNTER("reads", 7),
        { EVENT_END, .end = { END_SIGNAL, 21, 1, 2, 3, 4, -1 } },
    };
    struct tables tables = { 0 };
    define(&tables);
    for (size_t i = 0; i < countof(events); i++) {
        struct event event = events[i];
        assert_true(tables_take(&tables, &event, NULL));
    }
    assert_int_equal(tables.failed, 4);
    assert_int_equal(tables.failures[FAILURE_CHANGED], 2);
    assert_int_equal(tables.failures[FAILURE_THREADS], 1);
    assert_int_equal(tables.failures[0], 1);
    assert_int_equal(tables.missed, 7);
    assert_int_equal(tables.ticks, 2);
    assert_int_equal(tables.last_ns, 20);
    assert_int_equal(tables.threads[2].end_ns, 17);
    assert_int_equal(tables.processes[1].end_ns, 19);
    assert_int_equal(tables.counters.count, 2);
    assert_int_equal(counters_get(&tables.counters, "reads"), 7);
    assert_int_equal(counters_get(&tables.counters, "pieces"), 6);
    assert_int_equal(tables.end.reason, END_SIGNAL);
    assert_text(tables_thread_name(&tables, 1), "MainThread");
    assert_text(tables_thread_name(&tables, 2), "renamed");
    tables_free(&tables);
}

static void take_titles(struct tables *tables, const struct event *events, size_t count)
{
    define(tables);
    for (size_t i = 0; i < count; i++) {
        struct event event = events[i];
        assert_true(tables_take(tables, &event, NULL));
    }
}

/* While events come, a process has its latest title; then the one that it had for most of the time. */
static void a_process_has_the_title_of_most_of_its_time(void **state)
{
    (void)state;
    static const struct {
        struct event events[6];
        const char *latest, *longest;
    } rows[] = {
        { { TICK(100) }, "python3 app.py", "python3 app.py" },
        { { TITLE(1, 40, "'a b'"), TICK(100) }, "'a b'", "'a b'" },
        { { TITLE(1, 60, "'a b'"), TICK(100) }, "'a b'", "python3 app.py" },
        { { TITLE(1, 10, "'a b'"), TITLE(1, 50, "'c'"), TITLE(1, 70, "'a b'"), TITLE(1, 71, "'c'"), TICK(100) },
          "'c'",
          "'c'" },
        { { TITLE(1, 10, "'a b'"), TITLE(1, 50, "'c'"), TITLE(1, 70, "'a b'"), TITLE(1, 90, "'c'"), TICK(100) },
          "'c'",
          "'a b'" },
        { { TITLE(1, 10, "'a b'"), TITLE(1, 30, ""), TICK(100) }, "'a b'", "'a b'" }, /* erased */
        { { TITLE(1, 10, "'a b'"),
            TITLE(1, 50, "'c'"),
            { EVENT_PROCESS_END, .process_end = { .number = 1, .time_ns = 60 } },
            TICK(200) },
          "'c'",
          "'a b'" },
        { { TITLE(1, 10, "'a b'"), TITLE(1, 5, "'c'"), TICK(4) }, "'c'", "python3 app.py" }, /* times that lie */
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct tables tables = { 0 };
        size_t count = 0;
        while (count < countof(rows[i].events) && rows[i].events[count].kind)
            count++;
        take_titles(&tables, rows[i].events, count);
        assert_true(text_equal(tables.processes[1].process.command, text_of(rows[i].latest)));
        tables_end_taking(&tables);
        assert_true(text_equal(tables.processes[1].process.command, text_of(rows[i].longest)));
        tables_free(&tables);
    }
}

/* A worker may have a title for each thing that it does. */
static void titles_take_bounded_memory(void **state)
{
    (void)state;
    struct tables tables = { 0 };
    char text[32];
    define(&tables);
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(text, sizeof(text), i % 2 ? "'idle'" : "'request %u'", i);
        struct event event = { EVENT_PROCESS_TITLE, .change = { 1, i * 10 + i % 2 * 2, text_of(text), false } };
        assert_true(tables_take(&tables, &event, NULL));
    }
    assert_int_equal(tables.processes[1].titles.count, TITLES_MOST);
    tables_end_taking(&tables);
    assert_text(tables.processes[1].process.command, "'idle'");
    tables_free(&tables);
}

static void names_can_be_looked_up(void **state)
{
    (void)state;
    struct tables tables = { 0 };
    define(&tables);
    assert_text(tables_function_name(&tables, 3), "f");
    assert_text(tables_function_file(&tables, 3), "/home/u/app.py");
    assert_text(tables_string(&tables, 2), "main");
    assert_int_equal(tables_string(&tables, 0).size, 0);
    assert_int_equal(tables_string(&tables, 5).size, 0);
    assert_int_equal(tables_task(&tables, 1)->task.number, 0);
    struct event task = TASK(1, 1, "fetch");
    assert_true(tables_take(&tables, &task, NULL));
    assert_text(tables_task(&tables, 1)->task.name, "fetch");
    tables_free(&tables);
}

/* 20,000 frames deep, then one frame changes a thousand times: memory is by distinct stacks. */
static void deep_stacks_cost_what_changed(void **state)
{
    (void)state;
    static uint32_t deep[20000];
    struct tables tables = { 0 };
    define(&tables);
    for (size_t i = 0; i < countof(deep); i++)
        deep[i] = 3;
    struct event all = { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .pushed = countof(deep), .frames = deep } };
    assert_true(tables_take(&tables, &all, NULL));
    for (uint32_t i = 0; i < 1000; i++) {
        struct event leaf = { EVENT_SAMPLE, .sample = { .thread = 1,
                                                        .keep = countof(deep) - 1,
                                                        .pushed = 1,
                                                        .frames = (uint32_t[]){ 1 + i % 4 },
                                                        .time_ns = i,
                                                        .count = 1 } };
        assert_true(tables_take(&tables, &leaf, NULL));
    }
    assert_int_equal(tables.stacks_count, 1 + countof(deep) + 3);
    tables_free(&tables);
}

/* Stacks that lie side by side in the table of all, and frames that are looked for at its front and are not there: with
 * a walk over the whole table for each of them this would take minutes. */
static void what_is_not_there_is_not_looked_for(void **state)
{
    (void)state;
    enum { BITS = 16, RUN = 1 << (BITS - 1), FRAMES = 1 << 18 };
    static bool taken[RUN];
    static uint32_t frames[STACK_DEPTH_LIMIT];
    const struct hash_factors usual = HASH_USUAL;
    struct tables tables = { .forgiving = true };
    define(&tables);
    for (uint32_t number = 5; number <= FRAMES; number++) {
        struct event frame = FRAME(number, 1, number);
        const uint64_t place = hash_pair(&usual, 0, number) >> (64 - BITS);
        assert_true(tables_take(&tables, &frame, NULL));
        if (place >= RUN || taken[place])
            continue;
        taken[place] = true;
        struct event sample = { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .pushed = 1, .frames = &number } };
        assert_true(tables_take(&tables, &sample, NULL));
    }
    assert_in_range(tables.stacks_count, RUN - RUN / 50, RUN + 1);
    uint32_t missing = FRAMES + 1;
    while (hash_pair(&usual, STACK_LOST, missing) >> (64 - BITS) > 100)
        missing++;
    for (size_t i = 0; i < countof(frames); i++)
        frames[i] = missing;
    for (int i = 0; i < 10; i++) {
        struct event sample = { EVENT_SAMPLE,
                                .sample = { .count = 1, .thread = 1, .pushed = countof(frames), .frames = frames } };
        assert_true(tables_take(&tables, &sample, NULL));
        assert_int_equal(sample.run.stack, STACK_LOST);
    }
    tables_free(&tables);
}

/* ---- a thread in several interpreters ---- */

#define HERE  STATUS_RECORDED
#define THERE (STATUS_RECORDED | STATUS_ELSEWHERE)

/* What happens at an entry of thread 4313, in milliseconds. */
struct entry_event {
    enum event_kind kind; /* EVENT_THREAD, EVENT_THREAD_END or EVENT_SAMPLE */
    uint32_t entry;
    uint64_t interpreter; /* of EVENT_THREAD; below: of EVENT_SAMPLE */
    uint32_t status;
    uint64_t time_ms;
    bool fresh;
    uint64_t wall_ms; /* what the look stands for */
};

static const struct {
    const char *what;
    struct entry_event events[12];
} lives[] = {
    { "the thread goes to another interpreter and comes back",
      { { EVENT_THREAD, 1, 0, 0, 0, false, 0 },
        { EVENT_SAMPLE, 1, 0, HERE, 10, true, 1 },
        { EVENT_THREAD, 2, 1, 0, 0, false, 0 },
        { EVENT_SAMPLE, 1, 0, THERE, 14, false, 0 },
        { EVENT_SAMPLE, 2, 0, HERE, 14, true, 4 }, /* three ticks were missed */
        { EVENT_SAMPLE, 1, 0, THERE, 15, false, 0 },
        { EVENT_SAMPLE, 2, 0, HERE, 15, false, 1 },
        { EVENT_SAMPLE, 1, 0, HERE, 16, false, 1 },
        { EVENT_SAMPLE, 2, 0, THERE, 16, false, 0 } } },
    { "the entry of the main interpreter comes last",
      { { EVENT_THREAD, 1, 1, 0, 0, false, 0 },
        { EVENT_SAMPLE, 1, 0, HERE, 10, false, 1 },
        { EVENT_THREAD, 2, 0, 0, 0, false, 0 },
        { EVENT_SAMPLE, 2, 0, THERE, 10, false, 0 },
        { EVENT_SAMPLE, 1, 0, THERE, 11, false, 0 },
        { EVENT_SAMPLE, 2, 0, HERE, 11, false, 1 },
        { EVENT_SAMPLE, 1, 0, THERE, 12, false, 0 },
        { EVENT_SAMPLE, 2, 0, HERE, 12, false, 1 },
        { EVENT_SAMPLE, 1, 0, HERE, 13, false, 1 } } },
    { "another thread gets the number",
      { { EVENT_THREAD, 1, 0, 0, 0, false, 0 },
        { EVENT_THREAD, 2, 1, 0, 0, false, 0 },
        { EVENT_SAMPLE, 1, 0, HERE, 10, true, 1 },
        { EVENT_SAMPLE, 2, 0, THERE, 10, true, 0 },
        { EVENT_THREAD_END, 1, 0, 0, 11, false, 0 },
        { EVENT_THREAD_END, 2, 0, 0, 11, false, 0 },
        { EVENT_THREAD, 3, 1, 0, 0, false, 0 },
        { EVENT_SAMPLE, 3, 0, HERE, 90, true, 1 } } },
    { "a mode leaves the thread out for a while",
      { { EVENT_THREAD, 1, 0, 0, 0, false, 0 },
        { EVENT_THREAD, 2, 1, 0, 0, false, 0 },
        { EVENT_SAMPLE, 1, 0, HERE, 10, true, 1 },
        { EVENT_SAMPLE, 2, 0, HERE, 11, true, 1 },
        { EVENT_SAMPLE, 1, 0, HERE, 90, true, 1 },
        { EVENT_SAMPLE, 2, 0, HERE, 91, true, 1 } } },
    { "the thread's time in the other interpreter is not selected",
      { { EVENT_THREAD, 1, 0, 0, 0, false, 0 },
        { EVENT_SAMPLE, 1, 0, HERE, 10, true, 1 },
        { EVENT_SAMPLE, 1, 0, THERE, 11, false, 0 },
        { EVENT_SAMPLE, 1, 0, THERE, 90, false, 0 },
        { EVENT_SAMPLE, 1, 0, HERE, 91, false, 1 } } },
};

static struct event event_of(const struct entry_event *given)
{
    struct event event = { .kind = given->kind };
    if (given->kind == EVENT_THREAD)
        event.thread = (struct thread){
            .number = given->entry, .process = 1, .tid = 4313, .interpreter = given->interpreter
        };
    else if (given->kind == EVENT_THREAD_END)
        event.change = (struct change){ .number = given->entry, .time_ns = given->time_ms * MS };
    else
        event.sample = (struct sample){ .count = 1,
                                        .thread = given->entry,
                                        .status = given->status,
                                        .time_ns = given->time_ms * MS,
                                        .stands_ns = MS,
                                        .fresh = given->fresh };
    return event;
}

static void a_thread_has_one_life_in_all_interpreters(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(lives); i++) {
        struct tables tables = { 0 };
        struct event event = PROCESS(1, 4313, "/home/u");
        assert_true(tables_take(&tables, &event, NULL));
        for (const struct entry_event *given = lives[i].events; given->kind; given++) {
            event = event_of(given);
            assert_true(tables_take(&tables, &event, NULL));
            const uint64_t wall_us = given->kind == EVENT_SAMPLE ? event.run.wall_ns / 1000 : 0;
            const uint64_t wanted_us = given->wall_ms * 1000;
            if (wall_us > wanted_us + 500 || wall_us + 500 < wanted_us)
                fail_msg("%s: event %td stands for %lu us", lives[i].what, given - lives[i].events, wall_us);
        }
        tables_free(&tables);
    }
}

/* A mode may leave out all looks at a thread. */
static void cpu_time_without_a_sample_is_known(void **state)
{
    (void)state;
    struct tables tables = { 0 };
    define(&tables);
    struct event idle = LEFT_OUT(MS, 1, 5, 0), busy = LEFT_OUT(MS, 2, 5, 700);
    assert_true(tables_take(&tables, &idle, NULL) && tables_take(&tables, &busy, NULL));
    assert_false(tables.threads[1].cpu_known);
    assert_true(tables.threads[2].cpu_known);
    assert_int_equal(tables.threads[2].cpu_ns, 700);
    tables_free(&tables);
}

/* An output looks up stacks by their numbers, so the rows outlive the index by which stacks are found. */
static struct event a_module(uint32_t path, const char *build_id, uint64_t begin)
{
    return (struct event){ EVENT_MODULE, .module = { path, text_of(build_id), begin, 100, 64, 0 } };
}

static void a_module_is_known_by_its_path(void **state)
{
    (void)state;
    struct tables tables = { 0 };
    struct fault why = { 0 };
    define(&tables);
    assert_null(tables_module(&tables, 0));
    assert_null(tables_module(&tables, 4));
    struct event events[] = { a_module(4, "c0ffee", 4096), a_module(3, "01", 4096), a_module(4, "c0ffee", 4096) };
    for (size_t i = 0; i < countof(events); i++)
        assert_true(tables_take(&tables, &events[i], NULL));
    assert_true(text_equal(tables_module(&tables, 4)->build_id, TEXT("c0ffee")));
    assert_int_equal(tables_module(&tables, 4)->code_begin, 4096);
    assert_int_equal(tables_module(&tables, 4)->code_offset, 64);
    struct event unknown = a_module(5, "", 0);
    assert_false(tables_take(&tables, &unknown, &why));
    assert_string_equal(why.text, "module 5 refers to something that is not defined");
    tables_free(&tables);
}

/* Two files were at one path: nobody knows which one an address is of. */
static void a_module_that_is_two_is_not_known(void **state)
{
    (void)state;
    const struct event others[] = { a_module(4, "dead", 4096), a_module(4, "c0ffee", 8192), a_module(4, "", 4096) };
    for (size_t i = 0; i < countof(others); i++) {
        struct tables tables = { 0 };
        struct event first = a_module(4, "c0ffee", 4096), other = others[i];
        define(&tables);
        assert_true(tables_take(&tables, &first, NULL) && tables_take(&tables, &other, NULL));
        assert_int_equal(tables_module(&tables, 4)->path, 4);
        assert_int_equal(tables_module(&tables, 4)->build_id.size, 0);
        assert_int_equal(tables_module(&tables, 4)->code_size, 0);
        assert_true(tables_take(&tables, &first, NULL));
        assert_int_equal(tables_module(&tables, 4)->build_id.size, 0);
        tables_free(&tables);
    }
}

/* A function of Python may have such a name, too. */
static void native_functions_have_readable_names(void **state)
{
    (void)state;
    struct tables tables = { 0 };
    define(&tables);
    struct event events[] = {
        STRING(5, "_ZN1a1bEv"),
        STRING(6, "_ZN1a1cEv"),
        { EVENT_FUNCTION, .function = { .number = 4, .name = 5, .kind = KIND_NATIVE, .module = 4 } },
        { EVENT_FUNCTION, .function = { .number = 5, .name = 5, .kind = KIND_NATIVE, .module = 4, .address = 8 } },
        { EVENT_FUNCTION, .function = { .number = 6, .name = 6, .kind = KIND_PYTHON } },
        { EVENT_FUNCTION, .function = { .number = 7, .name = 2, .kind = KIND_NATIVE, .module = 4 } },
    };
    for (size_t i = 0; i < countof(events); i++)
        assert_true(tables_take(&tables, &events[i], NULL));
    assert_true(text_equal(tables_function_name(&tables, 4), TEXT("a::b")));
    assert_true(text_equal(tables_function_name(&tables, 5), TEXT("a::b")));
    assert_true(text_equal(tables_function_name(&tables, 6), TEXT("_ZN1a1cEv")));
    assert_true(text_equal(tables_function_name(&tables, 7), TEXT("main")));
    assert_true(text_equal(tables_linker_name(&tables, 5), TEXT("_ZN1a1bEv")));
    assert_true(text_equal(tables_linker_name(&tables, 2), TEXT("main")));
    tables_free(&tables);
}

static void rows_outlive_the_index_of_stacks(void **state)
{
    (void)state;
    struct tables tables = { 0 };
    define(&tables);
    struct event sample = SAMPLE(1, 1, 0, 1, 2, 3);
    assert_true(tables_take(&tables, &sample, NULL));
    assert_true(tables.stack_index.room > 0);
    tables_end_taking(&tables);
    assert_int_equal(tables.stack_index.room, 0);
    assert_null(tables.stack_index.slots);
    assert_int_equal(tables.stacks_count, 4);
    assert_int_equal(tables.stacks[3].frame, 3);
    assert_int_equal(tables.stacks[3].caller, 2);
    assert_string_equal(tables_function_name(&tables, tables.frames[2].function).bytes, "main");
    tables_free(&tables);
}

/* A run of count 0 brings CPU time, and stands for no tick: with --span it is counted, too. */
static void cpu_time_alone_is_no_look(void **state)
{
    (void)state;
    static const struct event told[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = MS, .process_ticks = true } },
        PROCESS(1, 4242, "/home/u"),
        THREAD(1, 1, 4242, "python3"),
    };
    const struct event run = { EVENT_RUN, .run = { .thread = 1, .cpu_ns = 5 } };
    struct tables tables = { 0 };
    for (size_t i = 0; i < countof(told); i++) {
        struct event event = told[i];
        assert_true(tables_take(&tables, &event, NULL));
    }
    tables_count(&tables, &run);
    assert_int_equal(tables.threads[1].cpu_ns, 5);
    assert_int_equal(tables.samples, 0);
    tables_free(&tables);
}

TEST_FILE(tables)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_stacks_into_a_tree),
        cmocka_unit_test(refuses_what_breaks_a_rule),
        cmocka_unit_test(measures_are_summed_up),
        cmocka_unit_test(a_recording_is_described_once),
        cmocka_unit_test(forgives_what_a_lost_block_took),
        cmocka_unit_test(jumps_are_bounded_in_all),
        cmocka_unit_test(counts_what_happened),
        cmocka_unit_test(a_process_has_the_title_of_most_of_its_time),
        cmocka_unit_test(titles_take_bounded_memory),
        cmocka_unit_test(names_can_be_looked_up),
        cmocka_unit_test(deep_stacks_cost_what_changed),
        cmocka_unit_test(a_thread_has_one_life_in_all_interpreters),
        cmocka_unit_test(cpu_time_without_a_sample_is_known),
        cmocka_unit_test(what_is_not_there_is_not_looked_for),
        cmocka_unit_test(a_module_is_known_by_its_path),
        cmocka_unit_test(a_module_that_is_two_is_not_known),
        cmocka_unit_test(native_functions_have_readable_names),
        cmocka_unit_test(rows_outlive_the_index_of_stacks),
        cmocka_unit_test(cpu_time_alone_is_no_look),
    };
    return run_all(tests);
}
