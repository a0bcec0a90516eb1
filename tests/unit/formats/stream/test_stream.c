/* SPDX-License-Identifier: MIT */
#include "formats/stream/stream_fields.h"
#include "formats/stream/stream_held.h"
#include "formats/stream/stream_read.h"
#include "formats/stream/stream_records.h"
#include "formats/stream/stream_write.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
#define RECORDING \
    { EVENT_RECORDING, .recording = { 1, T("0.1"), T("host"), T("6.1.0"), T("x86_64"), T("a processor"), T("wall"), \
        T("all"), T("pyreel-record -- python3 gr\xC3\xBC\xC3\x9F.py"), 1700000000123456789, 987654321, 10 * MS, \
        200000, 1 << 30, 8, 4, 1, 0, 0, 0, 0, false } }
/* clang-format on */

/* Everything that can be said, with a time unit of 0.2 ms and an interval of 10 ms. */
static const struct event everything[] = {
    RECORDING,
    PROCESS(1, 4313, "/home/u"),
    THREAD(1, 1, 4313, "python3"),
    STRING(1, "<module>"),
    STRING(2, "a.py"),
    STRING(3, "na\xC3\xAFve.\xE2\x9C\x93"),
    STRING(4, ""),
    FUNCTION(1, 1, 2, 1),
    FUNCTION(2, 3, 2, 40),
    FUNCTION(3, 4, 0, 0),
    { EVENT_MODULE, .module = { 2, T("00c0ffee"), 0x41f000, UINT64_MAX, 0x1f000, 0x400000 } },
    { EVENT_MODULE, .module = { 3, T(""), 0, 0, 0, 0 } },
    { EVENT_FUNCTION, .function = { 4, 1, 0, 0, KIND_NATIVE, 2, 0 } },
    { EVENT_FUNCTION, .function = { 5, 1, 0, 0, KIND_KERNEL, 2, UINT64_MAX } },
    FRAME(1, 1, 3),
    { EVENT_FRAME, .frame = { 2, 2, 41, 44, 0, 128, 0, 0, 0, 0, 0 } },
    { EVENT_FRAME, .frame = { 3, 2, 44, 41, 300, 7, 0, 0, 0, 0, 0 } }, /* ends above its start, as tables may say */
    { EVENT_FRAME, .frame = { 4, 3, 0, 0, -1, -1, 0, 0, 0, 0, 0 } },
    SAMPLE(10 * MS, 1, 0, 1, 2),
    TICK(10 * MS),
    SAME(20 * MS, 1, 2), /* nothing changed */
    TICK(20 * MS),
    MEASURE(21 * MS, 1, 3416 * 4096, 40 * MS, 3 * MS),
    SAME(30 * MS, 1, 2),
    TICK(30 * MS),
    THREAD(2, 1, 4314, "worker"),
    SAMPLE(40 * MS + 400000, 1, 1, 3, 2, 3, 2, 3), /* late by two units */
    SAMPLE(40 * MS + 400000, 2, 0, 1),
    TICK(40 * MS + 400000),
    SAMPLE(50 * MS, 1, 5, 4), /* early again */
    SAME(50 * MS, 2, 1),
    TICK(50 * MS),
    FAILED(60 * MS, 1, FAILURE_CHANGED),
    SAME(60 * MS, 2, 0), /* no Python frames */
    TICK(60 * MS),
    SAME(70 * MS, 1, 6), /* it has the stack from before it failed */
    SAME(70 * MS, 2, 0),
    TICK(70 * MS),
    { EVENT_THREAD_NAME, .change = { 2, 71 * MS, T("renamed"), false } },
    TITLE(1, 71 * MS, "'worker: idle [app]'"),
    SAME(80 * MS, 2, 0), /* thread 1 is absent */
    TICK(80 * MS),
    SAME(90 * MS, 2, 0),
    TICK(90 * MS),
    MISSED(3),
    SAME(130 * MS, 1, 2), /* and back, a part of its stack is kept */
    SAMPLE(130 * MS, 2, 0, 4),
    TICK(130 * MS),
    FAILED(140 * MS, 0, FAILURE_THREADS),
    TICK(140 * MS),
    SAME(150 * MS, 1, 2),
    SAME(150 * MS, 2, 1),
    TICK(150 * MS),
    PROCESS(2, 4400, "/tmp"),
    THREAD(3, 2, 4400, "child"),
    { EVENT_THREAD_END, .change = { 2, 152 * MS, { 0 }, false } },
    MEASURE(150 * MS, 2, 0, 0, 4 * MS), /* at the tick */
    MEASURE(153 * MS, 1, 3 * 4096, 40 * MS, 4 * MS),
    SAME(160 * MS, 1, 2),
    SAMPLE(160 * MS, 3, 0, 1, 1),
    TICK(160 * MS),
    TICK(170 * MS), /* nobody was there */
    TICK(180 * MS),
    MEASURE(180 * MS, 2, MEASURE_UNKNOWN, MEASURE_UNKNOWN, 4 * MS + 200000), /* it is gone */
    MEASURE(181 * MS, 1, UINT64_C(1) << 40, MEASURE_UNKNOWN, MEASURE_UNKNOWN),
    TITLE(2, 181 * MS, "'it\'\\\'\'s late'"),
    { EVENT_THREAD_END, .change = { 3, 181 * MS, { 0 }, false } },
    { EVENT_PROCESS_END, .process_end = { 2, 181 * MS, FATE_EXITED, 256 } },
    COUNTER("samples", 18),
    COUNTER("cache_full", 0),
    COUNTER("a_later_version_counts_2_things", UINT64_MAX),
    COUNTER("cache_full", 12),
    { EVENT_END, .end = { END_TARGET, 190 * MS, 15, 18, 3, 2, 256 } },
};

static void check_comes_back(const struct event *story, size_t count)
{
    struct playback playback = { 0 };
    struct bytes stream = assert_story_comes_back(&playback, story, count, CODEC_PLAIN);
    playback_free(&playback);
    bytes_free(&stream);
}

static void everything_comes_back(void **state)
{
    (void)state;
    for (enum stream_codec codec = CODEC_PLAIN; codec <= CODEC_GROUPED; codec++) {
        struct bytes stream = stream_of(everything, countof(everything), codec);
        struct playback playback = { 0 };
        struct journal told = { 0 };
        playback_read(&playback, stream.at, stream.size);
        journal_tell(&told, everything, countof(everything));
        assert_same_lines(journal_text(&playback.journal), journal_text(&told));
        assert_true(playback_whole(&playback));
        journal_free(&told);
        playback_free(&playback);
        bytes_free(&stream);
    }
}

/* Reads a stream and writes what it reads. */
static struct bytes rewrite(const struct bytes *stream, enum stream_codec codec)
{
    const int from = memory_file(stream->at, stream->size), to = memory_file("", 0);
    struct stream_writer writer;
    struct stream_reader reader;
    stream_writer_open(&writer, to, codec);
    const struct sink sink = stream_writer_sink(&writer);
    assert_true(stream_reader_open(&reader, from, (struct text){ 0 }, &sink, NULL));
    while (stream_read_block(&reader, &sink, NULL) == SOURCE_MORE)
        ;
    stream_writer_close(&writer);
    stream_reader_close(&reader);
    close(from);
    return file_bytes(to);
}

static void decoding_and_encoding_gives_the_same_bytes(void **state)
{
    (void)state;
    for (enum stream_codec codec = CODEC_PLAIN; codec <= CODEC_GROUPED; codec++) {
        struct bytes stream = stream_of(everything, countof(everything), codec);
        struct bytes again = rewrite(&stream, codec);
        assert_int_equal(again.size, stream.size);
        assert_memory_equal(again.at, stream.at, stream.size);
        bytes_free(&again);
        bytes_free(&stream);
    }
}

/* A pipe takes the same bytes, and gives them. */
static void a_pipe_is_as_good_as_a_file(void **state)
{
    (void)state;
    struct bytes wanted = stream_of(everything, countof(everything), CODEC_GROUPED);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct stream_writer writer;
        stream_writer_open(&writer, ends[1], CODEC_GROUPED);
        for (size_t i = 0; i < countof(everything); i++)
            if (!stream_write(&writer, &everything[i], NULL))
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    struct journal read = { 0 }, told = { 0 };
    struct stream_reader reader;
    const struct sink sink = journal_sink(&read);
    assert_true(stream_reader_open(&reader, ends[0], (struct text){ 0 }, &sink, NULL));
    while (stream_read_block(&reader, &sink, NULL) == SOURCE_MORE)
        ;
    assert_int_equal(reader.blocks.bytes_read, wanted.size);
    journal_tell(&told, everything, countof(everything));
    assert_same_lines(journal_text(&read), journal_text(&told));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    stream_reader_close(&reader);
    journal_free(&read);
    journal_free(&told);
    close(ends[0]);
    bytes_free(&wanted);
}

/* ---- a long recording ---- */

static const struct event long_beginning[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = MS / 50 } },
    PROCESS(1, 4313, "/"),
    THREAD(1, 1, 4313, "python3"),
    STRING(1, "f"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 1),
    FRAME(2, 1, 2),
    FRAME(3, 1, 3),
};

struct long_run {
    int fd;
    struct stream_writer writer;
    struct journal told;
};

static void say(struct long_run *run, struct event event)
{
    assert_true(stream_write(&run->writer, &event, NULL));
    journal_tell(&run->told, &event, 1);
}

static void begin_long_run(struct long_run *run, enum stream_codec codec)
{
    *run = (struct long_run){ .fd = memory_file("", 0) };
    stream_writer_open(&run->writer, run->fd, codec);
    for (size_t i = 0; i < countof(long_beginning); i++)
        say(run, long_beginning[i]);
}

static void end_long_run(struct long_run *run)
{
    journal_free(&run->told);
    stream_writer_close(&run->writer);
}

/* The latest tick that the bytes written so far have. */
static uint64_t last_tick_in(int fd)
{
    struct bytes bytes = file_bytes(dup(fd));
    struct playback playback = { 0 };
    playback_read(&playback, bytes.at, bytes.size);
    lseek(fd, 0, SEEK_END);
    const struct damage *damage = &playback.reader.blocks.damage;
    assert_true(playback.opened && damage->bytes == 0 && damage->blocks == 0 && !damage->cut);
    const uint64_t last_ns = playback.journal.tables.last_ns;
    playback_free(&playback);
    bytes_free(&bytes);
    return last_ns;
}

/* What happened a second ago is in the file, whether the thread moves at each tick, never, or now and then. */
static void no_more_than_a_second_is_in_memory_only(void **state)
{
    (void)state;
    static const uint32_t periods[] = { 1, 1000000, 333 };
    for (size_t p = 0; p < countof(periods); p++) {
        struct long_run run;
        begin_long_run(&run, CODEC_GROUPED);
        uint32_t depth = 0;
        for (uint64_t tick = 1; tick <= 3500; tick++) {
            const uint64_t ns = tick * MS;
            if (depth == 0 || tick % periods[p] == 0)
                say(&run, (struct event)SAMPLE(ns, 1, 0, 1 + tick % 3, 1 + tick % 2));
            else
                say(&run, (struct event)SAME(ns, 1, depth));
            depth = 2;
            say(&run, (struct event)TICK(ns));
            if (tick % 50 == 0 && tick > 1000)
                assert_true(last_tick_in(run.fd) + 1000 * (uint64_t)MS >= ns);
        }
        say(&run, (struct event){ EVENT_END, .end = { END_DURATION, 3500 * (uint64_t)MS, 3500, 3500, 0, 0, -1 } });
        struct bytes bytes = file_bytes(run.fd);
        struct playback playback = { 0 };
        playback_read(&playback, bytes.at, bytes.size);
        assert_same_lines(journal_text(&playback.journal), journal_text(&run.told));
        assert_true(playback_whole(&playback));
        assert_int_equal(playback.reader.blocks.next, 2 + 4); /* header, 1 s, 1 s, 1 s, 0.5 s, end */
        playback_free(&playback);
        bytes_free(&bytes);
        end_long_run(&run);
    }
}

/* The recorder cuts names, but a file may come from anybody. */
static void long_names_in_a_file_are_cut(void **state)
{
    (void)state;
    static char long_bytes[100000];
    memset(long_bytes, 'x', sizeof(long_bytes));
    const struct text name = { long_bytes, sizeof(long_bytes) };
    const struct event story[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = MS, .host = name } },
        { EVENT_PROCESS, .process = { .number = 1, .pid = 5, .command = name, .folder = TEXT("/home") } },
        { EVENT_TASK, .task = { .number = 1, .process = 1, .name = name } },
        { EVENT_THREAD, .thread = { .number = 1, .process = 1, .tid = 5, .name = name } },
        { EVENT_THREAD, .thread = { .number = 2, .process = 1, .tid = 6, .name = TEXT("short") } },
        { EVENT_THREAD_NAME, .change = { 2, MS, name, false } },
        { EVENT_STRING, .string = { 1, name } },
        { EVENT_END, .end = { .reason = END_TARGET, .time_ns = MS, .wait_status = -1 } },
    };
    struct bytes stream = stream_of(story, countof(story), CODEC_GROUPED);
    struct playback playback = { 0 };
    playback_read(&playback, stream.at, stream.size);
    assert_true(playback_whole(&playback));
    const struct tables *tables = &playback.journal.tables;
    char room[TEXT_LIMIT];
    const struct text cut = name_cut(name, room, NAME_LIMIT);
    assert_true(cut.size < NAME_LIMIT);
    assert_true(text_equal(tables->strings[1], cut) && text_equal(tables->tasks[1].task.name, cut));
    assert_true(text_equal(tables->threads[1].thread.name, cut) && text_equal(tables->threads[2].thread.name, cut));
    const struct text cut_text = name_cut(name, room, TEXT_LIMIT);
    assert_true(text_equal(tables->recording.host, cut_text));
    assert_true(text_equal(tables->processes[1].process.command, cut_text));
    assert_true(text_equal(tables->processes[1].process.folder, TEXT("/home")));
    playback_free(&playback);
    bytes_free(&stream);
}

/* Each thread lives for ten ticks, while three live at a time. The writer keeps nothing of threads that have ended. */
static void threads_that_come_and_go_take_no_memory(void **state)
{
    (void)state;
    struct long_run run;
    begin_long_run(&run, CODEC_GROUPED);
    uint32_t first = 2, last = 1;
    for (uint64_t tick = 1; tick <= 20000; tick++) {
        const uint64_t ns = tick * MS;
        last += tick % 4 == 0;
        if (tick % 4 == 0)
            say(&run, (struct event)THREAD(last, 1, 4313 + last, "w"));
        for (uint32_t thread = first; thread <= last; thread++)
            say(&run, (struct event)SAMPLE(ns, thread, 0, 1 + thread % 3));
        say(&run, (struct event)TICK(ns));
        if (last - first == 2)
            say(&run, (struct event){ EVENT_THREAD_END, .change = { first++, ns, { 0 }, false } });
    }
    assert_true(last == 5001);
    assert_true(run.writer.threads_room < 1024);
    say(&run, (struct event){ EVENT_END, .end = { END_DURATION, 20000 * (uint64_t)MS, 20000, 0, 0, 0, -1 } });
    struct bytes bytes = file_bytes(run.fd);
    struct playback playback = { 0 };
    playback_read(&playback, bytes.at, bytes.size);
    assert_int_equal(playback.journal.tables.samples, run.told.tables.samples);
    assert_int_equal(playback.reader.blocks.damage.blocks, 0);
    assert_int_equal(tables_stacks(&playback.journal.tables), 3);
    for (uint32_t thread = 2; thread <= last; thread++)
        assert_int_equal(playback.journal.tables.threads[thread].samples, run.told.tables.threads[thread].samples);
    playback_free(&playback);
    bytes_free(&bytes);
    end_long_run(&run);
}

/* Ticks that nothing happened in are one record, so an hour of sleep is a few bytes a second. */
static void a_thread_that_does_not_move_costs_nothing(void **state)
{
    (void)state;
    struct long_run run;
    begin_long_run(&run, CODEC_PLAIN);
    say(&run, (struct event)SAMPLE(MS, 1, 0, 1, 2, 3));
    say(&run, (struct event)TICK(MS));
    for (uint64_t tick = 2; tick <= 5000; tick++) {
        say(&run, (struct event)SAME(tick * MS, 1, 3));
        say(&run, (struct event)TICK(tick * MS));
    }
    assert_true(run.writer.blocks.written < 5 * 50 + 500);
    struct bytes bytes = file_bytes(run.fd);
    struct playback playback = { 0 };
    playback_read(&playback, bytes.at, bytes.size);
    assert_int_equal(playback.journal.tables.samples % 1000, 0);
    assert_true(playback.journal.tables.samples >= 4000);
    playback_free(&playback);
    bytes_free(&bytes);
    end_long_run(&run);
}

/* The kind of the record that a sample becomes. */
static unsigned record_of(struct long_run *run, struct event sample)
{
    const uint64_t ns = run->told.tables.last_ns + MS;
    const size_t at = run->writer.open.size;
    sample.sample.time_ns = ns;
    say(run, sample);
    const unsigned kind = run->writer.open.at[at + 1] & 7; /* behind the TICK */
    say(run, (struct event)TICK(ns));
    return kind;
}

static void a_change_is_told_from_the_nearer_end(void **state)
{
    (void)state;
    struct long_run run;
    begin_long_run(&run, CODEC_PLAIN);
    assert_int_equal(record_of(&run, (struct event)SAMPLE(0, 1, 0, 1, 2, 3, 1, 2, 3)), RECORD_SUFFIX);
    assert_int_equal(record_of(&run, (struct event)SAMPLE(0, 1, 4, 1, 1)), RECORD_POP_PUSH);  /* 2 of 6 go */
    assert_int_equal(record_of(&run, (struct event)SAMPLE(0, 1, 3, 1, 2, 3)), RECORD_SUFFIX); /* 3 of 6 go */
    assert_int_equal(record_of(&run, (struct event)SAMPLE(0, 1, 2, 3)), RECORD_SUFFIX);       /* 4 of 6 go */
    assert_int_equal(record_of(&run, (struct event)SAMPLE(0, 1, 3, 3)), RECORD_POP_PUSH);     /* none goes */
    close(run.fd);
    end_long_run(&run);
}

/* A recursion's rounds are told once, whatever is above and below them. */
static void a_recursion_takes_few_bytes(void **state)
{
    (void)state;
    static uint32_t frames[3000];
    struct long_run run;
    for (uint32_t round = 1; round <= 3; round++) {
        begin_long_run(&run, CODEC_PLAIN);
        for (uint32_t i = 0; i < countof(frames); i++)
            frames[i] = i < 2 || i > 2900 ? 1 + i * i % 3 : 1 + i % round;
        const size_t before = run.writer.open.size;
        say(&run,
            (struct event){
                EVENT_SAMPLE,
                .sample = { .thread = 1, .pushed = countof(frames), .frames = frames, .time_ns = MS, .count = 1 } });
        say(&run, (struct event)TICK(MS));
        assert_in_range(run.writer.open.size - before, 12, 60);
        say(&run, (struct event){ EVENT_END, .end = { .reason = END_SIGNAL, .wait_status = -1 } });
        struct bytes bytes = file_bytes(run.fd);
        struct playback playback = { 0 };
        playback_read(&playback, bytes.at, bytes.size);
        assert_true(playback_whole(&playback));
        assert_same_lines(journal_ticks(&playback.journal), journal_ticks(&run.told));
        playback_free(&playback);
        bytes_free(&bytes);
        end_long_run(&run);
    }
}

/* Deep stacks and many threads, some of them new in the middle of a second. */
static void many_deep_threads_come_back(void **state)
{
    (void)state;
    static uint32_t frames[2000];
    struct long_run run;
    begin_long_run(&run, CODEC_GROUPED);
    for (uint32_t i = 0; i < countof(frames); i++)
        frames[i] = 1 + i * i % 3;
    for (uint32_t tick = 1; tick <= 40; tick++) {
        const uint64_t ns = tick * MS * 37;
        if (tick <= 20)
            say(&run, (struct event)THREAD(tick + 1, 1, 5000 + tick, "t"));
        for (uint32_t thread = 1; thread <= tick && thread <= 21; thread++) {
            const uint32_t depth = thread == tick ? 0 : (thread * 97 + (tick - 1) * 13) % 1999;
            const uint32_t wanted = (thread * 97 + tick * 13) % 1999, keep = depth < wanted ? depth / 2 : wanted / 3;
            if (thread % 5 == tick % 5 && depth)
                say(&run, (struct event)FAILED(ns, thread, FAILURE_CHANGED));
            if (thread % 5 == tick % 5 && depth)
                continue;
            const uint32_t known = run.told.tables.threads[thread].depth, least = known < keep ? known : keep;
            say(&run, (struct event){ EVENT_SAMPLE, .sample = { .thread = thread,
                                                                .keep = least,
                                                                .pushed = wanted - least,
                                                                .frames = frames,
                                                                .time_ns = ns,
                                                                .count = 1 } });
        }
        say(&run, (struct event)TICK(ns));
    }
    say(&run, (struct event){ EVENT_END, .end = { .reason = END_SIGNAL, .wait_status = -1 } });
    struct bytes bytes = file_bytes(run.fd);
    struct playback playback = { 0 };
    playback_read(&playback, bytes.at, bytes.size);
    assert_true(playback_whole(&playback));
    assert_int_equal(playback.journal.tables.samples, playback.journal.tables.end.samples);
    assert_int_equal(playback.journal.tables.failed, playback.journal.tables.end.failed);
    assert_same_lines(journal_ticks(&playback.journal), journal_ticks(&run.told));
    playback_free(&playback);
    bytes_free(&bytes);
    end_long_run(&run);
}

/* ---- refusals of the writer ---- */

static void a_full_disk_is_told(void **state)
{
    (void)state;
    struct stream_writer writer;
    struct fault why = { 0 };
    FILE *full = fopen("/dev/full", "we");
    assert_non_null(full);
    stream_writer_open(&writer, fileno(full), CODEC_GROUPED);
    assert_false(stream_write(&writer, &everything[0], &why));
    assert_string_equal(why.text, "cannot write the recording: No space left on device");
    stream_writer_close(&writer);
    fclose(full);
}

static void a_sample_can_not_keep_what_was_not_there(void **state)
{
    (void)state;
    struct long_run run;
    begin_long_run(&run, CODEC_PLAIN);
    struct event event = SAMPLE(MS, 1, 1, 2);
    assert_false(stream_write(&run.writer, &event, NULL));
    close(run.fd);
    end_long_run(&run);
}

/* ---- asyncio tasks: which one a thread runs, and entries that stand for one ---- */

#define TASKS_BEGINNING                                                                                                \
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = MS / 50 } }, PROCESS(1, 4313, "/"),           \
        THREAD(1, 1, 4313, "python3"), THREAD(2, 1, 4314, "other"), STRING(1, "f"), FUNCTION(1, 1, 0, 1),              \
        FRAME(1, 1, 1), FRAME(2, 1, 2)

/* Two threads' loops change from task to task, together with their stacks and without; another one has none. */
static const struct event running[] = {
    TASKS_BEGINNING,
    TASK(1, 1, "Task-1"),
    TASK_SAMPLE(MS, 1, 1, 0, 1),
    SAMPLE(MS, 2, 0, 1),
    TICK(MS),
    TASK_SAME(2 * MS, 1, 1, 1),
    SAME(2 * MS, 2, 1),
    TICK(2 * MS),
    TASK(2, 1, "na\xC3\xAFve; \xE2\x9C\x93"),
    { EVENT_TASK, .task = { 3, 1, T(""), 2 * MS } },
    TASK_SAMPLE(3 * MS, 1, 2, 0, 2, 1), /* another task, another stack */
    TASK_SAME(3 * MS, 2, 3, 1),         /* another task, the same stack */
    TICK(3 * MS),
    TASK_SAMPLE(4 * MS, 1, 2, 1, 2), /* the same task, another stack */
    SAME(4 * MS, 2, 1),              /* the task is over */
    TICK(4 * MS),
    FAILED(5 * MS, 1, FAILURE_CHANGED),
    SAME(5 * MS, 2, 1),
    TICK(5 * MS),
    TASK_SAME(6 * MS, 1, 2, 2), /* thread 2 is absent */
    TICK(6 * MS),
    SAME(7 * MS, 1, 0),
    TASK_SAME(7 * MS, 2, 1, 1),
    TICK(7 * MS),
    { EVENT_END, .end = { END_TARGET, 7 * MS, 7, 12, 0, 1, 0 } },
};

/* Each task is an entry of its own, beside the thread. */
static const struct event entries[] = {
    TASKS_BEGINNING,
    TASK(1, 1, "Task-1"),
    TASK(2, 1, "Task-2"),
    TASK_ENTRY(3, 1, 4313, 1, "Task-1"),
    TASK_ENTRY(4, 1, 0, 2, "Task-2"), /* an orphan */
    TASK_SAMPLE(MS, 1, 1, 0, 1),
    TASK_SAMPLE(MS, 3, 1, 0, 1, 2),
    TASK_SAMPLE(MS, 4, 2, 0, 2),
    TICK(MS),
    TASK_SAME(2 * MS, 1, 2, 1),
    TASK_SAME(2 * MS, 3, 1, 2),
    TASK_SAME(2 * MS, 4, 2, 1),
    TICK(2 * MS),
    { EVENT_THREAD_END, .change = { 3, 2 * MS, { 0 }, false } },
    TASK_SAME(3 * MS, 4, 2, 1),
    TICK(3 * MS),
    { EVENT_END, .end = { END_TARGET, 3 * MS, 3, 7, 0, 0, 0 } },
};

/* Collections of the same and of other generations, with the stack and without; and what kind of build it is. */
static const struct event collections[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = MS, .cores = 3 } },
    { EVENT_PROCESS, .process = { .number = 1, .build = BUILD_KNOWN | BUILD_DEBUG, .build_id = T("00ff") } },
    { EVENT_PROCESS, .process = { .number = 2, .build_id = T("01") } },
    { EVENT_PROCESS, .process = { .number = 3, .build = BUILD_KNOWN } },
    THREAD(1, 1, 4313, "python3"),
    STRING(1, "f"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 1),
    { EVENT_SAMPLE,
      .sample = { .count = 1, .thread = 1, .pushed = 1, .frames = (const uint32_t[]){ 1 }, .time_ns = MS } },
    TICK(MS),
    { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .keep = 1, .time_ns = 2 * MS, .collection = 1 } },
    TICK(2 * MS),
    { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .keep = 1, .time_ns = 3 * MS, .collection = 1 } },
    TICK(3 * MS),
    { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 4 * MS, .collection = 3 } },
    TICK(4 * MS),
    { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 5 * MS } },
    TICK(5 * MS),
    { EVENT_END, .end = { END_TARGET, 5 * MS, 5, 5, 0, 0, 0 } },
};

static void collections_and_builds_come_back(void **state)
{
    (void)state;
    check_comes_back(collections, countof(collections));
}

/* Callbacks of a loop one after the other, one that began before the recording, and a time that lies between two units.
 */
static const struct event callbacks[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = MS } },
    { EVENT_PROCESS, .process = { .number = 1 } },
    THREAD(1, 1, 4313, "python3"),
    { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = MS, .callback_ns = MS } },
    TICK(MS),
    { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 2 * MS, .callback_ns = MS } },
    TICK(2 * MS),
    { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 3 * MS } },
    TICK(3 * MS),
    { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 4 * MS, .callback_ns = 3 * MS } },
    TICK(4 * MS),
    { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 5 * MS, .callback_ns = 5 * MS } },
    TICK(5 * MS),
    { EVENT_END, .end = { END_TARGET, 5 * MS, 5, 5, 0, 0, 0 } },
};

static void callbacks_come_back(void **state)
{
    (void)state;
    check_comes_back(callbacks, countof(callbacks));
    const struct sample between = { .time_ns = 2 * MS + 7, .callback_ns = 2 * MS + 5 };
    assert_int_equal(stream_held_of(&between, HELD_CALLBACK, MS), 2);
    const struct sample before = { .time_ns = 2 * MS, .callback_ns = 1 };
    assert_int_equal(stream_held_of(&before, HELD_CALLBACK, MS), 1); /* not 0, which says that there is none */
}

/* A span, another one of its trace, none, and attributes of the process that come later. */
static const struct event traced[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = MS } },
    { EVENT_PROCESS, .process = { .number = 1 } },
    THREAD(1, 1, 4313, "python3"),
    { EVENT_SAMPLE,
      .sample = { .count = 1, .thread = 1, .time_ns = MS, .span = { UINT64_MAX, UINT64_C(1) << 63, 0x1122 } } },
    TICK(MS),
    { EVENT_SAMPLE,
      .sample = { .count = 1, .thread = 1, .time_ns = 2 * MS, .span = { UINT64_MAX, UINT64_C(1) << 63, UINT64_MAX } } },
    TICK(2 * MS),
    { EVENT_PROCESS_ATTRIBUTES, .change = { 1, 2 * MS, T("service.name=checkout\ncontainer.id=8f1c\n"), false } },
    { EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .time_ns = 3 * MS } },
    TICK(3 * MS),
    { EVENT_END, .end = { END_TARGET, 3 * MS, 3, 3, 0, 0, 0 } },
};

static void spans_and_attributes_come_back(void **state)
{
    (void)state;
    check_comes_back(traced, countof(traced));
}

static bool count_damage(void *self, struct event *event, struct fault *why)
{
    uint64_t *measures = self;
    *measures += event->kind == EVENT_MEASURE;
    (void)why;
    return true;
}

/* Reads a MEASURE note with these fields, in the first tick of a block. Returns whether it was taken. */
static bool takes_measure(const uint64_t *fields, size_t count)
{
    const struct recording recording = { .format_version = STREAM_VERSION, .interval_ns = MS, .time_unit_ns = MS };
    struct bytes header = { 0 }, events = { 0 };
    struct stream_reader reader = { 0 };
    uint64_t measures = 0;
    const struct sink sink = { .take = count_damage, .self = &measures };
    stream_fields_put_recording(&header, &recording);
    put_number(&events, 0);
    stream_records_put_tag(&events, RECORD_TICK, 0);
    stream_records_put_numbers_note(&events, NOTE_MEASURE, fields, count);
    assert_true(stream_read_header(&reader, cursor_of(header.at, header.size), &sink, NULL));
    assert_true(stream_read_events(&reader, cursor_of(events.at, events.size), &sink, NULL));
    assert_int_equal(measures + reader.blocks.damage.blocks, 1);
    stream_reader_close(&reader);
    bytes_free(&header);
    bytes_free(&events);
    return measures == 1;
}

/* Numbers that no process has, and times and amounts that no 64 bits hold. */
static void measures_that_lie_are_damage(void **state)
{
    (void)state;
    const uint64_t most_units = UINT64_MAX / MS;
    const struct {
        uint64_t fields[5];
        size_t count;
        bool good;
    } rows[] = {
        { { 1, 0, 0, 0, 0 }, 5, true },
        { { 1, most_units - 1, 0, 0, 0 }, 5, true },
        { { 1, most_units, 0, 0, 0 }, 5, false },
        { { 1, UINT64_MAX, 0, 0, 0 }, 5, false },
        { { 0, 0, 0, 0, 0 }, 5, false },
        { { 1u << 16, 0, 0, 0, 0 }, 5, true }, /* the definition may be lost */
        { { (1u << 16) + 1, 0, 0, 0, 0 }, 5, false },
        { { UINT64_MAX, 0, 0, 0, 0 }, 5, false },
        { { 1, 0, 2 * (UINT64_MAX / 4096), 0, 0 }, 5, true },
        { { 1, 0, 2 * (UINT64_MAX / 4096) + 2, 0, 0 }, 5, false },
        { { 1, 0, 1, 0, 0 }, 5, false }, /* below unknown */
        { { 1, 0, 0, 2 * most_units, 0 }, 5, true },
        { { 1, 0, 0, 2 * most_units + 2, 0 }, 5, false },
        { { 1, 0, 0, 0, 2 * most_units + 2 }, 5, false },
        { { 1, 0, 0, 0 }, 4, false },
        { { 1 }, 1, false },
    };
    for (size_t i = 0; i < countof(rows); i++)
        if (takes_measure(rows[i].fields, rows[i].count) != rows[i].good)
            fail_msg("row %zu is %s", i, rows[i].good ? "damage" : "taken");
}

/* A measure that is like the one before costs 8 bytes: 2 for the kind of note, 1 for the size, 1 for each field. */
static void a_measure_costs_few_bytes(void **state)
{
    (void)state;
    struct stream_measured last = { 0 };
    struct bytes fields = { 0 };
    const struct measure first = { 1, 100 * MS, 200 << 20, UINT64_C(5000) * MS, 30 * MS },
                         next = { 1, 200 * MS, (200 << 20) + 4096, UINT64_C(5015) * MS, 31 * MS };
    stream_notes_put_measure(&fields, &first, 398, MS / 4, &last, 1);
    assert_int_equal(fields.size, 1 + 1 + 3 + 3 + 2);
    fields.size = 0;
    stream_notes_put_measure(&fields, &next, 799, MS / 4, &last, 1);
    assert_int_equal(fields.size, 5);
    fields.size = 0;
    stream_notes_put_measure(&fields, &next, 799, MS / 4, &last, 2); /* another block knows nothing */
    assert_int_equal(fields.size, 1 + 1 + 3 + 3 + 2);
    bytes_free(&fields);
}

static void what_a_thread_runs_comes_back(void **state)
{
    (void)state;
    check_comes_back(running, countof(running));
}

/* Who awaits whom, and the status and the CPU time of tasks: exact in each tick, because the time that one task has too
 * much is missing in another. */
#define WAITS (STATUS_RECORDED | STATUS_TASK_WAITS)
#define RUNS  (STATUS_RECORDED | STATUS_CPU | STATUS_GIL)
#define ENTRY_SAMPLE(ns, entry, number, depth, said, used, ...)                                                        \
    {                                                                                                                  \
        EVENT_SAMPLE, .sample = {                                                                                      \
            .count = 1,                                                                                                \
            .thread = entry,                                                                                           \
            .keep = depth,                                                                                             \
            .pushed = countof(((const uint32_t[]){ __VA_ARGS__ })),                                                    \
            .frames = (const uint32_t[]){ __VA_ARGS__ },                                                               \
            .time_ns = ns,                                                                                             \
            .status = said,                                                                                            \
            .cpu_ns = used,                                                                                            \
            .task = number                                                                                             \
        }                                                                                                              \
    }
static const struct event awaiting[] = {
    TASKS_BEGINNING,
    TASK(1, 1, "Task-1"),
    TASK(2, 1, "Task-2"),
    TASK_WAITER(0, 2, 1, 1),
    TASK_ENTRY(3, 1, 4313, 1, "Task-1"),
    TASK_ENTRY(4, 1, 4313, 2, "Task-2"),
    ENTRY_SAMPLE(MS, 3, 1, 0, WAITS, 0, 1),
    ENTRY_SAMPLE(MS, 4, 2, 0, RUNS, 4 * MS / 5, 2),
    TICK(MS),
    ENTRY_SAMPLE(2 * MS, 3, 1, 0, WAITS, 0, 1),
    ENTRY_SAMPLE(2 * MS, 4, 2, 0, RUNS, MS / 50, 2),
    TICK(2 * MS),
    TASK_WAITER(2 * MS, 2, 0, 0),
    { EVENT_THREAD_END, .change = { 4, 2 * MS, { 0 }, false } },
    ENTRY_SAMPLE(3 * MS, 3, 1, 0, RUNS, MS / 10, 1),
    TICK(3 * MS),
    { EVENT_END, .end = { END_TARGET, 3 * MS, 3, 5, 0, 0, 0 } },
};

static void tasks_that_await_each_other_come_back(void **state)
{
    (void)state;
    check_comes_back(awaiting, countof(awaiting));
}

/* Less than a unit of CPU time, which is 0.02 ms, goes to the next task: a thousand short tasks lose nothing. */
static void cpu_time_of_short_tasks_adds_up(void **state)
{
    (void)state;
    enum { TASKS = 1000, USED = MS / 75 };
    static const uint32_t frame = 1;
    const struct event beginning[] = { TASKS_BEGINNING, TASK(1, 1, "Task-1") };
    static struct event story[4 * TASKS + countof(beginning) + 1];
    memcpy(story, beginning, sizeof(beginning));
    for (uint32_t i = 0; i < TASKS; i++) {
        const uint64_t now = (i + 1) * (uint64_t)MS;
        const struct event life[] = { TASK_ENTRY(3 + i, 1, 4313, 1, "Task-1"),
                                      ENTRY_SAMPLE(now, 3 + i, 1, 0, RUNS, USED, 1),
                                      TICK(now),
                                      { EVENT_THREAD_END, .change = { 3 + i, now, { 0 }, false } } };
        memcpy(story + countof(beginning) + 4 * (size_t)i, life, sizeof(life));
        story[countof(beginning) + 4 * (size_t)i + 1].sample.frames = &frame;
    }
    story[countof(story) - 1] = (struct event){ EVENT_END, .end = { END_TARGET, TASKS * (uint64_t)MS, 0, 0, 0, 0, 0 } };
    struct bytes stream = stream_of(story, countof(story), CODEC_PLAIN);
    struct playback playback = { 0 };
    uint64_t cpu_ns = 0;
    playback_read(&playback, stream.at, stream.size);
    assert_int_equal(playback.journal.tables.threads_count, 3 + TASKS);
    for (uint32_t i = 0; i < TASKS; i++)
        cpu_ns += playback.journal.tables.threads[3 + i].cpu_ns;
    assert_in_range(cpu_ns, (uint64_t)TASKS * USED - MS / 100, (uint64_t)TASKS * USED + MS / 100);
    playback_free(&playback);
    bytes_free(&stream);
}

static void entries_of_tasks_come_back(void **state)
{
    (void)state;
    check_comes_back(entries, countof(entries));
}

/* Some seconds of one thread that stays where it is; `story` has room for it. Returns how many events. */
static size_t stay(struct event *story, struct event thread, uint32_t task, unsigned ticks)
{
    const struct event beginning[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = MS / 50 } },
        PROCESS(1, 4313, "/"),
        TASK(1, 1, "Task-1"),
        thread,
        STRING(1, "f"),
        FUNCTION(1, 1, 0, 1),
        FRAME(1, 1, 1),
        TASK_SAMPLE(MS, 1, task, 0, 1),
        TICK(MS),
    };
    size_t count = countof(beginning);
    memcpy(story, beginning, sizeof(beginning));
    static const uint32_t first[] = { 1 };
    story[count - 2].sample.frames = first;
    for (uint64_t tick = 2; tick <= ticks; tick++) {
        story[count++] = (struct event)TASK_SAME(tick * MS, 1, task, 1);
        story[count++] = (struct event)TICK(tick * MS);
    }
    story[count++] = (struct event){ EVENT_END, .end = { END_DURATION, ticks * (uint64_t)MS, ticks, ticks, 0, 0, -1 } };
    return count;
}

/* The task holds over the blocks, whether the thread runs it or is its entry, and what is told of it each second is a
 * few bytes or none. */
static void a_task_that_stays_costs_little(void **state)
{
    (void)state;
    static struct event story[8000];
    static const struct {
        struct event thread;
        uint32_t task;
        size_t bytes; /* more than a thread without a task takes, at most */
    } rows[] = {
        { THREAD(1, 1, 4313, "Task-1"), 0, 0 },
        { THREAD(1, 1, 4313, "Task-1"), 1, 4 * 4 },        /* THREAD_TASK in each of four blocks */
        { TASK_ENTRY(1, 1, 4313, 1, "Task-1"), 1, 1 },     /* one field more */
        { TASK_ENTRY(1, 1, 4313, 1, "Task-1"), 0, 1 + 16 } /* strange, and yet it is told */
    };
    size_t bare = 0;
    for (size_t i = 0; i < countof(rows); i++) {
        const size_t count = stay(story, rows[i].thread, rows[i].task, 3500);
        struct bytes stream = stream_of(story, count, CODEC_PLAIN);
        bare = i == 0 ? stream.size : bare;
        if (stream.size > bare + rows[i].bytes)
            fail_msg("row %zu takes %zu bytes, %zu without a task", i, stream.size, bare);
        bytes_free(&stream);
        check_comes_back(story, count);
    }
}

/* ---- what threads do, and how much CPU time they use ---- */

#define REC STATUS_RECORDED

/* A thread that runs for all of its time or none of it: told by the changes alone, exactly. */
static const struct event at_work[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = MS / 50 } },
    PROCESS(1, 4313, "/"),
    THREAD(1, 1, 4313, "python3"),
    THREAD(2, 1, 4314, "other"),
    STRING(1, "f"),
    STRING(2, "LOAD_ATTR_SLOT"),
    STRING(3, "LOAD_ATTR"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 1),
    { EVENT_FRAME, .frame = { 2, 1, 1, 1, -1, -1, 2, 3, 0, 0, 0 } },
    STATUS_SAMPLE(MS, 1, 0, REC | STATUS_CPU | STATUS_GIL, 0, 1),
    TICK(MS),
    STATUS_SAME(2 * MS, 1, 1, REC | STATUS_CPU | STATUS_GIL, MS),
    STATUS_SAMPLE(2 * MS, 2, 0, REC | STATUS_GIL_WAIT, 0, 1, 2),
    TICK(2 * MS),
    STATUS_SAMPLE(3 * MS, 1, 0, REC | STATUS_CPU | STATUS_EXCEPTION, MS, 2),
    STATUS_SAME(3 * MS, 2, 2, REC | STATUS_GIL_WAIT, 0),
    TICK(3 * MS),
    STATUS_SAME(4 * MS, 1, 1, REC, MS),
    STATUS_SAME(4 * MS, 2, 2, REC | STATUS_GIL_WAIT | STATUS_CPU_UNKNOWN, 0),
    TICK(4 * MS),
    STATUS_SAME(5 * MS, 1, 1, REC | STATUS_EXCEPTION, 0),
    TICK(5 * MS), /* thread 2 is absent */
    LEFT_OUT(5 * MS, 2, 1, 0),
    STATUS_SAME(6 * MS, 1, 1, REC | STATUS_ELSEWHERE, 0),
    STATUS_SAME(6 * MS, 2, 2, REC | STATUS_CPU, 0),
    TICK(6 * MS),
    { EVENT_END, .end = { END_TARGET, 7 * MS, 6, 10, 0, 0, 0 } },
};

static void a_status_comes_back(void **state)
{
    (void)state;
    struct playback playback = { 0 };
    struct bytes stream = assert_story_comes_back(&playback, at_work, countof(at_work), CODEC_PLAIN);
    assert_int_equal(playback.journal.tables.threads[2].left_out, 1);
    assert_int_equal(playback.journal.tables.threads[1].cpu_ns, 3 * MS);
    playback_free(&playback);
    bytes_free(&stream);
}

/* A thread that runs for a part of each tick, for some seconds: `story` has room for it. Returns how many events. */
static size_t run_partly(struct event *story, uint32_t bits, uint64_t each_ns, size_t ticks)
{
    static const uint32_t first[] = { 1 }; /* frames */
    const struct event beginning[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = MS / 50 } },
        PROCESS(1, 4313, "/"),
        THREAD(1, 1, 4313, "python3"),
        STRING(1, "f"),
        FUNCTION(1, 1, 0, 1),
        FRAME(1, 1, 1),
        { EVENT_SAMPLE,
          .sample = { .thread = 1, .pushed = 1, .frames = first, .time_ns = MS, .status = REC, .count = 1 } },
        TICK(MS),
    };
    size_t count = countof(beginning);
    memcpy(story, beginning, sizeof(beginning));
    for (uint64_t tick = 2; tick <= ticks; tick++) {
        story[count++] = (struct event)STATUS_SAME(tick * MS, 1, 1, bits, each_ns);
        story[count++] = (struct event)TICK(tick * MS);
    }
    story[count++] = (struct event){ EVENT_END, .end = { END_DURATION, ticks * (uint64_t)MS, ticks, ticks, 0, 0, -1 } };
    return count;
}

/* Its CPU time is right but for a bounded slip, and what is told of it stays small. */
static void cpu_time_is_nearly_right(void **state)
{
    (void)state;
    static const unsigned shares[] = { 0, 10, 50, 90, 100 };
    static struct event story[8000];
    for (size_t i = 0; i < countof(shares); i++) {
        const uint64_t each_ns = (uint64_t)MS / 100 * shares[i];
        const size_t count = run_partly(story, REC | (shares[i] >= 50 ? STATUS_CPU : 0), each_ns, 3500);
        struct bytes bytes = stream_of(story, count, CODEC_PLAIN);
        struct playback playback = { 0 };
        playback_read(&playback, bytes.at, bytes.size);
        assert_true(playback_whole(&playback));
        const struct thread_row *row = &playback.journal.tables.threads[1];
        const uint64_t wanted_ns = 3499 * each_ns;
        const uint64_t off_ns = row->cpu_ns > wanted_ns ? row->cpu_ns - wanted_ns : wanted_ns - row->cpu_ns;
        if (off_ns > 3 * (uint64_t)MS || bytes.size > 26000 || !row->cpu_known)
            fail_msg("at %u %% it is %lu ns of %lu, in %zu bytes", shares[i], row->cpu_ns, wanted_ns, bytes.size);
        playback_free(&playback);
        bytes_free(&bytes);
    }
}

/* A reader computes less than a thread used. At the end of the thread the reader gets the difference, and so it gets
 * the parts below a unit of what no sample has. */
static void a_thread_that_ends_has_all_its_time(void **state)
{
    (void)state;
    static struct event story[256];
    const uint64_t each_ns = (uint64_t)MS * 1004 / 1000, left_ns = MS / 50 / 2;
    size_t count = run_partly(story, REC | STATUS_CPU, each_ns, 60) - 1; /* END comes last */
    const struct event end = story[count];
    for (unsigned i = 0; i < 10; i++)
        story[count++] = (struct event){ EVENT_LEFT_OUT,
                                         .left_out = { .thread = 1, .time_ns = 60 * MS, .cpu_ns = left_ns } };
    story[count++] = (struct event){ EVENT_THREAD_END, .change = { 1, 60 * MS, { 0 }, false } };
    story[count++] = end;
    struct bytes bytes = stream_of(story, count, CODEC_PLAIN);
    struct playback playback = { 0 };
    playback_read(&playback, bytes.at, bytes.size);
    const uint64_t used_ns = 59 * each_ns + 10 * left_ns;
    assert_in_range(playback.journal.tables.threads[1].cpu_ns, used_ns - MS / 100, used_ns + MS / 100);
    playback_free(&playback);
    bytes_free(&bytes);
}

/* What was used in a lost block is nobody's. */
static void cpu_time_of_lost_blocks_is_not_given_to_others(void **state)
{
    (void)state;
    static struct event story[8000];
    const size_t count = run_partly(story, REC | STATUS_CPU, MS, 3500);
    struct bytes bytes = stream_of(story, count, CODEC_PLAIN);
    unsigned blocks = 0;
    for (size_t at = 8; at + 24 <= bytes.size;) {
        uint32_t stored;
        memcpy(&stored, bytes.at + at + 12, sizeof(stored));
        if (blocks++ == 2)
            bytes.at[at + 30] ^= 1;
        at += 24 + stored;
    }
    struct playback playback = { 0 };
    playback_read(&playback, bytes.at, bytes.size);
    const struct tables *tables = &playback.journal.tables;
    assert_false(playback_whole(&playback));
    assert_in_range(tables->samples, 2400, 2600);
    assert_in_range(tables->threads[1].cpu_ns, 2390 * (uint64_t)MS, 2600 * (uint64_t)MS);
    playback_free(&playback);
    bytes_free(&bytes);
}

TEST_FILE(stream)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(decoding_and_encoding_gives_the_same_bytes),
        cmocka_unit_test(a_pipe_is_as_good_as_a_file),
        cmocka_unit_test(no_more_than_a_second_is_in_memory_only),
        cmocka_unit_test(long_names_in_a_file_are_cut),
        cmocka_unit_test(threads_that_come_and_go_take_no_memory),
        cmocka_unit_test(a_thread_that_does_not_move_costs_nothing),
        cmocka_unit_test(a_change_is_told_from_the_nearer_end),
        cmocka_unit_test(a_recursion_takes_few_bytes),
        cmocka_unit_test(many_deep_threads_come_back),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_sample_can_not_keep_what_was_not_there),
        cmocka_unit_test(collections_and_builds_come_back),
        cmocka_unit_test(callbacks_come_back),
        cmocka_unit_test(spans_and_attributes_come_back),
        cmocka_unit_test(measures_that_lie_are_damage),
        cmocka_unit_test(a_measure_costs_few_bytes),
        cmocka_unit_test(what_a_thread_runs_comes_back),
        cmocka_unit_test(entries_of_tasks_come_back),
        cmocka_unit_test(tasks_that_await_each_other_come_back),
        cmocka_unit_test(cpu_time_of_short_tasks_adds_up),
        cmocka_unit_test(a_task_that_stays_costs_little),
        cmocka_unit_test(a_status_comes_back),
        cmocka_unit_test(cpu_time_is_nearly_right),
        cmocka_unit_test(a_thread_that_ends_has_all_its_time),
        cmocka_unit_test(cpu_time_of_lost_blocks_is_not_given_to_others),
    };
    return run_all(tests);
}
