/* SPDX-License-Identifier: MIT */
#include "formats/intern/name.h"
#include "formats/tachyon/tachyon_read.h"

#include "tests/fakes/tachyon_files.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define US      1000u
#define REC     STATUS_RECORDED
#define UNKNOWN STATUS_CPU_UNKNOWN
#define MAIN    0x20
#define PYTHON_SAMPLES                                                                                                 \
    {                                                                                                                  \
        EVENT_PROCESS, .process = { 1, 71, 0, 0x030f02f0, T(""), T(""), T(""), 0, T(""), 0, 0, T(""), T(""), 0 }       \
    }

/* <module> (a.py:3), f (a.py:7), f (a.py:8), <GC>; and one of the launcher. */
static void put_tables(struct tachyon_file *file)
{
    file_string(file, "/x/a.py");
    file_string(file, "<module>");
    file_string(file, "f");
    file_string(file, "~");
    file_string(file, "<GC>");
    file_string(file, "/usr/lib/python3.15/profiling/sampling/_sync_coordinator.py");
    file_string(file, "main");
    file_frame(file, 0, 1, 3, 0, 0, 9, 255);
    file_frame(file, 0, 2, 7, 2, 8, -4, 255);
    file_frame(file, 0, 2, 8, 0, -1, 0, 255);
    file_frame(file, 3, 4, -1, 0, -1, 0, 255);
    file_frame(file, 5, 6, 20, 0, 4, 9, 255);
}

#define TABLES                                                                                                         \
    STRING(1, "/x/a.py"), STRING(2, "<module>"), STRING(3, "f"), STRING(4, "~"), STRING(5, "<GC>"),                    \
        STRING(6, "/usr/lib/python3.15/profiling/sampling/_sync_coordinator.py"), STRING(7, "main"),                   \
        FUNCTION(1, 2, 1, 0), { EVENT_FRAME, .frame = { 1, 1, 3, 3, 0, 9, 0, 0, 0, 0, 0 } }, FUNCTION(2, 3, 1, 0),     \
        { EVENT_FRAME, .frame = { 2, 2, 7, 9, 8, 4, 0, 0, 0, 0, 0 } },                                                 \
        { EVENT_FRAME, .frame = { 3, 2, 8, 8, -1, -1, 0, 0, 0, 0, 0 } }, SYNTHETIC(3, 5, KIND_GC),                     \
        { EVENT_FRAME, .frame = { 4, 3, 0, 0, -1, -1, 0, 0, 0, 0, 0 } }, FUNCTION(4, 7, 6, 0),                         \
    {                                                                                                                  \
        EVENT_FRAME, .frame = { 5, 4, 20, 20, 4, 13, 0, 0, 0, 0, 0 }                                                   \
    }

/* Thread 71 is told in every way there is, of thread 72 the repeats come late, as Tachyon writes them. */
static struct tachyon_file busy_file(bool big, enum tachyon_codec codec)
{
    struct tachyon_file file = tachyon_file();
    file.big = big;
    file.codec = codec;
    file.threads = 2;
    file.config = 1 | 8 | 16; /* wall; all threads */
    put_tables(&file);
    file_record(&file, 71, 0, TACHYON_FULL);
    file_moment(&file, 1000, UNKNOWN | MAIN | STATUS_GIL);
    FILE_SMALL(&file, 2, 1, 0);
    file_record(&file, 72, 3, TACHYON_FULL);
    file_moment(&file, 1000, UNKNOWN);
    FILE_SMALL(&file, 1, 0);
    file_record(&file, 71, 0, TACHYON_SUFFIX);
    file_moment(&file, 1100, UNKNOWN);
    FILE_SMALL(&file, 2, 1, 3);
    file_record(&file, 71, 0, TACHYON_REPEAT);
    FILE_SMALL(&file, 2);
    file_moment(&file, 900, UNKNOWN);
    file_moment(&file, 1000, UNKNOWN | MAIN | STATUS_EXCEPTION);
    file_record(&file, 71, 0, TACHYON_POP_PUSH);
    file_moment(&file, 1000, UNKNOWN | STATUS_GIL_WAIT);
    FILE_SMALL(&file, 2, 1, 2);
    file_record(&file, 72, 3, TACHYON_REPEAT);
    FILE_SMALL(&file, 2);
    file_moment(&file, 1100, UNKNOWN);
    file_moment(&file, 2900, UNKNOWN);
    return file;
}

static const struct event busy_story[] = {
    { EVENT_RECORDING, .recording = { .format_version = 1,
                                      .mode = T("wall"),
                                      .threads_option = T("all"),
                                      .start_monotonic_ns = 5000 * (uint64_t)MS,
                                      .interval_ns = MS,
                                      .time_unit_ns = US } },
    TABLES,
    PYTHON_SAMPLES,
    { EVENT_THREAD, .thread = { 1, 1, 71, true, 0, MS, T(""), 0 } },
    { EVENT_THREAD, .thread = { 2, 1, 72, false, 3, MS, T(""), 0 } },
    STATUS_SAMPLE(MS, 1, 0, REC | UNKNOWN | STATUS_GIL, 0, 1, 2),
    STATUS_SAMPLE(MS, 2, 0, REC | UNKNOWN, 0, 1),
    TICK(MS),
    STATUS_SAMPLE(2100 * US, 1, 2, REC | UNKNOWN, 0, 4),
    STATUS_SAME(2100 * US, 2, 1, REC | UNKNOWN, 0),
    TICK(2100 * US),
    STATUS_SAME(3 * MS, 1, 3, REC | UNKNOWN, 0),
    TICK(3 * MS),
    STATUS_SAME(4 * MS, 1, 3, REC | UNKNOWN | STATUS_EXCEPTION, 0),
    TICK(4 * MS),
    STATUS_SAMPLE(5 * MS, 1, 1, REC | UNKNOWN | STATUS_GIL_WAIT, 0, 3),
    STATUS_SAME(5 * MS, 2, 1, REC | UNKNOWN, 0),
    TICK(5 * MS),
    { EVENT_END, .end = { 0, 5 * MS, 5, 8, 0, 0, -1 } },
};

/* Makes the file, reads it, and compares with what it should tell. */
static void assert_told(struct tachyon_file *file, const struct event *story, size_t count)
{
    struct bytes bytes = file_made(file);
    struct journal told = { 0 }, wanted = { 0 };
    struct fault why = { 0 };
    if (!tachyon_told(bytes, &told, &why))
        fail_msg("%s", why.text);
    journal_tell(&wanted, story, count);
    assert_same_lines(journal_text(&told), journal_text(&wanted));
    journal_free(&told);
    journal_free(&wanted);
    bytes_free(&bytes);
}

static void every_record_is_read_in_both_byte_orders(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct tachyon_file file = busy_file(i & 1, i & 2 ? TACHYON_ZSTD : TACHYON_PLAIN);
        assert_told(&file, busy_story, countof(busy_story));
    }
}

static void statistics_tell_what_was_missed_and_for_how_long(void **state)
{
    (void)state;
    struct event story[countof(busy_story) + 3];
    const size_t last = countof(busy_story) - 1;
    memcpy(story, busy_story, sizeof(busy_story));
    story[last] = (struct event)MISSED(4);
    story[last + 1] = story[last + 2] = (struct event)FAILED(5 * MS, 0, 0);
    story[last + 3] = busy_story[last];
    story[last + 3].end.time_ns = 8 * MS;
    for (int big = 0; big < 2; big++) {
        struct tachyon_file file = busy_file(big, TACHYON_PLAIN);
        file_statistics(&file, 0.008, 500, 50, 50); /* 8 ticks were due, 4 tried */
        assert_told(&file, story, countof(story));
    }
}

static void statistics_that_cannot_be_are_not_believed(void **state)
{
    (void)state;
    static const double wrong[][4] = { { -1, 500, 50, 50 },
                                       { __builtin_nan(""), 500, 50, 50 },
                                       { 0.001, __builtin_inf(), 50, 50 },
                                       { 1e11, 1e11, 50, 50 } };
    for (size_t i = 0; i < 3; i++) {
        struct tachyon_file file = busy_file(false, TACHYON_PLAIN);
        file_statistics(&file, wrong[i][0], wrong[i][1], wrong[i][2], wrong[i][3]);
        assert_told(&file, busy_story, countof(busy_story));
    }
}

/* A sample uses the processor since the one before, two intervals at most: ticks may be drawn in their intervals. */
static void cpu_time_is_that_of_samples_on_a_processor(void **state)
{
    (void)state;
    struct tachyon_file file = tachyon_file();
    file.config = 2;
    put_tables(&file);
    file_record(&file, 71, 0, TACHYON_FULL);
    file_moment(&file, 400, STATUS_CPU);
    FILE_SMALL(&file, 1, 0);
    file_record(&file, 71, 0, TACHYON_REPEAT);
    FILE_SMALL(&file, 3);
    file_moment(&file, 600, STATUS_CPU);
    file_moment(&file, 1000, 0);
    file_moment(&file, 5000, STATUS_CPU);
    const struct event story[] = {
        { EVENT_RECORDING, .recording = { .format_version = 1,
                                          .mode = T("cpu"),
                                          .start_monotonic_ns = 5000 * (uint64_t)MS,
                                          .interval_ns = MS,
                                          .time_unit_ns = US } },
        TABLES,
        { EVENT_PROCESS, .process = { 1, 0, 0, 0x030f02f0, T(""), T(""), T(""), 0, T(""), 0, 0, T(""), T(""),
                                      0 } }, /* which is the main thread? */
        { EVENT_THREAD, .thread = { 1, 1, 71, false, 0, 400 * US, T(""), 0 } },
        STATUS_SAMPLE(400 * US, 1, 0, REC | STATUS_CPU, 400 * US, 1),
        TICK(400 * US),
        STATUS_SAME(MS, 1, 1, REC | STATUS_CPU, 600 * US),
        TICK(MS),
        STATUS_SAME(2 * MS, 1, 1, REC, 0),
        TICK(2 * MS),
        STATUS_SAME(7 * MS, 1, 1, REC | STATUS_CPU, 2 * MS),
        TICK(7 * MS),
        { EVENT_END, .end = { 0, 7 * MS, 4, 4, 0, 0, -1 } },
    };
    assert_told(&file, story, countof(story));
}

/* As Tachyon shows it: its launcher is no part of the program, wherever it stands. */
static void frames_of_the_launcher_are_left_out(void **state)
{
    (void)state;
    struct tachyon_file file = tachyon_file();
    put_tables(&file);
    file_record(&file, 71, 0, TACHYON_FULL);
    file_moment(&file, 1000, MAIN | UNKNOWN);
    FILE_SMALL(&file, 2, 4, 4); /* nothing but it: no sample */
    file_record(&file, 71, 0, TACHYON_SUFFIX);
    file_moment(&file, 1000, UNKNOWN);
    FILE_SMALL(&file, 2, 3, 1, 4, 0);
    file_record(&file, 71, 0, TACHYON_POP_PUSH);
    file_moment(&file, 1000, UNKNOWN);
    FILE_SMALL(&file, 2, 1, 2); /* the launcher in the middle goes, too */
    file_record(&file, 71, 0, TACHYON_FULL);
    file_moment(&file, 1000, UNKNOWN);
    FILE_SMALL(&file, 0); /* no frames: that is a sample */
    const struct event story[] = {
        { EVENT_RECORDING, .recording = { .format_version = 1,
                                          .start_monotonic_ns = 5000 * (uint64_t)MS,
                                          .interval_ns = MS,
                                          .time_unit_ns = US } },
        TABLES,
        PYTHON_SAMPLES,
        { EVENT_THREAD, .thread = { 1, 1, 71, true, 0, 2 * MS, T(""), 0 } },
        STATUS_SAMPLE(2 * MS, 1, 0, REC | UNKNOWN, 0, 1, 2),
        TICK(2 * MS),
        STATUS_SAMPLE(3 * MS, 1, 1, REC | UNKNOWN, 0, 3),
        TICK(3 * MS),
        STATUS_SAME(4 * MS, 1, 0, REC | UNKNOWN, 0),
        TICK(4 * MS),
        { EVENT_END, .end = { 0, 4 * MS, 3, 3, 0, 0, -1 } },
    };
    assert_told(&file, story, countof(story));
}

static void opcodes_are_named_by_the_version_of_the_file(void **state)
{
    (void)state;
    static const struct {
        uint8_t minor, opcode;
        const char *name, *base;
    } rows[] = {
        { 15, 194, "LOAD_ATTR_SLOT", "LOAD_ATTR" },
        { 15, 42, "BINARY_OP", "BINARY_OP" },
        { 14, 188, "LOAD_ATTR_SLOT", "LOAD_ATTR" },
        { 15, 255, NULL, NULL },
        { 99, 42, NULL, NULL }, /* what has this number there is not known here */
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct tachyon_file file = tachyon_file();
        file.python[1] = rows[i].minor;
        file_string(&file, "f");
        file_frame(&file, 0, 0, 1, 0, 0, 0, rows[i].opcode);
        struct bytes bytes = file_made(&file);
        struct journal told = { 0 };
        struct fault why = { 0 };
        assert_true(tachyon_told(bytes, &told, &why));
        const struct frame *frame = &told.tables.frames[1];
        const struct text name = tables_string(&told.tables, frame->instruction);
        const struct text base = tables_string(&told.tables, frame->base);
        assert_int_equal(name.size, rows[i].name ? strlen(rows[i].name) : 0);
        if (rows[i].name) {
            assert_memory_equal(name.bytes, rows[i].name, name.size);
            assert_int_equal(base.size, strlen(rows[i].base));
            assert_memory_equal(base.bytes, rows[i].base, base.size);
        }
        journal_free(&told);
        bytes_free(&bytes);
    }
}

static void what_comes_through_a_pipe_is_the_same(void **state)
{
    (void)state;
    struct tachyon_file file = busy_file(false, TACHYON_ZSTD);
    struct bytes bytes = file_made(&file);
    struct journal told = { 0 }, wanted = { 0 };
    struct fault why = { 0 };
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes.at + 50, bytes.size - 50), bytes.size - 50);
    close(ends[1]);
    const struct sink sink = journal_sink(&told);
    struct tachyon_reader reader;
    assert_true(tachyon_reader_open(&reader, ends[0], (struct text){ (char *)bytes.at, 50 }, &sink, &why));
    assert_int_equal(tachyon_read_some(&reader, &sink, &why), SOURCE_ENDED);
    tachyon_reader_close(&reader);
    close(ends[0]);
    journal_tell(&wanted, busy_story, countof(busy_story));
    assert_same_lines(journal_text(&told), journal_text(&wanted));
    journal_free(&told);
    journal_free(&wanted);
    bytes_free(&bytes);
}

static void names_that_are_no_utf8_are_mended(void **state)
{
    (void)state;
    struct tachyon_file file = tachyon_file();
    file_string(&file, "a\xff");
    struct bytes bytes = file_made(&file);
    struct journal told = { 0 };
    struct fault why = { 0 };
    assert_true(tachyon_told(bytes, &told, &why));
    assert_text(tables_string(&told.tables, 1), "a\\xff");
    journal_free(&told);
    bytes_free(&bytes);
}

static void long_names_are_cut(void **state)
{
    (void)state;
    static char name[5001];
    struct tachyon_file file = tachyon_file();
    memset(name, 'x', sizeof(name) - 1);
    file_string(&file, name);
    struct bytes bytes = file_made(&file);
    struct journal told = { 0 };
    struct fault why = { 0 };
    char room[NAME_LIMIT];
    assert_true(tachyon_told(bytes, &told, &why));
    assert_true(text_equal(tables_string(&told.tables, 1), name_cut(text_of(name), room, NAME_LIMIT)));
    journal_free(&told);
    bytes_free(&bytes);
}

TEST_FILE(tachyon_read)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_is_read_in_both_byte_orders),
        cmocka_unit_test(statistics_tell_what_was_missed_and_for_how_long),
        cmocka_unit_test(statistics_that_cannot_be_are_not_believed),
        cmocka_unit_test(cpu_time_is_that_of_samples_on_a_processor),
        cmocka_unit_test(frames_of_the_launcher_are_left_out),
        cmocka_unit_test(opcodes_are_named_by_the_version_of_the_file),
        cmocka_unit_test(what_comes_through_a_pipe_is_the_same),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(names_that_are_no_utf8_are_mended),
    };
    return run_all(tests);
}
