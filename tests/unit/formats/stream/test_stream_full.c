/* SPDX-License-Identifier: MIT */
/* What a writer leaves when there is no more room: below its own limit, on a full disk, in a pipe that nobody reads. */
#include "formats/stream/stream_write.h"

#include "formats/stream/stream_read.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 8

static const struct event beginning[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = MS, .time_unit_ns = MS / 50 } },
    PROCESS(1, 42, "/"),
    STRING(1, "a function"),
    FUNCTION(1, 1, 0, 1),
};

/* A recording in the making, whose every tick has something new. */
struct making {
    struct stream_writer writer;
    struct fault why;
    uint32_t ticks;
};

static void begin(struct making *making, int fd, uint64_t limit)
{
    *making = (struct making){ 0 };
    stream_writer_open(&making->writer, fd, CODEC_PLAIN);
    stream_writer_limit(&making->writer, limit);
    for (size_t i = 0; i < countof(beginning); i++)
        assert_true(stream_write(&making->writer, &beginning[i], &making->why));
    for (uint32_t i = 1; i <= THREADS; i++) {
        const struct event thread = THREAD(i, 1, 100 + i, "t");
        assert_true(stream_write(&making->writer, &thread, &making->why));
    }
}

/* A frame that no tick before had, in the stack of each thread, by turns with the one before in an order that repeats
 * nothing (Thue and Morse's): it takes `times` bytes. */
static bool tick(struct making *making, uint32_t times)
{
    const uint32_t number = ++making->ticks;
    uint32_t *frames = alloc_zeroed(times, sizeof(*frames));
    const uint64_t now = (uint64_t)number * MS;
    const struct event frame = FRAME(number, 1, number), end = TICK(now);
    bool good = stream_write(&making->writer, &frame, &making->why);
    for (uint32_t i = 0; i < times; i++)
        frames[i] = number > 1 && __builtin_parity(i) ? number - 1 : number;
    for (uint32_t i = 1; i <= THREADS; i++) {
        const struct event sample = {
            EVENT_SAMPLE, .sample = { .count = 1, .thread = i, .pushed = times, .frames = frames, .time_ns = now }
        };
        good = good && stream_write(&making->writer, &sample, &making->why);
    }
    free(frames);
    return good && stream_write(&making->writer, &end, &making->why);
}

static bool end(struct making *making, enum end_reason reason)
{
    const struct event figure = COUNTER("samples", 1);
    const struct event event = { EVENT_END, .end = { .reason = reason, .time_ns = 5000 * (uint64_t)MS } };
    const bool good = stream_write(&making->writer, &figure, &making->why) &&
                      stream_write(&making->writer, &event, &making->why);
    return good;
}

static void the_file_stays_below_its_limit(void **state)
{
    (void)state;
    static const uint64_t limits[] = { 16000, 20011, 100000, 333333 };
    for (size_t i = 0; i < countof(limits); i++) {
        struct making making;
        const int fd = memory_file("", 0);
        begin(&making, fd, limits[i]);
        while (!stream_writer_full(&making.writer)) {
            assert_true(tick(&making, 3));
            assert_in_range(making.ticks, 1, limits[i]);
        }
        assert_true(end(&making, END_SIZE));
        struct bytes file = file_bytes(fd);
        assert_in_range(file.size, limits[i] - 6000, limits[i]);
        struct playback playback = { 0 };
        playback_read(&playback, file.at, file.size);
        assert_true(playback_whole(&playback));
        const struct tables *tables = &playback.journal.tables;
        assert_int_equal(tables->end.reason, END_SIZE);
        assert_int_equal(tables->samples, tables->end.samples);
        assert_int_equal(tables->ticks, making.ticks); /* nothing was dropped */
        assert_int_equal(counters_get(&tables->counters, "samples"), 1);
        playback_free(&playback);
        bytes_free(&file);
        stream_writer_close(&making.writer);
    }
}

/* One tick may be larger than all that is left: it is not written, and not counted. */
static void a_tick_without_room_is_dropped(void **state)
{
    (void)state;
    struct making making;
    const int fd = memory_file("", 0);
    begin(&making, fd, 20000);
    assert_true(tick(&making, 10));
    assert_false(stream_writer_full(&making.writer));
    assert_true(tick(&making, 10000));
    assert_true(stream_writer_full(&making.writer));
    assert_true(end(&making, END_SIZE));
    struct bytes file = file_bytes(fd);
    struct playback playback = { 0 };
    playback_read(&playback, file.at, file.size);
    assert_true(playback_whole(&playback));
    assert_int_equal(playback.journal.tables.samples, 0);
    assert_int_equal(playback.journal.tables.end.samples, 0);
    playback_free(&playback);
    bytes_free(&file);
    stream_writer_close(&making.writer);
}

/* Stands in the place of the C library's: a user has a quota, and a file system that takes back what it took. */
static uint64_t quota = UINT64_MAX;

ssize_t write(int fd, const void *bytes, size_t size)
{
    const off_t at = lseek(fd, 0, SEEK_CUR);
    if (at >= 0 && (uint64_t)at >= quota) {
        errno = EDQUOT;
        return -1;
    }
    const uint64_t left = at >= 0 ? quota - (uint64_t)at : size;
    return syscall(SYS_write, fd, bytes, size < left ? size : left);
}

static void set_quota(uint64_t size)
{
    quota = size;
}

/* The system's limit for files stands in for a full disk. */
static void set_file_limit(uint64_t size)
{
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ size == UINT64_MAX ? RLIM_INFINITY : size, RLIM_INFINITY });
}

/* A write is cut short, the next one fails. */
static void check_end_without_room(void (*set_room)(uint64_t), const char *cause)
{
    static const uint64_t limits[] = { 5000, 100000, 200001, 300007 };
    for (size_t i = 0; i < countof(limits); i++) {
        struct making making;
        const int fd = memory_file("", 0);
        begin(&making, fd, 0);
        bool good = true;
        set_room(limits[i]);
        while (good && making.ticks < 10000)
            good = tick(&making, 3);
        assert_false(good);
        assert_false(end(&making, END_ERROR));
        set_room(UINT64_MAX);
        assert_string_equal(making.why.text, cause);
        struct bytes file = file_bytes(fd);
        struct playback playback = { 0 };
        playback_read(&playback, file.at, file.size);
        assert_int_equal(playback.reader.blocks.damage.bytes, 0);
        assert_int_equal(playback.reader.blocks.damage.blocks, 0);
        assert_true(playback.reader.ended);
        assert_false(playback.reader.complete);
        assert_int_equal(playback.journal.tables.end.reason, END_UNWRITTEN);
        assert_int_equal(playback.journal.tables.end.samples, making.ticks * THREADS);
        /* A block of a second is here some 90 kB. */
        assert_in_range(playback.journal.tables.samples, limits[i] / 100000 * 900 * THREADS,
                        making.ticks * THREADS - 1);
        playback_free(&playback);
        bytes_free(&file);
        stream_writer_close(&making.writer);
    }
}

static void a_full_disk_leaves_whole_blocks_and_an_end_that_says_so(void **state)
{
    (void)state;
    check_end_without_room(set_file_limit, "cannot write the recording: File too large");
}

static void a_full_quota_ends_as_a_full_disk(void **state)
{
    (void)state;
    check_end_without_room(set_quota, "cannot write the recording: Disk quota exceeded");
}

static void a_pipe_that_nobody_reads_is_an_error(void **state)
{
    (void)state;
    struct making making;
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    begin(&making, ends[1], 0);
    close(ends[0]);
    bool good = true;
    while (good && making.ticks < 10000)
        good = tick(&making, 3);
    assert_false(good);
    assert_false(end(&making, END_ERROR));
    assert_string_equal(making.why.text, "cannot write the recording: Broken pipe");
    stream_writer_close(&making.writer);
    close(ends[1]);
}

/* What a reader is told: samples, failed ones, and the frames of both. */
struct counted {
    uint64_t samples, failed;
};

static bool count(void *self, struct event *event, struct fault *why)
{
    struct counted *counted = self;
    (void)why;
    counted->samples += event->kind == EVENT_SAMPLE;
    counted->failed += event->kind == EVENT_FAILED;
    return true;
}

static void take(struct making *making, struct event event)
{
    assert_true(stream_write(&making->writer, &event, &making->why));
}

/* All that was written can be read. */
static struct counted read_back(int fd)
{
    struct counted counted = { 0 };
    const struct sink sink = { count, &counted };
    struct stream_reader reader;
    struct fault why = { 0 };
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_true(stream_reader_open(&reader, fd, (struct text){ 0 }, &sink, &why));
    while (stream_read_block(&reader, &sink, &why) == SOURCE_MORE)
        ;
    assert_string_equal(why.text, "");
    assert_string_equal(reader.blocks.damage.first.text, "");
    assert_true(reader.complete);
    stream_reader_close(&reader);
    return counted;
}

/* A recursion takes few bytes, so that a block may come to name more frames than a reader takes. It is closed before;
 * what is more than that within one tick is told as failed. */
static void a_block_names_no_more_frames_than_are_read(void **state)
{
    (void)state;
    enum { DEPTH = STACK_DEPTH_LIMIT, FIT = STREAM_FRAMES_LIMIT / DEPTH, TICKS = FIT + FIT / 2, MORE = 3 };
    uint32_t *frames = alloc_zeroed(DEPTH, sizeof(*frames));
    const int fd = memfd_create("frames", MFD_CLOEXEC);
    struct making making;
    begin(&making, fd, 0);
    take(&making, (struct event)FRAME(1, 1, 1));
    take(&making, (struct event)FRAME(2, 1, 2));
    for (uint32_t tick = 1; tick <= TICKS; tick++) {
        const uint64_t now = tick * (MS / 50);
        for (uint32_t i = 0; i < DEPTH; i++)
            frames[i] = 1 + tick % 2;
        take(&making, (struct event){
                          EVENT_SAMPLE,
                          .sample = { .count = 1, .thread = 1, .pushed = DEPTH, .frames = frames, .time_ns = now } });
        take(&making, (struct event)TICK(now));
    }
    for (uint32_t thread = 1; thread <= FIT + MORE; thread++) {
        if (thread > THREADS)
            take(&making, (struct event)THREAD(thread, 1, 100 + thread, "t"));
        take(&making,
             (struct event){
                 EVENT_SAMPLE,
                 .sample = { .count = 1, .thread = thread, .pushed = DEPTH, .frames = frames, .time_ns = MS } });
    }
    take(&making, (struct event)TICK(MS));
    take(&making, (struct event){ EVENT_END, .end = { .reason = END_SIGNAL, .time_ns = MS, .wait_status = -1 } });
    const struct counted counted = read_back(fd);
    assert_in_range(counted.failed, MORE, FIT / 2 + MORE);
    assert_int_equal(counted.samples + counted.failed, TICKS + FIT + MORE);
    stream_writer_close(&making.writer);
    close(fd);
    free(frames);
}

TEST_FILE(stream_full)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_stays_below_its_limit),
        cmocka_unit_test(a_tick_without_room_is_dropped),
        cmocka_unit_test(a_full_disk_leaves_whole_blocks_and_an_end_that_says_so),
        cmocka_unit_test(a_full_quota_ends_as_a_full_disk),
        cmocka_unit_test(a_pipe_that_nobody_reads_is_an_error),
        cmocka_unit_test(a_block_names_no_more_frames_than_are_read),
    };
    return run_all(tests);
}
