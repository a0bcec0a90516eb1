/* SPDX-License-Identifier: MIT */
/* What becomes of a recording that was cut, changed or mixed up: what is good is given, and nothing wrong ever. */
#include "formats/stream/stream_fields.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Three blocks of events, each with definitions of its own; the third does not need those of the second. */
static const struct event story[] = {
    ONE_THREAD_BEGINS,
    SAMPLE(100 * MS, 1, 0, 1),
    TICK(100 * MS),
    SAME(200 * MS, 1, 1),
    TICK(200 * MS),
    SAMPLE(1000 * MS, 1, 1, 1),
    TICK(1000 * MS), /* the block ends here: it is a second old */
    THREAD(2, 1, 8, "worker"),
    STRING(3, "f"),
    FUNCTION(2, 3, 2, 1),
    FRAME(2, 2, 1),
    SAMPLE(1050 * MS, 1, 1, 2),
    SAMPLE(1050 * MS, 2, 0, 2, 2),
    TICK(1050 * MS),
    SAME(2010 * MS, 1, 2),
    FAILED(2010 * MS, 2, FAILURE_CHANGED),
    TICK(2010 * MS),
    STRING(4, "g"),
    FUNCTION(3, 4, 2, 9),
    FRAME(3, 3, 9),
    SAME(2050 * MS, 1, 1),
    TICK(2050 * MS),
    SAMPLE(2100 * MS, 1, 1, 3),
    SAME(2100 * MS, 2, 2),
    TICK(2100 * MS),
    { EVENT_END, .end = { END_TARGET, 2200 * (uint64_t)MS, 7, 9, 0, 1, 0 } },
};

/* ---- taking recordings apart and putting them together ---- */

struct parts {
    struct bytes file;
    struct {
        size_t at, size;
    } blocks[16];
    size_t count;
    char *notes, *ticks; /* what the whole of it says */
};

static size_t block_size(const unsigned char *header)
{
    struct cursor stored_size = cursor_of(header + STREAM_STORED_SIZE_AT, 4);
    return STREAM_BLOCK_HEADER + take_u32(&stored_size);
}

static void take_apart(struct parts *parts, enum stream_codec codec)
{
    *parts = (struct parts){ .file = stream_of(story, countof(story), codec) };
    for (size_t at = STREAM_MAGIC_SIZE; at < parts->file.size; at += parts->blocks[parts->count++].size) {
        parts->blocks[parts->count].at = at;
        parts->blocks[parts->count].size = block_size(parts->file.at + at);
    }
    assert_int_equal(parts->count, 5);
    struct journal told = { 0 };
    journal_tell(&told, story, countof(story));
    parts->notes = journal_text(&told);
    parts->ticks = journal_ticks(&told);
    journal_free(&told);
}

static void put_away(struct parts *parts)
{
    bytes_free(&parts->file);
    free(parts->notes);
    free(parts->ticks);
}

static void put_block(struct bytes *to, const struct parts *parts, size_t i)
{
    put_bytes(to, parts->file.at + parts->blocks[i].at, parts->blocks[i].size);
}

/* A block as a writer would make it, with any kind, number and payload. */
static void put_new_block(struct bytes *to, unsigned kind, uint32_t sequence, const void *payload, size_t size)
{
    const int fd = memory_file("", 0);
    const struct bytes bytes = { (unsigned char *)payload, size, 0 };
    struct block_writer writer;
    block_writer_open(&writer, fd, CODEC_PLAIN);
    writer.sequence = sequence;
    assert_true(block_write(&writer, (enum stream_block)kind, &bytes, NULL));
    block_writer_close(&writer);
    struct bytes written = file_bytes(fd);
    const size_t magic = sequence == 0 ? STREAM_MAGIC_SIZE : 0;
    put_bytes(to, written.at + magic, written.size - magic);
    bytes_free(&written);
}

static uint32_t stream_checksum_of(const unsigned char *header, size_t size)
{
    const uLong sum = crc32_z(crc32(0, header, STREAM_CHECKSUM_AT), header + STREAM_BLOCK_HEADER,
                              size - STREAM_BLOCK_HEADER);
    return (uint32_t)sum;
}

static bool is_line_of(const char *line, size_t size, const char *text)
{
    for (; *text; text += strcspn(text, "\n") + 1)
        if (strcspn(text, "\n") == size && memcmp(text, line, size) == 0)
            return true;
    return false;
}

/* Every sample that is shown is one of the recording: same time, same thread, same stack by name. */
static void assert_nothing_wrong(const struct parts *parts, const struct playback *playback)
{
    char *ticks = journal_ticks(&playback->journal);
    for (const char *line = ticks; *line; line += strcspn(line, "\n") + 1)
        if (!is_line_of(line, strcspn(line, "\n"), parts->ticks))
            fail_msg("a tick that never was: %.*s", (int)strcspn(line, "\n"), line);
    free(ticks);
}

static void assert_prefix(char *part, const char *whole)
{
    assert_memory_equal(part, whole, strlen(part));
    free(part);
}

/* ---- cuts ---- */

static void a_cut_recording_gives_what_came_before(void **state)
{
    (void)state;
    for (enum stream_codec codec = CODEC_PLAIN; codec <= CODEC_GROUPED; codec++) {
        struct parts parts;
        take_apart(&parts, codec);
        size_t ticks_before = 0;
        for (size_t size = 0; size <= parts.file.size; size++) {
            struct playback playback = { 0 };
            playback_read(&playback, parts.file.at, size);
            assert_int_equal(playback.opened, size >= parts.blocks[1].at);
            assert_int_equal(playback.opened, playback.why.text[0] == '\0');
            assert_prefix(journal_ticks(&playback.journal), parts.ticks);
            assert_int_equal(playback_whole(&playback), size == parts.file.size);
            assert_true(playback.journal.ticks.count >= ticks_before);
            ticks_before = playback.journal.ticks.count;
            bool between = false;
            for (size_t i = 0; i < parts.count; i++)
                between |= size == parts.blocks[i].at;
            if (playback.opened)
                assert_int_equal(playback.reader.blocks.damage.cut, !between && size < parts.file.size);
            playback_free(&playback);
        }
        put_away(&parts);
    }
}

/* ---- flipped bits ---- */

static void every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    for (enum stream_codec codec = CODEC_PLAIN; codec <= CODEC_GROUPED; codec++) {
        struct parts parts;
        take_apart(&parts, codec);
        for (size_t bit = 0; bit < parts.file.size * 8; bit++) {
            struct playback playback = { 0 };
            parts.file.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
            playback_read(&playback, parts.file.at, parts.file.size);
            parts.file.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
            if (playback_whole(&playback))
                fail_msg("bit %zu of byte %zu was not noticed", bit % 8, bit / 8);
            assert_nothing_wrong(&parts, &playback);
            if (bit / 8 < parts.blocks[1].at)
                assert_false(playback.opened);
            playback_free(&playback);
        }
        put_away(&parts);
    }
}

/* Bytes that go missing or come in between cost the block they hit, not the rest. */
static void bytes_taken_out_or_put_in_cost_one_block(void **state)
{
    (void)state;
    struct parts parts;
    take_apart(&parts, CODEC_PLAIN);
    for (size_t at = parts.blocks[1].at; at < parts.file.size; at++) {
        for (int in = 0; in < 2; in++) {
            struct bytes file = { 0 };
            put_bytes(&file, parts.file.at, at);
            put_bytes(&file, "\xF5p", in ? 2 : 0);
            put_bytes(&file, parts.file.at + at + !in, parts.file.size - at - !in);
            struct playback playback = { 0 };
            playback_read(&playback, file.at, file.size);
            assert_true(playback.opened);
            assert_false(playback_whole(&playback));
            assert_nothing_wrong(&parts, &playback);
            assert_true(playback.reader.blocks.damage.blocks <= 2);
            assert_true(playback.reader.complete || at > parts.blocks[4].at - 2);
            playback_free(&playback);
            bytes_free(&file);
        }
    }
    put_away(&parts);
}

/* ---- whole blocks ---- */

static const struct {
    const char *what;
    signed char order[8]; /* of blocks, -1 at the end */
    uint64_t lost, duplicates, ticks, samples, lost_samples;
    bool complete, opened;
} mixed[] = {
    { "as it was", { 0, 1, 2, 3, 4, -1 }, 0, 0, 7, 9, 0, true, true },
    { "without the first events", { 0, 2, 3, 4, -1 }, 1, 0, 4, 0, 6, true, true },
    { "without the second", { 0, 1, 3, 4, -1 }, 1, 0, 5, 5, 1, true, true },
    { "without the third", { 0, 1, 2, 4, -1 }, 1, 0, 5, 6, 0, true, true },
    { "without an end", { 0, 1, 2, 3, -1 }, 0, 0, 7, 9, 0, false, true },
    { "only the ends", { 0, 4, -1 }, 3, 0, 0, 0, 0, true, true },
    { "a block twice", { 0, 1, 2, 2, 3, 4, -1 }, 0, 1, 7, 9, 0, true, true },
    { "a block again, later", { 0, 1, 2, 3, 1, 4, -1 }, 0, 1, 7, 9, 0, true, true },
    { "blocks changed places", { 0, 2, 1, 3, 4, -1 }, 1, 1, 4, 0, 6, true, true },
    { "the last events first", { 0, 3, 1, 2, 4, -1 }, 2, 2, 2, 0, 3, true, true },
    { "a block again, before its time", { 0, 1, 3, 2, 3, 4, -1 }, 1, 2, 5, 5, 1, true, true },
    { "the end before its time", { 0, 1, 4, 2, 3, -1 }, 2, 2, 3, 3, 0, true, true },
    { "the header twice", { 0, 0, 1, 2, 3, 4, -1 }, 0, 1, 7, 9, 0, true, true },
    { "the end twice", { 0, 1, 2, 3, 4, 4, -1 }, 0, 1, 7, 9, 0, true, true },
    { "no header", { 1, 2, 3, 4, -1 }, 0, 0, 0, 0, 0, false, false },
    { "header not first", { 1, 0, 2, 3, 4, -1 }, 0, 0, 0, 0, 0, false, false },
};

static void blocks_stand_for_themselves(void **state)
{
    (void)state;
    struct parts parts;
    take_apart(&parts, CODEC_GROUPED);
    for (size_t i = 0; i < countof(mixed); i++) {
        struct bytes file = { 0 };
        struct playback playback = { 0 };
        put_bytes(&file, STREAM_MAGIC, STREAM_MAGIC_SIZE);
        for (const signed char *block = mixed[i].order; *block >= 0; block++)
            put_block(&file, &parts, (size_t)*block);
        playback_read(&playback, file.at, file.size);
        const struct damage *damage = &playback.reader.blocks.damage;
        const struct tables *tables = &playback.journal.tables;
        if (playback.opened != mixed[i].opened || playback.reader.complete != mixed[i].complete ||
            damage->blocks != mixed[i].lost || damage->duplicates != mixed[i].duplicates || damage->bytes ||
            tables->ticks != mixed[i].ticks || tables->samples != mixed[i].samples ||
            tables->lost_samples != mixed[i].lost_samples)
            fail_msg("%s: %lu lost, %lu duplicates, %lu ticks, %lu samples, %lu lost samples", mixed[i].what,
                     damage->blocks, damage->duplicates, tables->ticks, tables->samples, tables->lost_samples);
        assert_nothing_wrong(&parts, &playback);
        playback_free(&playback);
        bytes_free(&file);
    }
    put_away(&parts);
}

/* A lost block holds no events back: the events of the next block come while the pipe is open and has no more bytes. A
 * reader that waits for more bytes fails here, because the pipe does not block. */
static void events_behind_a_lost_block_come_at_once(void **state)
{
    (void)state;
    int ends[2];
    struct parts parts;
    struct journal journal = { .tables.forgiving = true };
    struct stream_reader reader;
    struct fault why = { 0 };
    const struct sink sink = journal_sink(&journal);
    take_apart(&parts, CODEC_PLAIN);
    struct bytes before = { 0 }, after = { 0 };
    put_bytes(&before, parts.file.at, parts.blocks[2].at);
    put_block(&before, &parts, 3);
    put_block(&after, &parts, 2);
    put_block(&after, &parts, 4);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(write(ends[1], before.at, before.size), before.size);
    assert_true(stream_reader_open(&reader, ends[0], (struct text){ 0 }, &sink, &why));
    assert_int_equal(stream_read_block(&reader, &sink, &why), SOURCE_MORE);
    assert_int_equal(journal.tables.ticks, 3);
    assert_int_equal(stream_read_block(&reader, &sink, &why), SOURCE_MORE);
    assert_int_equal(journal.tables.ticks, 3 + 2);
    assert_int_equal(reader.blocks.damage.blocks, 1);
    assert_int_equal(write(ends[1], after.at, after.size), after.size);
    assert_int_equal(stream_read_block(&reader, &sink, &why), SOURCE_MORE);
    assert_true(reader.complete);
    assert_int_equal(journal.tables.ticks, 3 + 2);
    assert_int_equal(reader.blocks.damage.blocks, 1);
    assert_int_equal(reader.blocks.damage.duplicates, 1);
    stream_reader_close(&reader);
    close(ends[0]);
    close(ends[1]);
    bytes_free(&before);
    bytes_free(&after);
    journal_free(&journal);
    put_away(&parts);
}

static void bytes_that_are_no_block_are_passed_over(void **state)
{
    (void)state;
    static const char garbage[] = "\xF5prB and then something else \xF5pr\xF5prB";
    struct parts parts;
    take_apart(&parts, CODEC_PLAIN);
    for (size_t before = 1; before <= parts.count; before++) {
        struct bytes file = { 0 };
        struct playback playback = { 0 };
        put_bytes(&file, STREAM_MAGIC, STREAM_MAGIC_SIZE);
        for (size_t i = 0; i < parts.count; i++) {
            if (i == before)
                put_bytes(&file, garbage, sizeof(garbage));
            put_block(&file, &parts, i);
        }
        if (before == parts.count) /* bytes behind END are damage too */
            put_bytes(&file, garbage, sizeof(garbage));
        playback_read(&playback, file.at, file.size);
        assert_int_equal(playback.reader.blocks.damage.bytes, sizeof(garbage));
        assert_int_equal(playback.reader.blocks.damage.blocks, 0);
        assert_true(playback.reader.complete);
        assert_same_lines(journal_ticks(&playback.journal), strdup(parts.ticks));
        playback_free(&playback);
        bytes_free(&file);
    }
    put_away(&parts);
}

/* What each block of the recording says of whose it is. */
static uint32_t recording_id_of(const struct parts *parts)
{
    const struct cursor header = cursor_of(parts->file.at + parts->blocks[0].at + STREAM_BLOCK_HEADER,
                                           parts->blocks[0].size - STREAM_BLOCK_HEADER);
    return block_read_recording_id(BLOCK_HEADER, header);
}

/* They are good, of the right sequence, and yet not of this recording: its own are read as if they were not there. */
static void blocks_of_another_recording_are_passed_over(void **state)
{
    (void)state;
    struct parts parts, other;
    struct event changed[countof(story)];
    memcpy(changed, story, sizeof(story));
    changed[0].recording.start_unix_ns = 1;
    take_apart(&parts, CODEC_PLAIN);
    take_apart(&other, CODEC_PLAIN);
    bytes_free(&other.file);
    other.file = stream_of(changed, countof(changed), CODEC_GROUPED);
    for (size_t i = 0, at = STREAM_MAGIC_SIZE; i < other.count; at += other.blocks[i++].size) {
        other.blocks[i].at = at;
        other.blocks[i].size = block_size(other.file.at + at);
    }
    for (size_t strange = 1; strange < other.count; strange++) {
        for (size_t place = 1; place <= parts.count; place++) {
            struct bytes file = { 0 };
            struct playback playback = { 0 };
            put_bytes(&file, parts.file.at, parts.blocks[place - 1].at + parts.blocks[place - 1].size);
            put_block(&file, &other, strange);
            for (size_t i = place; i < parts.count; i++)
                put_block(&file, &parts, i);
            playback_read(&playback, file.at, file.size);
            assert_true(playback.reader.complete);
            assert_int_equal(playback.reader.blocks.damage.bytes, other.blocks[strange].size);
            assert_int_equal(playback.reader.blocks.damage.blocks + playback.reader.blocks.damage.duplicates, 0);
            assert_same_lines(journal_text(&playback.journal), strdup(parts.notes));
            playback_free(&playback);
            bytes_free(&file);
        }
    }
    put_away(&other);
    put_away(&parts);
}

static void blocks_of_unknown_kinds_are_skipped(void **state)
{
    (void)state;
    static const unsigned char kinds[] = { 0, 5, 255 };
    struct parts parts;
    take_apart(&parts, CODEC_GROUPED);
    for (size_t i = 0; i < countof(kinds); i++) {
        struct bytes file = { 0 };
        struct playback playback = { 0 };
        put_bytes(&file, parts.file.at, parts.blocks[4].at);
        put_new_block(&file, kinds[i], 4, "\xFF\xFF\xFF", 3);
        struct bytes end = { 0 };
        stream_fields_put_end(&end, &story[countof(story) - 1].end, 2 * MS);
        stream_fields_put_number(&end, END_RECORDING_ID, recording_id_of(&parts));
        put_new_block(&file, BLOCK_END, 5, end.at, end.size);
        playback_read(&playback, file.at, file.size);
        assert_true(playback_whole(&playback));
        assert_same_lines(journal_text(&playback.journal), strdup(parts.notes));
        playback_free(&playback);
        bytes_free(&end);
        bytes_free(&file);
    }
    put_away(&parts);
}

static void blocks_with_another_head_are_damage(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        unsigned char value;
    } rows[] = { { STREAM_CODEC_AT, 2 }, { STREAM_CODEC_AT, 1 }, { 15, 5 }, { 19, 5 }, { 16, 1 } };
    for (size_t i = 0; i < countof(rows); i++) {
        struct parts parts;
        struct playback playback = { 0 };
        take_apart(&parts, CODEC_PLAIN);
        unsigned char *header = parts.file.at + parts.blocks[2].at;
        header[rows[i].offset] = rows[i].value;
        struct bytes sum = { 0 };
        put_u32(&sum, stream_checksum_of(header, parts.blocks[2].size));
        memcpy(header + STREAM_CHECKSUM_AT, sum.at, 4); /* even when the checksum is right */
        playback_read(&playback, parts.file.at, parts.file.size);
        assert_int_equal(playback.reader.blocks.damage.bytes, parts.blocks[2].size);
        assert_int_equal(playback.reader.blocks.damage.blocks, 1);
        assert_nothing_wrong(&parts, &playback);
        playback_free(&playback);
        bytes_free(&sum);
        put_away(&parts);
    }
}

TEST_FILE(stream_damage)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_recording_gives_what_came_before),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(bytes_taken_out_or_put_in_cost_one_block),
        cmocka_unit_test(blocks_stand_for_themselves),
        cmocka_unit_test(events_behind_a_lost_block_come_at_once),
        cmocka_unit_test(bytes_that_are_no_block_are_passed_over),
        cmocka_unit_test(blocks_of_another_recording_are_passed_over),
        cmocka_unit_test(blocks_of_unknown_kinds_are_skipped),
        cmocka_unit_test(blocks_with_another_head_are_damage),
    };
    return run_all(tests);
}
