/* SPDX-License-Identifier: MIT */
#include "formats/base/bytes.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <string.h>

struct row {
    uint64_t value;
    size_t size;
    unsigned char bytes[10];
};

static const struct row numbers[] = {
    { 0, 1, { 0 } },
    { 1, 1, { 1 } },
    { 127, 1, { 0x7F } },
    { 128, 2, { 0x80, 1 } },
    { 300, 2, { 0xAC, 2 } },
    { 16383, 2, { 0xFF, 0x7F } },
    { 16384, 3, { 0x80, 0x80, 1 } },
    { UINT32_MAX, 5, { 0xFF, 0xFF, 0xFF, 0xFF, 0x0F } },
    { INT64_MAX, 9, { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F } },
    { (uint64_t)1 << 63, 10, { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1 } },
    { UINT64_MAX, 10, { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1 } },
};

static void numbers_have_these_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(numbers); i++) {
        struct bytes written = { 0 };
        put_number(&written, numbers[i].value);
        assert_int_equal(written.size, numbers[i].size);
        assert_memory_equal(written.at, numbers[i].bytes, numbers[i].size);
        struct cursor from = cursor_of(written.at, written.size);
        assert_int_equal(take_number(&from), numbers[i].value);
        assert_false(from.bad);
        assert_int_equal(cursor_left(&from), 0);
        put_number(&written, 1); /* and with another one behind it */
        for (size_t size = numbers[i].size; size <= written.size; size++) {
            from = cursor_of(written.at, size);
            assert_int_equal(take_either_number(&from), numbers[i].value);
            assert_false(from.bad);
            assert_int_equal(cursor_left(&from), size - numbers[i].size);
        }
        bytes_free(&written);
    }
}

static void a_cut_number_is_bad_at_every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(numbers); i++) {
        for (size_t size = 0; size < numbers[i].size; size++) {
            struct cursor from = cursor_of(numbers[i].bytes, size);
            assert_int_equal(take_number(&from), 0);
            assert_true(from.bad);
            from = cursor_of(numbers[i].bytes, size);
            assert_int_equal(take_either_number(&from), 0);
            assert_true(from.bad);
        }
    }
}

static void numbers_above_64_bits_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        unsigned char bytes[12];
    } rows[] = {
        { 10, { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2 } },             /* the 65th bit */
        { 10, { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7F } },          /* bits 64 to 69 */
        { 11, { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0 } },       /* an eleventh byte */
        { 12, { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0 } }, /* zeros without end */
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct cursor from = cursor_of(rows[i].bytes, rows[i].size);
        assert_int_equal(take_number(&from), 0);
        assert_true(from.bad);
        assert_int_equal(cursor_left(&from), 0);
    }
}

static void signed_numbers_are_small_near_zero(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        uint64_t number;
    } rows[] = {
        { 0, 0 },
        { -1, 1 },
        { 1, 2 },
        { -2, 3 },
        { 63, 126 },
        { -64, 127 },
        { 64, 128 },
        { INT64_MAX, UINT64_MAX - 1 },
        { INT64_MIN, UINT64_MAX },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct bytes written = { 0 };
        put_signed(&written, rows[i].value);
        struct cursor number = cursor_of(written.at, written.size), from = number;
        assert_int_equal(take_number(&number), rows[i].number);
        assert_int_equal(take_signed(&from), rows[i].value);
        assert_false(from.bad);
        bytes_free(&written);
    }
}

static void a_number_of_32_bits_must_fit(void **state)
{
    (void)state;
    struct bytes written = { 0 };
    put_number(&written, UINT32_MAX);
    put_number(&written, (uint64_t)UINT32_MAX + 1);
    put_number(&written, 7);
    struct cursor from = cursor_of(written.at, written.size);
    assert_int_equal(take_number32(&from), UINT32_MAX);
    assert_false(from.bad);
    assert_int_equal(take_number32(&from), 0);
    assert_true(from.bad);
    assert_int_equal(take_number32(&from), 0); /* it stays bad: the 7 is not given */
    bytes_free(&written);
}

static void four_bytes_are_little_endian(void **state)
{
    (void)state;
    struct bytes written = { 0 };
    put_u32(&written, 0x01020304);
    assert_int_equal(written.size, 4);
    assert_memory_equal(written.at, "\x04\x03\x02\x01", 4);
    struct cursor from = cursor_of(written.at, 4);
    assert_int_equal(take_u32(&from), 0x01020304);
    assert_false(from.bad);
    for (size_t size = 0; size < 4; size++) {
        from = cursor_of(written.at, size);
        assert_int_equal(take_u32(&from), 0);
        assert_true(from.bad);
    }
    bytes_free(&written);
}

static void texts_come_back(void **state)
{
    (void)state;
    struct bytes written = { 0 };
    put_text(&written, TEXT(""));
    put_text(&written, TEXT("gr\xC3\xBC\xC3\x9F"));
    struct cursor from = cursor_of(written.at, written.size);
    const struct text none = take_text(&from);
    assert_int_equal(none.size, 0);
    const struct text word = take_text(&from);
    assert_text(word, "gr\xC3\xBC\xC3\x9F");
    assert_false(from.bad);
    assert_int_equal(cursor_left(&from), 0);
    for (size_t size = 1; size < written.size; size++) {
        from = cursor_of(written.at, size);
        take_text(&from);
        take_text(&from);
        assert_true(from.bad);
    }
    bytes_free(&written);
}

static void a_text_that_is_not_utf8_is_bad(void **state)
{
    (void)state;
    static const struct text rows[] = { { "\x01\xFF", 2 },
                                        { "\x02"
                                          "a\0",
                                          3 },
                                        { "\x02\xC3\x28", 3 } };
    for (size_t i = 0; i < countof(rows); i++) {
        struct cursor from = cursor_of(rows[i].bytes, rows[i].size);
        assert_int_equal(take_text(&from).size, 0);
        assert_true(from.bad);
    }
}

static void a_part_ends_where_it_should(void **state)
{
    (void)state;
    struct cursor from = cursor_of("abcdef", 6);
    struct cursor part = take_part(&from, 4);
    assert_int_equal(cursor_left(&part), 4);
    assert_int_equal(cursor_left(&from), 2);
    part = take_part(&from, 3);
    assert_true(part.bad);
    assert_true(from.bad);
    assert_int_equal(cursor_left(&part), 0);
    from = cursor_of("abcdef", 6);
    assert_true(take_part(&from, UINT64_MAX).bad);
}

static void many_bytes_grow(void **state)
{
    (void)state;
    struct bytes written = { 0 };
    for (uint64_t i = 0; i < 100000; i++)
        put_number(&written, i * i * i);
    struct cursor from = cursor_of(written.at, written.size);
    for (uint64_t i = 0; i < 100000; i++)
        assert_int_equal(take_number(&from), i * i * i);
    assert_false(from.bad);
    assert_int_equal(cursor_left(&from), 0);
    bytes_free(&written);
    assert_null(written.at);
}

TEST_FILE(bytes)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_these_bytes),
        cmocka_unit_test(a_cut_number_is_bad_at_every_byte),
        cmocka_unit_test(numbers_above_64_bits_are_refused),
        cmocka_unit_test(signed_numbers_are_small_near_zero),
        cmocka_unit_test(a_number_of_32_bits_must_fit),
        cmocka_unit_test(four_bytes_are_little_endian),
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(a_text_that_is_not_utf8_is_bad),
        cmocka_unit_test(a_part_ends_where_it_should),
        cmocka_unit_test(many_bytes_grow),
    };
    return run_all(tests);
}
