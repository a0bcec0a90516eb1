/* SPDX-License-Identifier: MIT */
/* Tachyon files that are cut off, were never finished, or lie: each is refused, with a word on why. */
#include "formats/tachyon/tachyon_read.h"

#include "tests/fakes/tachyon_files.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

/* Two threads, three frames, seven samples. */
static struct tachyon_file good_file(void)
{
    struct tachyon_file file = tachyon_file();
    file.threads = 2;
    file_string(&file, "a.py");
    file_string(&file, "f");
    for (int line = 1; line <= 3; line++)
        file_frame(&file, 0, 1, line, 0, 0, 1, 255);
    file_record(&file, 71, 0, TACHYON_FULL);
    file_moment(&file, 1000, 0);
    FILE_SMALL(&file, 3, 2, 1, 0);
    file_record(&file, 72, 0, TACHYON_REPEAT);
    FILE_SMALL(&file, 2);
    file_moment(&file, 1000, 0);
    file_moment(&file, 1000, 1);
    return file;
}

static void assert_refused(struct bytes bytes, const char *because)
{
    struct journal told = { 0 };
    struct fault why = { 0 };
    if (tachyon_told(bytes, &told, &why))
        fail_msg("it is accepted, and should be refused: %s", because);
    if (!strstr(why.text, because))
        fail_msg("it is refused because '%s', and not '%s'", why.text, because);
    journal_free(&told);
}

static void assert_file_refused(struct tachyon_file *file, const char *because)
{
    struct bytes bytes = file_made(file);
    assert_refused(bytes, because);
    bytes_free(&bytes);
}

static void the_file_they_are_made_from_is_good(void **state)
{
    (void)state;
    struct tachyon_file file = good_file();
    struct bytes bytes = file_made(&file);
    struct journal told = { 0 };
    struct fault why = { 0 };
    assert_true(tachyon_told(bytes, &told, &why));
    assert_int_equal(told.tables.samples, 3);
    assert_int_equal(told.tables.ticks, 2);
    journal_free(&told);
    bytes_free(&bytes);
}

/* What the header or the footer may say wrong. */
static void a_header_that_lies_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t field;
        uint64_t added;
        bool wide; /* 64 bits */
        const char *because;
    } rows[] = {
#define FIELD(name, by, because)                                                                                       \
    { offsetof(struct tachyon_file, name), by, sizeof(((struct tachyon_file *)0)->name) == 8, because }
        FIELD(version, 1, "use a newer pyreel"),
        FIELD(samples, 1, "they end too early"),
        FIELD(samples, -1, "more samples than the header states"),
        FIELD(samples, UINT64_MAX / 2, "they end too early"),
        FIELD(threads, -1, "more threads than the header states"),
        FIELD(codec, 2, "an unknown compression"),
        FIELD(codec, 0x80000000, "an unknown compression"),
        FIELD(interval_us, -1000, "its header is damaged"),
        FIELD(interval_us, UINT64_MAX / 2, "its header is damaged"),
        FIELD(start_us, UINT64_MAX / 2, "its header is damaged"),
        FIELD(strings, 1, "names are damaged"),
        FIELD(strings, -1, "frames are damaged"),
        FIELD(strings, 0x7fffffff, "more names or frames than fit"),
        FIELD(frames, 1, "frames are damaged"),
        FIELD(frames, -1, "tables are damaged"),
        FIELD(frames, 0x7fffffff, "more names or frames than fit"),
        FIELD(strings_at, -20, "damaged"),
        FIELD(strings_at, -60, "its header is damaged"),
        FIELD(strings_at, 1000, "its header is damaged"),
        FIELD(strings_at, UINT64_MAX / 2, "its header is damaged"),
        FIELD(frames_at, 1, "damaged"),
        FIELD(frames_at, -1, "damaged"),
        FIELD(frames_at, 1000, "cut off or damaged"),
        FIELD(size, 1, "cut off or damaged"),
        FIELD(size, -1, "cut off or damaged"),
#undef FIELD
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct tachyon_file file = good_file();
        unsigned char *field = (unsigned char *)&file + rows[i].field;
        uint64_t value = 0;
        memcpy(&value, field, rows[i].wide ? 8 : 4);
        value += rows[i].added;
        memcpy(field, &value, rows[i].wide ? 8 : 4);
        assert_file_refused(&file, rows[i].because);
    }
}

/* A record of thread 71, whose stack is 3 frames deep, behind those of the good file. */
static void a_record_that_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t kind, size;
        uint8_t bytes[16];
        const char *because;
    } rows[] = {
        { 4, 3, { 1, 0, 0 }, "unknown kind" },
        { 255, 3, { 1, 0, 0 }, "unknown kind" },
        { TACHYON_FULL, 4, { 1, 0, 1, 3 }, "a frame that is not defined" },
        { TACHYON_FULL, 7, { 1, 0, 1, 0xff, 0xff, 0xff, 0x0f }, "a frame that is not defined" },
        { TACHYON_FULL, 4, { 1, 0, 2, 0 }, "a frame that is not defined" }, /* the second is missing */
        { TACHYON_FULL, 4, { 1, 0, 0x81, 2 }, "an impossible stack" },      /* 257 frames */
        { TACHYON_FULL, 7, { 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f }, "an impossible stack" },
        { TACHYON_FULL, 7, { 1, 0, 0xff, 0xff, 0xff, 0xff, 0x1f }, "cut off" }, /* 33 bits */
        { TACHYON_FULL, 1, { 1 }, "cut off" },
        { TACHYON_FULL, 2, { 0x80, 0x80 }, "cut off" },
        { TACHYON_SUFFIX, 5, { 1, 0, 4, 1, 0 }, "an impossible stack" },
        { TACHYON_SUFFIX, 8, { 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 1 }, "an impossible stack" },
        { TACHYON_SUFFIX, 6, { 1, 0, 3, 0xfe, 1, 0 }, "an impossible stack" }, /* 3 + 254 */
        { TACHYON_POP_PUSH, 5, { 1, 0, 4, 1, 0 }, "an impossible stack" },
        { TACHYON_POP_PUSH, 8, { 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0 }, "an impossible stack" },
        { TACHYON_REPEAT, 4, { 2, 1, 0, 1 }, "an impossible time" }, /* the second has no status */
        { TACHYON_REPEAT, 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 }, "an impossible time" },
        { TACHYON_REPEAT, 12, { 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0 }, "an impossible time" },
    };
    for (int codec = TACHYON_PLAIN; codec <= TACHYON_ZSTD; codec++) {
        for (size_t i = 0; i < countof(rows); i++) {
            struct tachyon_file file = good_file();
            file.codec = (uint32_t)codec;
            file.samples += 3;
            file_record(&file, 71, 0, rows[i].kind);
            file_small(&file, rows[i].size, rows[i].bytes);
            assert_file_refused(&file, rows[i].because);
        }
    }
}

static void a_frame_without_a_name_is_refused(void **state)
{
    (void)state;
    struct tachyon_file no_name = good_file(), no_file = good_file();
    file_frame(&no_name, 0, 2, 1, 0, 0, 0, 255);
    file_frame(&no_file, 0xffffffff, 0, 1, 0, 0, 0, 255);
    assert_file_refused(&no_name, "frames are damaged");
    assert_file_refused(&no_file, "frames are damaged");
}

static void each_cut_is_refused(void **state)
{
    (void)state;
    for (int codec = TACHYON_PLAIN; codec <= TACHYON_ZSTD; codec++) {
        struct tachyon_file file = good_file();
        file.codec = (uint32_t)codec;
        file_statistics(&file, 1, 1000, 0, 0);
        struct bytes bytes = file_made(&file);
        for (size_t size = 0; size < bytes.size; size++)
            assert_refused((struct bytes){ bytes.at, size, size }, "cut off");
        bytes_free(&bytes);
    }
}

/* The recorder was killed: what it had written has zeros for a header, and no names. */
static void one_that_was_never_finished_is_refused(void **state)
{
    (void)state;
    unsigned char zeros[300] = { 0 };
    for (size_t size = 64; size <= sizeof(zeros); size += 59)
        assert_refused((struct bytes){ zeros, size, size }, "never finished");
    memset(zeros + 64, 0x5a, sizeof(zeros) - 64);
    assert_refused((struct bytes){ zeros, sizeof(zeros), sizeof(zeros) }, "never finished");
    assert_true(tachyon_header_recognised(zeros, sizeof(zeros)));
    assert_false(tachyon_header_recognised(zeros, 63));
}

static void a_broken_zstd_frame_is_refused(void **state)
{
    (void)state;
    struct tachyon_file plain = good_file();
    plain.codec = TACHYON_ZSTD;
    struct bytes bytes = file_made(&plain);
    struct bytes copy = { 0 };
    for (size_t i = 64; i < 64 + 12; i++) {
        copy.size = 0;
        put_bytes(&copy, bytes.at, bytes.size);
        copy.at[i] ^= 0xff;
        struct journal told = { 0 };
        struct fault why = { 0 };
        if (tachyon_told(copy, &told, &why))
            assert_int_equal(told.tables.samples, 3); /* nothing checks the content of a stack: but so many there are */
        else
            assert_non_null(strstr(why.text, "damaged"));
        journal_free(&told);
    }
    copy.at[64] ^= 0xff;
    bytes_free(&copy);
    bytes_free(&bytes);
}

/* The file has all of its parts, but one is too short. */
static void records_that_end_too_early_are_refused(void **state)
{
    (void)state;
    struct tachyon_file file = good_file();
    for (size_t cut = 1; cut < file.records.size; cut++) {
        struct tachyon_file less = good_file();
        less.cut = cut;
        assert_file_refused(&less, "samples are damaged");
    }
    for (size_t cut = 1; cut < 30; cut++) {
        struct tachyon_file less = good_file();
        less.codec = TACHYON_ZSTD;
        less.cut = cut;
        assert_file_refused(&less, "samples are damaged");
    }
    bytes_free(&file.records);
    bytes_free(&file.string_table);
    bytes_free(&file.frame_table);
}

static void other_files_are_not_taken_for_one(void **state)
{
    (void)state;
    assert_true(tachyon_header_recognised("HCAT", 4));
    assert_true(tachyon_header_recognised("TACH", 4));
    assert_false(tachyon_header_recognised("TAC", 3));
    assert_false(tachyon_header_recognised("\x89pyreel\n", 8));
    assert_false(tachyon_header_recognised("", 0));
}

TEST_FILE(tachyon_damage)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_they_are_made_from_is_good),
        cmocka_unit_test(a_header_that_lies_is_refused),
        cmocka_unit_test(a_record_that_cannot_be_is_refused),
        cmocka_unit_test(a_frame_without_a_name_is_refused),
        cmocka_unit_test(each_cut_is_refused),
        cmocka_unit_test(one_that_was_never_finished_is_refused),
        cmocka_unit_test(a_broken_zstd_frame_is_refused),
        cmocka_unit_test(records_that_end_too_early_are_refused),
        cmocka_unit_test(other_files_are_not_taken_for_one),
    };
    return run_all(tests);
}
