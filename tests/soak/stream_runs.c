/* SPDX-License-Identifier: MIT */
/* A reader that gives runs gives the same samples as a reader that gives each sample. The recordings are made of dice:
 * most of them break a rule somewhere, so that blocks end anywhere. */
#include "formats/base/alloc.h"
#include "formats/model/aggregate.h"
#include "formats/stream/stream_fields.h"
#include "formats/stream/stream_notes.h"
#include "formats/stream/stream_records.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define FRAMES  3
#define BLOCKS  3
#define RECORDS 60
#define RUN_NS  (5 * MS)

static uint64_t dice;
static bool process_ticks; /* each process has its own ticks in this file */
static uint32_t others;    /* threads of which this process's ticks have no record, a bit each */
static uint32_t named;     /* threads that the open tick's records name, a bit each; all when none is open */

static uint32_t roll(uint32_t below)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((dice >> 32) * below >> 32);
}

/* ---- files ---- */

static void put_tag(struct bytes *to, enum stream_record kind, uint64_t argument)
{
    put_number(to, argument << 3 | kind);
}

static void put_note(struct bytes *to, uint64_t kind, const struct bytes *fields)
{
    put_tag(to, RECORD_NOTE, kind);
    put_number(to, fields->size);
    put_bytes(to, fields->at, fields->size);
}

static void put_definition(struct bytes *to, const struct event *event)
{
    struct bytes fields = { 0 };
    stream_notes_put_fields(&fields, event, MS / 10);
    put_note(to, stream_notes_of(event->kind), &fields);
    bytes_free(&fields);
}

/* All but that of the last thread, which may be in a lost block, or come late. */
static void put_definitions(struct bytes *to)
{
    static const struct event defined[] = {
        PROCESS(1, 4313, "/"),   STRING(1, "f"),      FUNCTION(1, 1, 0, 1),    FRAME(1, 1, 1),
        FRAME(2, 1, 2),          FRAME(3, 1, 3),      THREAD(1, 1, 4313, "a"), THREAD(2, 1, 4314, "b"),
        THREAD(3, 1, 4315, "c"), TASK(1, 1, "fetch"), TASK(2, 1, "store"),     PROCESS(2, 4320, "/"),
    };
    for (size_t i = 0; i < countof(defined); i++)
        put_definition(to, &defined[i]);
}

static void put_last_thread(struct bytes *to)
{
    static const struct event defined = THREAD(THREADS, 1, 4316, "d");
    put_definition(to, &defined);
}

static void put_numbers_note(struct bytes *to, uint64_t kind, uint64_t a, uint64_t b, uint64_t c, size_t count)
{
    const uint64_t numbers[] = { a, b, c };
    struct bytes fields = { 0 };
    for (size_t i = 0; i < count; i++)
        put_number(&fields, numbers[i]);
    put_note(to, kind, &fields);
    bytes_free(&fields);
}

static void put_stack(struct bytes *to, uint32_t thread)
{
    const uint32_t pushed = roll(3);
    put_tag(to, roll(2) ? RECORD_SUFFIX : RECORD_POP_PUSH, thread);
    put_number(to, roll(40) ? 0 : 1);
    put_number(to, pushed);
    for (uint32_t i = 0; i < pushed; i++)
        put_number(to, 1 + roll(roll(200) ? FRAMES : FRAMES + 1));
}

/* The next ticks are of this process. Then threads may be named that are in the tick of none, but no thread that is in
 * ticks of the other. */
static void put_process(struct bytes *to)
{
    const uint32_t process = 1 + roll(roll(100) ? 2 : 3);
    put_numbers_note(to, NOTE_TICK_PROCESS, process, 0, 0, 1);
    others = process == 1 ? 1u << 3 : 1u << 1 | 1u << 2;
    named = UINT32_MAX;
}

/* A thread that no record of the tick has named, mostly. Returns whether there is to be a record of it. */
static bool name(uint32_t thread)
{
    const bool good = !(named & 1u << thread);
    named |= 1u << thread;
    return good || roll(200) == 0;
}

static void put_failed(struct bytes *to, uint32_t thread)
{
    const bool all = roll(3) == 0;
    if (named == UINT32_MAX || !(all || name(thread)))
        return;
    put_tag(to, RECORD_FAILED, all ? 0 : thread);
    put_number(to, roll(6));
    named = all ? UINT32_MAX : named;
}

/* A record, or none; `units` is the CPU time of all threads, which seldom goes back. */
static void put_some(struct bytes *to, uint64_t *units)
{
    const uint32_t thread = 1 + roll(roll(100) ? THREADS - 1 : THREADS);
    if (roll(40) == 0) /* between ticks and in them; seldom of a process that nobody knows */
        stream_records_put_numbers_note(
            to, NOTE_MEASURE, (const uint64_t[]){ roll(100) ? 1 : 2, roll(3), 2 * roll(9), 2 * roll(9), 2 * roll(9) },
            5);
    switch (roll(11)) {
    case 0:
    case 1:
        if (process_ticks && roll(200)) {
            put_process(to);
            break;
        }
        /* Some 2,000 are all that there may be. */
        put_tag(to, RECORD_REPEAT, roll(60) ? 1 + roll(4) : 1900 + roll(110));
        named = UINT32_MAX;
        break;
    case 2:
        if (name(thread))
            put_tag(to, RECORD_ABSENT, thread);
        break;
    case 3:
        put_failed(to, thread);
        break;
    case 4:
        if (named == UINT32_MAX || others & 1u << thread)
            break;
        *units += roll(30);
        put_numbers_note(to, NOTE_STATUS, thread, roll(32), roll(50) ? *units : *units / 2, 3);
        break;
    case 5:
        if (named != UINT32_MAX && !(others & 1u << thread))
            put_numbers_note(to, NOTE_THREAD_TASK, thread, roll(roll(60) ? 3 : 4), 0, 2);
        break;
    case 6:
        if (named == others || roll(300) == 0) /* at the beginning of a tick */
            put_numbers_note(to, NOTE_STANDS, roll(200) ? 1 + roll(3) : 0, 0, 0, 1);
        break;
    default:
        if (name(thread))
            put_stack(to, thread);
        break;
    }
}

static struct bytes payload(bool first)
{
    uint64_t units = roll(1000);
    struct bytes bytes = { 0 };
    const uint64_t base = roll(20) ? 10000 + roll(10) : UINT64_MAX / (MS / 10) - roll(3000); /* the end of time */
    put_number(&bytes, first ? 0 : base);
    named = UINT32_MAX;
    others = 0;
    if (first)
        put_definitions(&bytes);
    if (process_ticks && roll(50))
        put_process(&bytes);
    const uint32_t late = roll(4 * RECORDS); /* in some files */
    for (uint32_t i = 0; i < RECORDS; i++) {
        if (i == late)
            put_last_thread(&bytes);
        if (roll(2) == 0) {
            put_tag(&bytes, RECORD_TICK, roll(4) ? 0 : roll(3));
            named = others;
        }
        put_some(&bytes, &units);
    }
    if (roll(3) == 0)
        bytes.at[bytes.size - 1 - roll((uint32_t)bytes.size / 2)] ^= (unsigned char)(1 << roll(8));
    return bytes;
}

/* Sometimes a block is missing. */
static int make_file(void)
{
    const int fd = memory_file("", 0);
    process_ticks = roll(3) == 0;
    const struct recording recording = { .format_version = STREAM_VERSION,
                                         .process_ticks = process_ticks,
                                         .interval_ns = MS,
                                         .time_unit_ns = MS / (roll(2) ? 10 : 7) };
    struct bytes header = { 0 };
    struct block_writer writer;
    block_writer_open(&writer, fd, CODEC_PLAIN);
    stream_fields_put_recording(&header, &recording);
    assert_true(block_write(&writer, BLOCK_HEADER, &header, NULL));
    bytes_free(&header);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        struct bytes bytes = payload(i == 0);
        if (i > 0 && roll(10) == 0)
            writer.sequence++;
        assert_true(block_write(&writer, BLOCK_EVENTS, &bytes, NULL));
        bytes_free(&bytes);
    }
    block_writer_close(&writer);
    return fd;
}

/* ---- reading ---- */

struct reading {
    struct stream_reader reader;
    struct tables tables;
    struct aggregate aggregate;
    uint64_t given; /* events of samples */
    bool refused;
};

static bool take(void *self, struct event *event, struct fault *why)
{
    struct reading *reading = self;
    const struct damage *damage = &reading->reader.blocks.damage;
    reading->tables.forgiving = damage->bytes > 0 || damage->blocks > 0;
    if (!tables_take(&reading->tables, event, why)) {
        reading->refused = true;
        return false;
    }
    if (event->kind != EVENT_RUN)
        return true;
    assert_true(reading->reader.gives_runs || event->run.count == 1);
    reading->given++;
    if (event->run.stack != STACK_LOST)
        aggregate_add_run(&reading->aggregate, &event->run);
    return true;
}

enum reading_kind { EACH, RUNS, SHORT_RUNS, COUNTS };

/* As the converters read. */
static void read_file(struct reading *reading, int fd, enum reading_kind kind)
{
    const struct sink sink = { .take = take, .self = reading };
    enum source_state state = SOURCE_MORE;
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_true(stream_reader_open(&reading->reader, fd, (struct text){ 0 }, &sink, NULL));
    reading->reader.gives_runs = kind >= RUNS;
    reading->reader.run_ns = kind == SHORT_RUNS ? RUN_NS : 0;
    reading->reader.ignores_status = reading->reader.ignores_stands = kind == COUNTS;
    while (state == SOURCE_MORE) {
        struct fault why = { 0 };
        state = stream_read_block(&reading->reader, &sink, &why);
        if (state != SOURCE_STOPPED)
            continue;
        assert_true(reading->refused);
        reading->refused = false;
        stream_reader_forgive(&reading->reader, why.text);
        state = SOURCE_MORE;
    }
    aggregate_sort(&reading->aggregate);
}

static void assert_same_times(const struct tables *runs, const struct tables *each)
{
    for (size_t i = 1; i < each->threads_count; i++) {
        assert_int_equal(runs->threads[i].cpu_ns, each->threads[i].cpu_ns);
        assert_int_equal(runs->threads[i].cpu_known, each->threads[i].cpu_known);
    }
}

static void assert_same_threads(const struct tables *runs, const struct tables *each)
{
    assert_int_equal(runs->threads_count, each->threads_count);
    for (size_t i = 1; i < each->threads_count; i++)
        assert_int_equal(runs->threads[i].samples, each->threads[i].samples);
    for (size_t i = 1; i < each->tasks_count; i++)
        assert_int_equal(runs->tasks[i].samples, each->tasks[i].samples);
    for (size_t i = 1; i < each->processes_count; i++) {
        assert_int_equal(runs->processes[i].measures.count, each->processes[i].measures.count);
        assert_int_equal(runs->processes[i].measures.latest.cpu_ns, each->processes[i].measures.latest.cpu_ns);
    }
}

/* All but what threads did. */
static void assert_same_samples(const struct reading *runs, const struct reading *each)
{
    assert_int_equal(runs->tables.samples, each->tables.samples);
    assert_int_equal(runs->tables.lost_samples, each->tables.lost_samples);
    assert_int_equal(runs->tables.ticks, each->tables.ticks);
    assert_int_equal(runs->tables.failed, each->tables.failed);
    assert_int_equal(runs->tables.last_ns, each->tables.last_ns);
    assert_int_equal(runs->tables.stacks_count, each->tables.stacks_count);
    assert_int_equal(runs->reader.blocks.damage.blocks, each->reader.blocks.damage.blocks);
    assert_same_threads(&runs->tables, &each->tables);
    assert_int_equal(runs->aggregate.count, each->aggregate.count);
    for (size_t i = 0; i < each->aggregate.count; i++) {
        const struct aggregate_row *row = &runs->aggregate.rows[i], *other = &each->aggregate.rows[i];
        assert_int_equal(row->thread, other->thread);
        assert_int_equal(row->task, other->task);
        assert_int_equal(row->stack, other->stack);
        assert_int_equal(row->sums[SUM_SAMPLES], other->sums[SUM_SAMPLES]);
    }
}

static void assert_same(const struct reading *runs, const struct reading *each)
{
    assert_same_samples(runs, each);
    assert_same_times(&runs->tables, &each->tables);
    assert_int_equal(runs->aggregate.known[SUM_GIL_NS], each->aggregate.known[SUM_GIL_NS]);
    assert_int_equal(runs->aggregate.known[SUM_CPU_NS], each->aggregate.known[SUM_CPU_NS]);
    for (size_t i = 0; i < each->aggregate.count; i++)
        assert_int_equal(runs->aggregate.rows[i].sums[SUM_CPU_NS], each->aggregate.rows[i].sums[SUM_CPU_NS]);
}

/* Nobody asks what threads did, nor for how long, and nobody is told. */
static void assert_without_status(const struct reading *reading)
{
    assert_int_equal(reading->aggregate.known[SUM_GIL_NS], 0);
    for (size_t i = 1; i < reading->tables.threads_count; i++)
        assert_false(reading->tables.threads[i].cpu_known);
    for (size_t i = 0; i < reading->aggregate.count; i++) {
        const uint64_t *sums = reading->aggregate.rows[i].sums;
        for (size_t sum = SUM_WALL_NS + 1; sum < SUMS; sum++)
            assert_int_equal(sums[sum], 0);
    }
}

static void drop(struct reading *reading)
{
    tables_free(&reading->tables);
    aggregate_free(&reading->aggregate);
    stream_reader_close(&reading->reader);
}

static void runs_have_the_same_samples(void **state)
{
    (void)state;
    const uint64_t files = soak(300);
    uint64_t fewer = 0, fewer_still = 0, broken = 0, samples = 0, weighed = 0, cut = 0;
    for (dice = 1; dice <= files; dice++) {
        const uint64_t seed = dice;
        const int fd = make_file();
        struct reading each = { 0 }, runs = { 0 }, brief = { 0 }, plain = { 0 };
        read_file(&each, fd, EACH);
        read_file(&runs, fd, RUNS);
        read_file(&brief, fd, SHORT_RUNS);
        read_file(&plain, fd, COUNTS);
        assert_same(&runs, &each);
        assert_same(&brief, &each);
        assert_same_samples(&plain, &each);
        assert_without_status(&plain);
        fewer += each.given - runs.given;
        fewer_still += runs.given - plain.given;
        broken += each.reader.blocks.damage.blocks;
        samples += each.tables.samples;
        for (size_t i = 1; i < each.tables.threads_count; i++)
            weighed += each.tables.threads[i].wall_ns != each.tables.threads[i].samples * MS;
        drop(&each);
        cut += brief.given - runs.given;
        drop(&runs);
        drop(&brief);
        drop(&plain);
        close(fd);
        dice = seed;
    }
    /* The dice did what they are for. */
    assert_in_range(broken, files / 2, files * BLOCKS);
    assert_in_range(samples, files * 50, UINT64_MAX);
    assert_in_range(fewer, samples / 8, samples);
    assert_in_range(cut, files, samples);
    assert_in_range(fewer_still, samples / 1000, samples);
    assert_in_range(weighed, files / 10, files * THREADS);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(runs_have_the_same_samples) };
    return run_all(tests);
}
