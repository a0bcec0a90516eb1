/* SPDX-License-Identifier: MIT */
/* Which blocks of a file block_read() gives when blocks are missing, repeated, late or of another recording, and what
 * it reports. */
#include "formats/stream/block_read.h"

#include "formats/stream/block_write.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNKNOWN_KIND 9 /* of which nothing is known but its sequence */
#define SMALL_SIZE   25
#define AT(place)    (STREAM_MAGIC_SIZE + SMALL_SIZE * (place)) /* of a small block, counted from the header */

/* ---- files ---- */

struct making {
    struct block_writer writer;
    int fd;
};

static void begin_file(struct making *making)
{
    making->fd = memory_file("", 0);
    block_writer_open(&making->writer, making->fd, CODEC_GROUPED);
    assert_true(block_write(&making->writer, BLOCK_HEADER, &(struct bytes){ (unsigned char *)"", 1, 0 }, NULL));
}

static void put_block(struct making *making, unsigned kind, uint32_t sequence, const void *payload, size_t size)
{
    making->writer.sequence = sequence;
    const struct bytes bytes = { (unsigned char *)payload, size, 0 };
    assert_true(block_write(&making->writer, (enum stream_block)kind, &bytes, NULL));
}

/* Its payload tells it from others. */
static void put_small_block(struct making *making, uint32_t sequence)
{
    const unsigned char payload = (unsigned char)sequence;
    put_block(making, UNKNOWN_KIND, sequence, &payload, 1);
}

/* A block of the recording with this id. */
static void put_events(struct making *making, uint32_t sequence, unsigned char id)
{
    const unsigned char payload[] = { 0, NOTE_RECORDING_ID << 3 | RECORD_NOTE, 1, id };
    put_block(making, BLOCK_EVENTS, sequence, payload, sizeof(payload));
}

static struct bytes end_file(struct making *making)
{
    block_writer_close(&making->writer);
    return file_bytes(making->fd);
}

/* ---- reading ---- */

struct reading {
    struct block_reader blocks;
    struct fault why;
    int fd;
};

/* Reads the header, and takes the id of the recording from the caller: the header has none. */
static void begin_reading(struct reading *reading, int fd, uint32_t id)
{
    struct block header;
    *reading = (struct reading){ .fd = fd };
    block_reader_open(&reading->blocks, fd);
    assert_true(block_read_magic(&reading->blocks, NULL));
    assert_int_equal(block_read(&reading->blocks, &header, NULL), BLOCK_FOUND);
    reading->blocks.recording_id = id;
}

static enum block_found read_next(struct reading *reading, struct block *block)
{
    const uint64_t due = reading->blocks.next;
    const enum block_found found = block_read(&reading->blocks, block, &reading->why);
    if (found == BLOCK_FOUND)
        assert_int_equal(block->skipped, block->sequence > due);
    return found;
}

static void assert_gives(struct reading *reading, uint32_t sequence)
{
    struct block block;
    assert_int_equal(read_next(reading, &block), BLOCK_FOUND);
    assert_int_equal(block.sequence, sequence);
}

static void end_reading(struct reading *reading)
{
    block_reader_close(&reading->blocks);
    close(reading->fd);
}

/* ---- order ---- */

#define MISSING "missing blocks ahead of the one"
#define TWICE   "a repeated or late block"

static const struct {
    const char *what;
    unsigned char order[12], given[12]; /* sequences, to the first 0 */
    uint64_t lost, duplicates;
    const char *first;   /* that was wrong, ... */
    unsigned char place; /* ... with this block */
} mixed[] = {
    { "as it was", { 1, 2, 3 }, { 1, 2, 3 }, 0, 0, NULL, 0 },
    { "one missing", { 1, 3, 4 }, { 1, 3, 4 }, 1, 0, MISSING, 2 },
    { "the first ones missing", { 3, 4, 5 }, { 3, 4, 5 }, 2, 0, MISSING, 1 },
    { "some missing in two places", { 2, 5, 6 }, { 2, 5, 6 }, 3, 0, MISSING, 1 },
    { "one twice", { 1, 2, 2, 3 }, { 1, 2, 3 }, 0, 1, TWICE, 3 },
    { "one again, later", { 1, 2, 3, 1, 4 }, { 1, 2, 3, 4 }, 0, 1, TWICE, 4 },
    { "two changed places", { 2, 1, 3, 4 }, { 2, 3, 4 }, 1, 1, MISSING, 1 },
    { "one too early and where it belongs", { 1, 4, 2, 3, 4, 5 }, { 1, 4, 5 }, 2, 3, MISSING, 2 },
    { "one twice, then one missing", { 1, 1, 3 }, { 1, 3 }, 1, 1, TWICE, 2 },
};

static void blocks_are_given_in_the_order_of_the_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(mixed); i++) {
        struct making making;
        struct reading reading;
        struct block block;
        begin_file(&making);
        for (const unsigned char *sequence = mixed[i].order; *sequence; sequence++)
            put_small_block(&making, *sequence);
        struct bytes file = end_file(&making);
        begin_reading(&reading, memory_file(file.at, file.size), 0);
        for (const unsigned char *sequence = mixed[i].given; *sequence; sequence++) {
            if (read_next(&reading, &block) != BLOCK_FOUND || block.sequence != *sequence)
                fail_msg("%s: block %d is not given, or another", mixed[i].what, *sequence);
            assert_int_equal(cursor_left(&block.payload), 1);
            assert_int_equal(*block.payload.at, *sequence);
        }
        assert_int_equal(read_next(&reading, &block), BLOCK_NO_MORE);
        const struct damage *damage = &reading.blocks.damage;
        char first[100] = "";
        if (mixed[i].first)
            snprintf(first, sizeof(first), "%s at byte %d", mixed[i].first, AT(mixed[i].place));
        if (damage->blocks != mixed[i].lost || damage->duplicates != mixed[i].duplicates || damage->bytes ||
            strcmp(damage->first.text, first) != 0)
            fail_msg("%s: %lu lost, %lu duplicates; %s", mixed[i].what, damage->blocks, damage->duplicates,
                     damage->first.text);
        end_reading(&reading);
        bytes_free(&file);
    }
}

/* ---- pipes ---- */

/* A block behind a lost one does not wait: the reader gives it while the pipe is open and has no more bytes. The lost
 * block comes too late then. A reader that waits for more bytes fails here, because the pipe does not block. */
static void a_lost_block_holds_nothing_back(void **state)
{
    (void)state;
    int ends[2];
    struct making making;
    struct reading reading;
    struct block block;
    begin_file(&making);
    put_small_block(&making, 2);
    const size_t first_part = making.writer.written;
    put_small_block(&making, 1);
    put_small_block(&making, 3);
    struct bytes file = end_file(&making);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(write(ends[1], file.at, first_part), first_part);
    begin_reading(&reading, ends[0], 0);
    assert_gives(&reading, 2);
    assert_int_equal(reading.blocks.damage.blocks, 1);
    assert_int_equal(reading.blocks.damage.duplicates, 0);
    assert_int_equal(write(ends[1], file.at + first_part, file.size - first_part), file.size - first_part);
    assert_gives(&reading, 3);
    assert_int_equal(reading.blocks.damage.blocks, 1);
    assert_int_equal(reading.blocks.damage.duplicates, 1);
    assert_int_equal(reading.why.text[0], '\0');
    assert_int_equal(read_next(&reading, &block), BLOCK_UNREADABLE);
    assert_non_null(strstr(reading.why.text, "cannot read the recording"));
    close(ends[1]);
    end_reading(&reading);
    bytes_free(&file);
}

/* ---- other recordings ---- */

/* The bytes behind the last block that is ours tell how much is lost, whatever good blocks are among them. */
static void the_lost_end_goes_up_to_the_end_of_the_file(void **state)
{
    (void)state;
    static const struct {
        uint32_t sequence;
        unsigned char id;
    } strange[] = { { 2, 6 }, { 1, 5 } }; /* of another recording, and one that came before */
    for (size_t i = 0; i < countof(strange); i++) {
        for (unsigned ours_follows = 0; ours_follows < 2; ours_follows++) {
            struct making making;
            struct reading reading;
            struct block block;
            begin_file(&making);
            put_events(&making, 1, 5);
            const uint64_t good_size = making.writer.written;
            assert_int_equal(write(making.fd, "rubbish", 7), 7);
            put_events(&making, strange[i].sequence, strange[i].id);
            put_events(&making, strange[i].sequence, strange[i].id);
            assert_int_equal(write(making.fd, "more", 4), 4);
            const uint64_t strange_size = making.writer.written - good_size;
            if (ours_follows)
                put_events(&making, 2, 5);
            struct bytes file = end_file(&making);
            begin_reading(&reading, memory_file(file.at, file.size), 5);
            for (unsigned given = 0; given <= ours_follows; given++)
                assert_int_equal(read_next(&reading, &block), BLOCK_FOUND);
            assert_int_equal(read_next(&reading, &block), BLOCK_NO_MORE);
            const struct damage *damage = &reading.blocks.damage;
            const bool other = strange[i].id != 5;
            assert_int_equal(damage->bytes, 7 + 4 + (other ? strange_size : 0));
            assert_int_equal(damage->tail, ours_follows ? 0 : damage->bytes);
            assert_int_equal(damage->duplicates, other ? 0 : 2);
            end_reading(&reading);
            bytes_free(&file);
        }
    }
}

TEST_FILE(block_read)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_given_in_the_order_of_the_file),
        cmocka_unit_test(a_lost_block_holds_nothing_back),
        cmocka_unit_test(the_lost_end_goes_up_to_the_end_of_the_file),
    };
    return run_all(tests);
}
