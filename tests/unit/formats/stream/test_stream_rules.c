/* SPDX-License-Identifier: MIT */
/* The rules of schemas/stream.md for what stands in a block, each with a payload that keeps or breaks it. */
#include "formats/stream/stream_fields.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

#define TAG(kind, argument) (unsigned char)((argument) << 3 | (kind))
#define TICK_ON_TIME        TAG(RECORD_TICK, 0)
#define REPEAT(count)       TAG(RECORD_REPEAT, count)
#define SUFFIX(thread)      TAG(RECORD_SUFFIX, thread)
#define POP_PUSH(thread)    TAG(RECORD_POP_PUSH, thread)
#define ABSENT(thread)      TAG(RECORD_ABSENT, thread)
#define FAIL(thread)        TAG(RECORD_FAILED, thread)
#define NOTE(kind)          TAG(RECORD_NOTE, kind)
#define NOTE_OF_LATER(kind) (NOTE(kind) & 0x7F) | 0x80, NOTE(kind) >> 7 /* from 16 on */

/* Behind base 0 and notes that define two threads and the frames 1 "f" and 2 "g". The interval is 10 ms, the unit 1 ms.
 * Each row is the records, the ticks they give, and whether the block is broken. */
struct rule {
    const char *what;
    unsigned char records[40];
    size_t size;
    const char *ticks;
    bool broken;
};

static const struct rule rules[] = {
    { "nothing", { 0 }, 0, "", false },
    { "a tick that samples nothing", { TICK_ON_TIME }, 1, "10000000 tick\n", false },
    { "late, then early", { TAG(RECORD_TICK, 6), TAG(RECORD_TICK, 5) }, 2, "13000000 tick\n17000000 tick\n", false },
    { "times may stand still", { TICK_ON_TIME, TAG(RECORD_TICK, 19) }, 3 - 1, "", true },
    { "SUFFIX",
      { TICK_ON_TIME, SUFFIX(1), 0, 2, 1, 2 },
      6,
      "10000000 thread 1; f (:1); g (:2)\n10000000 tick\n",
      false },
    { "POP-PUSH of nothing",
      { TICK_ON_TIME, POP_PUSH(1), 0, 1, 2 },
      5,
      "10000000 thread 1; g (:2)\n10000000 tick\n",
      false },
    { "frames of a recursion",
      { TICK_ON_TIME, SUFFIX(1), 0, 7, 2, 1, 0, 2, 3, 0, 1, 2 },
      12,
      "10000000 thread 1; g (:2); f (:1); g (:2); f (:1); g (:2); g (:2); g (:2)\n10000000 tick\n",
      false },
    { "repeated frames without any before", { TICK_ON_TIME, SUFFIX(1), 0, 7, 0, 1, 7 }, 7, "", true },
    { "repeated frames from nowhere", { TICK_ON_TIME, SUFFIX(1), 0, 7, 1, 0, 0, 6 }, 8, "", true },
    { "repeated frames from too far", { TICK_ON_TIME, SUFFIX(1), 0, 7, 1, 0, 2, 6 }, 8, "", true },
    { "repeated frames beyond the stack", { TICK_ON_TIME, SUFFIX(1), 0, 7, 1, 0, 1, 7 }, 8, "", true },
    { "an empty stack", { TICK_ON_TIME, SUFFIX(1), 0, 0 }, 4, "10000000 thread 1\n10000000 tick\n", false },
    { "keep and pop",
      { TICK_ON_TIME, SUFFIX(1), 0, 3, 1, 2, 1, TICK_ON_TIME, POP_PUSH(1), 2, 1, 1, TICK_ON_TIME, SUFFIX(1), 1, 1, 2 },
      17,
      "10000000 thread 1; f (:1); g (:2); f (:1)\n10000000 tick\n20000000 thread 1; f (:1); f (:1)\n20000000 tick\n"
      "30000000 thread 1; f (:1); g (:2)\n30000000 tick\n",
      false },
    { "REPEAT samples again",
      { TICK_ON_TIME, SUFFIX(2), 0, 1, 1, REPEAT(2) },
      6,
      "10000000 thread 2; f (:1)\n10000000 tick\n20000000 thread 2; f (:1)\n20000000 tick\n30000000 thread 2; f (:1)\n"
      "30000000 tick\n",
      false },
    { "ABSENT keeps the stack for later",
      { TICK_ON_TIME, SUFFIX(1), 0, 1, 1, TICK_ON_TIME, ABSENT(1), TICK_ON_TIME, SUFFIX(1), 1, 0 },
      11,
      "10000000 thread 1; f (:1)\n10000000 tick\n20000000 tick\n30000000 thread 1; f (:1)\n30000000 tick\n",
      false },
    { "FAILED is expected again",
      { TICK_ON_TIME, SUFFIX(1), 0, 1, 1, TICK_ON_TIME, FAIL(1), 2, TICK_ON_TIME },
      9,
      "10000000 thread 1; f (:1)\n10000000 tick\n20000000 thread 1 failed: memory unreadable\n20000000 tick\n"
      "30000000 thread 1; f (:1)\n30000000 tick\n",
      false },
    { "FAILED for all samples nothing",
      { TICK_ON_TIME, SUFFIX(1), 0, 1, 1, TICK_ON_TIME, FAIL(0), 5, TICK_ON_TIME },
      9,
      "10000000 thread 1; f (:1)\n10000000 tick\n20000000 thread 0 failed: list of threads unreadable\n20000000 tick\n"
      "30000000 thread 1; f (:1)\n30000000 tick\n",
      false },
    { "FAILED of an unknown cause",
      { TICK_ON_TIME, FAIL(0), 99 },
      3,
      "10000000 thread 0 failed: unknown\n10000000 tick\n",
      false },
    { "STATUS holds from its tick on",
      { TICK_ON_TIME, NOTE(NOTE_STATUS), 3, 1, 2, 9, SUFFIX(1), 0, 1, 1, TICK_ON_TIME, TICK_ON_TIME, NOTE(NOTE_STATUS),
        3, 1, 1, 30 },
      17,
      "10000000 thread 1 status 42 cpu 9000000; f (:1)\n10000000 tick\n"
      "20000000 thread 1 status 42 cpu 10000000; f (:1)\n20000000 tick\n"
      "30000000 thread 1 status 41 cpu 11000000; f (:1)\n30000000 tick\n",
      false },
    { "a status has bits above the lowest seven",
      { TICK_ON_TIME, NOTE(NOTE_STATUS), 4, 1, 0x82, 1, 9, SUFFIX(1), 0, 1, 1 },
      11,
      "10000000 thread 1 status c2 cpu 9000000; f (:1)\n10000000 tick\n",
      false },
    { "bits of STATUS for later versions are ignored, and so is what comes behind",
      { TICK_ON_TIME, NOTE(NOTE_STATUS), 5, 1, 0xE8, 2, 0, 7, SUFFIX(1), 0, 1, 1 },
      12,
      "10000000 thread 1 status 48 cpu 0; f (:1)\n10000000 tick\n",
      false },
    { "STATUS outside a tick", { NOTE(NOTE_STATUS), 3, 1, 2, 9, TICK_ON_TIME }, 6, "", true },
    { "STATUS of thread 0", { TICK_ON_TIME, NOTE(NOTE_STATUS), 3, 0, 2, 9 }, 6, "", true },
    { "STATUS without its CPU time", { TICK_ON_TIME, NOTE(NOTE_STATUS), 2, 1, 2 }, 5, "", true },
    { "CPU time that goes back",
      { TICK_ON_TIME, NOTE(NOTE_STATUS), 3, 1, 2, 9, TICK_ON_TIME, NOTE(NOTE_STATUS), 3, 1, 2, 8 },
      12,
      "10000000 tick\n",
      true },
    { "THREAD_TASK holds from its tick on, and what comes behind its fields is ignored",
      { TICK_ON_TIME, NOTE(NOTE_THREAD_TASK), 2, 1, 1, SUFFIX(1), 0, 1, 1, TICK_ON_TIME, TICK_ON_TIME,
        NOTE(NOTE_THREAD_TASK), 3, 1, 0, 0xFF },
      16,
      "10000000 thread 1 task 1; f (:1)\n10000000 tick\n"
      "20000000 thread 1 task 1; f (:1)\n20000000 tick\n"
      "30000000 thread 1; f (:1)\n30000000 tick\n",
      false },
    { "an entry of a task begins with it",
      { TICK_ON_TIME, SUFFIX(3), 0, 1, 1 },
      5,
      "10000000 thread 3 task 2; f (:1)\n10000000 tick\n",
      false },
    { "THREAD_TASK outside a tick", { NOTE(NOTE_THREAD_TASK), 2, 1, 1, TICK_ON_TIME }, 5, "", true },
    { "THREAD_TASK of thread 0", { TICK_ON_TIME, NOTE(NOTE_THREAD_TASK), 2, 0, 1 }, 5, "", true },
    { "THREAD_TASK without its task", { TICK_ON_TIME, NOTE(NOTE_THREAD_TASK), 1, 1 }, 4, "", true },
    { "THREAD_TASK of an undefined task",
      { TICK_ON_TIME, NOTE(NOTE_THREAD_TASK), 2, 1, 3, SUFFIX(1), 0, 1, 1 },
      9,
      "",
      true },
    { "THREAD_CALLBACK holds from its tick on, and what comes behind its fields is ignored",
      { TICK_ON_TIME, NOTE_OF_LATER(NOTE_THREAD_CALLBACK), 2, 1, 9, SUFFIX(1), 0, 1, 1, TICK_ON_TIME, TICK_ON_TIME,
        NOTE_OF_LATER(NOTE_THREAD_CALLBACK), 3, 1, 0, 0xFF },
      18,
      "10000000 thread 1 callback since 9000000; f (:1)\n10000000 tick\n"
      "20000000 thread 1 callback since 9000000; f (:1)\n20000000 tick\n"
      "30000000 thread 1; f (:1)\n30000000 tick\n",
      false },
    { "THREAD_CALLBACK outside a tick", { NOTE_OF_LATER(NOTE_THREAD_CALLBACK), 2, 1, 0, TICK_ON_TIME }, 6, "", true },
    { "THREAD_CALLBACK of thread 0", { TICK_ON_TIME, NOTE_OF_LATER(NOTE_THREAD_CALLBACK), 2, 0, 1 }, 6, "", true },
    { "THREAD_CALLBACK without its time", { TICK_ON_TIME, NOTE_OF_LATER(NOTE_THREAD_CALLBACK), 1, 1 }, 5, "", true },
    { "a callback that begins later", { TICK_ON_TIME, NOTE_OF_LATER(NOTE_THREAD_CALLBACK), 2, 1, 11 }, 6, "", true },
    { "a task twice", { NOTE(NOTE_TASK), 5, 2, 1, 0, 1, 'x', TICK_ON_TIME }, 8, "", true },
    { "a task without its name", { NOTE(NOTE_TASK), 3, 3, 1, 0, TICK_ON_TIME }, 6, "", true },
    { "LEFT OUT", { NOTE(NOTE_LEFT_OUT), 4, 1, 5, 3, 0, TICK_ON_TIME }, 7, "10000000 tick\n", false },
    { "LEFT OUT of an undefined thread", { NOTE(NOTE_LEFT_OUT), 4, 9, 5, 3, 0, TICK_ON_TIME }, 7, "", true },
    { "an unknown note is skipped", { 0xE7, 18, 3, 0xFF, 0xFF, 0xFF, TICK_ON_TIME }, 7, "10000000 tick\n", false },
    { "bytes behind a note's fields are ignored",
      { NOTE(NOTE_MISSED), 3, 1, 0xFF, 0xFF, TICK_ON_TIME },
      6,
      "10000000 tick\n",
      false },
    { "a counter, and bytes behind it",
      { NOTE(NOTE_COUNTER), 5, 2, '_', '9', 7, 0xFF, TICK_ON_TIME },
      8,
      "10000000 tick\n",
      false },
    { "a counter without a name", { NOTE(NOTE_COUNTER), 2, 0, 7, TICK_ON_TIME }, 5, "", true },
    { "a counter with a name that is none", { NOTE(NOTE_COUNTER), 3, 1, 'A', 7, TICK_ON_TIME }, 6, "", true },
    { "a counter without a value", { NOTE(NOTE_COUNTER), 2, 1, 'a', TICK_ON_TIME }, 5, "", true },
    { "a cut note", { TICK_ON_TIME, NOTE(NOTE_STRING), 9, 3, 1, 'x' }, 6, "", true },
    { "a note without its fields", { NOTE(NOTE_FUNCTION), 2, 3, 1, TICK_ON_TIME }, 5, "", true },
    { "a definition out of turn", { NOTE(NOTE_STRING), 3, 9, 1, 'x', TICK_ON_TIME }, 6, "", true },
    { "kind 0", { 0x08, TICK_ON_TIME }, 2, "", true },
    { "a record of zeros", { 0, TICK_ON_TIME }, 2, "", true },
    { "REPEAT of nothing", { REPEAT(0) }, 1, "", true },
    { "SUFFIX outside a tick", { SUFFIX(1), 0, 1, 1 }, 4, "", true },
    { "SUFFIX behind REPEAT", { REPEAT(1), SUFFIX(1), 0, 1, 1 }, 5, "10000000 tick\n", true },
    { "ABSENT outside a tick", { ABSENT(1) }, 1, "", true },
    { "FAILED outside a tick", { FAIL(0), 1 }, 2, "", true },
    { "thread 0", { TICK_ON_TIME, SUFFIX(0), 0, 1, 1 }, 5, "", true },
    { "an undefined thread", { TICK_ON_TIME, SUFFIX(9), 0, 1, 1 }, 5, "", true },
    { "an undefined frame", { TICK_ON_TIME, SUFFIX(1), 0, 1, 3 }, 5, "", true },
    { "frame 0", { TICK_ON_TIME, SUFFIX(1), 0, 1, 0 }, 5, "", true },
    { "a thread twice in a tick",
      { TICK_ON_TIME, SUFFIX(1), 0, 1, 1, ABSENT(1) },
      6,
      "10000000 thread 1; f (:1)\n",
      true },
    { "more kept than there is", { TICK_ON_TIME, SUFFIX(1), 1, 1, 1 }, 5, "", true },
    { "more popped than there is", { TICK_ON_TIME, POP_PUSH(1), 1, 1, 1 }, 5, "", true },
    { "more frames than bytes", { TICK_ON_TIME, SUFFIX(1), 0, 3, 1, 1 }, 6, "", true },
    { "a cut number", { TICK_ON_TIME, SUFFIX(1), 0, 1, 0x81 }, 5, "", true },
    { "a cut tag", { TICK_ON_TIME, 0x89 }, 2, "", true },
    { "a thread whose stack was never told",
      { TICK_ON_TIME, FAIL(1), 1, TICK_ON_TIME, TICK_ON_TIME },
      5,
      "10000000 thread 1 failed: changed while read\n10000000 tick\n",
      true },
};

#define STANDS(size) 0x87, 1, size
static const struct rule stands_rules[] = {
    { "STANDS holds from its tick on, and what comes behind its fields is ignored",
      { TICK_ON_TIME, SUFFIX(1), 0, 1, 1, TICK_ON_TIME, STANDS(2), 7, 0xFF, REPEAT(1), TICK_ON_TIME, STANDS(1), 9,
        SUFFIX(1), 1, 0 },
      20,
      "10000000 thread 1; f (:1)\n10000000 tick\n"
      "20000000 thread 1 stands 7; f (:1)\n20000000 tick\n"
      "30000000 thread 1 stands 7; f (:1)\n30000000 tick\n"
      "40000000 thread 1 stands 9; f (:1)\n40000000 tick\n",
      false },
    { "STANDS of an interval",
      { TICK_ON_TIME, STANDS(1), 7, SUFFIX(1), 0, 1, 1, TICK_ON_TIME, STANDS(4), 0x80, 0xAD, 0xE2, 0x04 },
      17,
      "10000000 thread 1 stands 7; f (:1)\n10000000 tick\n20000000 thread 1; f (:1)\n20000000 tick\n",
      false },
    { "STANDS behind records that sample nothing",
      { TICK_ON_TIME, SUFFIX(1), 0, 1, 1, TICK_ON_TIME, FAIL(1), 2, STANDS(1), 7, SUFFIX(2), 0, 1, 2 },
      16,
      "10000000 thread 1; f (:1)\n10000000 tick\n20000000 thread 1 failed: memory unreadable\n"
      "20000000 thread 2 stands 7; g (:2)\n20000000 tick\n",
      false },
    { "STANDS outside a tick", { STANDS(1), 7, TICK_ON_TIME }, 5, "", true },
    { "STANDS behind REPEAT", { REPEAT(1), STANDS(1), 7 }, 5, "10000000 tick\n", true },
    { "STANDS behind a sample",
      { TICK_ON_TIME, SUFFIX(1), 0, 1, 1, STANDS(1), 7 },
      9,
      "10000000 thread 1; f (:1)\n",
      true },
    { "STANDS twice in a tick", { TICK_ON_TIME, STANDS(1), 7, STANDS(1), 7 }, 9, "", true },
    { "STANDS for nothing", { TICK_ON_TIME, STANDS(1), 0 }, 5, "", true },
    { "STANDS for the longest",
      { TICK_ON_TIME, STANDS(6), 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, SUFFIX(1), 0, 1, 1 },
      14,
      "10000000 thread 1 stands 4398046511103; f (:1)\n10000000 tick\n",
      false },
    { "STANDS for too long",
      { TICK_ON_TIME, STANDS(7), 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, SUFFIX(1), 0, 1, 1 },
      17,
      "",
      true },
    { "STANDS without its time", { TICK_ON_TIME, STANDS(0), TICK_ON_TIME }, 5, "", true },
};

static struct bytes definitions(void)
{
    static const struct event events[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = 10 * MS, .time_unit_ns = MS } },
        PROCESS(1, 7, "/"),
        THREAD(1, 1, 7, "a"),
        THREAD(2, 1, 8, "b"),
        TASK(1, 1, "t"),
        TASK(2, 1, "u"),
        TASK_ENTRY(3, 1, 8, 2, "u"),
        STRING(1, "f"),
        STRING(2, "g"),
        FUNCTION(1, 1, 0, 1),
        FUNCTION(2, 2, 0, 1),
        FRAME(1, 1, 1),
        FRAME(2, 2, 2),
        { EVENT_END, .end = { .reason = END_SIGNAL } },
    };
    return stream_of(events, countof(events), CODEC_PLAIN);
}

/* The payload of the events block of a plain stream. */
static struct cursor payload_of(const struct bytes *stream)
{
    struct block_reader reader;
    struct block block;
    const int fd = memory_file(stream->at, stream->size);
    block_reader_open(&reader, fd);
    assert_true(block_read_magic(&reader, NULL));
    assert_int_equal(block_read(&reader, &block, NULL), BLOCK_FOUND);
    const size_t header = cursor_left(&block.payload);
    assert_int_equal(block_read(&reader, &block, NULL), BLOCK_FOUND);
    const size_t size = cursor_left(&block.payload);
    block_reader_close(&reader);
    return cursor_of(stream->at + STREAM_MAGIC_SIZE + 2 * STREAM_BLOCK_HEADER + header, size);
}

/* A block is of one second: a REPEAT of a million ticks is a lie, and does not keep us busy. */
static void a_block_has_no_more_ticks_than_seconds(void **state)
{
    (void)state;
    static const unsigned char events[] = { 0, 0xFA, 0xFF, 0xFF, 0x7F };
    struct bytes header = { 0 };
    struct playback playback = { 0 };
    stream_fields_put_number(&header, 1, 1);
    stream_fields_put_number(&header, 8, 10 * MS);
    stream_fields_put_number(&header, 9, MS);
    struct bytes file = stream_of_payloads(&header, events, sizeof(events));
    playback_read(&playback, file.at, file.size);
    assert_int_equal(playback.reader.blocks.damage.blocks, 1);
    assert_true(playback.journal.tables.ticks <= 202);
    playback_free(&playback);
    bytes_free(&file);
    bytes_free(&header);
}

static void hold(const struct rule *rule, const struct bytes *header, struct cursor notes)
{
    struct bytes events = { 0 };
    struct playback playback = { 0 };
    put_bytes(&events, notes.at, cursor_left(&notes));
    put_bytes(&events, rule->records, rule->size);
    struct bytes file = stream_of_payloads(header, events.at, events.size);
    playback_read(&playback, file.at, file.size);
    char *ticks = journal_ticks(&playback.journal);
    if (strcmp(ticks, rule->ticks) != 0 || playback.reader.blocks.damage.blocks != rule->broken)
        fail_msg("%s: %lu broken, %s", rule->what, playback.reader.blocks.damage.blocks, ticks);
    free(ticks);
    playback_free(&playback);
    bytes_free(&file);
    bytes_free(&events);
}

static void hold_all(const struct rule *held, size_t count)
{
    struct bytes known = definitions(), header = { 0 };
    const struct cursor notes = payload_of(&known);
    stream_fields_put_number(&header, HEADER_VERSION, STREAM_VERSION);
    stream_fields_put_number(&header, 8, 10 * MS);
    stream_fields_put_number(&header, 9, MS);
    stream_fields_put_number(&header, HEADER_RECORDING_ID, block_read_recording_id(BLOCK_EVENTS, notes));
    for (size_t i = 0; i < count; i++)
        hold(&held[i], &header, notes);
    bytes_free(&header);
    bytes_free(&known);
}

static void each_rule_is_held(void **state)
{
    (void)state;
    hold_all(rules, countof(rules));
    hold_all(stands_rules, countof(stands_rules));
}

TEST_FILE(stream_rules)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_has_no_more_ticks_than_seconds),
        cmocka_unit_test(each_rule_is_held),
    };
    return run_all(tests);
}
