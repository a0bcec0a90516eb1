/* SPDX-License-Identifier: MIT */
/* What is predicted comes back byte for byte, whatever was predicted before it, and bytes that were never predicted do
 * no harm. */
#include "tests/fakes/testing.h"

#include "formats/codec/codec_predict.h"
#include "formats/stream/block_read.h"
#include "formats/stream/block_write.h"
#include "tests/fakes/payloads.h"
#include "tests/fakes/story.h"

#include <string.h>
#include <unistd.h>

#define ROUNDS 400

/* Whether it is predicted; then it has to come back. */
static bool comes_back(struct prediction *prediction, const struct bytes *payload)
{
    struct bytes predicted = { 0 }, back = { 0 };
    put_bytes(&predicted, "\xFF\xFF", 2);
    put_bytes(&back, "what was there", 14);
    const bool good = codec_predict_payload(prediction, payload, &predicted);
    assert_memory_equal(predicted.at, "\xFF\xFF", 2); /* nothing is carried into it */
    if (good) {
        const struct cursor from = cursor_of(predicted.at + 2, predicted.size - 2);
        assert_true(codec_predict_undo(prediction, from, payload->size, &back));
        assert_int_equal(back.size, 14 + payload->size);
        assert_memory_equal(back.at + 14, payload->at, payload->size);
    } else {
        assert_int_equal(predicted.size, 2);
    }
    bytes_free(&predicted);
    bytes_free(&back);
    return good;
}

static void what_is_predicted_comes_back(void **state)
{
    (void)state;
    uint64_t numbers = 1;
    unsigned predicted_ones = 0;
    struct prediction prediction = { 0 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct bytes sane = random_payload(&numbers, true), nonsense = random_payload(&numbers, false);
        predicted_ones += comes_back(&prediction, &sane);
        comes_back(&prediction, &nonsense);
        bytes_free(&sane);
        bytes_free(&nonsense);
    }
    assert_in_range(predicted_ones, ROUNDS * 9 / 10, ROUNDS);
    codec_predict_free(&prediction);
}

static void a_block_knows_nothing_of_those_before_it(void **state)
{
    (void)state;
    uint64_t numbers = 3;
    struct prediction used = { 0 };
    for (unsigned round = 0; round < 20; round++) {
        struct prediction fresh = { 0 };
        struct bytes payload = random_payload(&numbers, true), first = { 0 }, again = { 0 };
        assert_int_equal(codec_predict_payload(&fresh, &payload, &first),
                         codec_predict_payload(&used, &payload, &again));
        assert_int_equal(first.size, again.size);
        if (first.size > 0)
            assert_memory_equal(first.at, again.at, first.size);
        bytes_free(&payload);
        bytes_free(&first);
        bytes_free(&again);
        codec_predict_free(&fresh);
    }
    codec_predict_free(&used);
}

/* Notes whose sizes take one byte, two and three, and whose numbers take one to ten. */
static void notes_of_any_size_come_back(void **state)
{
    (void)state;
    static const size_t sizes[] = { 0, 1, 121, 122, 127, 128, 129, 16383, 16384, 20000 };
    static const uint64_t notes[] = { NOTE_STRING, NOTE_STATUS, NOTE_PROCESS, 99, UINT64_MAX >> 3 };
    struct prediction prediction = { 0 };
    for (size_t i = 0; i < countof(sizes) * countof(notes); i++) {
        struct bytes payload = { 0 };
        put_number(&payload, UINT64_MAX - i);
        put_long_note(&payload, notes[i % countof(notes)], sizes[i / countof(notes)]);
        /* Zeros take so little that a long row of them is told in another way. */
        assert_int_equal(comes_back(&prediction, &payload), sizes[i / countof(notes)] < 10000);
        bytes_free(&payload);
    }
    codec_predict_free(&prediction);
}

/* Puts a stack of `count` frames in place of what the thread had, which was nothing. */
static void put_stack(struct bytes *payload, uint64_t thread, size_t count, const uint32_t *frames, size_t frames_count)
{
    put_number(payload, thread << 3 | RECORD_SUFFIX);
    put_number(payload, 0);
    put_number(payload, count);
    uint64_t state = thread;
    for (size_t i = 0; i < count; i++)
        put_number(payload, frames[random_number(&state) % frames_count]);
}

/* Frames whose numbers take one byte to five, up to the deepest stack, all of which goes at last. */
static void frames_of_any_size_come_back(void **state)
{
    (void)state;
    static const uint32_t frames[] = { 1, 127, 128, 16383, 16384, 1u << 21, 1u << 28, UINT32_MAX - 1, 2, 300 };
    struct prediction prediction = { 0 };
    static const size_t counts[] = {
        1, 2, 23, 24, 25, 30, 400, PREDICTED_DEPTH - 1, PREDICTED_DEPTH, PREDICTED_DEPTH + 1
    };
    for (size_t i = 0; i < countof(counts); i++) {
        const size_t count = counts[i];
        struct bytes payload = { 0 };
        put_number(&payload, 0);
        put_stack(&payload, 3, count, frames, countof(frames));
        put_stack(&payload, 3, 2, frames, countof(frames));
        put_stack(&payload, UINT64_MAX >> 3, 2, frames, countof(frames));
        if (comes_back(&prediction, &payload) != (count <= PREDICTED_DEPTH))
            fail_msg("%zu frames", count);
        bytes_free(&payload);
    }
    codec_predict_free(&prediction);
}

/* Each byte turned, then each length. */
static void bytes_that_were_not_predicted_do_no_harm(void **state)
{
    (void)state;
    uint64_t numbers = 7;
    struct prediction prediction = { 0 };
    for (unsigned round = 0; round < 20; round++) {
        struct bytes payload = random_payload(&numbers, true), predicted = { 0 }, back = { 0 };
        if (!codec_predict_payload(&prediction, &payload, &predicted))
            predicted.size = 0;
        for (size_t i = 0; i < predicted.size && i < 100; i++) {
            const unsigned char before = predicted.at[i];
            predicted.at[i] = (unsigned char)(before ^ (1 + random_number(&numbers) % 255));
            back.size = 0;
            codec_predict_undo(&prediction, cursor_of(predicted.at, predicted.size), payload.size, &back);
            assert_in_range(back.size, 0, payload.size);
            predicted.at[i] = before;
            back.size = 0;
            codec_predict_undo(&prediction, cursor_of(predicted.at, i), payload.size, &back);
            assert_in_range(back.size, 0, payload.size);
        }
        put_bytes(&predicted, "xxxxx", 5);
        back.size = 0;
        if (predicted.size > 5)
            assert_false(codec_predict_undo(&prediction, cursor_of(predicted.at, predicted.size), payload.size, &back));
        bytes_free(&payload);
        bytes_free(&predicted);
        bytes_free(&back);
    }
    codec_predict_free(&prediction);
}

/* What only this codec refuses; the others are in payloads.c. */
static const struct strange_payload strange[] = {
    { "a stack that keeps more than there was", 5, { 0, 0x0B, 1, 1, 1 } },
    { "a stack that pops more than there was", 5, { 0, 0x0C, 1, 1, 1 } },
    { "a suffix where less goes than stays", 9, { 0, 0x0B, 0, 2, 1, 2, 0x0B, 2, 0 } },
    { "a pop where less stays than goes", 8, { 0, 0x0B, 0, 1, 1, 0x0C, 1, 0 } },
    { "a round of frames before the root", 8, { 0, 0x0B, 0, 3, 1, 0, 2, 2 } },
    { "a frame of 2^32 - 1", 9, { 0, 0x0B, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F } },
    { "a frame of more than 32 bits", 9, { 0, 0x0B, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F } },
};

static void what_would_not_come_back_is_not_predicted(void **state)
{
    (void)state;
    struct prediction prediction = { 0 };
    for (size_t i = 0; i < countof(strange) + strange_payloads_count; i++) {
        const struct strange_payload *row = i < countof(strange) ? &strange[i]
                                                                 : &strange_payloads[i - countof(strange)];
        const struct bytes payload = { (unsigned char *)row->bytes, row->size, row->size };
        if (comes_back(&prediction, &payload))
            fail_msg("%s", row->what);
    }
    codec_predict_free(&prediction);
}

/* A thread that has no frame, in a block before which nothing was told. */
static void an_empty_stack_comes_back(void **state)
{
    (void)state;
    static const unsigned char bytes[] = { 0, 1 << 3 | RECORD_SUFFIX, 0, 0 };
    struct prediction prediction = { 0 };
    assert_true(comes_back(&prediction, &(struct bytes){ (unsigned char *)bytes, sizeof(bytes), sizeof(bytes) }));
    codec_predict_free(&prediction);
}

/* What takes little to tell and much to make, and what is too large. */
static void work_is_bounded(void **state)
{
    (void)state;
    struct prediction prediction = { 0 };
    for (unsigned rounds = 15; rounds <= 17; rounds++) {
        struct bytes payload = { 0 };
        put_number(&payload, 0);
        for (unsigned i = 0; i < rounds; i++) { /* 4,096 repeated frames each, of other threads */
            put_number(&payload, i << 3 | RECORD_SUFFIX);
            put_number(&payload, 0);
            put_number(&payload, 4096);
            put_bytes(&payload, "\x01\x00\x01", 3);
            put_number(&payload, 4095);
        }
        assert_int_equal(comes_back(&prediction, &payload), rounds * 4095 <= 65536);
        bytes_free(&payload);
    }
    uint64_t numbers = 1;
    struct bytes large = { 0 };
    put_number(&large, 0);
    while (large.size < PREDICT_MOST)
        put_number(&large, (random_number(&numbers) & 15) << 3 | RECORD_TICK);
    assert_int_equal(large.size, PREDICT_MOST);
    assert_true(comes_back(&prediction, &large));
    put_number(&large, RECORD_TICK);
    assert_false(comes_back(&prediction, &large));
    struct bytes back = { 0 };
    assert_false(codec_predict_undo(&prediction, cursor_of(large.at, large.size), PREDICT_MOST + 1, &back));
    assert_false(codec_predict_undo(&prediction, cursor_of(large.at, large.size), 0, &back));
    assert_false(codec_predict_undo(&prediction, cursor_of(large.at, 10), 10 * PREDICT_RATIO + 1, &back));
    bytes_free(&back);
    bytes_free(&large);
    codec_predict_free(&prediction);
}

/* ---- blocks ---- */

/* Stacks that are mostly new, of a few functions: what each calls depends on who called it. */
static struct bytes wandering(unsigned records)
{
    struct bytes payload = { 0 };
    uint64_t state = 5, stack[64] = { 1, 2 }, depth = 2;
    put_number(&payload, 0);
    for (unsigned i = 0; i < records; i++) {
        const uint64_t keep = i == 0 ? 0 : depth - random_number(&state) % 4 % (depth - 1),
                       pop = i == 0 ? 0 : depth - keep;
        const uint64_t now = (keep < 2 ? 2 : keep) + (keep < 40 ? random_number(&state) % 8 : 0);
        put_number(&payload, RECORD_TICK);
        put_number(&payload, 1 << 3 | (pop < keep ? RECORD_POP_PUSH : RECORD_SUFFIX));
        put_number(&payload, pop < keep ? pop : keep);
        put_number(&payload, now - keep);
        for (uint64_t at = keep; at < now; at++) {
            if (at >= 2)
                stack[at] = 1 + (stack[at - 1] * 5 + stack[at - 2] * 7 + 3) % 16;
            put_number(&payload, stack[at]);
        }
        depth = now;
    }
    return payload;
}

static void a_block_is_predicted_where_that_pays(void **state)
{
    (void)state;
    static const struct {
        unsigned records;
        enum stream_codec codec;
        int level;
        enum stream_codec is;
    } rows[] = {
        { 3200, CODEC_PREDICTED, 0, CODEC_PREDICTED }, { 3200, CODEC_PREDICTED, 3, CODEC_GROUPED },
        { 3200, CODEC_GROUPED, 0, CODEC_GROUPED },     { 800, CODEC_PREDICTED, 0, CODEC_GROUPED },
        { 6400, CODEC_PREDICTED, 0, CODEC_GROUPED },
    };
    size_t sizes[countof(rows)];
    for (size_t i = 0; i < countof(rows); i++) {
        struct bytes payload = wandering(rows[i].records);
        struct bytes file = recording_of(&payload, 3, rows[i].codec, rows[i].level);
        assert_int_equal(file.at[EVENTS_BLOCK_AT + STREAM_CODEC_AT], rows[i].is);
        sizes[i] = file.size;
        bytes_free(&file);
        bytes_free(&payload);
    }
    assert_in_range(sizes[0], 1, sizes[2] * 2 / 3 + 100);
}

/* Where it is only a little smaller the first block is predicted and no other.
 * As long as it does not pay it is tried less and less often, and later it is still found when it does. */
static void what_did_not_pay_is_tried_less_often(void **state)
{
    (void)state;
    uint64_t numbers = 1;
    struct bytes little = wandering(3200), payload = wandering(3200);
    while (little.size < 24000) /* of which there is nothing to be won */
        put_number(&little, (random_number(&numbers) & 31) << 3 | RECORD_TICK);
    const int fd = memory_file("", 0);
    struct block_writer writer;
    block_writer_open(&writer, fd, CODEC_PREDICTED, 0);
    assert_true(block_write(&writer, BLOCK_HEADER, &little, NULL));
    assert_true(block_write(&writer, BLOCK_EVENTS, &little, NULL));
    assert_int_equal(writer.stored.at[STREAM_CODEC_AT], CODEC_PREDICTED);
    unsigned tried = 0;
    for (unsigned i = 0; i < 400; i++) {
        tried += writer.pause == 0;
        assert_true(block_write(&writer, BLOCK_EVENTS, &little, NULL));
        assert_int_equal(writer.stored.at[STREAM_CODEC_AT], CODEC_GROUPED);
    }
    assert_in_range(tried, 400 / 16, 50);
    unsigned until = 0;
    do {
        assert_true(block_write(&writer, BLOCK_EVENTS, &payload, NULL));
        until++;
    } while (writer.stored.at[STREAM_CODEC_AT] != CODEC_PREDICTED && until < 100);
    assert_in_range(until, 1, 16);
    assert_true(block_write(&writer, BLOCK_EVENTS, &payload, NULL));
    assert_int_equal(writer.stored.at[STREAM_CODEC_AT], CODEC_PREDICTED);
    block_writer_close(&writer);
    close(fd);
    bytes_free(&little);
    bytes_free(&payload);
}

/* A reader of version 2 passes over predicted blocks, and what a recording says never changes. */
static void no_block_is_predicted_in_a_recording_of_an_earlier_version(void **state)
{
    (void)state;
    struct bytes payload = wandering(3200);
    assert_read_since(3, &payload, CODEC_PREDICTED, 0);
    bytes_free(&payload);
}

TEST_FILE(codec_predict)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_predicted_comes_back),
        cmocka_unit_test(a_block_knows_nothing_of_those_before_it),
        cmocka_unit_test(notes_of_any_size_come_back),
        cmocka_unit_test(frames_of_any_size_come_back),
        cmocka_unit_test(bytes_that_were_not_predicted_do_no_harm),
        cmocka_unit_test(what_would_not_come_back_is_not_predicted),
        cmocka_unit_test(an_empty_stack_comes_back),
        cmocka_unit_test(work_is_bounded),
        cmocka_unit_test(a_block_is_predicted_where_that_pays),
        cmocka_unit_test(what_did_not_pay_is_tried_less_often),
        cmocka_unit_test(no_block_is_predicted_in_a_recording_of_an_earlier_version),
    };
    return run_all(tests);
}
