/* SPDX-License-Identifier: MIT */
/* What a file begins with, and what is refused for it. */
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

static void headers_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t version, interval_ns, unit_ns;
        const char *reason;
    } rows[] = {
        { 6, 1000, 10, "it has format version 6 and this program reads up to 5: use a newer pyreel" },
        { UINT32_MAX, 1000, 10, "it has format version 4294967295 and this program reads up to 5: use a newer pyreel" },
        { 0, 1000, 10, "its header is damaged" },
        { 1, 0, 10, "its header is damaged" },
        { 1, 1000, 0, "its header is damaged" },
        { 1, 1000, 1001, "its header is damaged" },
        { 1, UINT64_MAX, 10, "its header is damaged" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct bytes header = { 0 };
        struct playback playback = { 0 };
        stream_fields_put_number(&header, 1, rows[i].version);
        stream_fields_put_number(&header, 8, rows[i].interval_ns);
        stream_fields_put_number(&header, 9, rows[i].unit_ns);
        struct bytes file = stream_of_payloads(&header, NULL, 0);
        playback_read(&playback, file.at, file.size);
        assert_false(playback.opened);
        assert_string_equal(playback.why.text, rows[i].reason);
        playback_free(&playback);
        bytes_free(&file);
        bytes_free(&header);
    }
}

static void a_version_above_32_bits_is_not_version_1(void **state)
{
    (void)state;
    struct bytes header = { 0 };
    struct playback playback = { 0 };
    stream_fields_put_number(&header, 1, ((uint64_t)1 << 32) + 1);
    stream_fields_put_number(&header, 8, 1000);
    stream_fields_put_number(&header, 9, 10);
    struct bytes file = stream_of_payloads(&header, NULL, 0);
    playback_read(&playback, file.at, file.size);
    assert_false(playback.opened);
    playback_free(&playback);
    bytes_free(&file);
    bytes_free(&header);
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_header_fields_are_passed_over),
        cmocka_unit_test(headers_that_make_no_sense_are_refused),
        cmocka_unit_test(a_version_above_32_bits_is_not_version_1),
        cmocka_unit_test(files_that_are_no_recordings_are_refused),
    };
    return run_all(tests);
}
