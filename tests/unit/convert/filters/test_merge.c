/* SPDX-License-Identifier: MIT */
/* What becomes of recordings that are made one, and of a part of one. */
#include "convert/filters/merge.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICKS   400
#define DEPTH   6
#define THREADS 3

/* A recording on its way through the merge: its own tables come first, as in a converter. */
struct reading {
    struct tables tables;
    struct merge *merge;
};

static void take(struct reading *reading, struct event event)
{
    struct fault why = { 0 };
    if (!tables_take(&reading->tables, &event, &why) || !merge_take(reading->merge, &event, &why))
        fail_msg("%s", why.text);
}

static void read_story(struct merge *merge, const struct event *story, size_t count, const char *name,
                       uint64_t offset_ns)
{
    struct reading reading = { .merge = merge };
    struct event first = story[0];
    assert_true(tables_take(&reading.tables, &first, NULL));
    if (!merge->opened)
        assert_true(merge_open(merge, &reading.tables.recording, NULL));
    merge_next(merge, &reading.tables, (struct text){ name, strlen(name) }, offset_ns);
    for (size_t i = 1; i < count; i++)
        take(&reading, story[i]);
    merge_end_recording(merge);
    tables_free(&reading.tables);
}

static const struct event one[] = {
    { EVENT_RECORDING, .recording = { .mode = T("wall"), .interval_ns = MS, .time_unit_ns = 1 } },
    PROCESS(1, 42, "/w"),
    THREAD(1, 1, 42, "python3"),
    STRING(1, "unused"),
    STRING(2, "f"),
    STRING(3, "a.py"),
    FUNCTION(1, 1, 3, 1),
    FUNCTION(2, 2, 3, 7),
    FRAME(1, 1, 1),
    FRAME(2, 2, 8),
    FRAME(3, 2, 9),
    SAMPLE(MS, 1, 0, 2, 3),
    TICK(MS),
    { EVENT_PROCESS_END, .process_end = { 1, 2 * MS, FATE_UNKNOWN, -1 } },
    { EVENT_END, .end = { END_TARGET, 3 * MS, 1, 1, 0, 0, 0 } },
};

static const struct event other[] = {
    { EVENT_RECORDING, .recording = { .mode = T("wall"),
                                      .start_unix_ns = 1, /* it would say what ended it */
                                      .interval_ns = 2 * MS,
                                      .time_unit_ns = 1 } },
    PROCESS(1, 42, "/w"),
    THREAD(1, 1, 42, "python3"),
    { EVENT_THREAD, .thread = { 2, 1, 77, false, 0, 0, T("idle"), 0 } },
    STRING(1, "g"),
    STRING(2, "a.py"),
    STRING(3, "f"),
    FUNCTION(1, 3, 2, 7),
    FUNCTION(2, 1, 2, 20),
    FRAME(1, 1, 9),
    FRAME(2, 2, 21),
    SAMPLE(2 * MS, 1, 0, 1, 2),
    FAILED(2 * MS, 2, FAILURE_CHANGED),
    TICK(2 * MS),
    { EVENT_END, .end = { END_SIGNAL, 4 * MS, 1, 1, 0, 0, -1 } },
};

/* Strings, functions and frames that are the same are one; processes with the same pid are not. */
static void two_recordings_become_one(void **state)
{
    (void)state;
    const struct selection all = { 0 };
    struct journal journal = { 0 };
    struct merge merge = { .to = journal_sink(&journal), .selection = &all };
    read_story(&merge, one, countof(one), "one", 0);
    read_story(&merge, other, countof(other), "other", 10 * MS);
    assert_true(merge_finish(&merge, NULL));
    assert_same_lines(
        journal_text(&journal),
        strdup("recording by '' on '' '' '' ''\n"
               "mode 'wall' threads '' command '' start 0 0\n"
               "interval 1000000 unit 1 memory 0 processors 0 attached 0\n"
               "process 1 pid 42 at 0 version 30f02f0 '/usr/bin/python3.15' 'python3 app.py' '/w'\n"
               "process 1 is of 'one' interval 1000000\n"
               "thread 1 of 1 tid 42 main 1 interpreter 0 at 0 'python3'\n"
               "string 1 'f'\n"
               "string 2 'a.py'\n"
               "function 1 1 2 line 7\n"
               "frame 1 in 1 line 9-9 columns -1--1 instruction 0 of 0\n"
               "frame 2 in 1 line 8-8 columns -1--1 instruction 0 of 0\n"
               "process 1 ends at 2000000\n"
               "process 2 pid 42 at 10000000 version 30f02f0 '/usr/bin/python3.15' 'python3 app.py' '/w'\n"
               "process 2 is of 'other' interval 2000000\n"
               "thread 2 of 2 tid 42 main 1 interpreter 0 at 10000000 'python3'\n"
               "string 3 'g'\n"
               "function 2 3 2 line 20\n"
               "frame 3 in 2 line 21-21 columns -1--1 instruction 0 of 0\n"
               "end: stopped by a signal at 14000000, 1 ticks, 1 samples, 0 missed, 0 failed, status -1\n"
               "1000000 thread 1; f (a.py:8); f (a.py:9)\n"
               "1000000 tick\n"
               "12000000 thread 2; f (a.py:9); g (a.py:21)\n"
               "12000000 tick\n"));
    assert_true(tables_intervals_differ(&journal.tables));
    assert_int_equal(tables_interval_ns(&journal.tables, 1), MS);
    assert_int_equal(tables_interval_ns(&journal.tables, 2), 2 * MS);
    merge_free(&merge);
    journal_free(&journal);
}

#define TICK_OF(number, ns)                                                                                            \
    {                                                                                                                  \
        EVENT_TICK, .tick_ns = ns, .tick_process = number                                                              \
    }

/* Process 2 has no samples, and is the parent of process 3. Processes 4 and 5 have no wanted samples either. */
static const struct event tree[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1, .process_ticks = 1 } },
    PROCESS(1, 41, "/w"),
    { EVENT_PROCESS, .process = { .number = 2, .pid = 42, .parent = 1, .parent_pid = 41 } },
    { EVENT_PROCESS, .process = { .number = 3, .pid = 43, .parent = 2, .parent_pid = 42 } },
    { EVENT_PROCESS, .process = { .number = 4, .pid = 44, .parent = 1, .parent_pid = 41 } },
    THREAD(1, 1, 41, "python3"),
    THREAD(2, 3, 43, "worker"),
    STRING(1, "f"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 1),
    { EVENT_MISSED, .missed = 2, .missed_process = 3 }, /* not known in the output yet */
    SAMPLE(MS, 2, 0, 1),
    TICK_OF(3, MS),
    TICK_OF(4, MS),
    { EVENT_MISSED, .missed = 1, .missed_process = 3 },
    { EVENT_FAILED, .failed = { 0, FAILURE_THREADS, 2 * MS, 3 } },
    TICK_OF(3, 2 * MS),
    { EVENT_FAILED, .failed = { 0, FAILURE_THREADS, 2 * MS, 4 } },
    TICK_OF(4, 2 * MS),
    SAMPLE(2 * MS, 1, 0, 1),
    TICK_OF(1, 2 * MS),
    { EVENT_PROCESS_END, .process_end = { 3, 3 * MS, FATE_EXITED, 256 } },
    { EVENT_PROCESS_END, .process_end = { 4, 3 * MS, FATE_EXITED, 0 } },
    { EVENT_END, .end = { END_TARGET, 3 * MS, 5, 2, 3, 2, 0 } },
};

/* A process comes with its ancestors, so the tree stays whole. Ticks of processes that are left out are left out. */
static void a_tree_stays_a_tree(void **state)
{
    (void)state;
    const struct selection all = { 0 };
    struct journal journal = { 0 };
    struct merge merge = { .to = journal_sink(&journal), .selection = &all };
    read_story(&merge, one, countof(one), "one", 0);
    read_story(&merge, tree, countof(tree), "tree", 0);
    assert_true(merge_finish(&merge, NULL));
    const struct process_row *rows = journal.tables.processes;
    assert_int_equal(journal.tables.processes_count, 1 + 4);
    assert_int_equal(rows[2].process.pid, 41);
    assert_int_equal(rows[3].process.parent, 2);
    assert_int_equal(rows[4].process.parent, 3);
    assert_int_equal(rows[4].process.pid, 43);
    assert_int_equal(rows[4].own.ticks, 2);
    assert_int_equal(rows[4].own.missed, 1);
    assert_int_equal(rows[4].wait_status, 256);
    assert_int_equal(rows[2].own.ticks, 1);
    assert_int_equal(journal.tables.ticks, 1 + 3);
    assert_int_equal(journal.tables.failed, 1);
    merge_free(&merge);
    journal_free(&journal);
}

/* What a comparison makes of two recordings with these functions, one in each sample: the lines of its definitions of
 * functions. */
static void assert_compared(const struct function *base, const struct function *new, const char *expected)
{
    const struct selection all = { 0 };
    struct journal journal = { 0 };
    struct merge merge = { .to = journal_sink(&journal), .selection = &all, .alike.before = 1 };
    const struct function *const sides[] = { base, new };
    for (size_t i = 0; i < countof(sides); i++) {
        const struct function *functions = sides[i];
        struct event story[] = {
            { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1 } },
            PROCESS(1, 42, "/old"),
            THREAD(1, 1, 42, "python3"),
            STRING(1, "sort"),
            STRING(2, "<lambda>"),
            STRING(3, "/old/app.py"),
            FUNCTION(1, functions[0].name, 3, functions[0].first_line),
            FUNCTION(2, functions[1].name, 3, functions[1].first_line),
            FRAME(1, 1, 50),
            FRAME(2, 2, 51),
            SAMPLE(MS, 1, 0, 1, 2),
        };
        if (i == 1) {
            story[1].process.folder = TEXT("/new");
            story[5].string.text = TEXT("/new/app.py");
        }
        read_story(&merge, story, countof(story), i ? "new" : "old", 0);
    }
    char *lines = strdup(""), *rest = journal_text(&journal);
    for (char *line = strtok(rest, "\n"); line; line = strtok(NULL, "\n")) {
        char *more = NULL;
        if (strncmp(line, "function ", 9) != 0)
            continue;
        assert_true(asprintf(&more, "%s%s\n", lines, line) > 0);
        free(lines);
        lines = more;
    }
    free(rest);
    assert_string_equal(lines, expected);
    free(lines);
    merge_free(&merge);
    journal_free(&journal);
}

/* The folder and the lines of a program may differ. Functions without a name of their own are the same on the same
 * line of the same file only. */
static void alike_functions_of_compared_recordings_are_one(void **state)
{
    (void)state;
    const struct function base[] = { { .name = 1, .first_line = 7 }, { .name = 2, .first_line = 9 } };
    const struct function new[] = { { .name = 1, .first_line = 10 }, { .name = 2, .first_line = 9 } };
    assert_compared(base, new, "function 1 1 2 line 9\nfunction 2 3 2 line 7\nfunction 3 1 4 line 9\n");
}

/* Two functions of a module that have one name are not told apart: before 3.11, methods of different classes. */
static void functions_that_may_be_others_stay_apart(void **state)
{
    (void)state;
    const struct function once[] = { { .name = 1, .first_line = 7 }, { .name = 2, .first_line = 9 } };
    const struct function twice[] = { { .name = 1, .first_line = 10 }, { .name = 1, .first_line = 20 } };
    assert_compared(twice, once,
                    "function 1 1 2 line 20\nfunction 2 1 2 line 10\nfunction 3 3 4 line 9\nfunction 4 1 4 line 7\n");
    assert_compared(once, twice, "function 1 1 2 line 9\nfunction 2 3 2 line 7\nfunction 3 3 4 line 10\n");
}

/* Reads recordings in which sort() of the file /w/NAME runs; `commands` has a
 * command line for each. Returns how many functions there are. */
static size_t count_compared(struct merge *merge, const char *const *commands, const char *const *files, size_t count)
{
    const struct selection all = { 0 };
    struct journal journal = { 0 };
    merge->to = journal_sink(&journal);
    merge->selection = &all;
    for (size_t i = 0; i < count; i++) {
        struct event story[] = {
            { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1 } },
            PROCESS(1, 42, "/w"),
            THREAD(1, 1, 42, "python3"),
            STRING(1, "sort"),
            { EVENT_STRING, .string = { 2, text_of(files[i]) } },
            FUNCTION(1, 1, 2, 7 + (uint32_t)i),
            FRAME(1, 1, 9),
            SAMPLE(MS, 1, 0, 1),
        };
        story[1].process.command = text_of(commands[i]);
        read_story(merge, story, countof(story), commands[i], 0);
    }
    const size_t functions = journal.tables.functions_count - 1;
    journal_free(&journal);
    return functions;
}

static void main_scripts_are_one_whatever_their_names_are(void **state)
{
    (void)state;
    const char *const commands[] = { "python3 -u v1.py x", "python3 v1.py", "python3 ../w/v2.py", "python3 v2.py" };
    const char *const files[] = { "/w/v1.py", "/w/v1.py", "/w/v2.py", "/w/v2.py" };
    struct merge merge = { .alike.before = 2 };
    struct text paths[2];
    assert_int_equal(count_compared(&merge, commands, files, 4), 1);
    assert_true(alike_scripts(&merge.alike, paths));
    assert_true(text_equal(paths[0], TEXT("/w/v1.py")) && text_equal(paths[1], TEXT("/w/v2.py")));
    merge_free(&merge);
}

/* A script of the same name needs nothing; a module or another file is no main script; and runs of one side that have
 * other scripts are other programs. */
static void only_main_scripts_of_both_sides_are_one(void **state)
{
    (void)state;
    const struct {
        const char *commands[3], *files[3];
        size_t before, functions;
    } cases[] = {
        { { "python3 v1.py", "python3 v1.py" }, { "/a/v1.py", "/b/v1.py" }, 1, 1 },
        { { "python3 -m v1", "python3 -m v2" }, { "/w/v1.py", "/w/v2.py" }, 1, 2 },
        { { "python3 v1.py", "python3 v2.py" }, { "/w/v1.py", "/w/xv2.py" }, 1, 2 },
        { { "python3 v1.py", "python3 v2.py" }, { "/w/lib.py", "/w/other.py" }, 1, 2 },
        { { "'worker [1]'", "python3 v2.py" }, { "/w/v1.py", "/w/v2.py" }, 1, 2 },
        { { "python3 v1.py", "python3 v3.py", "python3 v2.py" }, { "/w/v1.py", "/w/v3.py", "/w/v2.py" }, 2, 2 },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        const size_t count = cases[i].commands[2] ? 3 : 2;
        struct merge merge = { .alike.before = cases[i].before };
        struct text paths[2];
        assert_int_equal(count_compared(&merge, cases[i].commands, cases[i].files, count), cases[i].functions);
        assert_int_equal(alike_scripts(&merge.alike, paths), count == 3);
        merge_free(&merge);
    }
}

/* The module of a script that lies below the working folder is known when the script's root frame is: the samples of
 * Python's start come before. */
static void scripts_of_other_folders_are_alike(void **state)
{
    (void)state;
    const struct selection all = { 0 };
    struct journal journal = { 0 };
    struct merge merge = { .to = journal_sink(&journal), .selection = &all, .alike.before = 1 };
    for (size_t i = 0; i < 2; i++) {
        const struct event story[] = {
            { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1 } },
            PROCESS(1, 42, "/w"),
            THREAD(1, 1, 42, "python3"),
            STRING(1, "start"),
            STRING(2, "/usr/lib/python3.11/site.py"),
            STRING(3, "<module>"),
            STRING(4, "sort"),
            { EVENT_STRING, .string = { 5, i ? TEXT("/w/new/app.py") : TEXT("/w/old/app.py") } },
            FUNCTION(1, 1, 2, 1),
            FUNCTION(2, 3, 5, 1),
            FUNCTION(3, 4, 5, 7),
            FRAME(1, 1, 1),
            FRAME(2, 2, 50),
            FRAME(3, 3, 9),
            SAMPLE(MS, 1, 0, 1),
            SAMPLE(2 * MS, 1, 0, 2, 3),
        };
        read_story(&merge, story, countof(story), i ? "new" : "old", 0);
    }
    assert_int_equal(journal.tables.functions_count, 1 + 3);
    merge_free(&merge);
    journal_free(&journal);
}

/* A sample stands for as long as it says, or for an interval of its own recording. */
static void times_that_samples_stand_for_are_kept(void **state)
{
    (void)state;
    static const struct event weighed[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = 5 * MS, .time_unit_ns = 1 } },
        PROCESS(1, 42, "/w"),
        THREAD(1, 1, 42, "python3"),
        { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = MS, .stands_ns = 7 } },
        { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 2 * MS } },
    };
    const struct selection all = { 0 };
    struct journal journal = { 0 };
    struct merge merge = { .to = journal_sink(&journal), .selection = &all };
    read_story(&merge, one, countof(one), "one", 0);
    read_story(&merge, weighed, countof(weighed), "weighed", 0);
    read_story(&merge, other, countof(other), "other", 0);
    assert_int_equal(journal.tables.threads[1].wall_ns, MS);
    assert_int_equal(journal.tables.threads[2].wall_ns, 5 * MS + 7);
    assert_int_equal(journal.tables.threads[3].wall_ns, 2 * MS);
    merge_free(&merge);
    journal_free(&journal);
}

/* A process has the title of its first wanted sample; later ones come as they are, up to the end of the part. */
static void titles_are_those_of_the_part(void **state)
{
    (void)state;
    static const struct event titled[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1 } },
        PROCESS(1, 42, "/w"),
        THREAD(1, 1, 42, "python3"),
        { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 1 * MS } },
        TITLE(1, 2 * MS, "'early'"),
        TITLE(1, 3 * MS, "'first'"),
        { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 5 * MS } },
        TITLE(1, 6 * MS, "'second'"),
        { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 7 * MS } },
        TITLE(1, 9 * MS, "'late'"),
        { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 10 * MS } },
    };
    const struct selection part = { .from_ns = 4 * MS, .to_ns = 8 * MS };
    struct journal journal = { 0 };
    struct merge merge = { .to = journal_sink(&journal), .selection = &part };
    read_story(&merge, titled, countof(titled), "one", 0);
    char *text = journal_text(&journal);
    assert_null(strstr(text, "early"));
    assert_non_null(strstr(text, "''first''"));
    assert_non_null(strstr(text, "process 1 at 6000000 is ''second''\n"));
    assert_null(strstr(text, "late"));
    free(text);
    merge_free(&merge);
    journal_free(&journal);
}

/* Notes how many frames each sample keeps and pushes: "0+3 2+1". */
static bool note_frames(void *self, struct event *event, struct fault *why)
{
    char *room = self;
    const size_t used = strlen(room);
    (void)why;
    if (event->kind == EVENT_SAMPLE)
        snprintf(room + used, 64 - used, "%u+%u ", event->sample.keep, event->sample.pushed);
    return true;
}

/* A sample keeps the frames that it shares with the sample emitted before, whatever was left out. */
static void only_new_frames_are_emitted(void **state)
{
    (void)state;
    const struct event story[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1 } },
        PROCESS(1, 42, "/w"),
        THREAD(1, 1, 42, "python3"),
        STRING(1, "f"),
        FUNCTION(1, 1, 0, 1),
        FRAME(1, 1, 1),
        FRAME(2, 1, 2),
        FRAME(3, 1, 3),
        SAMPLE(1 * MS, 1, 0, 1, 2), /* left out */
        SAMPLE(2 * MS, 1, 2, 3),
        SAMPLE(3 * MS, 1, 2, 2),
        SAME(4 * MS, 1, 3),
        SAMPLE(5 * MS, 1, 1, 3),
        SAME(6 * MS, 1, 1),
        SAME(7 * MS, 1, 0),
    };
    const struct selection late = { .from_ns = 2 * MS };
    char room[64] = "";
    struct merge merge = { .to = { .take = note_frames, .self = room }, .selection = &late };
    read_story(&merge, story, countof(story), "one", 0);
    assert_string_equal(room, "0+3 2+1 3+0 1+1 1+0 0+0 ");
    merge_free(&merge);
}

/* A measure belongs to its process and time in the output; one of a process without samples there is left out. */
static void measures_are_merged_and_selected(void **state)
{
    (void)state;
    static const struct event measured[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1 } },
        PROCESS(1, 42, "/w"),
        PROCESS(2, 43, "/w"),
        THREAD(1, 2, 43, "python3"),
        MEASURE(MS, 2, 4096, 1, 1),
        SAME(2 * MS, 1, 0),
        TICK(2 * MS),
        MEASURE(3 * MS, 1, 8192, 5, 2), /* no sample of process 1 */
        MEASURE(3 * MS, 2, 8192, 7, 2),
        MEASURE(9 * MS, 2, 8192, 9, 3),
    };
    const struct selection part = { .to_ns = 18 * MS };
    struct journal journal = { 0 };
    struct merge merge = { .to = journal_sink(&journal), .selection = &part };
    read_story(&merge, one, countof(one), "one", 0);
    read_story(&merge, measured, countof(measured), "measured", 10 * MS);
    assert_int_equal(journal.tables.processes_count, 3);
    assert_int_equal(journal.tables.processes[1].measures.count, 0);
    const struct measures *measures = &journal.tables.processes[2].measures;
    assert_int_equal(measures->count, 2); /* the first one came before the sample, and is emitted with it */
    assert_int_equal(measures->latest.time_ns, 13 * MS);
    assert_int_equal(measures->latest.cpu_ns, 7);
    assert_int_equal(tables_measured_cpu_ns(&journal.tables, 2), 6);
    merge_free(&merge);
    journal_free(&journal);
}

static void a_recording_without_an_end_leaves_none(void **state)
{
    (void)state;
    const struct selection all = { 0 };
    struct journal journal = { 0 };
    struct merge merge = { .to = journal_sink(&journal), .selection = &all };
    read_story(&merge, one, countof(one), "one", 0);
    read_story(&merge, other, countof(other) - 1, "other", 0);
    assert_true(merge_finish(&merge, NULL));
    assert_int_equal(journal.tables.end.reason, 0);
    merge_free(&merge);
    journal_free(&journal);
}

/* ---- a part ---- */

/* A recording whose threads move at random, a sample each in every tick. The caller frees the events. */
static struct event *make_story(size_t *count, uint32_t (*frames)[DEPTH])
{
    static const struct event beginning[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1 } },
        PROCESS(1, 42, "/w"),
        THREAD(1, 1, 100, "one"),
        THREAD(2, 1, 101, "two"),
        THREAD(3, 1, 102, "three"),
        STRING(1, "f"),
        FUNCTION(1, 1, 0, 1),
        FRAME(1, 1, 1),
        FRAME(2, 1, 2),
        FRAME(3, 1, 3),
    };
    struct event *story = alloc_zeroed(countof(beginning) + TICKS * (THREADS + 1), sizeof(*story));
    uint32_t depth[THREADS + 1] = { 0 };
    memcpy(story, beginning, sizeof(beginning));
    *count = countof(beginning);
    for (uint32_t tick = 1; tick <= TICKS; tick++) {
        for (uint32_t thread = 1; thread <= THREADS; thread++) {
            const uint32_t keep = depth[thread] - (uint32_t)rand() % (depth[thread] + 1);
            const uint32_t pushed = (uint32_t)rand() % (DEPTH - keep + 1);
            uint32_t *pushes = frames[tick * THREADS + thread - 1];
            for (uint32_t i = 0; i < pushed; i++)
                pushes[i] = 1 + (uint32_t)rand() % 3;
            depth[thread] = keep + pushed;
            story[(*count)++] = (struct event){ EVENT_SAMPLE, .sample = { .count = 1,
                                                                          .thread = thread,
                                                                          .keep = keep,
                                                                          .pushed = pushed,
                                                                          .frames = pushes,
                                                                          .time_ns = tick * MS } };
        }
        story[(*count)++] = (struct event)TICK(tick * MS);
    }
    return story;
}

/* The lines of ticks at a time that is wanted. */
static char *part_of(char *lines, const struct selection *selection)
{
    char *part = alloc_zeroed(strlen(lines) + 1, 1);
    char *rest = part;
    for (char *line = lines; *line;) {
        const size_t size = strcspn(line, "\n") + 1;
        if (selection_has_time(selection, strtoull(line, NULL, 10))) {
            memcpy(rest, line, size);
            rest += size;
        }
        line += size;
    }
    free(lines);
    return part;
}

static void samples_have_their_stacks_whatever_is_left_out(void **state)
{
    (void)state;
    static const struct selection selections[] = {
        { 0 },
        { .from_ns = 100 * MS },
        { .to_ns = 200 * MS },
        { .from_ns = 123 * MS, .to_ns = 124 * MS },
        { .from_ns = 7 * MS + 1, .to_ns = 390 * MS },
    };
    static uint32_t frames[(TICKS + 1) * THREADS][DEPTH];
    srand(7);
    for (size_t i = 0; i < countof(selections); i++) {
        size_t count;
        struct event *story = make_story(&count, frames);
        struct journal wanted = { 0 }, journal = { 0 };
        journal_tell(&wanted, story, count);
        struct merge merge = { .to = journal_sink(&journal), .selection = &selections[i] };
        read_story(&merge, story, count, "", 0);
        assert_true(merge_finish(&merge, NULL));
        assert_same_lines(journal_ticks(&journal), part_of(journal_ticks(&wanted), &selections[i]));
        merge_free(&merge);
        journal_free(&journal);
        journal_free(&wanted);
        free(story);
    }
}

static void threads_are_chosen_by_name_and_number(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        const char *found; /* the threads told of, by their last digit */
    } rows[] = {
        { "two", "1" },        { "102", "2" },
        { "two,102", "12" },   { " two , 102 ", "12" },
        { "MainThread", "0" }, { "one", "" },
        { "tw", "" },          { "two,", "1" },
        { ",,", "" },          { "0102", "2" },
        { "late", "2" },       { "1020", "" },
        { "102x", "" },        { "MainThread,two", "01" },
    };
    static uint32_t frames[(TICKS + 1) * THREADS][DEPTH];
    size_t count;
    struct event *story = make_story(&count, frames);
    story[9].kind = EVENT_THREAD_NAME; /* in the place of a frame */
    story[9].change = (struct change){ 3, 0, TEXT("late"), false };
    for (size_t k = 10; k < count; k++)
        for (uint32_t i = 0; story[k].kind == EVENT_SAMPLE && i < story[k].sample.pushed; i++)
            ((uint32_t *)story[k].sample.frames)[i] = 1;
    for (size_t i = 0; i < countof(rows); i++) {
        const struct selection selection = { .threads = rows[i].list };
        struct journal journal = { 0 };
        struct merge merge = { .to = journal_sink(&journal), .selection = &selection };
        char found[THREADS + 1] = "";
        read_story(&merge, story, count, "", 0);
        for (size_t thread = 1; thread < journal.tables.threads_count; thread++)
            found[thread - 1] = (char)('0' + journal.tables.threads[thread].thread.tid % 10);
        if (strcmp(found, rows[i].found) != 0 || merge.found != (*found != '\0'))
            fail_msg("'%s' finds '%s'", rows[i].list, found);
        merge_free(&merge);
        journal_free(&journal);
    }
    free(story);
}

static void times_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        uint64_t time_ns;
        double share;
    } rows[] = {
        { "0", true, 0, 0 },      { "1m30", true, UINT64_C(90000000000), 0 },
        { "25%", true, 0, 0.25 }, { "2.5%", true, 0, 0.025 },
        { "100%", true, 0, 1 },   { "0%", true, 0, 0 },
        { "101%", false, 0, 0 },  { "%", false, 0, 0 },
        { "-5%", false, 0, 0 },   { "5%%", false, 0, 0 },
        { "1e1%", false, 0, 0 },  { "0x5%", false, 0, 0 },
        { "5 %", false, 0, 0 },   { "5s%", false, 0, 0 },
        { "", false, 0, 0 },      { "x", false, 0, 0 },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        uint64_t time_ns = 1;
        double share = 1;
        if (selection_parse_time(rows[i].text, &time_ns, &share) != rows[i].good)
            fail_msg("'%s' is %s", rows[i].text, rows[i].good ? "refused" : "accepted");
        if (rows[i].good &&
            (time_ns != rows[i].time_ns || share < rows[i].share - 1e-9 || share > rows[i].share + 1e-9))
            fail_msg("'%s' is %" PRIu64 " and %g", rows[i].text, time_ns, share);
    }
}

static void shares_become_times(void **state)
{
    (void)state;
    static const struct {
        struct selection given, settled;
        uint64_t length_ns;
        bool good;
    } rows[] = {
        { { .from_ns = 1, .to_ns = 2 }, { .from_ns = 1, .to_ns = 2 }, 0, true },
        { { .from_share = 0.25, .to_share = 0.5 }, { .from_ns = 250, .to_ns = 500 }, 1000, true },
        { { .from_share = 0.25, .to_ns = 300 }, { .from_ns = 250, .to_ns = 300 }, 1000, true },
        { { .from_share = 0.25, .to_ns = 250 }, { .from_ns = 250, .to_ns = 250 }, 1000, false },
        { { .from_ns = 400, .to_share = 0.4 }, { .from_ns = 400, .to_ns = 400 }, 1000, false },
        { { .from_ns = 400, .to_share = 1 },
          { .from_ns = 400 },
          300,
          true }, /* 100% is the end, whatever comes there */
        { { .to_share = 0.0001 }, { .to_ns = 1 }, 1000, true },
        { { .from_share = 0.5, .to_share = 0.6 }, { .from_ns = 1, .to_ns = 1 }, 0, true }, /* nothing could be read */
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct selection selection = rows[i].given;
        struct fault why = { 0 };
        assert_true(selection_is_partial(&selection));
        assert_int_equal(selection_needs_length(&selection), selection.from_share + selection.to_share > 0);
        assert_int_equal(selection_settle(&selection, rows[i].length_ns, &why), rows[i].good);
        assert_int_equal(why.text[0] != '\0', !rows[i].good);
        assert_int_equal(selection.from_ns, rows[i].settled.from_ns);
        assert_int_equal(selection.to_ns, rows[i].settled.to_ns);
        assert_false(selection_needs_length(&selection));
    }
}

TEST_FILE(merge)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_recordings_become_one),
        cmocka_unit_test(a_tree_stays_a_tree),
        cmocka_unit_test(alike_functions_of_compared_recordings_are_one),
        cmocka_unit_test(scripts_of_other_folders_are_alike),
        cmocka_unit_test(main_scripts_are_one_whatever_their_names_are),
        cmocka_unit_test(only_main_scripts_of_both_sides_are_one),
        cmocka_unit_test(functions_that_may_be_others_stay_apart),
        cmocka_unit_test(times_that_samples_stand_for_are_kept),
        cmocka_unit_test(titles_are_those_of_the_part),
        cmocka_unit_test(only_new_frames_are_emitted),
        cmocka_unit_test(measures_are_merged_and_selected),
        cmocka_unit_test(a_recording_without_an_end_leaves_none),
        cmocka_unit_test(samples_have_their_stacks_whatever_is_left_out),
        cmocka_unit_test(threads_are_chosen_by_name_and_number),
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(shares_become_times),
    };
    return run_all(tests);
}
