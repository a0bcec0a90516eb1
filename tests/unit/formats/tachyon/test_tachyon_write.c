/* SPDX-License-Identifier: MIT */
/* Recordings written as Tachyon files, and read again. That CPython's own reader takes them is for tests/e2e. */
#include "formats/tachyon/tachyon_write.h"

#include "formats/tachyon/tachyon_intern.h"
#include "formats/tachyon/tachyon_read.h"
#include "tests/fakes/tachyon_files.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REC     STATUS_RECORDED
#define UNKNOWN STATUS_CPU_UNKNOWN
#define MANY    300000
#define START   1234567 /* ns, on the monotonic clock */

static const struct event beginning[] = {
    { EVENT_RECORDING,
      .recording = { .interval_ns = MS, .time_unit_ns = 1000, .start_monotonic_ns = START, .mode = T("gil") } },
    PROCESS(1, 4313, "/"),
    THREAD(1, 1, 4313, "python3"),
    THREAD(2, 1, 4314, "other"),
    { EVENT_THREAD, .thread = { 3, 1, 4314, false, 2, 0, T("other"), 0 } }, /* the same in a sub-interpreter */
    STRING(1, "<module>"),
    STRING(2, "f"),
    STRING(3, "a.py"),
    STRING(4, "never shown"),
    STRING(5, "<GC>"),
    FUNCTION(1, 1, 3, 1),
    FUNCTION(2, 2, 3, 7),
    FUNCTION(3, 4, 3, 9),
    SYNTHETIC(4, 5, KIND_GC),
    FRAME(1, 1, 3),
    FRAME(2, 3, 9),
    { EVENT_FRAME, .frame = { 3, 2, 8, 9, 4, 2, 0, 0, 0, 0, 0 } },
    FRAME(4, 2, 0),
    FRAME(5, 4, 0),
};

/* A recording in the making: its tables, and the file it becomes. */
struct making {
    char path[32];
    struct tables tables;
    struct output output;
    struct tachyon_writer *writer;
};

static void begin(struct making *making, const struct tachyon_style *style)
{
    static const struct tachyon_style plain;
    *making = (struct making){ .path = "/tmp/pyreel-tachyon.XXXXXX" };
    close(mkstemp(making->path));
    assert_true(output_open(&making->output, making->path, false, NULL));
    making->writer = tachyon_writer_start(&making->tables, &making->output, style ? style : &plain);
}

static void tell(struct making *making, const struct event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct event event = events[i];
        struct fault why = { 0 };
        if (!tables_take(&making->tables, &event, &why) || !tachyon_writer_take(making->writer, &event, &why))
            fail_msg("event %zu: %s", i, why.text);
    }
}

static struct bytes finish(struct making *making)
{
    struct fault why = { 0 };
    if (!tachyon_writer_finish(making->writer, &why) || !output_close(&making->output, NULL, &why))
        fail_msg("%s", why.text);
    tachyon_writer_drop(making->writer);
    tables_free(&making->tables);
    FILE *file = fopen(making->path, "re");
    struct bytes bytes = file_bytes(dup(fileno(file)));
    fclose(file);
    unlink(making->path);
    return bytes;
}

static void read_back(struct bytes bytes, struct journal *told)
{
    struct fault why = { 0 };
    if (!tachyon_told(bytes, told, &why))
        fail_msg("%s", why.text);
}

static void assert_ticks(const struct journal *told, const char *wanted)
{
    assert_same_lines(journal_ticks(told), alloc_copy(wanted, strlen(wanted)));
}

/* Pushes, pops, repeats, from all to nothing; threads that come later; each status. */
static const struct event busy[] = {
    STATUS_SAMPLE(MS, 1, 0, REC | UNKNOWN | STATUS_GIL, 0, 1, 3),
    STATUS_SAMPLE(MS, 2, 0, REC | UNKNOWN, 0, 4),
    TICK(MS),
    STATUS_SAMPLE(2 * MS, 1, 2, REC | UNKNOWN | STATUS_GIL, 0, 5),
    STATUS_SAME(2 * MS, 2, 1, REC | UNKNOWN, 0),
    STATUS_SAMPLE(2 * MS, 3, 0, REC | UNKNOWN | STATUS_GIL_WAIT, 0, 1),
    TICK(2 * MS),
    STATUS_SAMPLE(3 * MS, 1, 1, REC | UNKNOWN | STATUS_EXCEPTION, 0, 4, 4),
    STATUS_SAME(3 * MS, 2, 1, REC | UNKNOWN | STATUS_GIL, 0),
    TICK(3 * MS),
    STATUS_SAMPLE(4 * MS, 1, 0, REC | UNKNOWN, 0, 4),
    TICK(4 * MS),
    STATUS_SAME(5 * MS, 1, 1, REC | UNKNOWN, 0),
    STATUS_SAME(5 * MS, 2, 1, REC | UNKNOWN, 0),
    STATUS_SAME(5 * MS, 3, 1, REC | UNKNOWN, 0),
    TICK(5 * MS),
    { EVENT_END, .end = { END_DURATION, 6 * MS, 5, 11, 0, 0, -1 } },
};

static const char busy_told[] = "1000000 thread 1 status 45 cpu 0; <module> (a.py:3); f (a.py:8)\n"
                                "1000000 thread 2 status 44 cpu 0; f (a.py:0)\n"
                                "1000000 tick\n"
                                "2000000 thread 1 status 45 cpu 0; <module> (a.py:3); f (a.py:8); <GC> (:0)\n"
                                "2000000 thread 2 status 44 cpu 0; f (a.py:0)\n"
                                "2000000 thread 3 status 4c cpu 0; <module> (a.py:3)\n"
                                "2000000 tick\n"
                                "3000000 thread 1 status 54 cpu 0; <module> (a.py:3); f (a.py:0); f (a.py:0)\n"
                                "3000000 thread 2 status 45 cpu 0; f (a.py:0)\n"
                                "3000000 tick\n"
                                "4000000 thread 1 status 44 cpu 0; f (a.py:0)\n"
                                "4000000 tick\n"
                                "5000000 thread 1 status 44 cpu 0; f (a.py:0)\n"
                                "5000000 thread 2 status 44 cpu 0; f (a.py:0)\n"
                                "5000000 thread 3 status 44 cpu 0; <module> (a.py:3)\n"
                                "5000000 tick\n";

static void assert_busy(struct bytes bytes)
{
    struct journal told = { 0 };
    read_back(bytes, &told);
    assert_ticks(&told, busy_told);
    const struct tables *tables = &told.tables;
    assert_text(tables->recording.mode, "gil");
    assert_int_equal(tables->recording.interval_ns, MS);
    assert_int_equal(tables->recording.start_monotonic_ns, START / 1000 * 1000);
    assert_int_equal(tables->processes[1].process.pid, 4313);
    assert_int_equal(tables->processes[1].process.python_version, 0x030f02f0);
    assert_true(tables->threads[1].thread.main && !tables->threads[2].thread.main);
    assert_int_equal(tables->threads[3].thread.interpreter, 2);
    assert_int_equal(tables->end.time_ns, 6 * MS);
    assert_int_equal(tables->frames_count - 1, 4); /* those that are shown */
    const struct frame *frame = &tables->frames[2];
    assert_int_equal(frame->end_line, 9);
    assert_int_equal(frame->column, 4);
    assert_int_equal(frame->end_column, 2);
    journal_free(&told);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    struct making making;
    begin(&making, NULL);
    tell(&making, beginning, countof(beginning));
    tell(&making, busy, countof(busy));
    struct bytes bytes = finish(&making);
    assert_int_equal(bytes.at[56], TACHYON_ZSTD);
    assert_busy(bytes);
    bytes_free(&bytes);
}

static void too_much_for_the_other_reader_is_left_plain(void **state)
{
    (void)state;
    struct making making;
    begin(&making, &(struct tachyon_style){ .zstd_most = 100 });
    tell(&making, beginning, countof(beginning));
    tell(&making, busy, countof(busy));
    struct bytes bytes = finish(&making);
    assert_int_equal(bytes.at[56], TACHYON_PLAIN);
    assert_busy(bytes);
    bytes_free(&bytes);
}

struct counting {
    struct tables tables;
    uint64_t frames; /* of all samples */
};

static bool count_frames(void *self, struct event *event, struct fault *why)
{
    struct counting *counting = self;
    const bool taken = tables_take(&counting->tables, event, why);
    if (taken && event->kind == EVENT_RUN)
        counting->frames += counting->tables.threads[event->run.thread].depth;
    return taken;
}

/* More than is kept in memory, compressed or not: stacks that go up and down without a rule. */
static void much_goes_through_a_file(void **state)
{
    (void)state;
    static const uint32_t frames[] = { 1, 3, 4, 5, 2 };
    for (int plain = 0; plain < 2; plain++) {
        struct making making;
        begin(&making, &(struct tachyon_style){ .zstd_most = plain ? 1 : 0 });
        tell(&making, beginning, countof(beginning));
        uint64_t random = 1, sum = 0;
        uint32_t depth = 0;
        for (uint64_t i = 1; i <= MANY; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const uint32_t keep = depth ? (uint32_t)(random >> 33) % (depth + 1) : 0;
            const uint32_t pushed = keep < 8 ? (uint32_t)(random >> 50) % 6 : 0;
            const struct event events[] = {
                { EVENT_SAMPLE, .sample = { .thread = 1,
                                            .keep = keep,
                                            .pushed = pushed,
                                            .frames = frames,
                                            .time_ns = i * MS + (random >> 45),
                                            .count = 1 } },
                TICK(i * MS + (random >> 45)),
            };
            tell(&making, events, countof(events));
            depth = keep + pushed;
            sum += depth ? depth : 1;
        }
        struct bytes bytes = finish(&making);
        assert_true(bytes.size > (1 << 20));
        struct counting counting = { 0 };
        const struct sink sink = { .take = count_frames, .self = &counting };
        struct fault why = { 0 };
        assert_true(tachyon_give(bytes, &sink, &why));
        assert_int_equal(counting.tables.samples, MANY);
        assert_int_equal(counting.frames, sum);
        tables_free(&counting.tables);
        bytes_free(&bytes);
    }
}

static void a_thread_without_frames_is_shown(void **state)
{
    (void)state;
    const struct event idle[] = {
        SAME(MS, 1, 0), TICK(MS), SAMPLE(2 * MS, 1, 0, 1), TICK(2 * MS), SAME(3 * MS, 1, 0), TICK(3 * MS),
    };
    struct making making;
    begin(&making, NULL);
    tell(&making, beginning, countof(beginning));
    tell(&making, idle, countof(idle));
    struct bytes bytes = finish(&making);
    struct journal told = { 0 };
    read_back(bytes, &told);
    assert_ticks(&told, "1000000 thread 1 status 44 cpu 0; <no Python frames> (:0)\n1000000 tick\n"
                        "2000000 thread 1 status 44 cpu 0; <module> (a.py:3)\n2000000 tick\n"
                        "3000000 thread 1 status 44 cpu 0; <no Python frames> (:0)\n3000000 tick\n");
    journal_free(&told);
    bytes_free(&bytes);
}

/* The frame at this depth, from 1. */
static const struct frame *frame_at(const struct journal *told, uint32_t depth)
{
    const struct tables *tables = &told->tables;
    return &tables->frames[tables->stacks[tables->threads[1].stacks[depth - 1]].frame];
}

/* A recursion of 1000 calls keeps both ends. One of 256 is whole. */
static void of_a_stack_that_is_too_deep_the_middle_is_left_out(void **state)
{
    (void)state;
    uint32_t frames[1000];
    for (size_t i = 0; i < countof(frames); i++)
        frames[i] = i < 500 ? 1 : 3;
    const struct event deep[] = {
        { EVENT_SAMPLE, .sample = { .thread = 1, .pushed = 256, .frames = frames + 372, .time_ns = MS, .count = 1 } },
        TICK(MS),
        { EVENT_SAMPLE, .sample = { .thread = 1, .pushed = 1000, .frames = frames, .time_ns = 2 * MS, .count = 1 } },
        TICK(2 * MS),
        SAME(3 * MS, 1, 1000),
        TICK(3 * MS),
        { EVENT_SAMPLE, .sample = { .thread = 1,
                                    .keep = 600,
                                    .pushed = 257,
                                    .frames = frames + 600,
                                    .time_ns = 4 * MS,
                                    .count = 1 } },
        TICK(4 * MS),
    };
    struct making making;
    begin(&making, NULL);
    tell(&making, beginning, countof(beginning));
    tell(&making, deep, countof(deep));
    assert_int_equal(tachyon_writer_cut(making.writer), 3);
    struct bytes bytes = finish(&making);
    struct journal told = { 0 };
    read_back(bytes, &told);
    assert_int_equal(told.tables.samples, 4);
    assert_int_equal(told.tables.threads[1].depth, 256);
    assert_text(tables_function_name(&told.tables, frame_at(&told, 128)->function), TACHYON_LEFT_OUT_NAME);
    assert_int_equal(frame_at(&told, 127)->line, 3);
    assert_int_equal(frame_at(&told, 129)->line, 8);
    assert_int_equal(frame_at(&told, 256)->line, 8);
    assert_null(strstr(told.ticks.rows[0], TACHYON_LEFT_OUT_NAME));
    assert_non_null(strstr(told.ticks.rows[2], TACHYON_LEFT_OUT_NAME));
    journal_free(&told);
    bytes_free(&bytes);
}

/* One ends, another gets its number: to Tachyon they are one. */
static void threads_may_share_a_number(void **state)
{
    (void)state;
    const struct event two[] = {
        { EVENT_THREAD, .thread = { 4, 1, 4314, false, 0, 0, T("next"), 0 } },
        SAMPLE(MS, 2, 0, 1, 3),
        TICK(MS),
        SAMPLE(2 * MS, 4, 0, 1),
        TICK(2 * MS),
        SAMPLE(3 * MS, 4, 0, 1, 3),
        TICK(3 * MS),
    };
    struct making making;
    begin(&making, NULL);
    tell(&making, beginning, countof(beginning));
    tell(&making, two, countof(two));
    struct bytes bytes = finish(&making);
    struct journal told = { 0 };
    read_back(bytes, &told);
    assert_int_equal(told.tables.threads_count - 1, 1);
    assert_ticks(&told, "1000000 thread 1 status 44 cpu 0; <module> (a.py:3); f (a.py:8)\n1000000 tick\n"
                        "2000000 thread 1 status 44 cpu 0; <module> (a.py:3)\n2000000 tick\n"
                        "3000000 thread 1 status 44 cpu 0; <module> (a.py:3); f (a.py:8)\n3000000 tick\n");
    journal_free(&told);
    bytes_free(&bytes);
}

static void an_interpreter_that_has_no_room_is_refused(void **state)
{
    (void)state;
    const struct event far = { EVENT_THREAD, .thread = { 4, 1, 5000, false, (uint64_t)1 << 32, 0, T("far"), 0 } };
    struct event sample = SAMPLE(MS, 4, 0, 1);
    struct making making;
    struct fault why = { 0 };
    begin(&making, NULL);
    tell(&making, beginning, countof(beginning));
    tell(&making, &far, 1);
    assert_true(tables_take(&making.tables, &sample, &why));
    assert_false(tachyon_writer_take(making.writer, &sample, &why));
    assert_non_null(strstr(why.text, "interpreter 4294967296"));
    struct bytes bytes = finish(&making);
    bytes_free(&bytes);
}

/* By the numbers of 3.15, whatever was recorded; and the file says so. */
static void instructions_are_told_as_3_15_numbers_them(void **state)
{
    (void)state;
    static const struct {
        uint32_t version;
        const char *name;
        uint32_t told_version;
        bool told;
    } rows[] = {
        { 0x030d00f0, "LOAD_ATTR_SLOT", 0x030f00f0, true },
        { 0x030f02f0, "LOAD_ATTR_SLOT", 0x030f02f0, true },
        { 0x030b02f0, "PRECALL", 0x030b02f0, false },      /* there is none in 3.15 */
        { 0x030f02f0, "TRACE_RECORD", 0x030f02f0, false }, /* its number means that there is no opcode */
        { 0x030d00f0, NULL, 0x030d00f0, false },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        const size_t size = rows[i].name ? strlen(rows[i].name) : 1;
        const struct event told_events[] = {
            beginning[0],
            { EVENT_PROCESS, .process = { .number = 1, .pid = 1, .python_version = rows[i].version } },
            THREAD(1, 1, 1, "x"),
            STRING(1, "f"),
            { EVENT_STRING, .string = { 2, { rows[i].name ? rows[i].name : "x", size } } },
            FUNCTION(1, 1, 0, 0),
            { EVENT_FRAME, .frame = { 1, 1, 3, 3, -1, -1, rows[i].name ? 2 : 0, rows[i].name ? 2 : 0, 0, 0, 0 } },
            SAMPLE(MS, 1, 0, 1),
            TICK(MS),
        };
        struct making making;
        begin(&making, NULL);
        tell(&making, told_events, countof(told_events));
        struct bytes bytes = finish(&making);
        struct journal told = { 0 };
        read_back(bytes, &told);
        const struct text name = tables_string(&told.tables, told.tables.frames[1].instruction);
        assert_int_equal(name.size, rows[i].told ? size : 0);
        assert_int_equal(memcmp(name.size ? name.bytes : "", name.size ? rows[i].name : "", name.size), 0);
        assert_int_equal(told.tables.processes[1].process.python_version, rows[i].told_version);
        journal_free(&told);
        bytes_free(&bytes);
    }
}

/* The second tick stands for three intervals. */
static const struct event weighed[] = {
    SAMPLE(MS, 1, 0, 1),
    STANDS_SAMPLE(MS, 2, 0, MS, 1),
    TICK(MS),
    STANDS_SAMPLE(4 * MS, 1, 1, 3 * MS, 4),
    STANDS_SAME(4 * MS, 2, 1, 3 * MS),
    TICK(4 * MS),
};

/* The format has no weights: the interval is what samples stand for on average. */
static void samples_stand_for_the_mean(void **state)
{
    (void)state;
    struct making making;
    begin(&making, NULL);
    tell(&making, beginning, countof(beginning));
    tell(&making, weighed, countof(weighed));
    struct bytes bytes = finish(&making);
    struct journal told = { 0 };
    read_back(bytes, &told);
    assert_int_equal(told.tables.recording.interval_ns, 2 * MS);
    assert_int_equal(told.tables.samples, 4);
    assert_int_equal(told.tables.threads[1].wall_ns, 4 * MS);
    journal_free(&told);
    bytes_free(&bytes);
}

static void a_recording_without_samples_becomes_a_file(void **state)
{
    (void)state;
    struct making making;
    begin(&making, NULL);
    tell(&making, beginning, 1);
    struct bytes bytes = finish(&making);
    struct journal told = { 0 };
    read_back(bytes, &told);
    assert_int_equal(told.tables.samples, 0);
    journal_free(&told);
    bytes_free(&bytes);
}

TEST_FILE(tachyon_write)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(too_much_for_the_other_reader_is_left_plain),
        cmocka_unit_test(much_goes_through_a_file),
        cmocka_unit_test(a_thread_without_frames_is_shown),
        cmocka_unit_test(of_a_stack_that_is_too_deep_the_middle_is_left_out),
        cmocka_unit_test(threads_may_share_a_number),
        cmocka_unit_test(an_interpreter_that_has_no_room_is_refused),
        cmocka_unit_test(instructions_are_told_as_3_15_numbers_them),
        cmocka_unit_test(samples_stand_for_the_mean),
        cmocka_unit_test(a_recording_without_samples_becomes_a_file),
    };
    return run_all(tests);
}
