/* SPDX-License-Identifier: MIT */
/* Expected values are those of the running interpreters: dis._all_opname. tests/e2e/record/test_opcodes.py compares
 * all. */
#include "formats/cpython/opcodes.h"

#include "formats/base/alloc.h"
#include "record/python/opcode_bases.h"
#include "tests/fakes/testing.h"

#include <string.h>

/* Numbers in 3.11 to 3.16; -1: it has none. */
static const struct {
    const char *name, *base;
    int numbers[6];
} rows[] = {
    { "BINARY_OP", "BINARY_OP", { 122, 122, 45, 44, 42, 42 } },
    { "BINARY_OP_ADD_INT", "BINARY_OP", { 5, 7, 151, 130, 130, 130 } },
    { "BINARY_OP_INPLACE_ADD_UNICODE", "BINARY_OP", { 7, 10, 3, 3, 3, 3 } },
    { "BINARY_OP_SUBSCR_DICT", "BINARY_OP", { -1, -1, -1, 135, 135, 135 } },
    { "BINARY_SUBSCR_DICT", "BINARY_SUBSCR", { 18, 19, 157, -1, -1, -1 } },
    { "CALL_PY_EXACT_ARGS", "CALL", { 23, 23, 177, 161, 164, 164 } },
    { "PRECALL_NO_KW_LEN", "PRECALL", { 78, -1, -1, -1, -1, -1 } },
    { "LOAD_ATTR_SLOT", "LOAD_ATTR", { 42, 78, 201, 188, 194, 194 } },
    { "STORE_FAST__LOAD_FAST", "STORE_FAST", { 161, 154, -1, -1, -1, -1 } },
    { "RESUME_CHECK", "RESUME", { -1, -1, 207, 196, 200, 200 } },
    { "FOR_ITER_RANGE", "FOR_ITER", { -1, 64, 189, 173, 176, 176 } },
    { "JUMP_BACKWARD_NO_JIT", "JUMP_BACKWARD", { -1, -1, -1, 176, 182, 182 } },
    { "LOAD_CONST_IMMORTAL", "LOAD_CONST", { -1, -1, -1, 190, -1, -1 } },
    { "EXTENDED_ARG", "EXTENDED_ARG", { 144, 144, 71, 69, 67, 64 } },
    { "INSTRUMENTED_CALL", "CALL", { -1, 241, 244, 250, 249, 249 } },
    { "INSTRUMENTED_LINE", "INSTRUMENTED_LINE", { -1, 254, 254, 254, 253, 253 } },
    { "ENTER_EXECUTOR", "ENTER_EXECUTOR", { -1, -1, 70, 255, 254, 254 } },
};

static void each_version_has_its_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        for (unsigned v = 0; v < 6; v++) {
            const struct opcode_name *names = opcodes_names_of(11 + v);
            for (int n = 0; n < 256; n++)
                if ((names[n].name && strcmp(names[n].name, rows[i].name) == 0) != (n == rows[i].numbers[v]))
                    fail_msg("%s of 3.%u is %d", rows[i].name, 11 + v, n);
            if (rows[i].numbers[v] >= 0)
                assert_string_equal(names[names[rows[i].numbers[v]].base].name, rows[i].base);
        }
    }
}

static void other_versions_have_none(void **state)
{
    (void)state;
    assert_null(opcodes_names_of(10));
    assert_null(opcodes_names_of(17));
    assert_null(opcodes_names_of(0));
    assert_null(opcodes_names_of(255));
}

static void a_form_is_as_its_base(void **state)
{
    (void)state;
    for (unsigned minor = 11; minor <= 16; minor++) {
        const struct opcode_name *names = opcodes_names_of(minor);
        size_t count = 0;
        for (int n = 0; n < 256; n++) {
            const uint8_t base = names[n].base;
            if (!names[n].name)
                continue;
            count++;
            assert_non_null(names[base].name);
            assert_int_equal(names[base].base, base);
            if (names[n].caches != names[base].caches || names[n].hides != names[base].hides)
                fail_msg("%s of 3.%u is not as %s", names[n].name, minor, names[base].name);
        }
        assert_true(count > 170 && count < 256);
        assert_null(names[0].name); /* a cache is no instruction */
    }
}

/* ---- in code ---- */

static void each_unit_belongs_to_an_instruction(void **state)
{
    (void)state;
    /* 3.13: RESUME_CHECK; EXTENDED_ARG; CALL_PY_EXACT_ARGS, 3 caches that look like anything; RETURN_VALUE. */
    const unsigned char code[] = { 207, 0, 71, 1, 177, 0, 254, 9, 0, 0, 53, 53, 36, 0 };
    struct instruction marks[8] = { 0 };
    opcode_bases_make(opcodes_names_of(13), code, 7, marks);
    static const struct instruction wanted[8] = { { 149, 0 }, { 71, 0 }, { 53, 0 }, { 53, 1 },
                                                  { 53, 2 },  { 53, 3 }, { 36, 0 }, { 0, 0 } };
    assert_memory_equal(marks, wanted, sizeof(wanted));
    /* The caches of the last are cut off. */
    struct instruction few[5] = { 0 };
    opcode_bases_make(opcodes_names_of(13), code, 4, few);
    assert_memory_equal(few, wanted, 4 * sizeof(*few));
    assert_int_equal(few[4].base, 0);
}

static void what_stands_behind_a_hidden_one_is_not_known(void **state)
{
    (void)state;
    /* 3.14: RESUME, INSTRUMENTED_LINE, RETURN_VALUE; then with a cache in the place of an instruction. */
    const unsigned char code[] = { 128, 0, 254, 0, 35, 0 }, cache[] = { 128, 0, 0, 0, 35, 0 };
    struct instruction marks[3] = { 0 };
    opcode_bases_make(opcodes_names_of(14), code, 3, marks);
    assert_int_equal(marks[0].base, 128);
    assert_int_equal(marks[1].base, 0);
    assert_int_equal(marks[2].base, 0);
    opcode_bases_make(opcodes_names_of(14), cache, 3, marks);
    assert_int_equal(marks[1].base, 0);
    assert_int_equal(marks[2].base, 0);
}

static void only_a_form_fits(void **state)
{
    (void)state;
    const struct opcode_name *names = opcodes_names_of(14);
    assert_true(opcode_bases_fit(names, 52, 52));
    assert_true(opcode_bases_fit(names, 161, 52));  /* CALL_PY_EXACT_ARGS */
    assert_true(opcode_bases_fit(names, 250, 52));  /* INSTRUMENTED_CALL */
    assert_true(opcode_bases_fit(names, 254, 52));  /* INSTRUMENTED_LINE */
    assert_false(opcode_bases_fit(names, 188, 52)); /* LOAD_ATTR_SLOT */
    assert_false(opcode_bases_fit(names, 0, 52));
    assert_false(opcode_bases_fit(names, 0, 0));
    assert_false(opcode_bases_fit(names, 254, 0));
    assert_false(opcode_bases_fit(names, 230, 230)); /* none */
}

TEST_FILE(opcode_names)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_has_its_names),
        cmocka_unit_test(other_versions_have_none),
        cmocka_unit_test(a_form_is_as_its_base),
        cmocka_unit_test(each_unit_belongs_to_an_instruction),
        cmocka_unit_test(what_stands_behind_a_hidden_one_is_not_known),
        cmocka_unit_test(only_a_form_fits),
    };
    return run_all(tests);
}
