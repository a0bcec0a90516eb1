/* SPDX-License-Identifier: MIT */
/* The sums of a recording: the SUMMARY block has what reading all samples comes to, and is used only where the file is
 * whole. */
#include "formats/stream/stream_sums.h"

#include "formats/stream/stream_fields.h"
#include "formats/stream/stream_records.h"
#include "formats/stream/stream_summary.h"
#include "formats/stream/stream_write.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNS  (STATUS_RECORDED | STATUS_CPU | STATUS_GIL)
#define WAITS (STATUS_RECORDED | STATUS_GIL_WAIT)
#define AWAY  (STATUS_RECORDED | STATUS_CPU | STATUS_ELSEWHERE)

/* One of everything that the sums depend on, in more than one block: a block ends after a second. */
static const struct event story[] = {
    { EVENT_RECORDING,
      .recording = { .interval_ns = 100 * MS, .time_unit_ns = 2 * MS } },
    PROCESS(1, 7, "/"),
    THREAD(1, 1, 7, "python3"),
    STRING(1, "<module>"),
    STRING(2, "a.py"),
    FUNCTION(1, 1, 2, 1),
    FRAME(1, 1, 3),
    STATUS_SAMPLE(100 * MS, 1, 0, RUNS, 40 * MS, 1),
    TICK(100 * MS),
    STATUS_SAME(200 * MS, 1, 1, RUNS, 90 * MS),
    TICK(200 * MS),
    MEASURE(200 * MS, 1, 8192, 1000 * MS, 6 * MS),
    THREAD(2, 1, 8, "worker"),
    { EVENT_THREAD_NAME, .change = { 2, 230 * MS, T("a better name") } },
    FRAME(2, 1, 4),
    STATUS_SAME(304 * MS, 1, 1, RUNS | STATUS_EXCEPTION, 100 * MS),
    STATUS_SAMPLE(304 * MS, 2, 0, WAITS, 0, 1, 2),
    TICK(304 * MS),
    FAILED(400 * MS, 1, FAILURE_CHANGED),
    STATUS_SAME(400 * MS, 2, 2, WAITS, 0),
    TICK(400 * MS),
    MISSED(3),
    LEFT_OUT(700 * MS, 1, 4, 2 * MS),
    TASK(1, 1, "a task"),
    TASK(2, 1, "another task, which nothing runs"),
    TASK_ENTRY(3, 1, 8, 1, "a task"),
    { EVENT_SAMPLE, .sample = { .thread = 2, .keep = 1, .status = AWAY, .time_ns = 800 * MS, .task = 1 } },
    TICK(800 * MS),
    MEASURE(802 * MS, 1, 4096, 1500 * MS, 10 * MS),
    { EVENT_THREAD_END, .change = { 2, 850 * MS, T("") } },
    STANDS_SAMPLE(900 * MS, 1, 0, 250 * MS, 2),
    TICK(900 * MS),
    STANDS_SAME(1100 * MS, 1, 1, 250 * MS),
    TICK(1100 * MS),
    SAME(1200 * MS, 1, 1),
    TASK_SAMPLE(1200 * MS, 3, 1, 0, 1, 2, 2, 2),
    TICK(1200 * MS),
    SAME(2600 * MS, 1, 1),
    TICK(2600 * MS),
    FAILED(2700 * MS, 0, FAILURE_THREADS),
    TICK(2700 * MS),
    PROCESS(2, 7, "/tmp"),
    MEASURE(2704 * MS, 1, MEASURE_UNKNOWN, 1700 * MS, 12 * MS),
    MEASURE(2704 * MS, 2, MEASURE_UNKNOWN, MEASURE_UNKNOWN, MEASURE_UNKNOWN),
    { EVENT_PROCESS_END, .process_end = { 1, 2710 * MS, FATE_EXITED, 9 } },
    COUNTER("samples", 11),
    COUNTER("taken_ns", 12345),
    { EVENT_END, .end = { END_TARGET, 2720 * MS, 0, 0, 0, 0, 0 } },
};

static void write_summed(int fd, const struct event *events, size_t count, enum stream_codec codec)
{
    struct stream_writer writer;
    struct fault why = { 0 };
    stream_writer_open(&writer, fd, codec);
    stream_writer_sum_up(&writer);
    for (size_t i = 0; i < count; i++)
        if (!stream_write(&writer, &events[i], &why))
            fail_msg("event %zu: %s", i, why.text);
    stream_writer_close(&writer);
}

static struct bytes summed(enum stream_codec codec)
{
    const int fd = memory_file("", 0);
    write_summed(fd, story, countof(story), codec);
    return file_bytes(fd);
}

/* A recording that is opened and read in one of two ways. */
struct reading {
    int fd;
    struct stream_reader reader;
    struct tables tables;
};

static bool take(void *self, struct event *event, struct fault *why)
{
    struct reading *reading = self;
    const struct damage *damage = &reading->reader.blocks.damage;
    reading->tables.forgiving = damage->bytes > 0 || damage->blocks > 0;
    return tables_take(&reading->tables, event, why);
}

static bool open_reading(struct reading *reading, int fd)
{
    const struct sink sink = { .take = take, .self = reading };
    *reading = (struct reading){ .fd = fd, .tables.sums_states = true };
    const bool good = stream_reader_open(&reading->reader, fd, (struct text){ 0 }, &sink, NULL);
    reading->reader.gives_runs = true;
    return good;
}

static void read_all(struct reading *reading)
{
    const struct sink sink = { .take = take, .self = reading };
    enum source_state state = SOURCE_MORE;
    while (state == SOURCE_MORE)
        state = stream_read_block(&reading->reader, &sink, NULL);
}

static void close_reading(struct reading *reading)
{
    stream_reader_close(&reading->reader);
    tables_free(&reading->tables);
    close(reading->fd);
}

static void assert_same_sums(const struct reading *a, const struct reading *b)
{
    const struct stream_summary summary = { .unit_ns = a->reader.unit_ns };
    struct bytes ours = { 0 }, wanted = { 0 };
    stream_summary_put(&ours, &summary, &a->tables);
    stream_summary_put(&wanted, &summary, &b->tables);
    assert_int_equal(ours.size, wanted.size);
    assert_memory_equal(ours.at, wanted.at, ours.size);
    bytes_free(&ours);
    bytes_free(&wanted);
    assert_memory_equal(&a->tables.end, &b->tables.end, sizeof(a->tables.end));
    assert_int_equal(a->reader.blocks.good, b->reader.blocks.good);
    assert_int_equal(a->reader.blocks.good_plain, b->reader.blocks.good_plain);
    assert_int_equal(a->reader.blocks.bytes_read, b->reader.blocks.bytes_read);
    assert_true(a->reader.complete && b->reader.complete);
}

static void the_summary_has_what_the_samples_add_up_to(void **state)
{
    (void)state;
    for (enum stream_codec codec = CODEC_PLAIN; codec <= CODEC_GROUPED; codec++) {
        struct bytes file = summed(codec);
        struct reading skimmed, whole;
        assert_true(open_reading(&skimmed, memory_file(file.at, file.size)));
        assert_true(stream_sums_read(&skimmed.reader, &skimmed.tables));
        assert_true(open_reading(&whole, memory_file(file.at, file.size)));
        read_all(&whole);
        assert_same_sums(&skimmed, &whole);
        assert_true(stream_sums_agree(&whole.reader, &whole.tables));

        const struct tables *tables = &skimmed.tables; /* not all is zero */
        assert_int_equal(tables->samples, 11);
        assert_int_equal(tables->left_out, 4);
        assert_int_equal(tables->missed, 3);
        assert_int_equal(tables->failures[FAILURE_THREADS], 1);
        assert_int_equal(tables_stacks(tables), 5);
        assert_int_equal(tables_functions(tables), 1);
        assert_int_equal(tables->stacks_count + tables->functions_count, 0);
        assert_string_equal(tables->threads[2].thread.name.bytes, "a better name");
        assert_int_equal(tables->threads[2].end_ns, 850 * MS);
        assert_int_equal(tables->processes[1].end_ns, 2710 * MS);
        assert_int_equal(tables->tasks[1].samples, 2);
        assert_int_equal(tables->tasks[1].thread, 3);
        assert_true(tables->threads[1].wall_ns > 1000 * MS && tables->threads[1].cpu_ns > 0);
        assert_true(tables->threads[1].states[ATTRIBUTE_EXCEPTION].was_ns > 0);
        assert_true(tables->threads[2].states[ATTRIBUTE_GIL_WAIT].was_ns > 0);
        assert_int_equal(tables->counters.count, 2);
        const struct measures *measures = &tables->processes[1].measures;
        assert_int_equal(measures->count, 3);
        assert_int_equal(measures->most_resident_bytes, 8192);
        assert_int_equal(measures->latest.resident_bytes, 4096);
        assert_int_equal(measures->first_cpu_ns, 1000 * MS);
        assert_int_equal(measures->latest.cpu_ns, 1700 * MS);
        assert_int_equal(measures->latest.recorder_cpu_ns, 12 * MS);
        assert_int_equal(measures->latest.time_ns, 2704 * MS);
        assert_int_equal(tables->processes[2].measures.count, 1);
        assert_true(tables->processes[2].measures.latest.cpu_ns == MEASURE_UNKNOWN);
        close_reading(&skimmed);
        close_reading(&whole);
        bytes_free(&file);
    }
}

static void a_reader_that_knows_no_summary_reads_the_same(void **state)
{
    (void)state;
    struct bytes with = summed(CODEC_GROUPED), without = stream_of(story, countof(story), CODEC_GROUPED);
    struct playback a = { 0 }, b = { 0 };
    playback_read(&a, with.at, with.size);
    playback_read(&b, without.at, without.size);
    assert_true(playback_whole(&a) && playback_whole(&b));
    assert_same_lines(journal_text(&a.journal), journal_text(&b.journal));
    playback_free(&a);
    playback_free(&b);
    bytes_free(&with);
    bytes_free(&without);
}

/* Whether the sums can be read without the samples. When not, the reader reads on as ever. */
static bool can_be_skimmed(const struct bytes *file, size_t size)
{
    struct reading reading, whole;
    const bool opened = open_reading(&reading, memory_file(file->at, size));
    const bool skimmed = opened && stream_sums_read(&reading.reader, &reading.tables);
    if (opened && !skimmed) {
        assert_true(open_reading(&whole, memory_file(file->at, size)));
        read_all(&whole);
        read_all(&reading);
        assert_int_equal(reading.tables.samples, whole.tables.samples);
        assert_int_equal(reading.reader.blocks.damage.bytes, whole.reader.blocks.damage.bytes);
        assert_int_equal(reading.reader.blocks.good, whole.reader.blocks.good);
        close_reading(&whole);
    }
    close_reading(&reading);
    return skimmed;
}

static void damage_and_cuts_are_read_as_ever(void **state)
{
    (void)state;
    struct bytes file = summed(CODEC_GROUPED);
    assert_true(can_be_skimmed(&file, file.size));
    for (size_t size = 0; size < file.size; size++)
        assert_false(can_be_skimmed(&file, size));
    for (size_t i = 0; i < file.size; i++) {
        file.at[i] ^= 0x10;
        assert_false(can_be_skimmed(&file, file.size));
        file.at[i] ^= 0x10;
    }
    put_bytes(&file, "x", 1);
    assert_false(can_be_skimmed(&file, file.size));
    bytes_free(&file);
}

static void a_file_without_a_summary_and_a_pipe_are_read_as_ever(void **state)
{
    (void)state;
    struct bytes file = stream_of(story, countof(story), CODEC_GROUPED);
    assert_false(can_be_skimmed(&file, file.size));
    bytes_free(&file);

    struct reading reading;
    int ends[2];
    file = summed(CODEC_GROUPED);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], file.at, file.size), file.size);
    close(ends[1]);
    assert_true(open_reading(&reading, ends[0]));
    assert_false(stream_sums_read(&reading.reader, &reading.tables));
    read_all(&reading);
    assert_int_equal(reading.tables.samples, 11);
    close_reading(&reading);
    bytes_free(&file);
}

/* ---- summaries that nobody should believe ---- */

/* A payload of a SUMMARY block, and the tables that it is made of. */
struct making {
    struct reading whole;
    struct stream_summary summary;
};

static void open_making(struct making *making)
{
    struct bytes file = summed(CODEC_PLAIN);
    assert_true(open_reading(&making->whole, memory_file(file.at, file.size)));
    read_all(&making->whole);
    making->summary = (struct stream_summary){ .unit_ns = making->whole.reader.unit_ns };
    bytes_free(&file);
}

/* Whether the summary of the changed tables, with a note behind it, is a summary. */
static bool is_summary(const struct making *making, const uint64_t *note, size_t count)
{
    struct bytes payload = { 0 };
    struct tables tables = { 0 };
    struct stream_summary summary = making->summary;
    stream_summary_put(&payload, &summary, &making->whole.tables);
    if (count > 0)
        stream_records_put_numbers_note(&payload, (enum stream_note)note[0], note + 1, count - 1);
    const bool good = stream_summary_take(cursor_of(payload.at, payload.size), &summary, &tables);
    tables_free(&tables);
    bytes_free(&payload);
    return good;
}

static void a_summary_that_lies_does_not_agree(void **state)
{
    (void)state;
    struct making making;
    open_making(&making);
    struct tables *tables = &making.whole.tables;
    assert_true(stream_sums_agree(&making.whole.reader, tables));
    uint64_t *const sums[] = { &tables->samples,
                               &tables->ticks,
                               &tables->missed_ns,
                               &tables->last_ns,
                               &tables->threads[1].cpu_ns,
                               &tables->threads[1].wall_ns,
                               &tables->failures[1],
                               &tables->tasks[2].samples,
                               &tables->processes[1].end_ns,
                               &tables->processes[1].measures.count,
                               &tables->processes[1].measures.most_resident_bytes,
                               &tables->processes[1].measures.latest.cpu_ns };
    for (size_t i = 0; i < countof(sums); i++) {
        *sums[i] += 2 * MS;
        assert_false(stream_sums_agree(&making.whole.reader, tables));
        *sums[i] -= 2 * MS;
    }
    assert_true(stream_sums_agree(&making.whole.reader, tables));
    close_reading(&making.whole);
}

static void a_summary_that_breaks_a_rule_is_none(void **state)
{
    (void)state;
    struct making making;
    open_making(&making);
    const uint64_t other_rules[] = { NOTE_TOTALS, SUMMARY_RULES + 1 };
    const uint64_t twice[] = { NOTE_TOTALS, SUMMARY_RULES, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    const uint64_t no_thread[] = { NOTE_THREAD_TOTALS, 4, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0 };
    const uint64_t few_states[] = { NOTE_THREAD_TOTALS, 1, 0, 0, 0, 0, 0, 1, 0, 0 };
    const uint64_t too_much[] = { NOTE_THREAD_TOTALS, 1, 0, 0, 0, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0 };
    const uint64_t too_long[] = { NOTE_THREAD_TOTALS, 1, 0, 0, 0, 0, 0, 4, (uint64_t)1 << 53, 0, 0, 0, 0, 0, 0, 0 };
    const uint64_t no_task[] = { NOTE_TASK_TOTALS, 3, 1, 1 };
    const uint64_t no_thread_of_task[] = { NOTE_TASK_TOTALS, 1, 1, 4 };
    const uint64_t no_process[] = { NOTE_PROCESS_TOTALS, 3, 1, 0, 0, 0, 0, 0, 0, 0 };
    const uint64_t no_measures[] = { NOTE_PROCESS_TOTALS, 1, 0, 0, 0, 0, 0, 0, 0, 0 };
    const uint64_t goes_back[] = { NOTE_PROCESS_TOTALS, 1, 1, 0, 0, 0, 5, 4, 0, 0 };
    const uint64_t half_known[] = { NOTE_PROCESS_TOTALS, 1, 1, 0, 0, 0, 5, 0, 0, 0 };
    const uint64_t too_late[] = { NOTE_PROCESS_TOTALS, 1, 1, UINT64_MAX, 0, 0, 0, 0, 0, 0 };
    const uint64_t too_large[] = { NOTE_PROCESS_TOTALS, 1, 1, 0, UINT64_MAX, 0, 0, 0, 0, 0 };
    const uint64_t process_again[] = { NOTE_PROCESS_TOTALS, 1, 1, 0, 0, 0, 4, 5, 0, 0 };
    const uint64_t cut[] = { NOTE_TASK_TOTALS, 1 };
    const uint64_t unknown[] = { 1000, 1 },
                   thread_again[] = { NOTE_THREAD_TOTALS, 1, 0, 0, 0, 0, 0, 4, 6, 6, 0, 0, 0, 0, 0, 0 };
    assert_true(is_summary(&making, NULL, 0));
    assert_true(is_summary(&making, unknown, countof(unknown)));
    assert_true(is_summary(&making, thread_again, countof(thread_again)));
    assert_true(is_summary(&making, process_again, countof(process_again)));
    assert_false(is_summary(&making, no_process, countof(no_process)));
    assert_false(is_summary(&making, no_measures, countof(no_measures)));
    assert_false(is_summary(&making, goes_back, countof(goes_back)));
    assert_false(is_summary(&making, half_known, countof(half_known)));
    assert_false(is_summary(&making, too_late, countof(too_late)));
    assert_false(is_summary(&making, too_large, countof(too_large)));
    assert_false(is_summary(&making, other_rules, countof(other_rules)));
    assert_false(is_summary(&making, twice, countof(twice)));
    assert_false(is_summary(&making, no_thread, countof(no_thread)));
    assert_false(is_summary(&making, few_states, countof(few_states)));
    assert_false(is_summary(&making, too_much, countof(too_much)));
    assert_false(is_summary(&making, too_long, countof(too_long)));
    assert_false(is_summary(&making, no_task, countof(no_task)));
    assert_false(is_summary(&making, no_thread_of_task, countof(no_thread_of_task)));
    assert_false(is_summary(&making, cut, countof(cut)));
    close_reading(&making.whole);
}

static void a_summary_with_too_many_rows_is_none(void **state)
{
    (void)state;
    struct bytes payload = { 0 };
    struct tables tables = { 0 };
    struct stream_summary summary = { .unit_ns = 1 };
    for (uint32_t i = 1; i <= STREAM_SUMMARY_ROWS + 1; i++)
        stream_records_put_numbers_note(&payload, NOTE_PROCESS, (const uint64_t[]){ i, 0, 0, 0, 0, 0, 0 }, 7);
    assert_false(stream_summary_take(cursor_of(payload.at, payload.size), &summary, &tables));
    assert_int_equal(tables.processes_count, STREAM_SUMMARY_ROWS + 2);
    tables_free(&tables);
    bytes_free(&payload);
}

/* Writes the blocks of `file` again, one of them with a word replaced by a word of the same length. All checksums are
 * right, and the sums in the summary are those of the file before. */
static struct bytes with_word_replaced(const struct bytes *file, const char *word, const char *other)
{
    const int fd = memory_file("", 0);
    struct block_reader reader;
    struct block_writer writer;
    struct block block;
    block_reader_open(&reader, -1);
    block_reader_begin(&reader, (struct text){ (const char *)file->at, file->size });
    reader.at_end = true;
    block_writer_open(&writer, fd, CODEC_PLAIN);
    assert_true(block_read_magic(&reader, NULL));
    while (block_read(&reader, &block, NULL) == BLOCK_FOUND) {
        struct bytes payload = { 0 };
        put_bytes(&payload, block.payload.at, cursor_left(&block.payload));
        char *found = block.kind == BLOCK_EVENTS ? memmem(payload.at, payload.size, word, strlen(word)) : NULL;
        if (found)
            memcpy(found, other, strlen(other));
        assert_true(block_write(&writer, block.kind, &payload, NULL));
        bytes_free(&payload);
    }
    block_writer_close(&writer);
    block_reader_close(&reader);
    return file_bytes(fd);
}

static void blocks_that_were_exchanged_are_read(void **state)
{
    (void)state;
    struct bytes file = summed(CODEC_PLAIN);
    struct bytes same = with_word_replaced(&file, "a better name", "a better name");
    struct bytes other = with_word_replaced(&file, "a better name", "a longer name");
    assert_int_equal(same.size, file.size);
    assert_memory_equal(same.at, file.at, file.size);
    assert_int_equal(other.size, file.size);
    assert_true(can_be_skimmed(&same, same.size));
    assert_false(can_be_skimmed(&other, other.size));
    bytes_free(&file);
    bytes_free(&same);
    bytes_free(&other);
}

/* ---- recordings without a summary ---- */

static bool has_summary(struct bytes file)
{
    struct reading reading;
    assert_true(open_reading(&reading, memory_file(file.at, file.size)));
    read_all(&reading);
    assert_true(reading.reader.complete);
    assert_int_equal(reading.reader.blocks.damage.bytes + reading.reader.blocks.damage.blocks, 0);
    const bool has = reading.reader.summary.size > 0;
    assert_true(can_be_skimmed(&file, file.size) == has);
    close_reading(&reading);
    bytes_free(&file);
    return has;
}

static void a_limit_that_has_no_room_leaves_the_summary_out(void **state)
{
    (void)state;
    struct bytes whole = summed(CODEC_PLAIN);
    for (int fits = 0; fits < 2; fits++) {
        const int fd = memory_file("", 0);
        struct stream_writer writer;
        stream_writer_open(&writer, fd, CODEC_PLAIN);
        stream_writer_sum_up(&writer);
        for (size_t i = 0; i < countof(story); i++) {
            if (story[i].kind == EVENT_END) /* the limit of a recorder leaves room for the events in front of END */
                stream_writer_limit(&writer, whole.size + (fits ? 200 : 0));
            assert_true(stream_write(&writer, &story[i], NULL));
        }
        stream_writer_close(&writer);
        assert_true(has_summary(file_bytes(fd)) == (fits == 1));
    }
    bytes_free(&whole);
}

static void a_full_disk_may_have_room_for_the_end_alone(void **state)
{
    (void)state;
    struct bytes with = summed(CODEC_PLAIN), without = stream_of(story, countof(story), CODEC_PLAIN);
    struct rlimit before, limit;
    char path[] = "/tmp/pyreel-summary-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = without.size + 20;
    assert_true(limit.rlim_cur < with.size);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    write_summed(fd, story, countof(story), CODEC_PLAIN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    struct bytes file = file_bytes(fd);
    assert_int_equal(file.size, without.size);
    assert_false(has_summary(file));
    bytes_free(&with);
    bytes_free(&without);
}

static void sums_that_take_too_much_memory_are_given_up(void **state)
{
    (void)state;
    uint32_t *frames = alloc_zeroed(STACK_DEPTH_LIMIT, sizeof(*frames)), last;
    for (uint32_t i = 0; i < STACK_DEPTH_LIMIT; i++)
        frames[i] = 1;
    const struct event events[] = {
        ONE_THREAD_BEGINS,
        FRAME(2, 1, 4),
        { EVENT_SAMPLE, .sample = { .thread = 1, .pushed = STACK_DEPTH_LIMIT, .frames = frames, .time_ns = 100 * MS } },
        TICK(100 * MS),
        { EVENT_SAMPLE, .sample = { .thread = 1, .pushed = 1, .frames = &last, .time_ns = 200 * MS } },
        TICK(200 * MS),
        { EVENT_END, .end = { END_TARGET, 300 * MS, 0, 0, 0, 0, 0 } },
    };
    for (last = 1; last <= 2; last++) { /* a stack that is there, and one stack too many */
        const int fd = memory_file("", 0);
        write_summed(fd, events, countof(events), CODEC_GROUPED);
        assert_true(has_summary(file_bytes(fd)) == (last == 1));
    }
    free(frames);
}

TEST_FILE(stream_summary)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_summary_has_what_the_samples_add_up_to),
        cmocka_unit_test(a_reader_that_knows_no_summary_reads_the_same),
        cmocka_unit_test(damage_and_cuts_are_read_as_ever),
        cmocka_unit_test(a_file_without_a_summary_and_a_pipe_are_read_as_ever),
        cmocka_unit_test(a_summary_that_lies_does_not_agree),
        cmocka_unit_test(a_summary_that_breaks_a_rule_is_none),
        cmocka_unit_test(a_summary_with_too_many_rows_is_none),
        cmocka_unit_test(blocks_that_were_exchanged_are_read),
        cmocka_unit_test(a_limit_that_has_no_room_leaves_the_summary_out),
        cmocka_unit_test(a_full_disk_may_have_room_for_the_end_alone),
        cmocka_unit_test(sums_that_take_too_much_memory_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
