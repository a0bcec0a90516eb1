/* SPDX-License-Identifier: MIT */
/* How code objects are read: with how many system calls, and what happens when something is not there. */
#include "record/python/code.h"

#include "formats/base/alloc.h"
#include "tests/fakes/defined.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

/* The system calls that it takes to read so many of them from the first one on, which must be read. */
static uint64_t calls_to_read(struct fake_python *p, const uint64_t *at, size_t count, uint32_t copy)
{
    struct executed which[CODES_AT_ONCE];
    for (size_t i = 0; i < count; i++)
        which[i] = (struct executed){ .code = at[i], .copy = copy };
    const uint64_t calls = p->target.remote.calls;
    assert_true(codes_read_all(&p->codes, which, count));
    return p->target.remote.calls - calls;
}

static struct text name_of(struct fake_python *p, uint64_t address)
{
    const struct code *code = codes_find(&p->codes, address, 0);
    if (!code)
        fail_msg("Python %x: it was not read", fake_layout(p)->version);
    return defined_name(&p->definitions, code->function);
}

/* What is told of an instruction of it. */
static const struct frame *frame_of(struct fake_python *p, uint64_t address, int64_t unit)
{
    const uint32_t number = codes_frame(&p->codes, codes_find(&p->codes, address, 0), unit, 0);
    return &p->definitions.frames.rows[number].frame;
}

/* The type of code objects is known from then on. */
static void know_the_type(struct fake_python *p)
{
    assert_non_null(codes_read(&p->codes, fake_code(p, "first", 1, 1), 0));
}

static void read_one(struct fake_python *p)
{
    know_the_type(p);
    const uint64_t at[] = { fake_pages(p, 1024) };
    fake_code_at(p, at[0], "f", 20, 9);
    assert_int_equal(calls_to_read(p, at, 1, 0), 2);
    assert_text(name_of(p, at[0]), "f");
    assert_int_equal(frame_of(p, at[0], 8 * FAKE_UNIT)->line, 28);
    if (fake_layout(p)->code_copies)
        assert_int_equal(calls_to_read(p, at, 1, 1), 2);
}
EACH_VERSION(one_takes_two_calls, read_one);

/* What is longer than it is guessed to be takes one more, and is the same. */
static void read_long(struct fake_python *p)
{
    static char long_name[1000];
    know_the_type(p);
    memset(long_name, 'x', sizeof(long_name) - 1);
    const uint64_t at[] = { fake_code(p, "f", 7, 2000), fake_code(p, long_name, 1, 1) };
    assert_int_equal(calls_to_read(p, at, 1, 0), 3);
    assert_int_equal(frame_of(p, at[0], 1999 * FAKE_UNIT)->line, 2006);
    assert_int_equal(calls_to_read(p, at + 1, 1, 0), 3);
    assert_text(name_of(p, at[1]), long_name);
}
EACH_VERSION(what_is_long_takes_one_more, read_long);

static void read_many(struct fake_python *p)
{
    uint64_t at[CODES_AT_ONCE];
    know_the_type(p);
    for (size_t i = 0; i < CODES_AT_ONCE; i++) {
        const char name[] = { (char)('a' + i), 0 };
        at[i] = fake_code(p, name, 1, 3);
    }
    assert_true(calls_to_read(p, at, CODES_AT_ONCE, 0) <= 3);
    for (size_t i = 0; i < CODES_AT_ONCE; i++)
        assert_int_equal(name_of(p, at[i]).bytes[0], 'a' + i);
    assert_int_equal(p->codes.count, 1 + CODES_AT_ONCE);
}
EACH_VERSION(many_take_as_few, read_many);

/* ---- what is not there ---- */

/* Each of its parts, and itself, at the end of the memory that is there: nothing beyond is asked for. */
static void read_at_the_end(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    know_the_type(p);
    const uint32_t parts[] = { l->code_name, l->code_file, l->code_line_table, 0 };
    for (size_t i = 0; i < countof(parts); i++) {
        const uint64_t page = fake_pages(p, 2 * FAKE_PAGE), end = page + FAKE_PAGE;
        const size_t size = l->code_instructions + FAKE_UNIT * 2;
        const uint64_t code = parts[i] ? fake_code(p, "f", 5, 1) : end - size / 8 * 8 - 8;
        if (!parts[i])
            fake_code_at(p, code, "f", 5, 1);
        if (parts[i]) {
            const uint64_t old = fake_peek(p, code + parts[i]);
            memcpy(fake_bytes(p, end - 64), fake_bytes(p, old), 64);
            fake_poke(p, code + parts[i], end - 64);
        }
        fake_remote_hide(end, FAKE_PAGE);
        const struct code *read = codes_read(&p->codes, code, 0);
        fake_remote_hide(0, 0);
        if (!read)
            fail_msg("Python %x: row %zu was not read", l->version, i);
        assert_text(name_of(p, code), "f");
    }
}
EACH_VERSION(nothing_beyond_the_end_is_asked_for, read_at_the_end);

/* An object that goes on in the next page. */
static void read_across(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    know_the_type(p);
    const uint32_t parts[] = { l->code_name, l->code_file, l->code_line_table };
    for (size_t i = 0; i < countof(parts); i++) {
        for (uint64_t before = 8; before <= 64; before += 8) {
            const uint64_t end = fake_pages(p, 2 * FAKE_PAGE) + FAKE_PAGE;
            const uint64_t code = fake_code(p, "across", 5, 1), old = fake_peek(p, code + parts[i]);
            memcpy(fake_bytes(p, end - before), fake_bytes(p, old), 64);
            fake_poke(p, code + parts[i], end - before);
            assert_non_null(codes_read(&p->codes, code, 0));
            assert_text(name_of(p, code), "across");
            assert_int_equal(frame_of(p, code, 0)->column, 4);
        }
    }
}
EACH_VERSION(what_goes_on_in_the_next_page_is_whole, read_across);

/* One that is none, or has a part that is not there, harms no other. */
static void read_around(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const uint32_t parts[] = { l->code_name, l->code_file, l->code_line_table, l->object_type, l->code_units };
    know_the_type(p);
    for (size_t i = 0; i < countof(parts); i++) {
        uint64_t at[] = { fake_code(p, "a", 1, 3), fake_code(p, "b", 1, 3), 16, fake_code(p, "c", 1, 3) };
        fake_poke(p, at[1] + parts[i], 32);
        calls_to_read(p, at, countof(at), 0);
        assert_text(name_of(p, at[0]), "a");
        assert_text(name_of(p, at[3]), "c");
        if (parts[i] != l->code_units)
            assert_null(codes_find(&p->codes, at[1], 0));
        assert_null(codes_find(&p->codes, at[2], 0));
    }
    const struct executed none[] = { { .code = 16 }, { .code = fake_code(p, "d", 1, 3) } };
    assert_false(codes_read_all(&p->codes, none, 2));
    assert_text(name_of(p, none[1].code), "d");
}
EACH_VERSION(one_that_is_none_harms_no_other, read_around);

/* What would take much memory is only read when it is asked for itself. */
static void leave_out(struct fake_python *p)
{
    know_the_type(p);
    const uint64_t at[] = { fake_code(p, "f", 1, 3), fake_code(p, "g", 1, 3) };
    const struct layout *l = fake_layout(p);
    const uint64_t table = fake_peek(p, at[1] + l->code_line_table);
    fake_poke(p, table + l->bytes_size, (64u << 10) + 1);
    calls_to_read(p, at, 2, 0);
    assert_null(codes_find(&p->codes, at[1], 0));
    assert_non_null(codes_read(&p->codes, at[1], 0));
}
EACH_VERSION(what_is_large_is_not_read_ahead, leave_out);

/* ---- what changes meanwhile ---- */

static struct replaced {
    struct fake_python *p;
    uint64_t code;
    uint64_t name; /* when this is read */
} change;

/* Another code object takes its place. */
static void replace(void *self, const struct piece *piece, size_t i)
{
    (void)self, (void)i;
    if (piece->address != change.name)
        return;
    change.name = 0;
    fake_code_at(change.p, change.code, "another", 50, 3);
}

/* The rest of a long one, read later, is also of the same. */
static void read_changing(struct fake_python *p)
{
    static char names[][600] = { "f", "" };
    memset(names[1], 'y', sizeof(names[1]) - 1);
    know_the_type(p);
    for (size_t i = 0; i < countof(names); i++) {
        const uint64_t code = fake_code(p, names[i], 1, 3);
        const uint64_t name = fake_peek(p, code + fake_layout(p)->code_name);
        /* When the name is begun, or its rest. */
        change = (struct replaced){ p, code, i == 0 ? name : 0 };
        fake_remote_hook(replace, NULL);
        if (i == 1) {
            const uint64_t there = FAKE_PAGE - name % FAKE_PAGE;
            change.name = name + (there < 256 ? there : 256);
        }
        assert_null(codes_read(&p->codes, code, 0));
        assert_int_equal(change.name, 0);
        fake_remote_hook(NULL, NULL);
        assert_non_null(codes_read(&p->codes, code, 0));
        assert_text(name_of(p, code), "another");
    }
}
EACH_VERSION(one_that_is_replaced_is_refused, read_changing);

TEST_FILE(code_read)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_takes_two_calls),
        cmocka_unit_test(what_is_long_takes_one_more),
        cmocka_unit_test(many_take_as_few),
        cmocka_unit_test(nothing_beyond_the_end_is_asked_for),
        cmocka_unit_test(what_goes_on_in_the_next_page_is_whole),
        cmocka_unit_test(one_that_is_none_harms_no_other),
        cmocka_unit_test(what_is_large_is_not_read_ahead),
        cmocka_unit_test(one_that_is_replaced_is_refused),
    };
    return run_all(tests);
}
