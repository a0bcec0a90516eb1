/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof.h"

#include "formats/base/alloc.h"
#include "formats/pprof/pprof_label_names.h"
#include "formats/pprof/pprof_remedies.h"
#include "formats/pprof/pprof_status.h"
#include "formats/pprof/pprof_tables.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const struct event story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1000, .start_unix_ns = 1234 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "worker"),
    STRING(1, "<module>"),
    STRING(2, "f"),
    STRING(3, "/home/u/a.py"),
    FUNCTION(1, 1, 3, 1),
    FUNCTION(2, 2, 3, 7),
    FRAME(1, 1, 3),
    FRAME(2, 2, 8),
    { EVENT_FRAME, .frame = { 3, 2, 8, 8, 4, 7, 0, 0, 0, 0, 0 } },
    SAMPLE(1 * MS, 1, 0, 1, 2),
    SAMPLE(2 * MS, 1, 1, 3), /* another column of that line: one row with the one before */
    SAMPLE(3 * MS, 1, 1, 2, 2),
    SAMPLE(3 * MS, 2, 0, 2),
    SAME(4 * MS, 2, 0),
    { EVENT_END, .end = { END_TARGET, 5 * MS, 4, 5, 0, 0, 0 } },
};

/* The same program, and what its threads did. Of the last sample the CPU time is not known. */
#define REC STATUS_RECORDED
static const struct event status_story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1000, .start_unix_ns = 1234 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "worker"),
    STRING(1, "f"),
    STRING(2, "/home/u/a.py"),
    FUNCTION(1, 1, 2, 7),
    FRAME(1, 1, 8),
    STATUS_SAMPLE(1 * MS, 1, 0, REC | STATUS_CPU | STATUS_GIL, 0, 1),
    STATUS_SAME(2 * MS, 1, 1, REC | STATUS_CPU | STATUS_GIL, 950000),
    STATUS_SAME(3 * MS, 1, 1, REC, 50001),
    STATUS_SAMPLE(3 * MS, 2, 0, REC | STATUS_CPU | STATUS_GIL_WAIT, 0, 1),
    LEFT_OUT(4 * MS, 2, 3, 9),
    STATUS_SAME(5 * MS, 2, 1, REC | STATUS_CPU_UNKNOWN | STATUS_GIL, 0),
    { EVENT_END, .end = { END_TARGET, 5 * MS, 4, 5, 0, 0, 0 } },
};

/* Samples that do not stand for an interval. */
static const struct event weighed_story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1000 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    STRING(1, "f"),
    FUNCTION(1, 1, 0, 7),
    FRAME(1, 1, 8),
    STATUS_SAMPLE(1 * MS, 1, 0, REC | STATUS_GIL, 0, 1),
    { EVENT_SAMPLE, .sample = { .thread = 1,
                                .keep = 1,
                                .status = REC | STATUS_GIL,
                                .time_ns = 5 * MS,
                                .stands_ns = 1700003,
                                .count = 3 } },
    { EVENT_SAMPLE, .sample = { .count = 1,
                                .thread = 1,
                                .keep = 1,
                                .status = REC | STATUS_GIL_WAIT,
                                .time_ns = 6600020,
                                .stands_ns = 20 } },
    COUNTER("samples_exact", 4),
    COUNTER("ticks_left_out", 0),
};

/* A thread that runs two tasks, and one at two instructions; an entry of a task, and one of an orphan without a name.
 */
static const struct event task_story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1000 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    TASK(1, 1, "fetch"),
    TASK(2, 1, ""),
    TASK_ENTRY(2, 1, 4242, 1, "fetch"),
    TASK_ENTRY(3, 1, 0, 2, ""),
    STRING(1, "f"),
    STRING(2, "/home/u/a.py"),
    STRING(3, "LOAD_ATTR_SLOT"),
    STRING(4, "LOAD_ATTR"),
    FUNCTION(1, 1, 2, 7),
    FRAME(1, 1, 8),
    { EVENT_FRAME, .frame = { 2, 1, 8, 8, 4, 7, 3, 4, 0, 0, 0 } },
    { EVENT_FRAME, .frame = { 3, 1, 8, 8, 4, 7, 4, 0, 0, 0, 0 } },
    SAMPLE(1 * MS, 1, 0, 1),
    TASK_SAMPLE(2 * MS, 1, 1, 0, 2),
    TASK_SAMPLE(3 * MS, 1, 1, 0, 3),
    TASK_SAMPLE(4 * MS, 1, 2, 0, 3),
    TASK_SAMPLE(4 * MS, 2, 1, 0, 2),
    TASK_SAMPLE(4 * MS, 3, 2, 0, 1),
    { EVENT_END, .end = { END_TARGET, 5 * MS, 4, 6, 0, 0, 0 } },
};

/* One function on lines 1 to 5, in stacks of three and more frames. */
static const struct event deep_story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1000 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    STRING(1, "f"),
    STRING(2, "/home/u/a.py"),
    FUNCTION(1, 1, 2, 1),
    FRAME(1, 1, 1),
    FRAME(2, 1, 2),
    FRAME(3, 1, 3),
    FRAME(4, 1, 4),
    FRAME(5, 1, 5),
    SAMPLE(1 * MS, 1, 0, 1, 2, 3),
    SAMPLE(2 * MS, 1, 3, 4),
    SAMPLE(3 * MS, 1, 4, 5),
    SAMPLE(4 * MS, 1, 3, 5),
    { EVENT_END, .end = { END_TARGET, 5 * MS, 4, 4, 0, 0, 0 } },
};

/* One function on lines 1 to 3, in two threads. */
static const struct event two_threads[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1000 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "worker"),
    STRING(1, "f"),
    STRING(2, "/home/u/a.py"),
    FUNCTION(1, 1, 2, 1),
    FRAME(1, 1, 1),
    FRAME(2, 1, 2),
    FRAME(3, 1, 3),
    SAMPLE(1 * MS, 1, 0, 1),
    SAMPLE(1 * MS, 2, 0, 1),
    SAMPLE(2 * MS, 1, 0, 2),
    SAMPLE(2 * MS, 2, 0, 3),
    { EVENT_END, .end = { END_TARGET, 5 * MS, 4, 4, 0, 0, 0 } },
};

/* Texts of a recording that may hold a secret. */
static const struct event secret_story[] = {
    { EVENT_RECORDING, .recording = { .pyreel_version = T("0.0-secret"),
                                      .host = T("secret"),
                                      .mode = T("secret"),
                                      .threads_option = T("secret"),
                                      .command = T("record secret"),
                                      .interval_ns = MS,
                                      .time_unit_ns = 1000 } },
    { EVENT_PROCESS, .process = { 1, 4242, 0, 0x030f02f0, T("/secret/python"), T("run secret"), T("/secret"), 0, T(""),
                                  0, 0, T(""), T(""), 0 } },
    THREAD(1, 1, 4242, "secret"),
    STRING(1, "f"),
    FUNCTION(1, 1, 0, 7),
    FRAME(1, 1, 8),
    SAMPLE(1 * MS, 1, 0, 1),
};

static void aggregate_story(struct tables *tables, struct aggregate *aggregate, const struct event *told, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct event event = told[i];
        assert_true(tables_take(tables, &event, NULL));
        if (event.kind == EVENT_RUN)
            aggregate_add_run(aggregate, &event.run);
    }
    aggregate_sort(aggregate);
}

static struct bytes write_story(const struct event *told, size_t count, const struct pprof_style *style)
{
    char path[] = "/tmp/pyreel-pprof.XXXXXX";
    const int fd = mkstemp(path);
    struct output output = { 0 };
    struct tables tables = { 0 };
    struct aggregate aggregate = { .group_of = style->labels & 1u << LABEL_STATUS ? pprof_status_of : NULL,
                                   .by_span = true };
    aggregate_story(&tables, &aggregate, told, count);
    assert_true(output_open(&output, path, false, NULL));
    assert_int_equal(pprof_write(&output, &tables, &aggregate, style), pprof_count(&tables, &aggregate, style));
    assert_true(output_close(&output, NULL, NULL));
    tables_free(&tables);
    aggregate_free(&aggregate);
    close(fd);
    FILE *file = fopen(path, "re");
    struct bytes bytes = file_bytes(dup(fileno(file)));
    fclose(file);
    unlink(path);
    return bytes;
}

static struct bytes write_profile(enum frame_detail detail)
{
    const struct pprof_style style = { .detail = detail };
    return write_story(story, countof(story), &style);
}

static const char *string(const Perftools__Profiles__Profile *profile, int64_t i)
{
    assert_true(i >= 0 && (size_t)i < profile->n_string_table);
    return profile->string_table[i];
}

/* "MainThread 2 2000000 0 0 0: f:8 <module>:3", leaf first as pprof has it; f:8:5 with a column. */
static void put_row(char *room, size_t size, const Perftools__Profiles__Profile *profile,
                    const Perftools__Profiles__Sample *sample)
{
    size_t used = 0;
    for (size_t i = 0; i < sample->n_label; i++)
        if (strcmp(string(profile, sample->label[i]->key), "thread") == 0)
            used = (size_t)snprintf(room, size, "%s", string(profile, sample->label[i]->str));
    used += (size_t)snprintf(room + used, size - used, " %ld", sample->value[0]);
    for (size_t i = 1; i < sample->n_value; i++)
        used += (size_t)snprintf(room + used, size - used, " %ld", sample->value[i]);
    used += (size_t)snprintf(room + used, size - used, ":");
    for (size_t i = 0; i < sample->n_location_id; i++) {
        const uint64_t id = sample->location_id[i];
        assert_true(id >= 1 && id <= profile->n_location);
        const Perftools__Profiles__Location *location = profile->location[id - 1];
        assert_int_equal(location->id, id);
        assert_int_equal(location->mapping_id, 1);
        assert_int_equal(location->n_line, 1);
        const Perftools__Profiles__Function *function = profile->function[location->line[0]->function_id - 1];
        used += (size_t)snprintf(room + used, size - used, " %s:%ld", string(profile, function->name),
                                 location->line[0]->line);
        if (location->line[0]->column)
            used += (size_t)snprintf(room + used, size - used, ":%ld", location->line[0]->column);
    }
}

static void assert_rows(const Perftools__Profiles__Profile *profile, const char *const *wanted, size_t count)
{
    assert_int_equal(profile->n_sample, count);
    for (size_t i = 0; i < count; i++) {
        char row[256] = "";
        bool found = false;
        put_row(row, sizeof(row), profile, profile->sample[i]);
        for (size_t k = 0; k < count; k++)
            found |= strcmp(row, wanted[k]) == 0;
        if (!found)
            fail_msg("a row '%s'", row);
    }
}

static Perftools__Profiles__Profile *unpack(const struct bytes *bytes)
{
    Perftools__Profiles__Profile *profile = perftools__profiles__profile__unpack(NULL, bytes->size, bytes->at);
    assert_non_null(profile);
    return profile;
}

/* Writes a profile of `told`, whose rows must be these. */
static void assert_story_rows(const struct event *told, size_t told_count, const struct pprof_style *style,
                              const char *const *rows, size_t count)
{
    struct bytes bytes = write_story(told, told_count, style);
    Perftools__Profiles__Profile *profile = unpack(&bytes);
    assert_rows(profile, rows, count);
    perftools__profiles__profile__free_unpacked(profile, NULL);
    bytes_free(&bytes);
}

static void each_stack_is_a_row(void **state)
{
    (void)state;
    static const char *const rows[] = { "MainThread 2 2000000 0 0 0: f:8 <module>:3",
                                        "MainThread 1 1000000 0 0 0: f:8 f:8 <module>:3", "worker 1 1000000 0 0 0: f:8",
                                        "worker 1 1000000 0 0 0: <no Python frames>:0" };
    struct bytes bytes = write_profile(DETAIL_LINES);
    Perftools__Profiles__Profile *profile = unpack(&bytes);
    assert_rows(profile, rows, countof(rows));
    assert_string_equal(string(profile, 0), "");
    assert_int_equal(profile->n_sample_type, 5);
    assert_string_equal(string(profile, profile->sample_type[0]->type), "samples");
    assert_string_equal(string(profile, profile->sample_type[0]->unit), "count");
    assert_string_equal(string(profile, profile->sample_type[1]->type), "wall");
    assert_string_equal(string(profile, profile->sample_type[1]->unit), "nanoseconds");
    assert_int_equal(profile->period, MS);
    assert_int_equal(profile->time_nanos, 1234);
    assert_int_equal(profile->duration_nanos, 5 * MS);
    assert_int_equal(profile->n_mapping, 1);
    assert_true(profile->mapping[0]->has_functions && profile->mapping[0]->has_filenames);
    assert_string_equal(string(profile, profile->mapping[0]->filename), "python3.15");
    perftools__profiles__profile__free_unpacked(profile, NULL);
    bytes_free(&bytes);
}

static void with_functions_lines_are_those_of_definitions(void **state)
{
    (void)state;
    static const char *const rows[] = { "MainThread 2 2000000 0 0 0: f:7 <module>:1",
                                        "MainThread 1 1000000 0 0 0: f:7 f:7 <module>:1", "worker 1 1000000 0 0 0: f:7",
                                        "worker 1 1000000 0 0 0: <no Python frames>:0" };
    struct bytes bytes = write_profile(DETAIL_FUNCTIONS);
    Perftools__Profiles__Profile *profile = unpack(&bytes);
    assert_rows(profile, rows, countof(rows));
    perftools__profiles__profile__free_unpacked(profile, NULL);
    bytes_free(&bytes);
}

static void with_modules_only_names_differ(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "MainThread 2 2000000 0 0 0: a.f:8 a.<module>:3",
        "MainThread 1 1000000 0 0 0: a.f:8 a.f:8 a.<module>:3",
        "worker 1 1000000 0 0 0: a.f:8",
        "worker 1 1000000 0 0 0: <no Python frames>:0",
    };
    const struct pprof_style style = { .qualify = true };
    assert_story_rows(story, countof(story), &style, rows, countof(rows));
}

/* Columns count from 1 in pprof, and from 0 in a recording. */
static void with_columns_they_keep_stacks_apart(void **state)
{
    (void)state;
    static const char *const rows[] = { "MainThread 1 1000000 0 0 0: f:8 <module>:3",
                                        "MainThread 1 1000000 0 0 0: f:8:5 <module>:3",
                                        "MainThread 1 1000000 0 0 0: f:8 f:8 <module>:3", "worker 1 1000000 0 0 0: f:8",
                                        "worker 1 1000000 0 0 0: <no Python frames>:0" };
    struct bytes bytes = write_profile(DETAIL_COLUMNS);
    Perftools__Profiles__Profile *profile = unpack(&bytes);
    assert_rows(profile, rows, countof(rows));
    assert_int_equal(profile->n_function, 3);
    perftools__profiles__profile__free_unpacked(profile, NULL);
    bytes_free(&bytes);
}

static void assert_types(const Perftools__Profiles__Profile *profile, const char *wanted)
{
    char types[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < profile->n_sample_type; i++)
        used += (size_t)snprintf(types + used, sizeof(types) - used, "%s/%s ",
                                 string(profile, profile->sample_type[i]->type),
                                 string(profile, profile->sample_type[i]->unit));
    assert_string_equal(types, wanted);
}

static bool has_comment(const Perftools__Profiles__Profile *profile, const char *wanted)
{
    bool found = false;
    for (size_t i = 0; i < profile->n_comment; i++)
        found |= strcmp(string(profile, profile->comment[i]), wanted) == 0;
    return found;
}

static void what_threads_did_has_columns(void **state)
{
    (void)state;
    static const char *const rows[] = { "MainThread 3 3000000 1000001 2000000 0: f:8",
                                        "worker 2 2500000 0 1500000 1000000: f:8" };
    for (int cpu_first = 0; cpu_first < 2; cpu_first++) {
        const struct pprof_style style = { .cpu_first = cpu_first };
        struct bytes bytes = write_story(status_story, countof(status_story), &style);
        Perftools__Profiles__Profile *profile = unpack(&bytes);
        assert_rows(profile, rows, countof(rows));
        assert_types(profile, "samples/count wall/nanoseconds cpu/nanoseconds gil/nanoseconds gil_wait/nanoseconds ");
        assert_string_equal(string(profile, profile->default_sample_type), cpu_first ? "cpu" : "wall");
        assert_string_equal(string(profile, profile->period_type->type), "wall");
        assert_true(has_comment(profile, "3 looks at threads are left out: the mode does not keep their samples"));
        assert_true(has_comment(
            profile,
            "value cpu is not known of 1 samples: --async all, sampling many threads, and Tachyon in mode wall "
            "record no CPU time; pyreel-record -m cpu does"));
        perftools__profiles__profile__free_unpacked(profile, NULL);
        bytes_free(&bytes);
    }
}

static void a_sample_has_the_time_that_it_stands_for(void **state)
{
    (void)state;
    static const char *const rows[] = { "MainThread 5 6100029 0 6100009 20: f:8" };
    const struct pprof_style style = { 0 };
    struct bytes bytes = write_story(weighed_story, countof(weighed_story), &style);
    Perftools__Profiles__Profile *profile = unpack(&bytes);
    assert_rows(profile, rows, countof(rows));
    assert_int_equal(profile->period, MS);
    assert_true(has_comment(profile, "rate: 0 a second (1000 asked)"));
    assert_true(has_comment(profile, "80.0 % of samples were one proven moment"));
    perftools__profiles__profile__free_unpacked(profile, NULL);
    bytes_free(&bytes);
}

/* The default column is then wall-clock time, whatever was wanted, and a comment for each unknown column says why. */
static void what_is_not_known_is_named(void **state)
{
    (void)state;
    const struct pprof_style style = { .cpu_first = true };
    struct bytes bytes = write_story(story, countof(story), &style);
    Perftools__Profiles__Profile *profile = unpack(&bytes);
    assert_types(profile, "samples/count wall/nanoseconds cpu/nanoseconds gil/nanoseconds gil_wait/nanoseconds ");
    assert_string_equal(string(profile, profile->default_sample_type), "wall");
    assert_int_equal(profile->n_comment, 5);
    assert_true(has_comment(profile, "value gil is not known and 0: --async all does not record who holds the "
                                     "GIL"));
    perftools__profiles__profile__free_unpacked(profile, NULL);
    bytes_free(&bytes);
}

/* Command lines may hold secrets; counts and reasons do not. */
static void no_comment_holds_a_text_of_the_recording(void **state)
{
    (void)state;
    for (int no_comments = 0; no_comments < 2; no_comments++) {
        const struct pprof_style style = { .no_comments = no_comments };
        struct bytes bytes = write_story(secret_story, countof(secret_story), &style);
        Perftools__Profiles__Profile *profile = unpack(&bytes);
        bool secret = false;
        for (size_t i = 0; i < profile->n_comment; i++)
            secret |= strstr(string(profile, profile->comment[i]), "secret") != NULL;
        assert_int_equal(secret, !no_comments);
        assert_true(has_comment(profile, "1 samples; 0 failed, 0 lost; 0 ticks missed"));
        assert_true(has_comment(profile, "value gil is not known and 0: --async all does not record who holds the "
                                         "GIL"));
        perftools__profiles__profile__free_unpacked(profile, NULL);
        bytes_free(&bytes);
    }
}

/* "thread=MainThread thread_id=4242 pid=4242 interpreter=0 task=fetch task_id=1: 1" */
static void put_labels(char *room, size_t size, const Perftools__Profiles__Profile *profile,
                       const Perftools__Profiles__Sample *sample)
{
    size_t used = 0;
    for (size_t i = 0; i < sample->n_label; i++) {
        const Perftools__Profiles__Label *label = sample->label[i];
        assert_string_equal(string(profile, label->num_unit), label->str ? "" : "id");
        used += (size_t)snprintf(room + used, size - used, label->str ? "%s=%s " : "%s=", string(profile, label->key),
                                 string(profile, label->str));
        if (!label->str)
            used += (size_t)snprintf(room + used, size - used, "%ld ", label->num);
    }
    snprintf(room + used, size - used, "%ld", sample->value[0]);
}

static void assert_labels_of(const struct event *told, size_t told_count, const struct pprof_style *style,
                             const char *const *wanted, size_t count)
{
    struct bytes bytes = write_story(told, told_count, style);
    Perftools__Profiles__Profile *profile = unpack(&bytes);
    assert_int_equal(profile->n_sample, count);
    for (size_t i = 0; i < count; i++) {
        char row[256];
        put_labels(row, sizeof(row), profile, profile->sample[i]);
        assert_string_equal(row, wanted[i]);
    }
    perftools__profiles__profile__free_unpacked(profile, NULL);
    bytes_free(&bytes);
}

static void assert_labels(const struct pprof_style *style, const char *const *wanted, size_t count)
{
    assert_labels_of(task_story, countof(task_story), style, wanted, count);
}

#define MAIN "thread=MainThread thread_id=4242 pid=4242 interpreter=0 "
#define LOST "thread=unknown thread thread_id=0 pid=4242 interpreter=0 "

static void tasks_and_instructions_are_labels(void **state)
{
    (void)state;
    static const char *const tasks[] = {
        MAIN "1",
        MAIN "task=fetch task_id=1 3", /* of the thread that runs the task, and of the task's entry */
        MAIN "task=<unknown> task_id=2 1",
        LOST "task=<unknown> task_id=2 1",
    };
    static const char *const opcodes[] = {
        MAIN "1",
        MAIN "task=fetch task_id=1 opcode=LOAD_ATTR_SLOT opcode_base=LOAD_ATTR 2",
        MAIN "task=fetch task_id=1 opcode=LOAD_ATTR opcode_base=LOAD_ATTR 1",
        MAIN "task=<unknown> task_id=2 opcode=LOAD_ATTR opcode_base=LOAD_ATTR 1",
        LOST "task=<unknown> task_id=2 1",
    };
    assert_labels(&(struct pprof_style){ 0 }, tasks, countof(tasks));
    assert_labels(&(struct pprof_style){ .opcodes = true }, opcodes, countof(opcodes));
}

#define SPAN_SAMPLE(ns, ...)                                                                                           \
    {                                                                                                                  \
        EVENT_SAMPLE, .sample = { SAMPLE_OF(ns, 1), PUSHES(0, 1), .span = { __VA_ARGS__ } }                            \
    }

static void spans_are_labels(void **state)
{
    (void)state;
    const struct event told[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = 1000 } },
        PROCESS(1, 4242, "/home/u"),
        THREAD(1, 1, 4242, "python3"),
        STRING(1, "f"),
        FUNCTION(1, 1, 0, 7),
        FRAME(1, 1, 8),
        SPAN_SAMPLE(1 * MS, 0, 0, 0),
        SPAN_SAMPLE(2 * MS, 0xA, 0xB, 0xC),
        SPAN_SAMPLE(3 * MS, 0xA, 0xB, UINT64_MAX),
        SPAN_SAMPLE(4 * MS, 0xA, 0xB, 0),
        SPAN_SAMPLE(5 * MS, 0xA, 0xB, 0xC),
    };
#define TRACE "trace_id=000000000000000a000000000000000b "
    static const char *const all[] = { MAIN "1", MAIN TRACE "span_id=000000000000000c 2",
                                       MAIN TRACE "span_id=ffffffffffffffff 1", MAIN TRACE "1" };
    static const char *const traces[] = { "1", TRACE "4" };
    struct pprof_style style = { .chosen_labels = true };
    assert_labels_of(told, countof(told), &(struct pprof_style){ 0 }, all, countof(all));
    assert_true(pprof_label_names_parse("trace_id", &style.labels));
    assert_labels_of(told, countof(told), &style, traces, countof(traces));
    assert_true(pprof_label_names_parse("pid", &style.labels));
    assert_labels_of(told, countof(told), &style, (const char *const[]){ "pid=4242 5" }, 1);
}

/* Samples that differ in other labels only are one. */
static void only_the_wanted_labels_are_there(void **state)
{
    (void)state;
    static const char *const nothing[] = { "6" };
    static const char *const pids[] = { "pid=4242 6" };
    static const char *const tasks[] = { "thread=MainThread 1", "thread=MainThread task=fetch 3",
                                         "thread=MainThread task=<unknown> 1",
                                         "thread=unknown thread task=<unknown> 1" };
    static const char *const opcodes[] = { "2", "opcode_base=LOAD_ATTR 4" };
    struct pprof_style style = { .chosen_labels = true };
    assert_labels(&style, nothing, countof(nothing));
    assert_true(pprof_label_names_parse("pid,recording", &style.labels));
    assert_labels(&style, pids, countof(pids));
    assert_true(pprof_label_names_parse("task,thread,task", &style.labels));
    assert_labels(&style, tasks, countof(tasks));
    assert_true(pprof_label_names_parse("opcode_base", &style.labels));
    assert_labels(&style, opcodes, countof(opcodes));
}

/* No name is found where another is searched for. */
static void a_status_is_what_the_columns_say(void **state)
{
    (void)state;
    static const struct {
        uint32_t status;
        const char *name;
    } rows[] = {
        { REC | STATUS_ELSEWHERE | STATUS_GIL, "elsewhere" },
        { REC | STATUS_GIL, "gil" },
        { REC | STATUS_GIL | STATUS_CPU, "gil" },
        { REC | STATUS_GIL | STATUS_CPU_UNKNOWN, "gil" },
        { REC | STATUS_GIL_WAIT | STATUS_CPU, "waiting" },
        { REC | STATUS_GIL_WAIT | STATUS_GIL_WAIT_UNKNOWN | STATUS_CPU, "running" },
        { REC | STATUS_CPU | STATUS_EXCEPTION, "running" },
        { REC | STATUS_NATIVE_WAIT, "native" },
        { REC, "idle" },
        { REC | STATUS_CPU_UNKNOWN, "unknown" },
        { STATUS_GIL | STATUS_CPU, "unknown" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        const struct text name = pprof_status_name(pprof_status_of(rows[i].status));
        assert_int_equal(name.size, strlen(rows[i].name));
        assert_string_equal(name.bytes, rows[i].name);
        for (size_t other = 0; other < countof(rows); other++)
            assert_true(strcmp(rows[other].name, name.bytes) == 0 || !strstr(rows[other].name, name.bytes));
    }
}

static void the_status_is_a_label_on_request(void **state)
{
    (void)state;
    static const char *const rows[] = { "MainThread 2 2000000 950000 2000000 0: f:8",
                                        "MainThread 1 1000000 50001 0 0: f:8", "worker 1 1000000 0 0 1000000: f:8",
                                        "worker 1 1500000 0 1500000 0: f:8" };
    const struct pprof_style style = { .chosen_labels = true, .labels = 1u << LABEL_THREAD | 1u << LABEL_STATUS };
    assert_story_rows(status_story, countof(status_story), &style, rows, countof(rows));
}

static void a_label_has_one_name(void **state)
{
    (void)state;
    static const char *const wrong[] = { "", "threads", "thread,", ",thread", "thread, task", "thread,,task", "thr" };
    unsigned labels;
    for (size_t i = 0; i < countof(wrong); i++)
        assert_false(pprof_label_names_parse(wrong[i], &labels));
    for (unsigned i = 0; i < PPROF_LABELS; i++) {
        assert_true(pprof_label_names_parse(pprof_label_rows[i].name, &labels));
        assert_int_equal(labels, 1u << i);
    }
}

/* Root part and leaf part stay. Stacks that only differ in their middles become one. */
static void the_middle_of_deep_stacks_is_cut(void **state)
{
    (void)state;
    static const char *const at_three[] = { "MainThread 2 2000000 0 0 0: f:5 <truncated>:0 f:1",
                                            "MainThread 1 1000000 0 0 0: f:3 f:2 f:1",
                                            "MainThread 1 1000000 0 0 0: f:4 <truncated>:0 f:1" };
    static const char *const at_four[] = { "MainThread 1 1000000 0 0 0: f:5 f:4 <truncated>:0 f:1",
                                           "MainThread 1 1000000 0 0 0: f:5 f:3 f:2 f:1",
                                           "MainThread 1 1000000 0 0 0: f:3 f:2 f:1",
                                           "MainThread 1 1000000 0 0 0: f:4 f:3 f:2 f:1" };
    for (uint64_t most = 3; most < 5; most++) {
        const struct pprof_style style = { .max_depth = most };
        struct bytes bytes = write_story(deep_story, countof(deep_story), &style);
        Perftools__Profiles__Profile *profile = unpack(&bytes);
        assert_rows(profile, most == 3 ? at_three : at_four, most == 3 ? countof(at_three) : countof(at_four));
        perftools__profiles__profile__free_unpacked(profile, NULL);
        bytes_free(&bytes);
    }
}

/* Labels stay that all samples of the thread have. */
static void rare_samples_are_the_rest_of_their_threads(void **state)
{
    (void)state;
    static const char *const rows[] = { "MainThread 2 2000000 0 0 0: f:8 <module>:3",
                                        "MainThread 1 1000000 0 0 0: <rest>:0", "worker 2 2000000 0 0 0: <rest>:0" };
    static const char *const labels[] = { MAIN "task=fetch task_id=1 3", MAIN "2", LOST "1" };
    const struct pprof_style style = { .min_count = 2 };
    assert_story_rows(story, countof(story), &style, rows, countof(rows));
    assert_labels(&style, labels, countof(labels));
}

static void samples_are_counted_without_writing(void **state)
{
    (void)state;
    static const struct pprof_style styles[] = { { 0 },
                                                 { .min_count = 2 },
                                                 { .max_depth = 3 },
                                                 { .chosen_labels = true },
                                                 { .detail = DETAIL_FUNCTIONS, .min_count = 2 } };
    static const size_t counts[] = { 4, 1, 3, 4, 2 };
    for (size_t i = 0; i < countof(styles); i++) {
        struct tables tables = { 0 };
        struct aggregate aggregate = { 0 };
        aggregate_story(&tables, &aggregate, deep_story, countof(deep_story));
        assert_int_equal(pprof_count(&tables, &aggregate, &styles[i]), counts[i]);
        tables_free(&tables);
        aggregate_free(&aggregate);
    }
}

static void options_that_help_are_named_with_what_they_leave(void **state)
{
    (void)state;
    static const struct {
        struct pprof_style style;
        size_t samples, count;
        struct pprof_remedy remedies[PPROF_REMEDIES];
    } rows[] = {
        { { 0 }, 4, 3, { { "--no-labels", 3 }, { "--functions", 2 }, { "--no-labels --functions", 1 } } },
        { { .detail = DETAIL_FUNCTIONS }, 2, 1, { { "--no-labels", 1 } } },
        { { .chosen_labels = true, .detail = DETAIL_FUNCTIONS, .min_count = 2 }, 1, 0, { { 0 } } },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct pprof_remedy found[PPROF_REMEDIES];
        struct tables tables = { 0 };
        struct aggregate aggregate = { 0 };
        aggregate_story(&tables, &aggregate, two_threads, countof(two_threads));
        assert_int_equal(pprof_count(&tables, &aggregate, &rows[i].style), rows[i].samples);
        const size_t count = pprof_remedies_find(found, &tables, &aggregate, &rows[i].style, rows[i].samples);
        assert_int_equal(count, rows[i].count);
        for (size_t k = 0; k < count; k++) {
            assert_string_equal(found[k].options, rows[i].remedies[k].options);
            assert_int_equal(found[k].samples, rows[i].remedies[k].samples);
        }
        tables_free(&tables);
        aggregate_free(&aggregate);
    }
}

static void the_same_recording_gives_the_same_bytes(void **state)
{
    (void)state;
    struct bytes first = write_profile(DETAIL_LINES), second = write_profile(DETAIL_LINES);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.at, second.at, first.size);
    bytes_free(&first);
    bytes_free(&second);
}

TEST_FILE(pprof)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stack_is_a_row),
        cmocka_unit_test(with_functions_lines_are_those_of_definitions),
        cmocka_unit_test(with_columns_they_keep_stacks_apart),
        cmocka_unit_test(with_modules_only_names_differ),
        cmocka_unit_test(what_threads_did_has_columns),
        cmocka_unit_test(a_sample_has_the_time_that_it_stands_for),
        cmocka_unit_test(what_is_not_known_is_named),
        cmocka_unit_test(no_comment_holds_a_text_of_the_recording),
        cmocka_unit_test(tasks_and_instructions_are_labels),
        cmocka_unit_test(spans_are_labels),
        cmocka_unit_test(only_the_wanted_labels_are_there),
        cmocka_unit_test(a_status_is_what_the_columns_say),
        cmocka_unit_test(the_status_is_a_label_on_request),
        cmocka_unit_test(a_label_has_one_name),
        cmocka_unit_test(the_middle_of_deep_stacks_is_cut),
        cmocka_unit_test(rare_samples_are_the_rest_of_their_threads),
        cmocka_unit_test(samples_are_counted_without_writing),
        cmocka_unit_test(options_that_help_are_named_with_what_they_leave),
        cmocka_unit_test(the_same_recording_gives_the_same_bytes),
    };
    return run_all(tests);
}
