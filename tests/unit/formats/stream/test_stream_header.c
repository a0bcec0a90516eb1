/* SPDX-License-Identifier: MIT */
/* The header of a stream: the bytes and fields that it has, and the headers that a reader refuses. */
#include "formats/stream/stream_fields.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

static void put_text_of(struct bytes *to, uint64_t field, struct text text)
{
    put_number(to, field);
    put_text(to, text);
}

static void unknown_header_fields_are_passed_over(void **state)
{
    (void)state;
    struct bytes header = { 0 };
    put_text_of(&header, 99, TEXT("of a later version"));
    stream_fields_put_number(&header, 1, 1);
    put_text_of(&header, UINT64_MAX, TEXT(""));
    stream_fields_put_number(&header, 8, 10 * MS);
    stream_fields_put_number(&header, 9, 1000);
    put_text_of(&header, 3, TEXT("host"));
    put_text_of(&header, 0, TEXT("\xFF"));
    struct bytes file = stream_of_payloads(&header, NULL, 0);
    struct playback playback = { 0 };
    playback_read(&playback, file.at, file.size);
    assert_true(playback.opened);
    assert_text(playback.journal.tables.recording.host, "host");
    assert_int_equal(playback.journal.tables.recording.interval_ns, 10 * MS);
    assert_int_equal(playback.journal.tables.recording.kernel.size, 0);
    playback_free(&playback);
    bytes_free(&file);
    bytes_free(&header);
}

static struct bytes stream_of_header(uint64_t version, uint64_t interval_ns, uint64_t unit_ns,
                                     struct text pyreel_version)
{
    struct bytes header = { 0 };
    stream_fields_put_number(&header, HEADER_VERSION, version);
    put_text_of(&header, 2, pyreel_version);
    stream_fields_put_number(&header, 8, interval_ns);
    stream_fields_put_number(&header, 9, unit_ns);
    const struct bytes file = stream_of_payloads(&header, NULL, 0);
    bytes_free(&header);
    return file;
}

static void headers_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const uint64_t rows[][3] = {
        { 0, 1000, 10 }, { 1, 0, 10 }, { 1, 1000, 0 }, { 1, 1000, 1001 }, { 1, UINT64_MAX, 10 },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct playback playback = { 0 };
        struct bytes file = stream_of_header(rows[i][0], rows[i][1], rows[i][2], TEXT("1.0.0"));
        playback_read(&playback, file.at, file.size);
        assert_false(playback.opened);
        assert_string_equal(playback.why.text, "its header is damaged");
        playback_free(&playback);
        bytes_free(&file);
    }
}

#define READS ", and this program reads stream version 1: use "
#define THAT  "the pyreel that recorded it or a later one"

static void streams_of_a_later_version_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t version;
        struct text pyreel_version;
        const char *reason;
    } rows[] = {
        { 2, T("2.0.1"), "it has stream version 2" READS "pyreel 2.0.1, which recorded it, or a later one" },
        { 2, T("3.0~rc1+b-2"),
          "it has stream version 2" READS "pyreel 3.0~rc1+b-2, which recorded it, or a later one" },
        { 2, T(""), "it has stream version 2" READS THAT },
        { UINT32_MAX, T("2 or so"), "it has stream version 4294967295" READS THAT },
        { 2, T("2.0\x1b[7m"), "it has stream version 2" READS THAT },
        { 2, T("2.0.0-a-version-of-more-than-32-bytes"), "it has stream version 2" READS THAT },
        { (UINT64_C(1) << 32) + 1, T(""), "it has stream version 4294967295" READS THAT }, /* 33 bits */
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct playback playback = { 0 };
        struct bytes file = stream_of_header(rows[i].version, 1000, 10, rows[i].pyreel_version);
        playback_read(&playback, file.at, file.size);
        assert_false(playback.opened);
        assert_string_equal(playback.why.text, rows[i].reason);
        playback_free(&playback);
        bytes_free(&file);
    }
}

static void files_that_are_no_recordings_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct text bytes;
        const char *reason;
    } rows[] = {
        { T(""), "it is empty" },
        { T("\x89"), "it is not a pyreel recording" },
        { T("\x89pyreel"), "it is not a pyreel recording" },
        { T("hello, world"), "it is not a pyreel recording" },
        { T(STREAM_MAGIC), "its header block is damaged or cut off, and nothing can be read without it" },
        { T(STREAM_MAGIC "\xF5prB and no block"),
          "its header block is damaged or cut off, and nothing can be read without it" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct playback playback = { 0 };
        playback_read(&playback, rows[i].bytes.bytes, rows[i].bytes.size);
        assert_false(playback.opened);
        assert_string_equal(playback.why.text, rows[i].reason);
        playback_free(&playback);
    }
}

TEST_FILE(stream_header)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_header_fields_are_passed_over),
        cmocka_unit_test(headers_that_make_no_sense_are_refused),
        cmocka_unit_test(streams_of_a_later_version_are_refused),
        cmocka_unit_test(files_that_are_no_recordings_are_refused),
    };
    return run_all(tests);
}
