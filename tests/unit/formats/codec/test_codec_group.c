/* SPDX-License-Identifier: MIT */
/* What is grouped comes back byte for byte, and bytes that were never grouped do no harm. */
#include "tests/fakes/testing.h"

#include "formats/codec/codec_ungroup.h"
#include "formats/stream/block_read.h"
#include "formats/stream/block_write.h"
#include "tests/fakes/payloads.h"
#include "tests/fakes/story.h"

#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define ROUNDS 400

static void what_is_grouped_comes_back(void **state)
{
    (void)state;
    uint64_t numbers = 1;
    unsigned grouped_ones = 0;
    struct grouping grouping = { 0 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct bytes payload = random_payload(&numbers, false), grouped = { 0 }, back = { 0 };
        put_bytes(&back, "what was there", 14);
        if (codec_group_payload(&grouping, &payload, &grouped)) {
            grouped_ones++;
            assert_true(codec_ungroup_payload(&grouping, grouped.at, grouped.size, payload.size, &back));
            assert_int_equal(back.size, 14 + payload.size);
            assert_memory_equal(back.at + 14, payload.at, payload.size);
            back.size = 0;
            assert_false(codec_ungroup_payload(&grouping, grouped.at, grouped.size, payload.size + 1, &back));
            back.size = 0;
            assert_false(codec_ungroup_payload(&grouping, grouped.at, grouped.size, payload.size - 1, &back));
        }
        bytes_free(&payload);
        bytes_free(&grouped);
        bytes_free(&back);
    }
    assert_in_range(grouped_ones, ROUNDS * 9 / 10, ROUNDS);
    codec_group_free(&grouping);
}

static void assert_comes_back(struct grouping *grouping, const struct bytes *payload)
{
    struct bytes grouped = { 0 }, back = { 0 };
    assert_true(codec_group_payload(grouping, payload, &grouped));
    assert_true(codec_ungroup_payload(grouping, grouped.at, grouped.size, payload->size, &back));
    assert_int_equal(back.size, payload->size);
    assert_memory_equal(back.at, payload->at, payload->size);
    assert_false(codec_ungroup_payload(grouping, grouped.at, grouped.size, payload->size - 1, &back));
    assert_false(codec_ungroup_payload(grouping, grouped.at, grouped.size, payload->size + 1, &back));
    assert_false(codec_ungroup_payload(grouping, grouped.at, grouped.size, STREAM_BLOCK_LIMIT, &back));
    assert_in_range(back.room, 0, 100 * payload->size + 10000); /* not what a block says that it holds */
    bytes_free(&grouped);
    bytes_free(&back);
}

/* Notes whose sizes take one byte, two and three; and at the end of the payload, where there is no room to spare. */
static void notes_of_any_size_come_back(void **state)
{
    (void)state;
    static const size_t sizes[] = { 0, 1, 121, 122, 127, 128, 129, 16383, 16384, 40000 };
    static const unsigned notes[] = { NOTE_STRING, NOTE_STATUS, NOTE_PROCESS, 99 };
    struct grouping grouping = { 0 };
    for (size_t i = 0; i < countof(sizes) * countof(notes); i++) {
        struct bytes payload = { 0 };
        put_number(&payload, 0);
        for (unsigned twice = 0; twice < 2; twice++)
            put_long_note(&payload, notes[i % countof(notes)], sizes[i / countof(notes)]);
        assert_comes_back(&grouping, &payload);
        bytes_free(&payload);
    }
    codec_group_free(&grouping);
}

/* Frames whose numbers take one byte to five, in turn, deeper than is remembered, and the last one ends the payload. */
static void frames_of_any_size_come_back(void **state)
{
    (void)state;
    static const uint32_t frames[] = { 1, 127, 128, 16383, 16384, 1u << 21, 1u << 28, UINT32_MAX, 2, 300 };
    struct grouping grouping = { 0 };
    for (size_t count = 1; count < 3 * CALL_MTF_DEPTH; count = count * 3 / 2 + 1) {
        struct bytes payload = { 0 };
        put_number(&payload, 0);
        for (uint64_t thread = 1; thread < 4; thread++) {
            put_number(&payload, thread % 2 << 3 | (thread < 3 ? RECORD_SUFFIX : RECORD_POP_PUSH));
            put_number(&payload, thread);
            put_number(&payload, count);
            for (size_t i = 0; i < count; i++)
                put_number(&payload, frames[(i + i / 7 * thread) % countof(frames)]);
        }
        assert_comes_back(&grouping, &payload);
        bytes_free(&payload);
    }
    codec_group_free(&grouping);
}

/* Each byte turned, then each length: it is seen, or it is the grouping of something else of that size. */
static void bytes_that_were_not_grouped_do_no_harm(void **state)
{
    (void)state;
    uint64_t numbers = 7;
    struct grouping grouping = { 0 };
    for (unsigned round = 0; round < 20; round++) {
        struct bytes payload = random_payload(&numbers, false), grouped = { 0 }, back = { 0 };
        if (!codec_group_payload(&grouping, &payload, &grouped))
            grouped.size = 0;
        for (size_t i = 0; i < grouped.size && i < 600; i++) {
            const unsigned char before = grouped.at[i];
            grouped.at[i] = (unsigned char)(before ^ (1 + random_number(&numbers) % 255));
            back.size = 0;
            if (codec_ungroup_payload(&grouping, grouped.at, grouped.size, payload.size, &back))
                assert_int_equal(back.size, payload.size);
            assert_in_range(back.size, 0, 2 * payload.size + 1000);
            grouped.at[i] = before;
            back.size = 0;
            assert_false(codec_ungroup_payload(&grouping, grouped.at, i, payload.size, &back));
        }
        bytes_free(&payload);
        bytes_free(&grouped);
        bytes_free(&back);
    }
    codec_group_free(&grouping);
}

static void what_would_not_come_back_is_not_grouped(void **state)
{
    (void)state;
    struct grouping grouping = { 0 };
    static const struct strange_payload longer = { "a base longer than it need be", 2, { 0x80, 0 } };
    for (size_t i = 0; i <= strange_payloads_count; i++) {
        const struct strange_payload *row = i < strange_payloads_count ? &strange_payloads[i] : &longer;
        const struct bytes payload = { (unsigned char *)row->bytes, row->size, row->size };
        struct bytes grouped = { 0 };
        if (codec_group_payload(&grouping, &payload, &grouped))
            fail_msg("%s", row->what);
        assert_int_equal(grouped.size, 0);
        bytes_free(&grouped);
    }
    codec_group_free(&grouping);
}

static struct bytes file_of(const struct bytes *payload)
{
    const int fd = memory_file("", 0);
    struct block_writer writer;
    block_writer_open(&writer, fd, CODEC_GROUPED);
    assert_true(block_write(&writer, BLOCK_EVENTS, payload, NULL));
    block_writer_close(&writer);
    return file_bytes(fd);
}

/* What block_read() finds in a file: that it has the payload, or no block at all. */
static void check_found(const struct bytes *file, const struct bytes *payload)
{
    const int fd = memory_file(file->at, file->size);
    struct block_reader reader;
    struct block block;
    block_reader_open(&reader, fd);
    assert_true(block_read_magic(&reader, NULL));
    if (payload) {
        assert_int_equal(block_read(&reader, &block, NULL), BLOCK_FOUND);
        assert_int_equal(cursor_left(&block.payload), payload->size);
        assert_memory_equal(block.payload.at, payload->at, payload->size);
    }
    assert_int_equal(block_read(&reader, &block, NULL), BLOCK_NO_MORE);
    assert_int_equal(reader.damage.bytes, payload ? 0 : file->size - STREAM_MAGIC_SIZE);
    block_reader_close(&reader);
    close(fd);
}

/* A thousand ticks, and behind them what can't be grouped if that is wanted: it is plain then. */
static void a_block_is_stored_as_it_can_be(void **state)
{
    (void)state;
    for (unsigned ungrouped = 0; ungrouped < 2; ungrouped++) {
        struct bytes payload = { 0 };
        put_number(&payload, 0);
        for (uint64_t i = 0; i < 1000; i++) {
            put_number(&payload, i % 7 << 3 | RECORD_TICK);
            put_number(&payload, 3 << 3 | RECORD_ABSENT);
        }
        if (ungrouped)
            put_number(&payload, 0);
        struct bytes file = file_of(&payload);
        assert_int_equal(file.at[STREAM_MAGIC_SIZE + STREAM_CODEC_AT], ungrouped ? CODEC_PLAIN : CODEC_GROUPED);
        assert_true(ungrouped || file.size < payload.size / 4);
        check_found(&file, &payload);
        bytes_free(&file);
        bytes_free(&payload);
    }
}

/* A block with a right checksum whose stored bytes are these. */
static struct bytes block_of(const void *stored, size_t size, uint32_t plain_size)
{
    struct bytes file = { 0 };
    put_bytes(&file, STREAM_MAGIC STREAM_SYNC, STREAM_MAGIC_SIZE + 4);
    put_u32(&file, BLOCK_EVENTS | CODEC_GROUPED << 8);
    put_u32(&file, 1);
    put_u32(&file, (uint32_t)size);
    put_u32(&file, plain_size);
    uint32_t sum = (uint32_t)crc32(0, file.at + STREAM_MAGIC_SIZE, STREAM_CHECKSUM_AT);
    put_u32(&file, (uint32_t)crc32(sum, stored, (unsigned)size));
    put_bytes(&file, stored, size);
    return file;
}

static void blocks_that_lie_are_damage(void **state)
{
    (void)state;
    static const unsigned char zeros[4096];
    static const struct {
        size_t grouped_size, plain_size;
        bool told; /* the frame says how large it is */
    } rows[] = { { 24, 1, true },  { 24, 2, true },  { 25, 1, true },
                 { 24, 1, false }, { 259, 1, true }, { 4096, 1, true } };
    for (size_t i = 0; i < countof(rows); i++) {
        unsigned char stored[200];
        ZSTD_CCtx *zstd = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, rows[i].told);
        const size_t size = ZSTD_compress2(zstd, stored, sizeof(stored), zeros, rows[i].grouped_size);
        struct bytes file = block_of(stored, size, (uint32_t)rows[i].plain_size);
        /* A base and 23 columns of nothing are the grouping of a base. */
        check_found(&file, i == 0 ? &(struct bytes){ (unsigned char *)zeros, 1, 1 } : NULL);
        bytes_free(&file);
        ZSTD_freeCCtx(zstd);
    }
    struct bytes file = block_of("no zstd frame", 13, 100);
    check_found(&file, NULL);
    bytes_free(&file);
}

TEST_FILE(codec_group)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_grouped_comes_back),
        cmocka_unit_test(notes_of_any_size_come_back),
        cmocka_unit_test(frames_of_any_size_come_back),
        cmocka_unit_test(bytes_that_were_not_grouped_do_no_harm),
        cmocka_unit_test(what_would_not_come_back_is_not_grouped),
        cmocka_unit_test(a_block_is_stored_as_it_can_be),
        cmocka_unit_test(blocks_that_lie_are_damage),
    };
    return run_all(tests);
}
