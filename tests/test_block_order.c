/* SPDX-License-Identifier: MIT */
/* In which order the blocks of a file are given that stand in it in any order, and what is said of it. */
#include "formats/block_order.h"
#include "formats/block_write.h"
#include "tests/story.h"
#include "tests/testing.h"

#include <unistd.h>

/* ---- files ---- */

struct making {
    struct block_writer writer;
    int fd;
};

static void begin_file(struct making *making)
{
    making->fd = memory_file("", 0);
    block_writer_open(&making->writer, making->fd, CODEC_PLAIN, 0);
    assert_true(block_write(&making->writer, BLOCK_HEADER, &(struct bytes){ (unsigned char *)"", 1, 0 }, NULL));
}

static void put_block(struct making *making, unsigned kind, uint32_t sequence, const void *payload, size_t size)
{
    making->writer.sequence = sequence;
    const struct bytes bytes = { (unsigned char *)payload, size, 0 };
    assert_true(block_write(&making->writer, (enum stream_block)kind, &bytes, NULL));
}

/* Of a recording with this mark. */
static void put_events(struct making *making, uint32_t sequence, unsigned char mark)
{
    const unsigned char payload[] = { 0, NOTE_MARK << 3 | RECORD_NOTE, 1, mark };
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
    const uint32_t due = reading->order.next;
    const enum block_found found = block_in_order(&reading->order, &reading->blocks, block, &skipped, &reading->why);
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

/* ---- other recordings ---- */

/* The bytes behind the last block that is ours tell how much is lost, whatever good blocks are among them. */
static void the_lost_end_goes_up_to_the_end_of_the_file(void **state)
{
    (void)state;
    static const struct {
        uint32_t sequence;
        unsigned char mark;
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
            put_events(&making, strange[i].sequence, strange[i].mark);
            put_events(&making, strange[i].sequence, strange[i].mark);
            assert_int_equal(write(making.fd, "more", 4), 4);
            const uint64_t strange_size = making.writer.written - good_size;
            if (ours_follows)
                put_events(&making, 2, 5);
            struct bytes file = end_file(&making);
            begin_reading(&reading, memory_file(file.at, file.size));
            reading.order.mark = 5;
            for (unsigned given = 0; given <= ours_follows; given++)
                assert_int_equal(read_next(&reading, &block), BLOCK_FOUND);
            assert_int_equal(read_next(&reading, &block), BLOCK_NO_MORE);
            const struct damage *damage = &reading.blocks.damage;
            const bool other = strange[i].mark != 5;
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
        cmocka_unit_test(the_lost_end_goes_up_to_the_end_of_the_file),
    };
    return run_all(tests);
}
