/* SPDX-License-Identifier: MIT */
/* How long samples stand for, written and read again. The rules for its note are in test_stream_rules.c. */
#include "formats/stream/stream_fields.h"
#include "tests/fakes/payloads.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <string.h>
#include <unistd.h>

#define TICKS 3500
#define DEPTH 10

#define WEIGHTED                                                                                                       \
    {                                                                                                                  \
        EVENT_RECORDING, .recording = {.interval_ns = MS, .time_unit_ns = MS / 50 }                                    \
    }
#define DEFINED                                                                                                        \
    PROCESS(1, 4313, "/"), THREAD(1, 1, 4313, "python3"), THREAD(2, 1, 4314, "other"), STRING(1, "f"),                 \
        FUNCTION(1, 1, 0, 1), FRAME(1, 1, 1), FRAME(2, 1, 2)

/* Of a recorder that leaves ticks out: for one tick or another, for some ticks, and then for none any more. */
static const struct event weighed[] = {
    WEIGHTED,
    DEFINED,
    SAMPLE(MS, 1, 0, 1),
    STANDS_SAMPLE(MS, 2, 0, MS, 1),
    TICK(MS),
    FAILED(4 * MS, 1, FAILURE_CHANGED),
    STANDS_SAME(4 * MS, 2, 1, 3 * MS),
    TICK(4 * MS),
    STANDS_SAMPLE(6 * MS, 1, 0, 3 * MS, 1, 2),
    STANDS_SAME(6 * MS, 2, 1, 3 * MS),
    TICK(6 * MS),
    STANDS_SAME(9 * MS, 1, 2, 2 * MS + 7),
    STANDS_SAME(9 * MS, 2, 1, 2 * MS + 7),
    TICK(9 * MS),
    TICK(10 * MS), /* samples nothing */
    SAME(11 * MS, 1, 2),
    SAME(11 * MS, 2, 1),
    TICK(11 * MS),
    { EVENT_END, .end = { END_TARGET, 12 * MS, 6, 9, 0, 1, 0 } },
};

static void weights_come_back(void **state)
{
    (void)state;
    struct playback playback = { 0 };
    struct bytes stream = assert_story_comes_back(&playback, weighed, countof(weighed), CODEC_PLAIN);
    assert_int_equal(playback.journal.tables.threads[1].wall_ns, 9 * MS + MS / 2);
    assert_int_equal(playback.journal.tables.threads[2].wall_ns, 10 * MS + 7);
    playback_free(&playback);
    bytes_free(&stream);
}

/* Some seconds of a program that goes through a tree of calls as dice fall. `frames` has room for those of each tick.
 */
static size_t tell_seconds(struct event *story, uint32_t (*frames)[DEPTH])
{
    static const struct event beginning[] = { WEIGHTED, DEFINED };
    size_t count = countof(beginning);
    uint64_t dice = 1;
    memcpy(story, beginning, sizeof(beginning));
    for (uint32_t number = 3; number <= 2 * DEPTH; number++)
        story[count++] = (struct event)FRAME(number, 1, number);
    for (uint32_t tick = 1; tick <= TICKS; tick++) {
        for (uint32_t i = 0; i < DEPTH; i++)
            frames[tick - 1][i] = 1 + 2 * i + (random_number(&dice) % 8 == 0);
        const struct sample sample = { .count = 1,
                                       .thread = 1,
                                       .pushed = DEPTH,
                                       .frames = frames[tick - 1],
                                       .time_ns = tick * (uint64_t)MS,
                                       .stands_ns = MS * (1 + (uint64_t)tick / 7 % 3) };
        story[count++] = (struct event){ EVENT_SAMPLE, .sample = sample };
        story[count++] = (struct event)TICK(tick * (uint64_t)MS);
    }
    story[count++] = (struct event){ EVENT_END, .end = { END_DURATION, TICKS * (uint64_t)MS, TICKS, TICKS, 0, 0, -1 } };
    return count;
}

static enum stream_codec codec_of_block(const struct bytes *stream, unsigned block)
{
    size_t at = STREAM_MAGIC_SIZE;
    while (block-- > 0) {
        struct cursor size = cursor_of(stream->at + at + STREAM_STORED_SIZE_AT, 4);
        at += STREAM_BLOCK_HEADER + take_u32(&size);
    }
    return stream->at[at + STREAM_CODEC_AT];
}

/* Blocks of both codecs, each of which begins with the interval, tell it. */
static void every_codec_tells_weights(void **state)
{
    (void)state;
    static struct event story[2 * TICKS + 60];
    static uint32_t frames[TICKS][DEPTH];
    for (enum stream_codec codec = CODEC_PLAIN; codec <= CODEC_GROUPED; codec++) {
        const size_t count = tell_seconds(story, frames);
        struct playback playback = { 0 };
        struct bytes stream = assert_story_comes_back(&playback, story, count, codec);
        assert_int_equal(codec_of_block(&stream, 2), codec);
        playback_free(&playback);
        bytes_free(&stream);
    }
}

static const struct event both[] = { WEIGHTED, DEFINED, STANDS_SAMPLE(MS, 1, 0, 3 * MS, 1), SAMPLE(MS, 2, 0, 1) };

/* The last event of a story is. */
static void assert_refused(const struct event *story, size_t count, const char *reason)
{
    const int fd = memory_file("", 0);
    struct stream_writer writer;
    struct fault why = { 0 };
    stream_writer_open(&writer, fd, CODEC_PLAIN);
    for (size_t i = 0; i + 1 < count; i++)
        assert_true(stream_write(&writer, &story[i], &why));
    assert_false(stream_write(&writer, &story[count - 1], &why));
    assert_string_equal(why.text, reason);
    stream_writer_close(&writer);
    close(fd);
}

static void what_cannot_be_told_is_refused(void **state)
{
    (void)state;
    assert_refused(both, countof(both), "samples of one tick stand for different times");
}

TEST_FILE(stream_stands)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_come_back),
        cmocka_unit_test(every_codec_tells_weights),
        cmocka_unit_test(what_cannot_be_told_is_refused),
    };
    return run_all(tests);
}
