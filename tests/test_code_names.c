/* SPDX-License-Identifier: MIT */
/* Which functions the lines of a code object name. */
#include "record/code.h"

#include "formats/alloc.h"
#include "tests/fake_python.h"
#include "tests/testing.h"

#include <string.h>

#define ITEMS 400
#define LINES 4

/* A caller of a few lines, and two functions whose names are items of its co_names. */
struct naming {
    struct fake_python *p;
    uint64_t caller, f, g, f_name, g_name, names;
};

static uint64_t named_function(struct fake_python *p, const char *name, uint64_t *short_name)
{
    const uint64_t code = fake_code(p, name, 100, 2);
    *short_name = fake_string(p, name);
    fake_poke(p, code + fake_layout(p)->code_short_name, *short_name);
    return code;
}

static void put(const struct naming *n, uint32_t unit, const char *name, uint8_t argument)
{
    const int opcode = fake_opcode_called(n->p, name);
    if (opcode < 0)
        fail_msg("Python %x has no %s", fake_layout(n->p)->version, name);
    unsigned char *const at = fake_bytes(n->p, fake_first(n->p, n->caller, 0) + (uint64_t)unit * 2);
    at[0] = (unsigned char)opcode;
    at[1] = argument;
}

static struct naming naming_start(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct naming n = { .p = p, .caller = fake_code(p, "caller", 10, LINES) };
    n.f = named_function(p, "f", &n.f_name);
    n.g = named_function(p, "g", &n.g_name);
    n.names = fake_room(p, l->tuple_items + ITEMS * 8);
    fake_poke(p, n.names + l->tuple_size, ITEMS);
    fake_poke(p, n.caller + l->code_names, n.names);
    for (uint32_t unit = 0; unit < LINES * FAKE_UNIT; unit++)
        put(&n, unit, "NOP", 0);
    return n;
}

static void put_name(const struct naming *n, uint32_t place, uint64_t name)
{
    fake_poke(n->p, n->names + fake_layout(n->p)->tuple_items + place * 8, name);
}

/* Reads it as it is by now. Whether the instruction in this unit names the function. */
static bool names(const struct naming *n, int64_t unit, uint64_t function)
{
    struct codes codes;
    codes_open(&codes, &n->p->target.remote, fake_layout(n->p), n->p->codes.sink);
    const struct code *caller = codes_read(&codes, n->caller, 0);
    const struct code *callee = codes_read(&codes, function, 0);
    if (!caller || !callee)
        fail_msg("Python %x: can't be read", fake_layout(n->p)->version);
    const uint32_t frame = codes_frame(&codes, caller, unit, 0);
    const bool named = codes_names(&codes, caller, frame, caller->first + (uint64_t)unit * 2, callee);
    codes_close(&codes);
    return named;
}

static uint8_t global(uint32_t place)
{
    return (uint8_t)(place << 1);
}

static void name_on_lines(struct fake_python *p)
{
    const struct naming n = naming_start(p);
    put_name(&n, 2, n.f_name);
    put_name(&n, 3, n.g_name);
    put(&n, FAKE_UNIT, "LOAD_GLOBAL", global(2));
    put(&n, 2 * FAKE_UNIT, "LOAD_GLOBAL", global(3));
    for (uint32_t line = 0; line < LINES; line++) {
        const uint32_t unit = line * FAKE_UNIT + 5;
        assert_int_equal(names(&n, unit, n.f), line == 1);
        assert_int_equal(names(&n, unit, n.g), line == 2);
    }
    assert_true(names(&n, FAKE_UNIT, n.f)); /* a property is called by what loads it */
    assert_false(names(&n, FAKE_UNIT - 1, n.f));
    assert_false(names(&n, 100000, n.f));
    put(&n, 0, "LOAD_GLOBAL", global(2));
    assert_true(names(&n, 0, n.f));
    assert_false(names(&n, -1, n.f)); /* it has not begun */
}

static void a_line_names_what_it_loads(void **state)
{
    (void)state;
    fake_each_version(name_on_lines);
}

static void name_behind(struct fake_python *p)
{
    const struct naming n = naming_start(p);
    put_name(&n, 2, n.f_name);
    put(&n, FAKE_UNIT + 2, "LOAD_NAME", 2);
    assert_false(names(&n, FAKE_UNIT + 1, n.f));
    assert_true(names(&n, FAKE_UNIT + 2, n.f));
}

static void what_is_loaded_later_is_not_called_yet(void **state)
{
    (void)state;
    fake_each_version(name_behind);
}

/* By each instruction, whose argument has other bits besides, in its forms, and with more than a byte. */
static void name_in_each_way(struct fake_python *p)
{
    static const struct way {
        const char *instruction;
        unsigned bits, first_minor, last_minor;
    } ways[] = {
        { "LOAD_GLOBAL", 1, 11, 15 },
        { "LOAD_NAME", 0, 11, 15 },
        { "LOAD_ATTR", 0, 11, 11 },
        { "LOAD_ATTR", 1, 12, 15 },
        { "LOAD_METHOD", 0, 11, 11 },
        { "LOAD_SUPER_ATTR", 2, 12, 15 },
        { "LOAD_FROM_DICT_OR_GLOBALS", 0, 12, 15 },
        { "LOAD_GLOBAL_BUILTIN", 1, 11, 15 },
        { "LOAD_ATTR_SLOT", 1, 12, 15 },
    };
    const struct naming n = naming_start(p);
    put_name(&n, 2, n.f_name);
    put_name(&n, 300, n.g_name);
    for (size_t i = 0; i < countof(ways); i++) {
        if (fake_minor(p) < ways[i].first_minor || fake_minor(p) > ways[i].last_minor)
            continue;
        const uint32_t low_bits = (1u << ways[i].bits) - 1;
        put(&n, FAKE_UNIT, ways[i].instruction, (uint8_t)(2 << ways[i].bits | low_bits));
        if (!names(&n, FAKE_UNIT, n.f) || names(&n, FAKE_UNIT, n.g))
            fail_msg("Python %x: %s", fake_layout(p)->version, ways[i].instruction);
        const uint32_t argument = 300 << ways[i].bits | low_bits;
        put(&n, FAKE_UNIT, "EXTENDED_ARG", (uint8_t)(argument >> 8));
        put(&n, FAKE_UNIT + 1, ways[i].instruction, (uint8_t)argument);
        if (!names(&n, FAKE_UNIT + 1, n.g) || names(&n, FAKE_UNIT + 1, n.f))
            fail_msg("Python %x: %s behind EXTENDED_ARG", fake_layout(p)->version, ways[i].instruction);
    }
}

static void a_name_is_loaded_in_many_ways(void **state)
{
    (void)state;
    fake_each_version(name_in_each_way);
}

static void name_wrongly(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct naming n = naming_start(p);
    put_name(&n, 2, n.f_name);
    put(&n, FAKE_UNIT, "LOAD_NAME", 2);
    assert_true(names(&n, FAKE_UNIT, n.f));
    fake_poke(p, n.names + l->tuple_size, 2); /* it has no such item */
    assert_false(names(&n, FAKE_UNIT, n.f));
    fake_poke(p, n.names + l->tuple_size, UINT64_MAX / 8); /* more than any has: its code can be read all the same */
    assert_false(names(&n, FAKE_UNIT, n.f));
    fake_poke(p, n.names + l->tuple_size, ITEMS);
    fake_poke(p, n.caller + l->code_names, 0);
    assert_false(names(&n, FAKE_UNIT, n.f));
}

static void what_is_not_there_is_not_named(void **state)
{
    (void)state;
    fake_each_version(name_wrongly);
}

/* While it is traced, instructions stand in the places of others. */
static void name_while_traced(struct fake_python *p)
{
    const struct naming n = naming_start(p);
    if (fake_opcode_called(p, "INSTRUMENTED_LINE") < 0)
        return; /* 3.11 */
    put_name(&n, 2, n.f_name);
    put(&n, FAKE_UNIT, "LOAD_NAME", 2);
    put(&n, FAKE_UNIT + 1, "INSTRUMENTED_LINE", 0);
    put(&n, 2 * FAKE_UNIT, "LOAD_NAME", 2);
    assert_true(names(&n, FAKE_UNIT, n.f));
    assert_false(names(&n, 2 * FAKE_UNIT, n.f));
}

static void behind_what_hides_others_nothing_is_named(void **state)
{
    (void)state;
    fake_each_version(name_while_traced);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_names_what_it_loads),
        cmocka_unit_test(what_is_loaded_later_is_not_called_yet),
        cmocka_unit_test(a_name_is_loaded_in_many_ways),
        cmocka_unit_test(what_is_not_there_is_not_named),
        cmocka_unit_test(behind_what_hides_others_nothing_is_named),
    };
    return run_all(tests);
}
