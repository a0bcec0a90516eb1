/* SPDX-License-Identifier: MIT */
/* Recordings of several processes, each of which has its own ticks: written, read again, and the rules for them. */
#include "formats/stream/stream_fields.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OF_PROCESSES                                                                                                   \
    {                                                                                                                  \
        EVENT_RECORDING, .recording = {.interval_ns = 10 * MS, .time_unit_ns = MS / 4, .process_ticks = 1 }            \
    }
#define CHILD(number, pid, parent, parent_pid)                                                                         \
    {                                                                                                                  \
        EVENT_PROCESS, .process = {                                                                                    \
            number,                                                                                                    \
            pid,                                                                                                       \
            5 * MS,                                                                                                    \
            0x030f02f0,                                                                                                \
            T("/usr/bin/python3"),                                                                                     \
            T("python3 w.py"),                                                                                         \
            T("/"),                                                                                                    \
            0,                                                                                                         \
            T(""),                                                                                                     \
            parent_pid,                                                                                                \
            parent,                                                                                                    \
            T(""),                                                                                                     \
            T(""),                                                                                                     \
            0                                                                                                          \
        }                                                                                                              \
    }
#define TICK_OF(process, ns)                                                                                           \
    {                                                                                                                  \
        EVENT_TICK, .tick_ns = ns, .tick_process = process                                                             \
    }
#define ENDS(process, ns, fate, status)                                                                                \
    {                                                                                                                  \
        EVENT_PROCESS_END, .process_end = { process, ns, fate, status }                                                \
    }
#define DEFINED                                                                                                        \
    PROCESS(1, 70, "/"), THREAD(1, 1, 70, "python3"), THREAD(2, 1, 71, "other"), CHILD(2, 80, 1, 70),                  \
        THREAD(3, 2, 80, "python3"), THREAD(4, 2, 81, "worker"), STRING(1, "f"), FUNCTION(1, 1, 0, 1), FRAME(1, 1, 1), \
        FRAME(2, 1, 2)

/* Two processes that alternate, at one moment and at others. One is looked at rarely. */
static const struct event alternating[] = {
    OF_PROCESSES,
    DEFINED,
    SAMPLE(10 * MS, 1, 0, 1),
    SAMPLE(10 * MS, 2, 0, 1, 2),
    TICK_OF(1, 10 * MS),
    SAMPLE(10 * MS, 3, 0, 2),
    SAMPLE(10 * MS, 4, 0, 2, 2),
    TICK_OF(2, 10 * MS),
    SAME(12 * MS, 1, 1), /* the other process has no sample, and is not absent */
    SAME(12 * MS, 2, 2),
    TICK_OF(1, 12 * MS),
    SAME(20 * MS, 1, 1),
    TICK_OF(1, 20 * MS), /* thread 2 is absent */
    { EVENT_MISSED, .missed = 3, .missed_process = 2 },
    STANDS_SAME(52 * MS, 3, 1, 30 * MS),
    STANDS_SAME(52 * MS, 4, 2, 30 * MS),
    TICK_OF(2, 52 * MS),
    SAME(53 * MS, 1, 1), /* it stands for an interval as before */
    TICK_OF(1, 53 * MS),
    { EVENT_FAILED, .failed = { 0, FAILURE_THREADS, 55 * MS, 2 } },
    TICK_OF(2, 55 * MS),
    STANDS_SAME(85 * MS, 3, 1, 30 * MS),
    FAILED(85 * MS, 4, FAILURE_CHANGED),
    TICK_OF(2, 85 * MS),
    SAMPLE(90 * MS, 2, 1, 1), /* back again, with a part of its stack */
    SAME(90 * MS, 1, 1),
    TICK_OF(1, 90 * MS),
    TICK_OF(1, 100 * MS), /* nobody was there */
    STANDS_SAME(100 * MS, 3, 1, 30 * MS),
    STANDS_SAME(100 * MS, 4, 2, 30 * MS),
    TICK_OF(2, 100 * MS),
    ENDS(2, 100 * MS, FATE_EXITED, 9),
    CHILD(3, 80, 2, 70),
    ENDS(1, 101 * MS, FATE_EXECED, -1),
    ENDS(3, 102 * MS, FATE_LEFT, -1),
    { EVENT_END, .end = { END_TARGET, 102 * MS, 11, 15, 3, 2, 0 } },
};

static void ticks_of_processes_come_back(void **state)
{
    (void)state;
    for (enum stream_codec codec = CODEC_PLAIN; codec <= CODEC_GROUPED; codec++) {
        struct playback playback = { 0 };
        struct bytes stream = assert_story_comes_back(&playback, alternating, countof(alternating), codec);
        const struct process_row *rows = playback.journal.tables.processes;
        assert_int_equal(rows[2].process.parent, 1);
        assert_int_equal(rows[2].process.parent_pid, 70);
        assert_int_equal(rows[2].fate, FATE_EXITED);
        assert_int_equal(rows[2].wait_status, 9);
        assert_int_equal(rows[3].process.parent, 2);
        assert_int_equal(rows[1].fate, FATE_EXECED);
        playback_free(&playback);
        bytes_free(&stream);
    }
}

/* ---- runs ---- */

struct heard {
    struct journal journal;
    uint64_t samples[5], ticks[3]; /* by thread, by process */
    uint64_t first_ns[5], last_ns[5];
    uint32_t runs[5], fresh[5];
};

static bool hear(void *self, struct event *event, struct fault *why)
{
    struct heard *heard = self;
    if (event->kind == EVENT_TICK)
        heard->ticks[event->tick_process] += 1 + event->more_ticks;
    if (event->kind == EVENT_SAMPLE) {
        const struct sample *sample = &event->sample;
        heard->samples[sample->thread] += sample->count;
        heard->runs[sample->thread]++;
        heard->fresh[sample->thread] += sample->fresh;
        if (!heard->first_ns[sample->thread])
            heard->first_ns[sample->thread] = sample->first_ns;
        heard->last_ns[sample->thread] = sample->time_ns;
    }
    return tables_take(&heard->journal.tables, event, why);
}

static void hear_runs(struct heard *heard, const struct event *story, size_t count, uint64_t run_ns)
{
    struct bytes stream = stream_of(story, count, CODEC_PLAIN);
    const int fd = memory_file(stream.at, stream.size);
    const struct sink sink = { .take = hear, .self = heard };
    struct stream_reader reader;
    assert_true(stream_reader_open(&reader, fd, (struct text){ 0 }, &sink, NULL));
    reader.gives_runs = true;
    reader.run_ns = run_ns;
    while (stream_read_block(&reader, &sink, NULL) == SOURCE_MORE)
        ;
    assert_true(reader.complete && reader.blocks.damage.blocks == 0);
    stream_reader_close(&reader);
    bytes_free(&stream);
    close(fd);
}

/* A run goes over the ticks of the thread's own process, whatever lies between. */
static void runs_are_of_the_own_process(void **state)
{
    (void)state;
    struct heard heard = { 0 };
    hear_runs(&heard, alternating, countof(alternating), 0);
    assert_int_equal(heard.samples[1], 5);
    assert_int_equal(heard.runs[1], 2); /* 10 to 53 ms, and 90 ms: the thread's stack is the same, its record is new */
    assert_int_equal(heard.first_ns[1], 10 * MS);
    assert_int_equal(heard.last_ns[1], 90 * MS);
    assert_int_equal(heard.samples[2], 3);
    assert_int_equal(heard.fresh[2], 2); /* at first, and when it is back */
    assert_int_equal(heard.samples[3], 4);
    assert_int_equal(heard.fresh[3], 1);
    assert_int_equal(heard.samples[4], 3);
    assert_int_equal(heard.fresh[4], 1); /* a failed look is a look */
    assert_int_equal(heard.ticks[1], 6);
    assert_int_equal(heard.ticks[2], 5);
    journal_free(&heard.journal);
}

/* At 10 ms, where the block begins, and at the ticks of 52 and 85 ms, which are those of another process. */
static void long_runs_end_together(void **state)
{
    (void)state;
    struct heard heard = { 0 };
    hear_runs(&heard, alternating, countof(alternating), 25 * MS);
    assert_int_equal(heard.samples[1], 5);
    assert_int_equal(heard.runs[1], 4); /* 10; 12 and 20; 53; 90 ms */
    assert_int_equal(heard.fresh[1], 1);
    assert_int_equal(heard.samples[3], 4);
    assert_int_equal(heard.fresh[3], 1);
    journal_free(&heard.journal);
}

/* ---- blocks ---- */

/* A process that is looked at twice a second beside one with a look each 10 ms. Each block has both anew, no block is
 * closed for the sake of the rare looks, and none is kept for longer than a second. */
static void rare_looks_do_not_close_blocks(void **state)
{
    (void)state;
    static const struct event beginning[] = { OF_PROCESSES, DEFINED };
    static struct event story[2000];
    const struct event first[] = { SAMPLE(0, 1, 0, 1), STANDS_SAMPLE(0, 3, 0, 500 * MS, 1) };
    size_t count = countof(beginning);
    memcpy(story, beginning, sizeof(beginning));
    for (uint32_t tick = 1; tick <= 400; tick++) {
        const uint64_t ns = tick * (uint64_t)10 * MS;
        story[count] = tick == 1 ? first[0] : (struct event)SAME(0, 1, 1);
        story[count++].sample.time_ns = ns;
        story[count++] = (struct event)TICK_OF(1, ns);
        if (tick % 50 != 0)
            continue;
        story[count] = tick == 50 ? first[1] : (struct event)STANDS_SAME(0, 3, 1, 500 * MS);
        story[count++].sample.time_ns = ns + MS;
        story[count++] = (struct event)TICK_OF(2, ns + MS);
    }
    story[count++] = (struct event){ EVENT_END, .end = { END_DURATION, 4001 * (uint64_t)MS, 408, 408, 0, 0, -1 } };
    struct playback playback = { 0 };
    struct bytes stream = assert_story_comes_back(&playback, story, count, CODEC_GROUPED);
    assert_in_range(playback.reader.blocks.next, 2 + 4, 2 + 5);
    assert_int_equal(playback.journal.tables.threads[3].wall_ns, 4000 * (uint64_t)MS);
    playback_free(&playback);
    bytes_free(&stream);
}

/* ---- what a writer refuses ---- */

static void refuse(const struct event *wrong, size_t count, const char *why_not)
{
    static const struct event beginning[] = { OF_PROCESSES, DEFINED };
    const int fd = memory_file("", 0);
    struct stream_writer writer;
    struct fault why = { 0 };
    stream_writer_open(&writer, fd, CODEC_PLAIN);
    for (size_t i = 0; i < countof(beginning); i++)
        assert_true(stream_write(&writer, &beginning[i], &why));
    for (size_t i = 0; i + 1 < count; i++)
        assert_true(stream_write(&writer, &wrong[i], &why));
    assert_false(stream_write(&writer, &wrong[count - 1], &why));
    assert_string_equal(why.text, why_not);
    stream_writer_close(&writer);
    close(fd);
}

static void a_tick_is_of_one_process(void **state)
{
    (void)state;
    const struct event of_none[] = { TICK(10 * MS) };
    const struct event of_two[] = { SAMPLE(10 * MS, 1, 0, 1), SAMPLE(10 * MS, 3, 0, 1) };
    const struct event of_another[] = { SAMPLE(10 * MS, 1, 0, 1), TICK_OF(2, 10 * MS) };
    refuse(of_none, 1, "a tick is of no process in a recording in which each process has its own ticks");
    refuse(of_two, 2, "a tick is of two processes");
    refuse(of_another, 2, "a tick is of two processes");
}

/* ---- rules for readers ---- */

#define TAG(kind, argument) (unsigned char)((argument) << 3 | (kind))
#define TICK_AFTER(units)   TAG(RECORD_TICK, units)
#define SUFFIX(thread)      TAG(RECORD_SUFFIX, thread), 0, 1, 1
#define OF(process)         (unsigned char)(NOTE_TICK_PROCESS << 3 | RECORD_NOTE | 0x80), NOTE_TICK_PROCESS >> 4, 1, process

/* Behind base 0 and the definitions. */
static const struct {
    const char *what;
    unsigned char records[60];
    size_t size;
    const char *ticks;
    bool broken;
} rules[] = {
    { "a tick of no process", { TICK_AFTER(4) }, 1, "", true },
    { "a tick of one process",
      { OF(1), TICK_AFTER(4), SUFFIX(1), TICK_AFTER(4) },
      10,
      "1000000 thread 1; f (:1)\n1000000 tick of 1\n2000000 thread 1; f (:1)\n2000000 tick of 1\n",
      false },
    { "ticks in turn, two at one moment",
      { OF(1), TICK_AFTER(4), SUFFIX(1), OF(2), TICK_AFTER(0), SUFFIX(3), OF(1), TICK_AFTER(4), OF(2), TICK_AFTER(4) },
      28,
      "1000000 thread 1; f (:1)\n1000000 tick of 1\n1000000 thread 3; f (:1)\n1000000 tick of 2\n"
      "2000000 thread 1; f (:1)\n2000000 tick of 1\n3000000 thread 3; f (:1)\n3000000 tick of 2\n",
      false },
    { "a note of a process that has no tick", { OF(1), OF(2), OF(1) }, 12, "", false },
    { "process 0", { OF(0), TICK_AFTER(4) }, 5, "", true },
    { "an undefined process", { OF(3), TICK_AFTER(4) }, 5, "1000000 tick of 3\n", false },
    { "REPEAT", { OF(1), TICK_AFTER(4), TAG(RECORD_REPEAT, 1) }, 6, "1000000 tick of 1\n", true },
    { "a thread in ticks of two processes",
      { OF(1), TICK_AFTER(4), SUFFIX(1), OF(2), TICK_AFTER(4), SUFFIX(1) },
      18,
      "1000000 thread 1; f (:1)\n1000000 tick of 1\n",
      true },
    { "ABSENT in a tick of another process",
      { OF(1), TICK_AFTER(4), SUFFIX(1), OF(2), TICK_AFTER(4), TAG(RECORD_ABSENT, 1) },
      15,
      "1000000 thread 1; f (:1)\n1000000 tick of 1\n",
      true },
    { "STATUS in a tick of another process",
      { OF(1), TICK_AFTER(4), SUFFIX(1), OF(2), TICK_AFTER(4), TAG(RECORD_NOTE, NOTE_STATUS), 3, 1, 1, 0 },
      19,
      "1000000 thread 1; f (:1)\n1000000 tick of 1\n",
      true },
    { "the note ends the tick", { OF(1), TICK_AFTER(4), OF(1), SUFFIX(1) }, 13, "1000000 tick of 1\n", true },
};

static struct bytes stream_of_rule(size_t rule)
{
    static const struct event beginning[] = { OF_PROCESSES, DEFINED };
    struct recording recording = beginning[0].recording;
    struct bytes header = { 0 }, payload = { 0 };
    recording.format_version = STREAM_VERSION;
    stream_fields_put_recording(&header, &recording);
    put_number(&payload, 0);
    for (size_t i = 1; i < countof(beginning); i++) {
        struct bytes fields = { 0 };
        stream_notes_put_fields(&fields, &beginning[i], recording.time_unit_ns);
        put_number(&payload, (uint64_t)stream_notes_of(beginning[i].kind) << 3 | RECORD_NOTE);
        put_number(&payload, fields.size);
        put_bytes(&payload, fields.at, fields.size);
        bytes_free(&fields);
    }
    put_bytes(&payload, rules[rule].records, rules[rule].size);
    struct bytes stream = stream_of_payloads(&header, payload.at, payload.size);
    bytes_free(&header);
    bytes_free(&payload);
    return stream;
}

static void readers_keep_the_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rules); i++) {
        struct bytes stream = stream_of_rule(i);
        struct playback playback = { 0 };
        playback_read(&playback, stream.at, stream.size);
        char *ticks = journal_ticks(&playback.journal);
        if (strcmp(ticks, rules[i].ticks) != 0 || rules[i].broken != (playback.reader.blocks.damage.blocks > 0))
            fail_msg("%s: broken %d, and\n%s", rules[i].what, (int)playback.reader.blocks.damage.blocks, ticks);
        free(ticks);
        playback_free(&playback);
        bytes_free(&stream);
    }
}

TEST_FILE(stream_processes)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_of_processes_come_back), cmocka_unit_test(runs_are_of_the_own_process),
        cmocka_unit_test(long_runs_end_together),       cmocka_unit_test(rare_looks_do_not_close_blocks),
        cmocka_unit_test(a_tick_is_of_one_process),     cmocka_unit_test(readers_keep_the_rules),
    };
    return run_all(tests);
}
