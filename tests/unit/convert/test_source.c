/* SPDX-License-Identifier: MIT */
/* Which kind a file is by its first bytes, and what the report says of a file of each kind. */
#include "convert/source.h"

#include "tests/fakes/story.h"
#include "tests/fakes/tachyon_files.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECORDING                                                                                                      \
    { EVENT_RECORDING,                                                                                                 \
      .recording = { .mode = T("wall"), .start_unix_ns = 1, .interval_ns = 100 * MS, .time_unit_ns = 1 } }

/* The first two ticks are a block, which is then older than a second; the third one is in the next block. */
static const struct event story[] = {
    RECORDING,
    PROCESS(1, 42, "/w"),
    THREAD(1, 1, 42, "python3"),
    STRING(1, "f"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 1),
    SAMPLE(100 * MS, 1, 0, 1),
    TICK(100 * MS),
    SAMPLE(2300 * MS, 1, 0, 1),
    TICK(2300 * MS),
    SAMPLE(2400 * MS, 1, 0, 1),
    TICK(2400 * MS),
    { EVENT_END, .end = { END_DURATION, 2500 * MS, 3, 3, 0, 0, -1 } },
};

static struct bytes tachyon_bytes(void)
{
    struct tachyon_file file = tachyon_file();
    file_string(&file, "a.py");
    file_string(&file, "f");
    file_frame(&file, 0, 1, 3, 0, 0, 9, 255);
    file_record(&file, 71, 0, TACHYON_FULL);
    file_moment(&file, 1000, STATUS_GIL);
    FILE_SMALL(&file, 1, 0);
    return file_made(&file);
}

/* A file that is read as a converter reads it. */
struct reading {
    struct source source;
    struct journal journal;
    size_t refuse; /* so many samples are refused */
    bool opened;
    enum source_state state;
    struct source_report report;
    struct fault why;
};

static bool take(void *self, struct event *event, struct fault *why)
{
    struct reading *reading = self;
    if (event->kind == EVENT_SAMPLE && reading->refuse > 0) {
        reading->refuse--;
        return fault(why, "no such sample");
    }
    reading->journal.tables.forgiving = source_is_damaged(&reading->source);
    const struct sink journal = journal_sink(&reading->journal);
    return sink_take(&journal, event, why);
}

static struct reading read_file(int fd, size_t refuse)
{
    struct reading reading = { .refuse = refuse };
    const struct source_options options = { 0 };
    const struct sink sink = { .take = take, .self = &reading };
    reading.opened = source_open(&reading.source, fd, &options, &sink, &reading.why);
    reading.state = reading.opened ? SOURCE_MORE : SOURCE_STOPPED;
    while (reading.state == SOURCE_MORE) {
        reading.state = source_read(&reading.source, &sink, &reading.why);
        if (reading.state == SOURCE_STOPPED && source_forgive(&reading.source, reading.why.text))
            reading.state = SOURCE_MORE;
    }
    if (reading.opened)
        reading.report = source_report(&reading.source);
    source_close(&reading.source);
    close(fd);
    return reading;
}

static struct reading read_bytes(const void *bytes, size_t size, size_t refuse)
{
    return read_file(memory_file(bytes, size), refuse);
}

static void files_are_recognised_by_their_first_bytes(void **state)
{
    (void)state;
    static const char zeros[SOURCE_HEAD];
    static const struct {
        const char *head;
        size_t size;
        const char *kind;
    } rows[] = {
        { "\x89pyreel\n\xf5prB", 12, "pyreel" },
        { "\x89pyreel\n", 8, "pyreel" },
        { "\x89pyreel", 7, NULL },
        { "HCAT\1\0\0\0", 8, "tachyon" },
        { "TACH\0\0\0\1", 8, "tachyon" }, /* of a machine with the other byte order */
        { zeros, SOURCE_HEAD, "tachyon" },
        { zeros, SOURCE_HEAD - 1, NULL },
        { "main;f 3\nmain;g 4\n", 18, NULL },
        { "", 0, NULL },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        const struct source_kind *kind = source_kind_of((struct text){ rows[i].head, rows[i].size });
        assert_string_equal(kind ? kind->name : "none", rows[i].kind ? rows[i].kind : "none");
    }
}

static void a_file_of_no_kind_is_refused(void **state)
{
    (void)state;
    struct reading text = read_bytes("main;f 3\n", 9, 0), empty = read_bytes("", 0, 0);
    assert_false(text.opened);
    assert_string_equal(text.why.text, "it is not a pyreel recording");
    assert_false(empty.opened);
    assert_string_equal(empty.why.text, "it is empty");
}

static void a_whole_stream_is_complete(void **state)
{
    (void)state;
    struct bytes bytes = stream_of(story, countof(story), CODEC_GROUPED);
    struct reading reading = read_bytes(bytes.at, bytes.size, 0);
    const struct source_report *report = &reading.report;
    assert_int_equal(reading.state, SOURCE_ENDED);
    assert_string_equal(report->format, "pyreel");
    assert_null(report->undated_by);
    assert_string_equal(report->ending, "the duration was over");
    assert_true(report->complete && report->ended);
    assert_int_equal(report->bytes, bytes.size);
    assert_int_equal(report->blocks, 4); /* header, two of events, end */
    assert_true(report->plain_bytes > 0);
    assert_memory_equal(&report->damage, &(struct damage){ 0 }, sizeof(report->damage));
    assert_int_equal(reading.journal.tables.samples, 3);
    journal_free(&reading.journal);
    bytes_free(&bytes);
}

static void a_stream_that_ends_too_early_says_how(void **state)
{
    (void)state;
    struct bytes whole = stream_of(story, countof(story), CODEC_GROUPED);
    struct bytes killed = stream_of(story, countof(story) - 1, CODEC_GROUPED);
    struct reading cut = read_bytes(whole.at, whole.size - 1, 0), endless = read_bytes(killed.at, killed.size, 0);
    assert_false(cut.report.complete || cut.report.ended);
    assert_true(cut.report.damage.cut);
    assert_string_equal(cut.report.ending, "it is cut off");
    assert_int_equal(cut.report.bytes, whole.size - 1);
    assert_false(endless.report.complete || endless.report.ended);
    assert_false(endless.report.damage.cut);
    assert_string_equal(endless.report.ending, "it has no end (was the recorder killed?)");
    journal_free(&cut.journal);
    journal_free(&endless.journal);
    bytes_free(&whole);
    bytes_free(&killed);
}

static void a_recording_that_was_cut_says_so(void **state)
{
    (void)state;
    char path[4096];
    const char *source = getenv("PYREEL_SOURCE");
    assert_non_null(source);
    snprintf(path, sizeof(path), "%s/tests/streams/cut/recording.pyreel", source);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct reading reading = read_file(dup(fileno(file)), 0);
    fclose(file);
    assert_true(reading.opened && !reading.report.complete && reading.report.damage.cut);
    assert_true(reading.report.blocks > 0 && reading.journal.tables.samples > 0);
    assert_string_equal(reading.report.ending, "it is cut off");
    journal_free(&reading.journal);
}

static void events_that_are_refused_are_damage_of_a_stream(void **state)
{
    (void)state;
    struct bytes bytes = stream_of(story, countof(story), CODEC_GROUPED);
    struct reading reading = read_bytes(bytes.at, bytes.size, 1);
    assert_int_equal(reading.state, SOURCE_ENDED);
    assert_int_equal(reading.report.damage.blocks, 1);
    assert_memory_equal(reading.report.damage.first.text, "no such sample at byte ", 23);
    assert_int_equal(reading.journal.tables.samples, 1);
    journal_free(&reading.journal);
    bytes_free(&bytes);
}

static void a_tachyon_file_is_complete_and_has_no_date(void **state)
{
    (void)state;
    struct bytes bytes = tachyon_bytes();
    struct reading reading = read_bytes(bytes.at, bytes.size, 0);
    const struct source_report *report = &reading.report;
    assert_int_equal(reading.state, SOURCE_ENDED);
    assert_string_equal(report->format, "tachyon");
    assert_string_equal(report->undated_by, "by Tachyon (date and host unknown)");
    assert_string_equal(report->ending, "it does not say what ended it");
    assert_true(report->complete);
    assert_false(report->ended);
    assert_int_equal(report->bytes, bytes.size);
    assert_int_equal(report->blocks, 0);
    assert_int_equal(report->plain_bytes, 8 + 4 + 1 + 2 + 1 + 2); /* thread, interpreter, kind, time, status, stack */
    assert_memory_equal(&report->damage, &(struct damage){ 0 }, sizeof(report->damage));
    assert_true(reading.journal.tables.recording.no_end_reason);
    assert_int_equal(reading.journal.tables.samples, 1);
    journal_free(&reading.journal);
    bytes_free(&bytes);
}

static void a_tachyon_file_with_anything_wrong_is_refused(void **state)
{
    (void)state;
    struct bytes bytes = tachyon_bytes();
    struct reading refused = read_bytes(bytes.at, bytes.size, 1), cut = read_bytes(bytes.at, bytes.size - 1, 0);
    assert_int_equal(refused.state, SOURCE_STOPPED);
    assert_string_equal(refused.why.text, "no such sample");
    assert_false(cut.opened);
    assert_true(cut.why.text[0]);
    journal_free(&refused.journal);
    journal_free(&cut.journal);
    bytes_free(&bytes);
}

/* A read gives one packet here: the first bytes come in pieces, and there is no going back. */
static void what_comes_in_pieces_is_the_same(void **state)
{
    (void)state;
    struct bytes files[] = { stream_of(story, countof(story), CODEC_GROUPED), tachyon_bytes() };
    for (size_t i = 0; i < countof(files); i++) {
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
        const size_t sizes[] = { 3, 7, SOURCE_HEAD, files[i].size - 10 - SOURCE_HEAD };
        const unsigned char *at = files[i].at;
        for (size_t piece = 0; piece < countof(sizes); at += sizes[piece++])
            assert_int_equal(write(ends[1], at, sizes[piece]), sizes[piece]);
        close(ends[1]);
        struct reading pieces = read_file(ends[0], 0), whole = read_bytes(files[i].at, files[i].size, 0);
        assert_int_equal(pieces.state, SOURCE_ENDED);
        assert_memory_equal(&pieces.report, &whole.report, sizeof(whole.report));
        assert_same_lines(journal_text(&pieces.journal), journal_text(&whole.journal));
        journal_free(&pieces.journal);
        journal_free(&whole.journal);
        bytes_free(&files[i]);
    }
}

TEST_FILE(source)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_recognised_by_their_first_bytes),
        cmocka_unit_test(a_file_of_no_kind_is_refused),
        cmocka_unit_test(a_whole_stream_is_complete),
        cmocka_unit_test(a_stream_that_ends_too_early_says_how),
        cmocka_unit_test(a_recording_that_was_cut_says_so),
        cmocka_unit_test(events_that_are_refused_are_damage_of_a_stream),
        cmocka_unit_test(a_tachyon_file_is_complete_and_has_no_date),
        cmocka_unit_test(a_tachyon_file_with_anything_wrong_is_refused),
        cmocka_unit_test(what_comes_in_pieces_is_the_same),
    };
    return run_all(tests);
}
