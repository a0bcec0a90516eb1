/* SPDX-License-Identifier: MIT */
#include "record/python/code.h"

#include "formats/base/alloc.h"
#include "tests/fakes/defined.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

static void define_once(struct fake_python *p)
{
    const uint64_t f = fake_code(p, "C.f", 20, 9), g = fake_code(p, "g", 40, 9), again = fake_code(p, "C.f", 20, 9);
    assert_null(codes_find(&p->codes, f, 0));
    const struct code *code = codes_read(&p->codes, f, 0);
    assert_non_null(code);
    assert_ptr_equal(codes_find(&p->codes, f, 0), code);
    assert_int_equal(code->body->first_line, 20);
    assert_int_equal(code->units, 9 * FAKE_UNIT);
    const uint32_t one = codes_frame(&p->codes, code, 1 * FAKE_UNIT, 0);
    assert_int_equal(codes_frame(&p->codes, code, 1 * FAKE_UNIT, 0), one);
    const uint32_t two = codes_frame(&p->codes, code, 2 * FAKE_UNIT, 0), begin = codes_frame(&p->codes, code, -1, 0);
    assert_int_not_equal(one, two);
    const struct frame *frame = &p->definitions.frames.rows[two].frame;
    assert_int_equal(frame->line, 22);
    assert_int_equal(frame->end_line, 22);
    assert_int_equal(frame->column, 4);
    assert_int_equal(frame->end_column, 9);
    assert_int_equal(p->definitions.frames.rows[begin].frame.line, 20);
    assert_int_equal(p->definitions.frames.rows[begin].frame.column, -1);
    assert_text(defined_name(&p->definitions, frame->function), "C.f");
    assert_text(defined_file(&p->definitions, frame->function), "a.py");
    assert_int_equal(p->definitions.functions.rows[frame->function].function.first_line, 20);

    const struct code *twin = codes_read(&p->codes, again, 0); /* the same function, made a second time */
    assert_int_not_equal(twin->number, code->number);
    assert_int_equal(twin->function, code->function);
    assert_int_equal(codes_frame(&p->codes, twin, 1 * FAKE_UNIT, 0), one);
    assert_int_not_equal(codes_read(&p->codes, g, 0)->function, code->function);
    assert_int_equal(p->definitions.strings.ids.count, 3);
    assert_int_equal(p->definitions.functions.ids.count, 2);
    assert_int_equal(p->definitions.frames.ids.count, 3);
}
EACH_VERSION(each_thing_is_defined_once, define_once);

static void confirm(struct fake_python *p)
{
    struct code *both[2];
    const uint64_t f = fake_code(p, "f", 20, 9), g = fake_code(p, "g", 40, 9);
    both[0] = codes_read(&p->codes, f, 0);
    both[1] = codes_read(&p->codes, g, 0);
    assert_true(codes_confirm(&p->codes, both, 2));
    fake_code_at(p, g, "h", 40, 9);
    assert_false(codes_confirm(&p->codes, both, 2));
    assert_non_null(codes_find(&p->codes, f, 0));
    assert_null(codes_find(&p->codes, g, 0));
    both[1] = codes_read(&p->codes, g, 0);
    assert_text(defined_name(&p->definitions, both[1]->function), "h");
    fake_remote_unmap(FAKE_BASE);
    assert_false(codes_confirm(&p->codes, both, 2));
    assert_null(codes_find(&p->codes, f, 0));
}
EACH_VERSION(another_at_the_same_address_is_noticed, confirm);

/* More than go into one call are confirmed in several. */
static void confirm_many(struct fake_python *p)
{
    static struct code *all[1500];
    const uint64_t first = fake_code(p, "f0", 1, 1);
    for (size_t i = 0; i < countof(all); i++) {
        all[i] = codes_read(&p->codes, i ? fake_code(p, "f", (uint32_t)i, 1) : first, 0);
        assert_non_null(all[i]);
    }
    const uint64_t calls = p->target.remote.calls;
    assert_true(codes_confirm(&p->codes, all, countof(all)));
    assert_true(p->target.remote.calls - calls <= 5);
    fake_code_at(p, all[1499]->address, "g", 1, 1);
    assert_false(codes_confirm(&p->codes, all, countof(all)));
    assert_int_equal(p->codes.count, countof(all) - 1);
}
EACH_VERSION(many_are_confirmed_with_few_calls, confirm_many);

/* ---- names ---- */

static const struct {
    const char *what;
    unsigned kind;
    bool ascii;
    unsigned char characters[20];
    uint64_t count;
    const char *name;
} names[] = {
    { "nothing", 1, true, "", 0, "" },
    { "ASCII", 1, true, "run", 3, "run" },
    { "Latin-1", 1, false, "na\xEFve", 5, "na\xC3\xAFve" },
    { "two bytes each",
      2,
      false,
      { 0x13, 0x27, 'a', 0 },
      2,
      "\xE2\x9C\x93"
      "a" },
    { "four bytes each",
      4,
      false,
      { 0x0D, 0xF4, 1, 0, 'b', 0, 0, 0 },
      2,
      "\xF0\x9F\x90\x8D"
      "b" },
    { "an undecodable byte", 2, false, { 0xE4, 0xDC }, 1, "\\xe4" },
    { "a NUL",
      1,
      true,
      { 'a', 0, 'b' },
      3,
      "a\xEF\xBF\xBD"
      "b" },
    { "beyond Unicode", 4, false, { 0xFF, 0xFF, 0xFF, 0xFF }, 1, "\xEF\xBF\xBD" },
};

static void read_names(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    for (size_t i = 0; i < countof(names); i++) {
        const uint64_t string = fake_room(p, 128), code = fake_code(p, "f", 1, 1);
        const uint32_t state = (names[i].kind | 1 << 3 | (unsigned)names[i].ascii << 4) << l->string_kind | 0xABCD0000u;
        fake_poke(p, string + l->string_length, names[i].count);
        memcpy(fake_bytes(p, string + l->string_state), &state, sizeof(state));
        memcpy(fake_bytes(p, string + (names[i].ascii ? l->string_ascii : l->string_compact)), names[i].characters,
               sizeof(names[i].characters));
        fake_poke(p, code + l->code_name, string);
        const struct code *read = codes_read(&p->codes, code, 0);
        if (!read)
            fail_msg("%s was not read", names[i].what);
        const struct text name = defined_name(&p->definitions, read->function);
        if (name.size != strlen(names[i].name) || memcmp(name.bytes, names[i].name, name.size) != 0)
            fail_msg("%s: '%.*s'", names[i].what, (int)name.size, name.bytes);
    }
}
EACH_VERSION(names_become_utf8, read_names);

#define HUGE_NAME 200000u

/* The name of a code object whose name has HUGE_NAME times 'x', but for one 'y' at this index. */
static struct text huge_name(struct fake_python *p, uint32_t at)
{
    const struct layout *l = &p->target.runtime.layout;
    const uint64_t code = fake_code(p, "f", 1, 1), string = fake_room(p, HUGE_NAME + 1000);
    const uint32_t state = (1 | 1 << 3 | 1 << 4) << l->string_kind;
    fake_poke(p, string + l->string_length, HUGE_NAME);
    memcpy(fake_bytes(p, string + l->string_state), &state, sizeof(state));
    memset(fake_bytes(p, string + l->string_ascii), 'x', HUGE_NAME);
    memset(fake_bytes(p, string + l->string_ascii + at), 'y', 1);
    fake_poke(p, code + l->code_name, string);
    return defined_name(&p->definitions, codes_read(&p->codes, code, 0)->function);
}

static void cut_names(struct fake_python *p)
{
    const uint64_t before = p->target.remote.bytes;
    const struct text first = huge_name(p, 1000), last = huge_name(p, HUGE_NAME - 1);
    assert_int_equal(first.size, 1000 + strlen("...#0123456789abcdef"));
    assert_memory_equal(first.bytes + 996, "xxxx...#", 8);
    assert_int_equal(last.size, first.size);
    assert_memory_equal(last.bytes, first.bytes, 1004);
    assert_memory_not_equal(last.bytes, first.bytes, last.size);
    assert_true(text_equal(huge_name(p, 1001), first)); /* names that differ in the middle only are one */
    assert_true(p->target.remote.bytes - before < 30000);
}
EACH_VERSION(a_huge_name_is_cut_and_marked, cut_names);

/* ---- copies of the bytecode ---- */

static void refuse_copies(struct fake_python *p, uint64_t code)
{
    const uint64_t at = code + fake_layout(p)->code_copies, copies = fake_peek(p, at);
    assert_null(codes_read(&p->codes, code, FAKE_COPIES));
    assert_null(codes_read(&p->codes, code, UINT32_MAX));
    fake_poke(p, copies, UINT64_MAX);
    assert_null(codes_read(&p->codes, code, 1));
    fake_poke(p, copies, FAKE_COPIES);
    fake_poke(p, copies + LAYOUT_COPIES_FIRST + 2 * 8, 0); /* that thread did not execute it yet */
    assert_null(codes_read(&p->codes, code, 2));
    fake_poke(p, at, 0);
    assert_null(codes_read(&p->codes, code, 1));
    fake_poke(p, at, copies);
}

static void read_copies(struct fake_python *p)
{
    const uint64_t f = fake_code(p, "f", 20, 9);
    const struct code *own = codes_read(&p->codes, f, 0);
    if (!fake_layout(p)->code_copies) {
        assert_null(codes_read(&p->codes, f, 1));
        return;
    }
    refuse_copies(p, f);
    struct code *second = codes_read(&p->codes, f, 1);
    assert_non_null(second);
    assert_ptr_equal(codes_find(&p->codes, f, 0), own);
    assert_ptr_equal(codes_find(&p->codes, f, 1), second);
    assert_null(codes_find(&p->codes, f, 3));
    assert_int_equal(second->first, fake_first(p, f, 1));
    assert_int_not_equal(second->number, own->number);
    assert_int_equal(second->function, own->function);
    assert_int_equal(codes_frame(&p->codes, second, 1 * FAKE_UNIT, 0), codes_frame(&p->codes, own, 1 * FAKE_UNIT, 0));
    assert_true(codes_confirm(&p->codes, &second, 1));
    /* More threads: the copies stay, their addresses are elsewhere. */
    const uint64_t at = f + fake_layout(p)->code_copies, old = fake_peek(p, at), more = fake_room(p, 128);
    memcpy(fake_bytes(p, more), fake_bytes(p, old), 64);
    fake_poke(p, at, more);
    assert_false(codes_confirm(&p->codes, &second, 1));
    second = codes_read(&p->codes, f, 1);
    assert_int_equal(second->first, fake_first(p, f, 1));
    /* Another thread has the number, and a copy of its own. */
    fake_poke(p, more + LAYOUT_COPIES_FIRST + 8, fake_first(p, f, 1) + 32);
    assert_false(codes_confirm(&p->codes, &second, 1));
    assert_null(codes_find(&p->codes, f, 1));
    assert_non_null(codes_find(&p->codes, f, 0));
}
EACH_VERSION(each_copy_is_known_by_itself, read_copies);

/* ---- what is no code object ---- */

static void refuse(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    const struct {
        uint32_t at;
        uint64_t value;
    } rows[] = {
        { l->object_type, 0 },
        { l->object_type, FAKE_BASE },
        { l->code_units, 0 },
        { l->code_units, UINT64_MAX },
        { l->code_units, (uint64_t)1 << 40 },
        { l->code_name, 0 },
        { l->code_name, fake_room(p, 64) }, /* zeros, which are no compact string */
        { l->code_file, UINT64_MAX },
        { l->code_line_table, 0 },
        { l->code_line_table, FAKE_BASE + FAKE_SIZE - 20 },
    };
    codes_read(&p->codes, fake_code(p, "first", 1, 1), 0); /* which tells the type of all others */
    for (size_t i = 0; i < countof(rows); i++) {
        const uint64_t code = fake_code(p, "f", 1, 1);
        fake_poke(p, code + rows[i].at, rows[i].value);
        if (codes_read(&p->codes, code, 0))
            fail_msg("Python %x: row %zu was read", l->version, i);
    }
    const uint64_t code = fake_code(p, "f", 1, 1), table = fake_peek(p, code + l->code_line_table);
    fake_poke(p, table + l->bytes_size, UINT64_MAX);
    assert_null(codes_read(&p->codes, code, 0));
    const uint64_t other = fake_code(p, "f", 1, 1), name = fake_peek(p, other + l->code_name);
    fake_poke(p, name + l->string_length, UINT64_MAX);
    assert_null(codes_read(&p->codes, other, 0));
    assert_null(codes_read(&p->codes, 0, 0));
    assert_null(codes_read(&p->codes, FAKE_BASE + FAKE_SIZE - 16, 0));
    assert_int_equal(p->codes.count, 1);
}
EACH_VERSION(what_is_no_code_object_is_refused, refuse);

/* A type with another name is not the one of code objects, even for the first that is read. */
static void learn_the_type(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    const uint64_t code = fake_code(p, "f", 1, 1), type = fake_room(p, 512), name = fake_room(p, 16);
    memcpy(fake_bytes(p, name), "codec", 6);
    fake_poke(p, type + l->type_name, name);
    fake_poke(p, code + l->object_type, type);
    assert_null(codes_read(&p->codes, code, 0));
    fake_poke(p, code + l->object_type, p->code_type);
    assert_non_null(codes_read(&p->codes, code, 0));
}
EACH_VERSION(the_type_is_known_by_its_name, learn_the_type);

static void forget_all(struct fake_python *p)
{
    const uint64_t f = fake_code(p, "f", 20, 9);
    const uint32_t frame = codes_frame(&p->codes, codes_read(&p->codes, f, 0), 1 * FAKE_UNIT, 0);
    codes_forget(&p->codes);
    assert_null(codes_find(&p->codes, f, 0));
    assert_int_equal(codes_frame(&p->codes, codes_read(&p->codes, f, 0), 1 * FAKE_UNIT, 0), frame);
    assert_int_equal(p->definitions.frames.ids.count, 1);
}
EACH_VERSION(definitions_outlive_the_code_objects, forget_all);

static void open_other(struct fake_python *p, struct codes *other, struct code_bodies *bodies)
{
    codes_open(other, &p->target.remote, fake_layout(p), &p->definitions);
    other->interpreter = p->codes.interpreter;
    codes_share(other, bodies);
}

/* Two processes that run the same functions have each in memory once. */
static void share_bodies(struct fake_python *p)
{
    struct code_bodies bodies = { 0 };
    struct codes first, second;
    open_other(p, &first, &bodies);
    open_other(p, &second, &bodies);
    uint64_t codes[300];
    for (uint32_t i = 0; i < countof(codes); i++) {
        codes[i] = fake_code(p, "f", i + 1, 9);
        assert_non_null(codes_read(&first, codes[i], 0));
    }
    const size_t bytes = bodies.bytes;
    assert_int_equal(bodies.count, countof(codes));
    for (uint32_t i = 0; i < countof(codes); i++) {
        const struct code *one = codes_find(&first, codes[i], 0), *two = codes_read(&second, codes[i], 0);
        assert_ptr_equal(one->body, two->body);
        assert_int_equal(one->body->references, 2);
        assert_int_equal(codes_frame(&first, one, 1 * FAKE_UNIT, 0), codes_frame(&second, two, 1 * FAKE_UNIT, 0));
    }
    assert_int_equal(bodies.count, countof(codes));
    assert_int_equal(bodies.bytes, bytes);
    assert_int_equal(bodies.frames, countof(codes));
    codes_close(&first);
    assert_int_equal(bodies.count, countof(codes));
    const struct code *left = codes_find(&second, codes[7], 0);
    assert_int_equal(p->definitions.frames.rows[codes_frame(&second, left, 2 * FAKE_UNIT, 0)].frame.line, 8 + 2);
    codes_close(&second);
    assert_int_equal(bodies.count, 0);
    assert_int_equal(bodies.bytes, 0);
    code_bodies_free(&bodies);
}
EACH_VERSION(bodies_are_in_memory_once, share_bodies);

/* Bodies with one difference are two. */
static void bodies_differ_in_every_part(void **state)
{
    (void)state;
    struct code_bodies bodies = { 0 };
    const uint8_t parts[] = { 1, 2, 3, 4 };
    struct code_body *taken[5];
    for (uint32_t i = 0; i < countof(taken); i++) {
        struct code_body content = { .function = 1 + (i == 1), .first_line = 1 + (i == 2), .units = 4 };
        content.line_table = (uint8_t *)alloc_copy((const char *)parts, 4);
        content.line_table_size = 4;
        content.line_table[3] += i == 3;
        content.instructions = i == 4 ? alloc_zeroed(4, sizeof(*content.instructions)) : NULL;
        taken[i] = code_bodies_take(&bodies, &content);
        assert_int_equal(bodies.count, i + 1);
        for (size_t other = 0; other < i; other++)
            assert_ptr_not_equal(taken[i], taken[other]);
    }
    /* Each has its own frames, and takes them along. */
    for (uint32_t i = 0; i < countof(taken); i++) {
        assert_int_equal(code_bodies_frame(&bodies, taken[i], -1, 3), 0);
        code_bodies_note_frame(&bodies, taken[i], -1, 3, 10 + i);
    }
    for (uint32_t i = 0; i < countof(taken); i++)
        assert_int_equal(code_bodies_frame(&bodies, taken[i], -1, 3), 10 + i);
    assert_int_equal(bodies.frames, countof(taken));
    code_bodies_share(taken[0]);
    code_bodies_release(&bodies, taken[0]);
    assert_int_equal(bodies.count, countof(taken));
    for (size_t i = 0; i < countof(taken); i++)
        code_bodies_release(&bodies, taken[i]);
    assert_int_equal(bodies.count, 0);
    assert_int_equal(bodies.frames, 0);
    code_bodies_free(&bodies);
}

/* A forked process knows the code objects of its parent, and proves each by its identity alone. */
static void inherit_codes(struct fake_python *p)
{
    struct code_bodies bodies = { 0 };
    struct codes parent, child, early, grandchild;
    const uint64_t f = fake_code(p, "f", 20, 9), g = fake_code(p, "g", 40, 9), late = fake_code(p, "late", 60, 9);
    open_other(p, &parent, &bodies);
    open_other(p, &child, &bodies);
    open_other(p, &early, &bodies);
    open_other(p, &grandchild, &bodies);
    const uint32_t function = codes_read(&parent, f, 0)->function;
    codes_read(&parent, g, 0);
    codes_find(&parent, f, 0)->generation = 7;
    codes_find(&parent, f, 0)->read_ns = 10;
    codes_find(&parent, g, 0)->read_ns = 10;
    codes_read(&parent, late, 0);
    codes_inherit(&early, &parent, 10);
    assert_null(codes_find(&early, f, 0));
    codes_inherit(&child, &parent, 11);
    assert_ptr_equal(child.heritage, early.heritage);
    codes_close(&early);
    assert_int_equal(child.count, 0); /* what is not used takes no memory */
    const uint64_t calls = p->target.remote.calls;
    const uint32_t known = child.last_number;
    assert_non_null(codes_find(&child, f, 0));
    assert_true(codes_find(&child, f, 0)->number <= known); /* it was known before any look */
    assert_null(codes_find(&child, late, 0));
    assert_int_equal(child.count, 1);
    codes_inherit(&grandchild, &child, 11);
    codes_close(&parent);
    struct code *both[] = { codes_find(&child, f, 0), codes_find(&child, g, 0) };
    assert_int_equal(both[0]->function, function);
    assert_int_equal(both[0]->generation, 0); /* not confirmed in this process */
    assert_int_equal(p->target.remote.calls, calls);
    assert_true(codes_confirm(&child, both, 2));
    assert_int_equal(p->target.remote.calls, calls + 1);
    fake_code_at(p, g, "h", 40, 9); /* since the fork */
    assert_false(codes_confirm(&child, both, 2));
    assert_non_null(codes_find(&child, f, 0));
    assert_null(codes_find(&child, g, 0)); /* what was forgotten is not inherited again */
    assert_true(codes_read(&child, g, 0)->number > known);
    assert_int_equal(child.reads, 1);
    codes_close(&child);
    struct code *const of_grandparent[] = { codes_find(&grandchild, f, 0), codes_find(&grandchild, g, 0) };
    assert_non_null(of_grandparent[0]);
    assert_non_null(of_grandparent[1]);
    assert_null(codes_find(&grandchild, late, 0));
    assert_false(codes_confirm(&grandchild, of_grandparent, 2));
    codes_forget(&grandchild);
    assert_null(codes_find(&grandchild, f, 0));
    codes_close(&grandchild);
    assert_int_equal(bodies.count, 0);
    code_bodies_free(&bodies);
}
EACH_VERSION(a_forked_process_knows_the_codes_of_its_parent, inherit_codes);

TEST_FILE(code)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_in_memory_once),
        cmocka_unit_test(bodies_differ_in_every_part),
        cmocka_unit_test(a_forked_process_knows_the_codes_of_its_parent),
        cmocka_unit_test(each_thing_is_defined_once),
        cmocka_unit_test(another_at_the_same_address_is_noticed),
        cmocka_unit_test(many_are_confirmed_with_few_calls),
        cmocka_unit_test(names_become_utf8),
        cmocka_unit_test(each_copy_is_known_by_itself),
        cmocka_unit_test(a_huge_name_is_cut_and_marked),
        cmocka_unit_test(what_is_no_code_object_is_refused),
        cmocka_unit_test(the_type_is_known_by_its_name),
        cmocka_unit_test(definitions_outlive_the_code_objects),
    };
    return run_all(tests);
}
