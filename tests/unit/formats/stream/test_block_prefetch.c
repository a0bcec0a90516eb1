/* SPDX-License-Identifier: MIT */
/* A recording says the same whether its blocks are found ahead or when they are asked for. */
#include "formats/stream/block_prefetch.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 100 /* a block each, more than fit between the two threads */

/* With a text of so many bytes. */
static void play_second(struct stream_writer *writer, uint32_t second, size_t size)
{
    static char text[1 << 20];
    struct fault why = { 0 };
    const uint64_t time_ns = (second + 1) * (uint64_t)1000 * MS;
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + i * i % 23);
    const struct event events[] = { { EVENT_STRING, .string = { second + 3, { text, size } } },
                                    FUNCTION(second + 2, second + 3, 2, second + 1),
                                    FRAME(second + 2, second + 2, 7),
                                    SAMPLE(time_ns, 1, second ? 1 : 0, second + 2),
                                    TICK(time_ns) };
    for (size_t i = 0; i < countof(events); i++)
        assert_true(stream_write(writer, &events[i], &why));
}

/* One second in `every` has a text of `size` bytes, and `more` for each second before it. */
static struct bytes record_texts(enum stream_codec codec, uint32_t every, size_t size, size_t more)
{
    static const struct event begin[] = { ONE_THREAD_BEGINS };
    static const struct event end = { EVENT_END,
                                      .end = { END_TARGET, (SECONDS + 10) * 1000 * (uint64_t)MS, 7, 9, 0, 0, 0 } };
    const int fd = memory_file("", 0);
    struct stream_writer writer;
    struct fault why = { 0 };
    stream_writer_open(&writer, fd, codec);
    for (size_t i = 0; i < countof(begin); i++)
        assert_true(stream_write(&writer, &begin[i], &why));
    for (uint32_t second = 0; second < SECONDS; second++)
        play_second(&writer, second, second % every == 0 ? size + second * more : 1);
    assert_true(stream_write(&writer, &end, &why));
    stream_writer_close(&writer);
    return file_bytes(fd);
}

/* `large`: some blocks are so large that only a few of them wait, or one; one second in seven has such a one. */
static struct bytes record(bool large)
{
    return large ? record_texts(CODEC_GROUPED, 7, 1000, 10000) : record_texts(CODEC_GROUPED, 1, 1, 0);
}

static void assert_same(const void *bytes, size_t size)
{
    struct playback at_once = { 0 }, ahead = { .ahead = true };
    playback_read(&at_once, bytes, size);
    playback_read(&ahead, bytes, size);
    assert_int_equal(ahead.opened, at_once.opened);
    assert_int_equal(ahead.reader.ended, at_once.reader.ended);
    assert_int_equal(ahead.reader.lost_ticks, at_once.reader.lost_ticks);
    const struct block_progress a = block_read_progress(&ahead.reader.blocks),
                                b = block_read_progress(&at_once.reader.blocks);
    assert_int_equal(a.bytes_read, b.bytes_read);
    assert_int_equal(a.bytes_used, b.bytes_used);
    assert_int_equal(a.good, b.good);
    assert_int_equal(a.good_plain, b.good_plain);
    assert_int_equal(a.damage.bytes, b.damage.bytes);
    assert_int_equal(a.damage.tail, b.damage.tail);
    assert_int_equal(a.damage.blocks, b.damage.blocks);
    assert_int_equal(a.damage.duplicates, b.damage.duplicates);
    assert_int_equal(a.damage.cut, b.damage.cut);
    assert_string_equal(a.damage.first.text, b.damage.first.text);
    assert_same_lines(journal_text(&ahead.journal), journal_text(&at_once.journal));
    playback_free(&at_once);
    playback_free(&ahead);
}

static void a_damaged_one_says_the_same(void **state)
{
    (void)state;
    struct bytes whole = record(false), damaged = { 0 };
    const size_t rounds = soak(50);
    assert_same(whole.at, whole.size);
    for (size_t i = 1; i < rounds; i++) {
        const size_t at = whole.size * i / rounds;
        assert_same(whole.at, at); /* cut */
        damaged.size = 0;
        put_bytes(&damaged, whole.at, whole.size);
        damaged.at[at] ^= 0x10;
        damaged.at[whole.size - at / 2] ^= 1;
        assert_same(damaged.at, damaged.size);
        damaged.size = 0;
        put_bytes(&damaged, whole.at, whole.size - whole.size / i); /* some blocks come twice */
        put_bytes(&damaged, whole.at + at, whole.size - at);
        assert_same(damaged.at, damaged.size);
    }
    bytes_free(&whole);
    bytes_free(&damaged);
}

static void large_blocks_come_as_well(void **state)
{
    (void)state;
    struct bytes whole = record(true);
    for (size_t i = 0; i < 8; i++)
        assert_same(whole.at, whole.size - i * whole.size / 9);
    bytes_free(&whole);
}

/* Who takes events stops after some blocks; the thread is at work then, or waits for room. */
static void it_can_be_stopped_anywhere(void **state)
{
    (void)state;
    struct bytes whole = record(false);
    for (int blocks = 0; blocks < SECONDS; blocks++) {
        struct journal journal = { 0 };
        struct stream_reader reader;
        struct fault why = { 0 };
        const struct sink sink = journal_sink(&journal);
        const int fd = memory_file(whole.at, whole.size);
        assert_true(stream_reader_open(&reader, fd, (struct text){ 0 }, &sink, &why));
        reader.goes_ahead = true;
        for (int i = 0; i < blocks; i++)
            assert_int_equal(stream_read_block(&reader, &sink, &why), SOURCE_MORE);
        stream_reader_stop(&reader);
        assert_int_equal(block_read_progress(&reader.blocks).good, blocks + 1);
        close(fd);
        stream_reader_close(&reader);
        journal_free(&journal);
    }
    bytes_free(&whole);
}

static bool sleeps_for_a_while(int fd, off_t at)
{
    nanosleep(&(struct timespec){ .tv_nsec = 50 * MS }, NULL);
    return lseek(fd, 0, SEEK_CUR) == at;
}

/* How far the file is read when nobody takes what was found. */
static off_t read_ahead(const struct bytes *whole)
{
    struct journal journal = { 0 };
    struct stream_reader reader;
    struct fault why = { 0 };
    const struct sink sink = journal_sink(&journal);
    const int fd = memory_file(whole->at, whole->size);
    assert_true(stream_reader_open(&reader, fd, (struct text){ 0 }, &sink, &why));
    reader.goes_ahead = true;
    assert_int_equal(stream_read_block(&reader, &sink, &why), SOURCE_MORE);
    off_t at = lseek(fd, 0, SEEK_CUR);
    while (!sleeps_for_a_while(fd, at))
        at = lseek(fd, 0, SEEK_CUR);
    stream_reader_close(&reader);
    close(fd);
    journal_free(&journal);
    return at;
}

/* So many blocks, or bytes of them, wait, and what was read of the next. */
static void not_much_waits(void **state)
{
    (void)state;
    static const struct {
        size_t size, most;
    } texts[] = { { 10000, 500000 }, { 100000, 1500000 }, { 1000000, 4000000 } };
    for (size_t i = 0; i < countof(texts); i++) {
        struct bytes whole = record_texts(CODEC_PLAIN, 1, texts[i].size, 0);
        assert_in_range(whole.size, SECONDS * texts[i].size, SIZE_MAX);
        assert_in_range(read_ahead(&whole), 1, texts[i].most);
        bytes_free(&whole);
    }
}

static void what_came_before_a_failure_is_given(void **state)
{
    (void)state;
    struct bytes whole = record(false);
    static const unsigned char nothing[1 << 20];
    put_bytes(&whole, nothing, sizeof(nothing));
    for (int ahead = 0; ahead < 2; ahead++) {
        struct journal journal = { 0 };
        struct stream_reader reader;
        struct fault why = { 0 };
        const struct sink sink = journal_sink(&journal);
        const int fd = memory_file(whole.at, whole.size), unreadable = open("/dev/null", O_WRONLY | O_CLOEXEC);
        assert_true(stream_reader_open(&reader, fd, (struct text){ 0 }, &sink, &why));
        assert_true(dup2(unreadable, fd) == fd);
        reader.goes_ahead = ahead;
        for (int i = 0; i < SECONDS + 1; i++)
            assert_int_equal(stream_read_block(&reader, &sink, &why), SOURCE_MORE);
        assert_true(reader.complete);
        assert_int_equal(stream_read_block(&reader, &sink, &why), SOURCE_STOPPED);
        assert_string_equal(why.text, "cannot read the recording: Bad file descriptor");
        stream_reader_close(&reader);
        close(fd);
        close(unreadable);
        journal_free(&journal);
    }
    bytes_free(&whole);
}

TEST_FILE(block_prefetch)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_one_says_the_same),         cmocka_unit_test(large_blocks_come_as_well),
        cmocka_unit_test(it_can_be_stopped_anywhere),          cmocka_unit_test(not_much_waits),
        cmocka_unit_test(what_came_before_a_failure_is_given),
    };
    return run_all(tests);
}
