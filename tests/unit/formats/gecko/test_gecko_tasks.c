/* SPDX-License-Identifier: MIT */
/* Asyncio tasks and instructions, as a profile for the Firefox Profiler shows them. */
#include "formats/gecko/gecko.h"

#include "formats/base/alloc.h"
#include "tests/fakes/profile_read.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#define CODE(number, function, line, instruction, base) \
    { EVENT_FRAME, .frame = { number, function, line, line, -1, -1, instruction, base, 0, 0, 0 } }
#define BEGINNING \
    { EVENT_RECORDING, .recording = { .interval_ns = 10 * MS, .time_unit_ns = 200000 } }, \
    PROCESS(1, 4242, "/home/u"), THREAD(1, 1, 4242, "python3"), \
    STRING(1, "f"), STRING(2, "/home/u/a.py"), STRING(3, "<task fetch>"), STRING(4, "LOAD_ATTR_SLOT"), \
    STRING(5, "LOAD_ATTR"), STRING(6, "RESUME"), STRING(7, "g"), \
    FUNCTION(1, 1, 2, 1), SYNTHETIC(2, 3, KIND_TASK), FUNCTION(3, 7, 2, 9), \
    CODE(1, 1, 3, 4, 5), CODE(2, 2, 0, 0, 0), CODE(3, 1, 3, 6, 6), CODE(4, 3, 10, 4, 5), \
    TASK(1, 1, "fetch"), TASK(2, 1, "Task-2")
/* clang-format on */

/* A loop that runs one task, another, none, that one again; a tick that fails, one in which the thread is absent. */
static const struct event running[] = {
    BEGINNING,
    TASK_SAMPLE(0, 1, 1, 0, 2, 1),
    TICK(0),
    TASK_SAME(10 * MS, 1, 1, 2),
    TICK(10 * MS),
    TASK_SAMPLE(20 * MS, 1, 2, 0, 3),
    TICK(20 * MS),
    SAMPLE(30 * MS, 1, 0, 4),
    TICK(30 * MS),
    TASK_SAMPLE(40 * MS, 1, 2, 0, 1),
    TICK(40 * MS),
    FAILED(50 * MS, 1, FAILURE_CHANGED),
    TICK(50 * MS),
    TASK_SAME(60 * MS, 1, 2, 1),
    TICK(60 * MS),
    TICK(70 * MS),
    { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .keep = 1, .time_ns = 80 * MS, .task = 2, .fresh = true } },
    TICK(80 * MS),
    { EVENT_END, .end = { END_TARGET, 95 * MS, 9, 7, 0, 1, 0 } },
};

/* Entries for both tasks, which come before a thread of their process does. */
static const struct event entries[] = {
    BEGINNING,
    TASK_ENTRY(2, 1, 4242, 1, "fetch"),
    TASK_ENTRY(3, 1, 0, 2, ""),
    THREAD(4, 1, 4243, "worker"),
    TASK_SAMPLE(0, 2, 1, 0, 2, 1),
    TASK_SAMPLE(0, 3, 2, 0, 4),
    SAMPLE(0, 4, 0, 1),
    TICK(0),
    TASK_SAME(10 * MS, 2, 1, 2),
    TASK_SAME(10 * MS, 3, 2, 1),
    TICK(10 * MS),
    { EVENT_END, .end = { END_TARGET, 20 * MS, 2, 5, 0, 0, 0 } },
};

static void take(struct gecko *gecko, struct tables *tables, struct event event)
{
    assert_true(tables_take(tables, &event, NULL));
    assert_true(gecko_take(gecko, &event, NULL));
}

struct writing {
    char path[32];
    struct output output;
    struct tables tables;
    struct gecko *gecko;
};

static void begin(struct writing *w, struct gecko_style style)
{
    *w = (struct writing){ .path = "/tmp/pyreel-gecko.XXXXXX" };
    close(mkstemp(w->path));
    assert_true(output_open(&w->output, w->path, false, NULL));
    w->gecko = gecko_start(&w->tables, &w->output, style);
}

static json_t *finish(struct writing *w)
{
    struct fault why = { 0 };
    if (!gecko_finish(w->gecko, &why))
        fail_msg("%s", why.text);
    gecko_drop(w->gecko);
    tables_free(&w->tables);
    assert_true(output_close(&w->output, NULL, NULL));
    return profile_load(w->path);
}

static json_t *profile_of(const struct event *events, size_t count, struct gecko_style style)
{
    struct writing w;
    begin(&w, style);
    for (size_t i = 0; i < count; i++)
        take(w.gecko, &w.tables, events[i]);
    return finish(&w);
}

/* ---- what is in it ---- */

/* " f{Your code/Other} [LOAD_ATTR_SLOT]{Instructions/LOAD_ATTR}", root first. */
static void put_stack(struct bytes *to, const json_t *profile, const json_t *stack)
{
    if (json_is_null(stack))
        return;
    put_stack(to, profile, cell(profile, "stackTable", "prefix", number(stack)));
    const size_t frame = number(cell(profile, "stackTable", "frame", number(stack)));
    const size_t function = number(cell(profile, "frameTable", "func", frame));
    const json_t *category = at(json_object_get(profile, "meta"), "categories",
                                number(cell(profile, "frameTable", "category", frame)));
    const json_t *part = at(category, "subcategories", number(cell(profile, "frameTable", "subcategory", frame)));
    put_format(to, " %s{%s/%s}", string(profile, cell(profile, "funcTable", "name", function)),
               json_string_value(json_object_get(category, "name")), json_string_value(part));
}

/* A thread's markers, a line each: "fetch 0-20: label=fetch 1 steps=1". */
static char *markers_of(const json_t *profile, size_t thread)
{
    static const char *const texts[] = { "label", "task", "opcode", "by", "coroutine" };
    static const char *const numbers[] = { "run", "steps" };
    const json_t *markers = json_object_get(at(profile, "threads", thread), "markers");
    struct bytes text = { 0 };
    for (size_t i = 0; i < number(json_object_get(markers, "length")); i++) {
        const json_t *data = at(markers, "data", i);
        assert_non_null(schema_of(profile, json_string_value(json_object_get(data, "type"))));
        put_format(&text, "%s %g-%g:", string(profile, at(markers, "name", i)),
                   json_number_value(at(markers, "startTime", i)), json_number_value(at(markers, "endTime", i)));
        for (size_t k = 0; k < countof(texts); k++)
            if (json_object_get(data, texts[k]))
                put_format(&text, " %s=%s", texts[k], string(profile, json_object_get(data, texts[k])));
        for (size_t k = 0; k < countof(numbers); k++)
            if (json_object_get(data, numbers[k]))
                put_format(&text, " %s=%g", numbers[k], json_number_value(json_object_get(data, numbers[k])));
        put_format(&text, "\n");
    }
    put_bytes(&text, "", 1);
    return (char *)text.at;
}

static char *stack_of(const json_t *profile, size_t thread, size_t sample)
{
    const json_t *samples = json_object_get(at(profile, "threads", thread), "samples");
    struct bytes text = { 0 };
    put_stack(&text, profile, at(samples, "stack", sample));
    put_bytes(&text, "", 1);
    return (char *)text.at;
}

static void assert_told(char *told, const char *wanted)
{
    assert_string_equal(told, wanted);
    free(told);
}

/* ---- tests ---- */

/* The lives of both tasks. */
#define LIVES                                                                                                          \
    "fetch 0-20: label=fetch coroutine=f run=20 steps=1\n"                                                             \
    "Task 20-90: label=Task-2 run=40 steps=3\n"

static void tasks_are_lives(void **state)
{
    (void)state;
    json_t *profile = profile_of(running, countof(running), (struct gecko_style){ 0 });
    assert_told(markers_of(profile, 0), LIVES);
    assert_null(schema_of(profile, "Opcode"));
    assert_null(schema_of(profile, "Runs task"));
    assert_told(stack_of(profile, 0, 0), " <task fetch>{Asyncio/Other} f{Your code/Other}");
    json_decref(profile);
}

static void all_markers_say_which_task_ran(void **state)
{
    (void)state;
    json_t *profile = profile_of(running, countof(running), (struct gecko_style){ .markers = GECKO_MARKERS_ALL });
    assert_told(markers_of(profile, 0), LIVES "Runs task 0-20: task=fetch\n"
                                              "Runs task 20-30: task=Task-2\n"
                                              "Runs task 40-70: task=Task-2\n"
                                              "Runs task 80-90: task=Task-2\n");
    const json_t *data = at(json_object_get(at(profile, "threads", 0), "markers"), "data", 3);
    assert_int_equal(json_integer_value(json_object_get(data, "number")), 2);
    json_decref(profile);
}

static void no_markers_if_none_are_wanted(void **state)
{
    (void)state;
    json_t *profile = profile_of(running, countof(running), (struct gecko_style){ .markers = GECKO_MARKERS_NONE });
    assert_told(markers_of(profile, 0), "");
    assert_int_equal(json_array_size(json_object_get(json_object_get(profile, "meta"), "markerSchema")), 0);
    json_decref(profile);
}

static const char *name_of(const json_t *profile, size_t thread)
{
    return json_string_value(json_object_get(at(profile, "threads", thread), "name"));
}

static void tasks_are_threads_behind_the_others(void **state)
{
    (void)state;
    static const char *const names[] = { "app.py", "worker", "fetch", "Task" };
    json_t *profile = profile_of(entries, countof(entries), (struct gecko_style){ 0 });
    assert_int_equal(json_array_size(json_object_get(profile, "threads")), countof(names));
    for (size_t i = 0; i < countof(names); i++)
        assert_string_equal(name_of(profile, i), names[i]);
    const json_t *fetch = at(profile, "threads", 2), *orphan = at(profile, "threads", 3);
    assert_string_equal(json_string_value(json_object_get(fetch, "tid")), "4242 task 1");
    assert_string_equal(json_string_value(json_object_get(orphan, "tid")), "0 task 2");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(fetch, "samples"), "length")), 2);
    /* The lives are on the line of the loop's thread, or of the main thread when the loop's is not known. */
    assert_told(markers_of(profile, 0), "fetch 0-20: label=fetch coroutine=f\n"
                                        "Task 0-20: label=Task-2\n");
    assert_told(markers_of(profile, 2), "");
    /* The main thread has no samples, so another one is selected, and that is not a task. */
    assert_int_equal(number(at(json_object_get(profile, "meta"), "initialSelectedThreads", 0)), 1);
    json_decref(profile);
}

/* The tasks of the main thread's loop used more CPU time than another thread, and the main thread's own samples less.
 */
static void a_loop_ranks_by_what_its_tasks_used(void **state)
{
    (void)state;
    const uint32_t runs = STATUS_RECORDED | STATUS_CPU;
    const struct event story[] = {
        BEGINNING,
        TASK_ENTRY(2, 1, 4242, 1, "fetch"),
        THREAD(3, 1, 4243, "worker"),
        { EVENT_SAMPLE, .sample = { .count = 1, .thread = 2, .task = 1, .status = runs, .cpu_ns = 9 * MS } },
        { EVENT_SAMPLE, .sample = { .count = 1, .thread = 3, .status = runs, .cpu_ns = 5 * MS } },
        TICK(0),
        { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 10 * MS, .status = runs, .cpu_ns = 1 * MS } },
        { EVENT_SAMPLE, .sample = { .count = 1, .thread = 3, .time_ns = 10 * MS, .status = runs } },
        TICK(10 * MS),
    };
    struct writing w;
    begin(&w, (struct gecko_style){ 0 });
    for (size_t i = 0; i < countof(story); i++) {
        struct event event = story[i];
        assert_true(tables_take(&w.tables, &event, NULL));
        assert_true(gecko_take(w.gecko, &event, NULL));
    }
    json_t *profile = finish(&w);
    assert_int_equal(number(at(json_object_get(profile, "meta"), "initialSelectedThreads", 0)), 0);
    json_decref(profile);
}

static void instructions_are_leaves(void **state)
{
    (void)state;
    json_t *profile = profile_of(running, countof(running),
                                 (struct gecko_style){ .opcodes = GECKO_OPCODES_FRAMES, .markers = GECKO_MARKERS_ALL });
    assert_told(stack_of(profile, 0, 0), " <task fetch>{Asyncio/Other} f{Your code/Other} "
                                         "[LOAD_ATTR_SLOT]{Instructions/LOAD_ATTR}");
    assert_told(stack_of(profile, 0, 2), " f{Your code/Other} [RESUME]{Instructions/RESUME}");
    assert_told(stack_of(profile, 0, 3), " g{Your code/Other} [LOAD_ATTR_SLOT]{Instructions/LOAD_ATTR}");
    /* Those that more than one sample in a row found; a tick that failed is no end. */
    char *told = markers_of(profile, 0);
    assert_non_null(strstr(told, "Opcode 0-20: opcode=LOAD_ATTR_SLOT\nOpcode 40-90: opcode=LOAD_ATTR_SLOT\n"));
    free(told);
    assert_non_null(schema_of(profile, "Opcode"));
    json_decref(profile);
}

static void without_the_option_they_are_not_shown(void **state)
{
    (void)state;
    json_t *with = profile_of(running, countof(running),
                              (struct gecko_style){ .opcodes = GECKO_OPCODES_FRAMES, .markers = GECKO_MARKERS_ALL }),
           *without = profile_of(running, countof(running), (struct gecko_style){ 0 });
    const size_t more = json_array_size(json_object_get(json_object_get(with, "meta"), "categories")),
                 fewer = json_array_size(json_object_get(json_object_get(without, "meta"), "categories"));
    assert_int_equal(more, fewer + 1);
    assert_told(stack_of(without, 0, 2), " f{Your code/Other}");
    json_decref(with);
    json_decref(without);
}

/* Ten thousand entries become some hundred lines, and no sample is lost. */
static void very_many_tasks_share_a_line(void **state)
{
    (void)state;
    const uint32_t tasks = 10000;
    struct writing w;
    begin(&w, (struct gecko_style){ .opcodes = GECKO_OPCODES_FRAMES, .tasks = GECKO_TASKS_TRACKS });
    static const struct event beginning[] = { BEGINNING };
    for (size_t i = 0; i < countof(beginning); i++)
        take(w.gecko, &w.tables, beginning[i]);
    for (uint32_t i = 3; i <= tasks; i++)
        take(w.gecko, &w.tables, (struct event)TASK(i, 1, "many"));
    for (uint32_t i = 2; i <= tasks; i++)
        take(w.gecko, &w.tables, (struct event)TASK_ENTRY(i, 1, 4242, i, "many"));
    for (uint64_t tick = 0; tick < 3; tick++) {
        for (uint32_t i = 2; i <= tasks; i++)
            take(w.gecko, &w.tables, (struct event)TASK_SAMPLE(tick * MS, i, i, 0, 2, 1));
        take(w.gecko, &w.tables, (struct event)TICK(tick * MS));
    }
    for (uint32_t i = 2; i <= tasks; i++)
        take(w.gecko, &w.tables, (struct event){ EVENT_THREAD_END, .change = { i, 3 * MS, { 0 }, false } });
    json_t *profile = finish(&w);
    const size_t lines = json_array_size(json_object_get(profile, "threads"));
    uint64_t samples = 0;
    for (size_t i = 0; i < lines; i++)
        samples += number(json_object_get(json_object_get(at(profile, "threads", i), "samples"), "length"));
    assert_int_equal(lines, 1 + 500 + 1);
    assert_int_equal(samples, 3 * (tasks - 1));
    assert_string_equal(name_of(profile, lines - 1), "other tasks");
    assert_told(markers_of(profile, lines - 1), ""); /* many threads of it in turn stay nowhere */
    assert_int_equal(number(at(json_object_get(profile, "meta"), "initialSelectedThreads", 0)), 1);
    json_decref(profile);
}

TEST_FILE(gecko_tasks)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_lives),
        cmocka_unit_test(all_markers_say_which_task_ran),
        cmocka_unit_test(no_markers_if_none_are_wanted),
        cmocka_unit_test(tasks_are_threads_behind_the_others),
        cmocka_unit_test(a_loop_ranks_by_what_its_tasks_used),
        cmocka_unit_test(instructions_are_leaves),
        cmocka_unit_test(very_many_tasks_share_a_line),
        cmocka_unit_test(without_the_option_they_are_not_shown),
    };
    return run_all(tests);
}
