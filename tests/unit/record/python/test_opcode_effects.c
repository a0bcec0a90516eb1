/* SPDX-License-Identifier: MIT */
/* Expected values are those of the running interpreters: opcode.opmap, _opcode_metadata and what their compiled loops
 * store. */
#include "record/python/opcode_effects.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define VERSIONS 5
#define ANYTHING (OPCODE_CALLS | OPCODE_DRIVES | OPCODE_RESUMES)

/* Numbers in 3.11 to 3.15; -1: it has none. Caches likewise. */
static const struct {
    const char *name;
    int numbers[VERSIONS];
    unsigned can; /* from 3.12 on */
    int caches[VERSIONS];
} rows[] = {
    { "CALL", { 171, 171, 53, 52, 50 }, OPCODE_CALLS | OPCODE_DRIVES, { 4, 3, 3, 3, 3 } },
    { "CALL_PY_EXACT_ARGS", { 23, 23, 177, 161, 164 }, OPCODE_CALLS | OPCODE_DRIVES, { 4, 3, 3, 3, 3 } },
    { "CALL_KW", { -1, -1, 57, 55, 53 }, OPCODE_CALLS | OPCODE_DRIVES, { 0, 0, 0, 3, 3 } },
    { "CALL_FUNCTION_EX", { 142, 142, 54, 4, 4 }, OPCODE_CALLS | OPCODE_DRIVES, { 0, 0, 0, 0, 1 } },
    { "BINARY_SUBSCR", { 25, 25, 5, -1, -1 }, OPCODE_CALLS, { 4, 1, 1, 0, 0 } },
    { "BINARY_SUBSCR_GETITEM", { 19, 20, 158, -1, -1 }, OPCODE_CALLS, { 4, 1, 1, 0, 0 } },
    { "BINARY_OP", { -1, -1, -1, 44, 42 }, OPCODE_SUBSCRIPTS, { 0, 0, 0, 5, 5 } },
    { "LOAD_ATTR", { -1, 106, 82, 80, 79 }, OPCODE_CALLS, { 0, 9, 9, 9, 9 } },
    { "LOAD_ATTR_PROPERTY", { -1, 77, 200, 187, 193 }, OPCODE_CALLS, { 0, 9, 9, 9, 9 } },
    { "FOR_ITER", { -1, 93, 72, 70, 68 }, ANYTHING, { 0, 1, 1, 1, 1 } },
    { "FOR_ITER_GEN", { -1, 65, 187, 171, 174 }, ANYTHING, { 0, 1, 1, 1, 1 } },
    { "SEND", { -1, 123, 104, 106, 105 }, ANYTHING, { 0, 1, 1, 1, 1 } },
    { "SEND_GEN", { -1, 168, 208, 197, 203 }, ANYTHING, { 0, 1, 1, 1, 1 } },
    { "INSTRUMENTED_CALL", { -1, 241, 244, 250, 249 }, OPCODE_CALLS | OPCODE_DRIVES, { 0, 3, 3, 3, 3 } },
    { "INSTRUMENTED_LINE", { -1, 254, 254, 254, 253 }, OPCODE_HIDES, { 0, 0, 0, 0, 0 } },
    { "RETURN_VALUE", { 83, 83, 36, 35, 33 }, OPCODE_RETURNS, { 0, 0, 0, 0, 0 } },
    { "RETURN_CONST", { -1, 121, 103, -1, -1 }, OPCODE_RETURNS, { 0, 0, 0, 0, 0 } },
    { "RETURN_GENERATOR", { 75, 75, 35, 34, 32 }, 0, { 0, 0, 0, 0, 0 } },
    { "RESUME", { 151, 151, 149, 128, 128 }, 0, { 0, 0, 0, 0, 1 } },
};

static void each_version_has_its_instructions(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        for (unsigned v = 0; v < VERSIONS; v++) {
            if (rows[i].numbers[v] < 0)
                continue;
            const unsigned is = opcodes_effects_of(11 + v)[rows[i].numbers[v]], can = is & ~(unsigned)OPCODE_CACHES;
            if ((v > 0 && can != rows[i].can) || (is & OPCODE_CACHES) != (unsigned)rows[i].caches[v])
                fail_msg("%s of 3.%u is %x, with %u caches", rows[i].name, 11 + v, can, is & OPCODE_CACHES);
        }
    }
}

/* All instructions that have effects; a form has those of its base. */
static const struct {
    const char *base;
    unsigned can;
    unsigned since; /* minor version */
} effects[] = {
    { "BINARY_OP", OPCODE_SUBSCRIPTS, 14 },
    { "BINARY_SUBSCR", OPCODE_CALLS, 11 },
    { "CALL", OPCODE_CALLS | OPCODE_DRIVES, 11 },
    { "CALL_FUNCTION_EX", OPCODE_CALLS | OPCODE_DRIVES, 11 },
    { "CALL_KW", OPCODE_CALLS | OPCODE_DRIVES, 13 },
    { "CONTAINS_OP", OPCODE_CALLS | OPCODE_DRIVES, 11 },
    { "ENTER_EXECUTOR", OPCODE_HIDES, 13 },
    { "FOR_ITER", ANYTHING, 11 },
    { "INSTRUMENTED_INSTRUCTION", OPCODE_HIDES, 12 },
    { "INSTRUMENTED_LINE", OPCODE_HIDES, 12 },
    { "LIST_EXTEND", OPCODE_CALLS | OPCODE_DRIVES, 11 },
    { "LOAD_ATTR", OPCODE_CALLS, 11 },
    { "PRECALL", OPCODE_CALLS | OPCODE_DRIVES, 11 },
    { "RETURN_CONST", OPCODE_RETURNS, 12 },
    { "RETURN_VALUE", OPCODE_RETURNS, 11 },
    { "SEND", ANYTHING, 11 },
    { "SET_UPDATE", OPCODE_CALLS | OPCODE_DRIVES, 11 },
    { "UNPACK_EX", OPCODE_CALLS | OPCODE_DRIVES, 11 },
    { "UNPACK_SEQUENCE", OPCODE_CALLS | OPCODE_DRIVES, 11 },
};

static unsigned effects_of_base(const char *base, unsigned minor)
{
    for (size_t i = 0; base && i < countof(effects); i++)
        if (strcmp(effects[i].base, base) == 0)
            return minor >= effects[i].since ? effects[i].can : 0;
    return 0;
}

static void no_other_instruction_has_effects(void **state)
{
    (void)state;
    for (unsigned minor = 11; minor <= 15; minor++) {
        const struct opcode_name *names = opcodes_names_of(minor);
        for (int i = 0; i < 256; i++) {
            const unsigned can = opcodes_effects_of(minor)[i] & ~(unsigned)OPCODE_CACHES;
            const unsigned wanted = effects_of_base(names[names[i].base].name, minor);
            if (can != (names[i].name ? wanted : 0))
                fail_msg("%d of 3.%u, %s, is %x", i, minor, names[i].name, can);
        }
    }
}

static void whoever_resumes_drives_and_calls(void **state)
{
    (void)state;
    for (unsigned minor = 11; minor <= 15; minor++) {
        for (int i = 0; i < 256; i++) {
            const unsigned is = opcodes_effects_of(minor)[i];
            assert_true(!(is & OPCODE_RESUMES) ||
                        (is & (OPCODE_DRIVES | OPCODE_CALLS)) == (OPCODE_DRIVES | OPCODE_CALLS));
            assert_true(!(is & OPCODE_RETURNS) || !(is & ANYTHING));
        }
    }
}

#define KIND(of) (uint8_t)((of) >> OPCODE_SHIFT)

static void caches_belong_to_their_instruction(void **state)
{
    (void)state;
    /* 3.13: RESUME; CALL, 3 caches; POP_TOP; RETURN_VALUE. What is in a cache is no instruction. */
    const unsigned char code[] = { 149, 0, 53, 1, 36, 36, 72, 72, 254, 254, 32, 0, 36, 0 };
    uint8_t kinds[7];
    memset(kinds, 0xEE, sizeof(kinds));
    opcode_effects_write(opcodes_effects_of(13), code, 7, kinds);
    const uint8_t call = KIND(OPCODE_CALLS | OPCODE_DRIVES);
    const uint8_t wanted[] = { 0, call, call, call, call, 0, KIND(OPCODE_RETURNS) };
    assert_memory_equal(kinds, wanted, sizeof(wanted));
    opcode_effects_write(opcodes_effects_of(13), code, 0, NULL);
    /* An instruction whose caches are cut off. */
    uint8_t few[4] = { 0, 0, 0, 0xEE };
    opcode_effects_write(opcodes_effects_of(13), code, 3, few);
    assert_memory_equal(few, ((uint8_t[]){ 0, call, call, 0xEE }), 4);
}

static void behind_a_hidden_instruction_is_anything(void **state)
{
    (void)state;
    const unsigned char code[] = { 35, 0, 254, 0, 35, 0, 35, 0 };
    uint8_t kinds[4];
    opcode_effects_write(opcodes_effects_of(14), code, 4, kinds);
    assert_int_equal(kinds[0], KIND(OPCODE_RETURNS));
    for (int i = 1; i < 4; i++)
        assert_int_equal(kinds[i] & KIND(ANYTHING), KIND(ANYTHING));
}

TEST_FILE(opcode_effects)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_has_its_instructions),       cmocka_unit_test(no_other_instruction_has_effects),
        cmocka_unit_test(whoever_resumes_drives_and_calls),        cmocka_unit_test(caches_belong_to_their_instruction),
        cmocka_unit_test(behind_a_hidden_instruction_is_anything),
    };
    return run_all(tests);
}
