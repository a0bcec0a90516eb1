/* SPDX-License-Identifier: MIT */
#include "formats/collapsed/collapsed.h"

#include "formats/base/alloc.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct event one_process[] = {
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "work;er"),
    { EVENT_THREAD, .thread = { 3, 1, 4244, false, 2, 0, T("sub"), 0 } },
    STRING(1, "<module>"),
    STRING(2, "f"),
    STRING(3, "/home/u/a.py"),
    STRING(4, "<GC>"),
    STRING(5, "a;b\nc\x7F\xC2\x85"
              "d"),
    STRING(6, ""),
    FUNCTION(1, 1, 3, 1),
    FUNCTION(2, 2, 3, 7),
    SYNTHETIC(3, 4, KIND_GC),
    FUNCTION(4, 5, 3, 9),
    FUNCTION(5, 6, 3, 11),
    FRAME(1, 1, 3),
    FRAME(2, 2, 8),
    FRAME(3, 3, 0),
    FRAME(4, 4, 9),
    FRAME(5, 5, 0),
    { EVENT_FRAME, .frame = { 6, 2, 8, 9, 4, 7, 0, 0, 0, 0, 0 } }, /* another place in line 8: the same to a reader */
    FRAME(7, 2, 10),
    SAMPLE(1, 1, 0, 1, 2),
    SAMPLE(2, 1, 1, 6),
    SAMPLE(3, 1, 1, 7),
    SAMPLE(4, 1, 2, 3),
    SAME(5, 1, 1),
    SAMPLE(1, 2, 0, 4, 5),
    SAME(2, 2, 0),
    SAMPLE(1, 3, 0, 1),
};

static const struct event two_processes[] = {
    PROCESS(1, 4242, "/home/u"),
    { EVENT_PROCESS, .process = { 2, 4300, 0, 0x030f02f0, T("/bin/python3"), T("python3 b.py; x"), T("/tmp"), 0, T(""),
                                  0, 0, T(""), T(""), 0 } },
    THREAD(1, 1, 4242, "python3"),
    { EVENT_THREAD, .thread = { 2, 2, 4300, true, 0, 0, T("python3"), 0 } },
    STRING(1, "<module>"),
    STRING(2, "/home/u/a.py"),
    FUNCTION(1, 1, 2, 1),
    FRAME(1, 1, 3),
    SAMPLE(1, 2, 0, 1),
    SAMPLE(1, 1, 0, 1),
};

/* A loop that runs two tasks, entries for a task and for an orphan; frame 2 is at two instructions in turn. */
static const struct event tasks[] = {
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    TASK(1, 1, "Task-1"),
    TASK(2, 1, "a;b"),
    TASK_ENTRY(2, 1, 4242, 1, "Task-1"),
    TASK_ENTRY(3, 1, 0, 2, "a;b"),
    STRING(1, "<module>"),
    STRING(2, "f"),
    STRING(3, "/home/u/a.py"),
    STRING(4, "<task Task-1>"),
    STRING(5, "<task a;b>"),
    STRING(6, "LOAD_ATTR_SLOT"),
    STRING(7, "LOAD_ATTR"),
    STRING(8, "<task Task-2 (2 parents)>"),
    FUNCTION(1, 1, 3, 1),
    FUNCTION(2, 2, 3, 7),
    SYNTHETIC(3, 4, KIND_TASK),
    SYNTHETIC(4, 5, KIND_TASK),
    FUNCTION(5, 8, 3, 0), /* it has a file, so it is no mark */
    SYNTHETIC(6, 8, KIND_TASK),
    FRAME(1, 1, 3),
    FRAME(2, 3, 0),
    FRAME(3, 4, 0),
    { EVENT_FRAME, .frame = { 4, 2, 8, 8, 1, 2, 6, 7, 0, 0, 0 } },
    { EVENT_FRAME, .frame = { 5, 2, 8, 8, 1, 2, 7, 7, 0, 0, 0 } },
    { EVENT_FRAME, .frame = { 6, 2, 8, 8, 3, 4, 7, 7, 0, 0, 0 } },
    FRAME(7, 5, 0),
    FRAME(8, 6, 0),
    TASK_SAMPLE(1, 1, 1, 0, 1, 2, 4),
    TASK_SAMPLE(2, 1, 2, 1, 3, 4, 5),
    TASK_SAMPLE(3, 1, 2, 3, 6),
    TASK_SAMPLE(3, 2, 1, 0, 8, 4),
    TASK_SAMPLE(3, 3, 2, 0, 7, 3),
    SAME(4, 1, 1),
};

/* Threads with automatic names. The names of functions end in numbers, and one function has no file. */
static const struct event pool[] = {
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "ThreadPoolExecutor-0_0"),
    THREAD(3, 1, 4244, "ThreadPoolExecutor-0_1"),
    THREAD(4, 1, 4245, "ThreadPoolExecutor-12_0"),
    THREAD(5, 1, 4246, "Thread-3 (work)"),
    STRING(1, "step 7"),
    STRING(2, "/home/u/a.py"),
    STRING(3, "Task 7"),
    FUNCTION(1, 1, 2, 1),
    FUNCTION(2, 3, 0, 0),
    FRAME(1, 1, 12),
    FRAME(2, 1, 1),
    FRAME(3, 2, 0),
    SAMPLE(1, 2, 0, 1),
    SAMPLE(1, 3, 0, 1),
    SAMPLE(1, 4, 0, 2),
    SAMPLE(1, 5, 0, 2, 3),
};

#define REC STATUS_RECORDED

static const struct event at_work[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = 2500, .time_unit_ns = 100 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "worker"),
    STRING(1, "f"),
    STRING(2, "/home/u/a.py"),
    FUNCTION(1, 1, 2, 1),
    FRAME(1, 1, 3),
    FRAME(2, 1, 4),
    STATUS_SAMPLE(2500, 1, 0, REC | STATUS_CPU | STATUS_GIL, 400, 1),
    STATUS_SAMPLE(5000, 1, 0, REC | STATUS_GIL_WAIT | STATUS_CPU, 2500, 1, 2),
    STATUS_SAME(7500, 1, 1, REC | STATUS_GIL, 0),
    STATUS_SAME(10000, 1, 1, REC | STATUS_GIL | STATUS_CPU, 2600),
    STATUS_SAMPLE(10000, 2, 0, REC | STATUS_CPU, 499, 2),
};

/* Ticks were left out: samples stand for other than an interval. */
static const struct event weighed[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = 2500, .time_unit_ns = 100 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    STRING(1, "f"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 3),
    STATUS_SAMPLE(2500, 1, 0, REC | STATUS_GIL, 100, 1),
    { EVENT_SAMPLE, .sample = { .count = 1,
                                .thread = 1,
                                .keep = 1,
                                .status = REC | STATUS_GIL,
                                .time_ns = 7400,
                                .stands_ns = 7400 } },
    { EVENT_SAMPLE, .sample = { .thread = 1,
                                .keep = 1,
                                .status = REC | STATUS_GIL_WAIT,
                                .time_ns = 16000,
                                .stands_ns = 1000,
                                .count = 5 } },
};

/* Python calls C code, which calls the kernel; a function of Python is called as a collection is. */
static const struct event modules[] = {
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    STRING(1, "main"),
    STRING(2, "/home/u/a.py"),
    STRING(3, "PyDict_Copy"),
    STRING(4, "/usr/lib/libpython3.15.so.1.0"),
    STRING(5, "do_mmap"),
    STRING(6, "[kernel]"),
    STRING(7, "<GC>"),
    STRING(8, ""),
    FUNCTION(1, 1, 2, 1),
    { EVENT_FUNCTION, .function = { 2, 3, 0, 0, KIND_NATIVE, 4, 0 } },
    { EVENT_FUNCTION, .function = { 3, 5, 0, 0, KIND_KERNEL, 6, 0 } },
    FUNCTION(4, 7, 8, 9),
    FRAME(1, 1, 3),
    { EVENT_FRAME, .frame = { 2, 2, 0, 0, -1, -1, 0, 0, 0x1234, 0, 0 } },
    { EVENT_FRAME, .frame = { 3, 3, 0, 0, -1, -1, 0, 0, 0xFFFFFFFF81000000, 0, 0 } },
    FRAME(4, 4, 10),
    SAMPLE(1, 1, 0, 1, 2, 3),
    SAMPLE(2, 1, 1, 4),
};

static const struct {
    const struct event *story;
    size_t count;
    struct collapsed_style style;
    const char *text;
} cases[] = {
    { modules,
      countof(modules),
      { .filter = { .no_gc = true } },
      "MainThread;main (a.py:3);<GC> (<unknown>:10) 1\n"
      "MainThread;main (a.py:3);PyDict_Copy (libpython3.15.so.1.0);do_mmap ([kernel]) 1\n" },
    { modules,
      countof(modules),
      { .full_paths = true, .filter = { .no_native = true } },
      "MainThread;main (/home/u/a.py:3);<GC> (<unknown>:10) 1\n"
      "MainThread;main (/home/u/a.py:3);do_mmap ([kernel]) 1\n" },
    { tasks,
      countof(tasks),
      { .ids = true },
      "MainThread (4242);<module> (a.py:3) 1\n"
      "MainThread (4242);<module> (a.py:3);<task Task-1>;f (a.py:8) 1\n"
      "MainThread (4242);<module> (a.py:3);<task a:b>;f (a.py:8);f (a.py:8) 2\n"
      "MainThread (4242);task Task-1;<task Task-2 (2 parents)>;f (a.py:8) 1\n"
      "task a:b;<task Task-2 (2 parents)> (a.py);<task a:b> 1\n" },
    { tasks,
      countof(tasks),
      { .no_threads = true, .detail = DETAIL_FUNCTIONS },
      "<module> (a.py) 1\n"
      "<module> (a.py);<task a:b>;f (a.py);f (a.py) 2\n"
      "<module> (a.py);<task>;f (a.py) 1\n"
      "<task Task-2 (2 parents)> (a.py);<task a:b> 1\n"
      "<task>;f (a.py) 1\n" },
    { tasks,
      countof(tasks),
      { .opcodes = true, .no_threads = true },
      "<module> (a.py:3) 1\n"
      "<module> (a.py:3);<task a:b>;f (a.py:8);f (a.py:8);[LOAD_ATTR] 2\n"
      "<module> (a.py:3);<task>;f (a.py:8);[LOAD_ATTR_SLOT] 1\n"
      "<task Task-2 (2 parents)> (a.py);<task a:b> 1\n"
      "<task>;f (a.py:8);[LOAD_ATTR_SLOT] 1\n" },
    { one_process,
      countof(one_process),
      { .ids = true },
      "MainThread (4242);<module> (a.py:3) 1\n"
      "MainThread (4242);<module> (a.py:3);f (a.py:10) 1\n"
      "MainThread (4242);<module> (a.py:3);f (a.py:10);<GC> 1\n"
      "MainThread (4242);<module> (a.py:3);f (a.py:8) 2\n"
      "interpreter 2;sub (4244);<module> (a.py:3) 1\n"
      "work:er (4243);<no Python frames> 1\n"
      "work:er (4243);a:b c  d (a.py:9);<unknown> (a.py) 1\n" },
    { one_process,
      countof(one_process),
      { .ids = true, .detail = DETAIL_FUNCTIONS, .full_paths = true },
      "MainThread (4242);<module> (/home/u/a.py) 1\n"
      "MainThread (4242);<module> (/home/u/a.py);f (/home/u/a.py) 3\n"
      "MainThread (4242);<module> (/home/u/a.py);f (/home/u/a.py);<GC> 1\n"
      "interpreter 2;sub (4244);<module> (/home/u/a.py) 1\n"
      "work:er (4243);<no Python frames> 1\n"
      "work:er (4243);a:b c  d (/home/u/a.py);<unknown> (/home/u/a.py) 1\n" },
    { two_processes,
      countof(two_processes),
      { .ids = true },
      "pid 4242: python3 app.py;MainThread (4242);<module> (a.py:3) 1\n"
      "pid 4300: python3 b.py: x;MainThread (4300);<module> (a.py:3) 1\n" },
    { two_processes,
      countof(two_processes),
      { .no_threads = true },
      "app.py;<module> (a.py:3) 1\n"
      "b.py:;<module> (a.py:3) 1\n" },
    { two_processes,
      countof(two_processes),
      { 0 },
      "app.py;MainThread;<module> (a.py:3) 1\n"
      "b.py:;MainThread;<module> (a.py:3) 1\n" },
    { two_processes, countof(two_processes), { .roots = ROOT_THREAD }, "MainThread;<module> (a.py:3) 2\n" },
    { two_processes, countof(two_processes), { .roots = ROOT_NONE }, "<module> (a.py:3) 2\n" },
    { two_processes, countof(two_processes), { .roots = ROOT_RECORDING }, "<module> (a.py:3) 2\n" },
    { two_processes, 4, { .ids = true }, "" },
    { one_process,
      countof(one_process),
      { .roots = ROOT_INTERPRETER, .detail = DETAIL_COLUMNS },
      "main interpreter;<module> (a.py:3) 1\n"
      "main interpreter;<module> (a.py:3);f (a.py:10) 1\n"
      "main interpreter;<module> (a.py:3);f (a.py:10);<GC> 1\n"
      "main interpreter;<module> (a.py:3);f (a.py:8) 1\n"
      "main interpreter;<module> (a.py:3);f (a.py:8:5) 1\n"
      "main interpreter;<no Python frames> 1\n"
      "main interpreter;a:b c  d (a.py:9);<unknown> (a.py) 1\n"
      "subinterpreter;<module> (a.py:3) 1\n" },
    { one_process,
      countof(one_process),
      { .roots = ROOT_INTERPRETER | ROOT_PROCESS, .ids = true, .detail = DETAIL_FUNCTIONS, .by_count = true },
      "pid 4242: python3 app.py;interpreter 0;<module> (a.py);f (a.py) 3\n"
      "pid 4242: python3 app.py;interpreter 0;<module> (a.py) 1\n"
      "pid 4242: python3 app.py;interpreter 0;<module> (a.py);f (a.py);<GC> 1\n"
      "pid 4242: python3 app.py;interpreter 0;<no Python frames> 1\n"
      "pid 4242: python3 app.py;interpreter 0;a:b c  d (a.py);<unknown> (a.py) 1\n"
      "pid 4242: python3 app.py;interpreter 2;<module> (a.py) 1\n" },
    { one_process,
      countof(one_process),
      { .detail = DETAIL_FUNCTIONS, .filter = { .no_gc = true } },
      "MainThread;<module> (a.py) 1\n"
      "MainThread;<module> (a.py);f (a.py) 4\n"
      "subinterpreter;sub;<module> (a.py) 1\n"
      "work:er;<no Python frames> 1\n"
      "work:er;a:b c  d (a.py);<unknown> (a.py) 1\n" },
    { tasks,
      countof(tasks),
      { .opcodes = true },
      "MainThread;<module> (a.py:3) 1\n"
      "MainThread;<module> (a.py:3);<task a:b>;f (a.py:8);f (a.py:8);[LOAD_ATTR] 2\n"
      "MainThread;<module> (a.py:3);<task>;f (a.py:8);[LOAD_ATTR_SLOT] 1\n"
      "MainThread;task;<task>;f (a.py:8);[LOAD_ATTR_SLOT] 1\n"
      "task a:b;<task Task-2 (2 parents)> (a.py);<task a:b> 1\n" },
    { pool,
      countof(pool),
      { 0 },
      "Thread (work);step 7 (a.py:1);Task 7 () 1\n"
      "ThreadPoolExecutor;step 7 (a.py:1) 1\n"
      "ThreadPoolExecutor;step 7 (a.py:12) 2\n" },
    { at_work,
      countof(at_work),
      { .ids = true },
      "MainThread (4242);f (a.py:3) 3\n"
      "MainThread (4242);f (a.py:3);f (a.py:4) 1\n"
      "worker (4243);f (a.py:4) 1\n" },
    /* Rounded once: three intervals are 7.5 us. What rounds to nothing has no line. */
    { at_work,
      countof(at_work),
      { .ids = true, .weight = SUM_WALL_NS },
      "MainThread (4242);f (a.py:3) 8\n"
      "MainThread (4242);f (a.py:3);f (a.py:4) 3\n"
      "worker (4243);f (a.py:4) 3\n" },
    { at_work,
      countof(at_work),
      { .ids = true, .weight = SUM_CPU_NS },
      "MainThread (4242);f (a.py:3) 3\n"
      "MainThread (4242);f (a.py:3);f (a.py:4) 3\n" },
    { at_work, countof(at_work), { .weight = SUM_GIL_NS, .no_threads = true }, "f (a.py:3) 8\n" },
    { at_work,
      countof(at_work),
      { .ids = true, .weight = SUM_GIL_WAIT_NS, .detail = DETAIL_FUNCTIONS },
      "MainThread (4242);f (a.py);f (a.py) 3\n" },
    { weighed, countof(weighed), { .ids = true }, "MainThread (4242);f 7\n" },
    { weighed, countof(weighed), { .ids = true, .weight = SUM_WALL_NS }, "MainThread (4242);f 15\n" },
    { weighed, countof(weighed), { .ids = true, .weight = SUM_GIL_NS }, "MainThread (4242);f 10\n" },
    { weighed, countof(weighed), { .ids = true, .weight = SUM_GIL_WAIT_NS }, "MainThread (4242);f 5\n" },
};

static void take_story(struct tables *tables, struct aggregate *aggregate, const struct event *story, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct event event = story[i];
        struct fault why = { 0 };
        if (!tables_take(tables, &event, &why))
            fail_msg("event %zu: %s", i, why.text);
        if (event.kind == EVENT_RUN)
            aggregate_add_run(aggregate, &event.run);
    }
    aggregate_sort(aggregate);
}

static char *collapse(const struct event *story, size_t count, const struct collapsed_style *style)
{
    char path[] = "/tmp/pyreel-collapsed.XXXXXX";
    const int fd = mkstemp(path);
    struct output output = { 0 };
    struct tables tables = { 0 };
    struct aggregate aggregate = { 0 };
    take_story(&tables, &aggregate, story, count);
    assert_true(output_open(&output, path, false, NULL));
    assert_true(collapsed_write(&output, &tables, &aggregate, style));
    assert_true(output_close(&output, NULL, NULL));
    tables_free(&tables);
    aggregate_free(&aggregate);
    close(fd);
    FILE *file = fopen(path, "re");
    struct bytes bytes = file_bytes(dup(fileno(file)));
    fclose(file);
    unlink(path);
    put_bytes(&bytes, "", 1);
    return (char *)bytes.at;
}

static void stacks_become_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(cases); i++)
        assert_same_lines(collapse(cases[i].story, cases[i].count, &cases[i].style), strdup(cases[i].text));
}

/* Code that a program makes has any name, and a file may have two functions of one name. */
static void functions_of_one_name_are_told_apart_by_their_lines(void **state)
{
    (void)state;
    const struct event story[] = {
        PROCESS(1, 4242, "/home/u"),
        THREAD(1, 1, 4242, "python3"),
        STRING(1, "step"),
        STRING(2, "<stdin>"),
        STRING(3, "other"),
        FUNCTION(1, 1, 2, 3),
        FUNCTION(2, 1, 2, 9),
        FUNCTION(3, 3, 2, 20),
        FRAME(1, 1, 4),
        FRAME(2, 1, 5),
        FRAME(3, 2, 10),
        FRAME(4, 3, 21),
        SAMPLE(1, 1, 0, 1),
        SAMPLE(2, 1, 0, 2),
        SAMPLE(3, 1, 0, 3),
        SAMPLE(4, 1, 0, 4),
    };
    struct collapsed_style style = { .detail = DETAIL_FUNCTIONS, .roots = ROOT_NONE };
    assert_same_lines(collapse(story, countof(story), &style),
                      strdup("other (<stdin>) 1\nstep (<stdin>:3) 2\nstep (<stdin>:9) 1\n"));
    style.detail = DETAIL_LINES;
    assert_same_lines(collapse(story, countof(story), &style),
                      strdup("other (<stdin>:21) 1\nstep (<stdin>:10) 1\nstep (<stdin>:4) 1\nstep (<stdin>:5) 1\n"));
}

static void frames_are_filtered(void **state)
{
    (void)state;
    struct collapsed_style style = { .detail = DETAIL_FUNCTIONS };
    assert_true(patterns_add(&style.filter.hide, "^(<module>|a:b)", NULL));
    assert_true(patterns_add(&style.filter.focus, "module|<no", NULL));
    assert_same_lines(collapse(one_process, countof(one_process), &style), strdup("MainThread;<hidden> 1\n"
                                                                                  "MainThread;f (a.py) 3\n"
                                                                                  "MainThread;f (a.py);<GC> 1\n"
                                                                                  "subinterpreter;sub;<hidden> 1\n"
                                                                                  "work:er;<no Python frames> 1\n"));
    frame_filter_free(&style.filter);
    /* The instruction of a leaf goes with the leaf. */
    style = (struct collapsed_style){ .opcodes = true, .roots = ROOT_NONE };
    assert_true(patterns_add(&style.filter.hide, "^f ", NULL));
    assert_same_lines(collapse(tasks, countof(tasks), &style),
                      strdup("<module> (a.py:3) 1\n<module> (a.py:3);<task a:b> 2\n<module> (a.py:3);<task> 1\n"
                             "<task Task-2 (2 parents)> (a.py);<task a:b> 1\n<task> 1\n"));
    frame_filter_free(&style.filter);
}

static void roots_have_names(void **state)
{
    (void)state;
    unsigned roots;
    assert_true(collapsed_roots_named("none", &roots));
    assert_int_equal(roots, ROOT_NONE);
    assert_true(collapsed_roots_named("task,thread", &roots));
    assert_int_equal(roots, ROOT_TASK | ROOT_THREAD);
    assert_true(collapsed_roots_named("recording,process,interpreter", &roots));
    assert_int_equal(roots, ROOT_RECORDING | ROOT_PROCESS | ROOT_INTERPRETER);
    static const char *const wrong[] = { "", "threads", "thread,", ",thread", "thread,none", "none,thread" };
    for (size_t i = 0; i < countof(wrong); i++)
        assert_false(collapsed_roots_named(wrong[i], &roots));
}

TEST_FILE(collapsed)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_become_lines),
        cmocka_unit_test(functions_of_one_name_are_told_apart_by_their_lines),
        cmocka_unit_test(frames_are_filtered),
        cmocka_unit_test(roots_have_names),
    };
    return run_all(tests);
}
