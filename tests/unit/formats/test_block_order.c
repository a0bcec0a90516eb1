/* SPDX-License-Identifier: MIT */
/* In which order the blocks of a file are given that stand in it in any order, and what is said of it. */
#include "formats/stream/block_order.h"
#include "formats/stream/block_write.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNKNOWN_KIND 9 /* of which nothing is known but its sequence */
#define SMALL_SIZE   25
#define LARGE_SIZE   ((size_t)1 << 20)
#define AT(place)    (STREAM_MAGIC_SIZE + SMALL_SIZE * (place)) /* of a small block, counted from the header */

/* ---- files ---- */

struct making {
    struct block_writer writer;
    int fd;
};

static void begin_file(struct making *making)
{
    making->fd = memory_file("", 0);
    block_writer_open(&making->writer, making->fd, CODEC_ZSTD, 1);
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
    struct block_order order;
    struct fault why;
    int fd;
};

static void begin_reading(struct reading *reading, int fd)
{
    struct block header;
    *reading = (struct reading){ .fd = fd, .order = { .next = 1 } };
    block_reader_open(&reading->blocks, fd);
    assert_true(block_read_magic(&reading->blocks, NULL));
    assert_int_equal(block_read(&reading->blocks, &header, NULL), BLOCK_FOUND);
}

static enum block_found read_next(struct reading *reading, struct block *block)
{
    bool skipped;
    const uint64_t due = reading->order.next;
    const enum block_found found = block_order_next(&reading->order, &reading->blocks, block, &skipped, &reading->why);
    if (found == BLOCK_FOUND)
        assert_int_equal(skipped, block->sequence > due);
    return found;
}

static void end_reading(struct reading *reading)
{
    block_order_free(&reading->order);
    block_reader_close(&reading->blocks);
    close(reading->fd);
}

/* ---- order ---- */

#define EARLY   "an early block"
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
    { "one too early", { 3, 1, 2, 4 }, { 1, 2, 3, 4 }, 0, 1, EARLY, 1 },
    { "one too early and where it belongs", { 3, 1, 2, 3, 4 }, { 1, 2, 3, 4 }, 0, 2, EARLY, 1 },
    { "two in a row too early", { 3, 4, 1, 2 }, { 1, 2, 3, 4 }, 0, 2, EARLY, 1 },
    { "two in a row too early and where they belong", { 3, 4, 1, 2, 3, 4, 5 }, { 1, 2, 3, 4, 5 }, 0, 4, EARLY, 1 },
    { "three too early, turned round", { 1, 5, 4, 3, 2 }, { 1, 2, 3, 4, 5 }, 0, 3, EARLY, 2 },
    { "two changed places", { 2, 1, 3, 4 }, { 1, 2, 3, 4 }, 0, 1, EARLY, 1 },
    { "too early and twice", { 3, 3, 1, 2, 4 }, { 1, 2, 3, 4 }, 0, 2, EARLY, 1 },
    { "one too early, one missing", { 5, 1, 2, 3 }, { 1, 2, 3, 5 }, 1, 1, EARLY, 1 },
    { "one missing, then one too early", { 2, 3, 6, 4, 5 }, { 2, 3, 4, 5, 6 }, 1, 1, MISSING, 1 },
    { "one missing where one is too early", { 5, 2, 3 }, { 2, 3, 5 }, 2, 1, EARLY, 1 },
};

static void blocks_are_given_in_their_order(void **state)
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
        begin_reading(&reading, memory_file(file.at, file.size));
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

/* ---- how far it is looked for one ---- */

static void only_so_many_blocks_wait(void **state)
{
    (void)state;
    for (uint32_t before = 63; before <= 64; before++) {
        struct making making;
        struct reading reading;
        struct block block;
        begin_file(&making);
        for (uint32_t i = 0; i < before; i++)
            put_small_block(&making, 2 + i);
        put_small_block(&making, 1);
        struct bytes file = end_file(&making);
        begin_reading(&reading, memory_file(file.at, file.size));
        for (uint32_t sequence = before == 63 ? 1 : 2; sequence < 2 + before; sequence++) {
            assert_int_equal(read_next(&reading, &block), BLOCK_FOUND);
            assert_int_equal(block.sequence, sequence);
        }
        assert_int_equal(read_next(&reading, &block), BLOCK_NO_MORE);
        assert_int_equal(reading.blocks.damage.blocks, before == 64);
        assert_int_equal(reading.blocks.damage.duplicates, before == 64 ? 1 : 63);
        end_reading(&reading);
        bytes_free(&file);
    }
}

static void only_so_many_bytes_wait(void **state)
{
    (void)state;
    struct making making;
    struct reading reading;
    struct block block;
    char *payload = alloc_zeroed(1, LARGE_SIZE);
    begin_file(&making);
    for (uint32_t sequence = 2; sequence < 60; sequence++)
        put_block(&making, UNKNOWN_KIND, sequence, payload, LARGE_SIZE);
    put_small_block(&making, 1);
    struct bytes file = end_file(&making);
    begin_reading(&reading, memory_file(file.at, file.size));
    size_t held_most = 0;
    for (uint32_t sequence = 2; sequence < 60; sequence++) {
        assert_int_equal(read_next(&reading, &block), BLOCK_FOUND);
        assert_int_equal(block.sequence, sequence);
        assert_int_equal(cursor_left(&block.payload), LARGE_SIZE);
        held_most = reading.order.held_bytes > held_most ? reading.order.held_bytes : held_most;
    }
    assert_int_equal(read_next(&reading, &block), BLOCK_NO_MORE);
    assert_in_range(held_most, 31 * LARGE_SIZE, 33 * LARGE_SIZE);
    assert_int_equal(reading.order.held_bytes, 0);
    end_reading(&reading);
    bytes_free(&file);
    free(payload);
}

/* ---- failures ---- */

/* A pipe that has no more for now can't be read any further; what was read is given first. */
static void what_waits_is_given_before_a_failure(void **state)
{
    (void)state;
    int ends[2];
    struct making making;
    struct reading reading;
    struct block block;
    begin_file(&making);
    put_small_block(&making, 2);
    put_small_block(&making, 4);
    struct bytes file = end_file(&making);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(write(ends[1], file.at, file.size), file.size);
    begin_reading(&reading, ends[0]);
    assert_int_equal(read_next(&reading, &block), BLOCK_FOUND);
    assert_int_equal(block.sequence, 2);
    assert_int_equal(*block.payload.at, 2);
    assert_int_equal(reading.why.text[0], '\0');
    assert_int_equal(read_next(&reading, &block), BLOCK_FOUND);
    assert_int_equal(block.sequence, 4);
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
            begin_reading(&reading, memory_file(file.at, file.size));
            reading.order.recording_id = 5;
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_given_in_their_order),
        cmocka_unit_test(only_so_many_blocks_wait),
        cmocka_unit_test(only_so_many_bytes_wait),
        cmocka_unit_test(what_waits_is_given_before_a_failure),
        cmocka_unit_test(the_lost_end_goes_up_to_the_end_of_the_file),
    };
    return run_all(tests);
}
