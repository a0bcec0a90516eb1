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
            const unsigned is = opcode_effects_of(11 + v)[rows[i].numbers[v]], can = is & ~(unsigned)OPCODE_CACHES;
            if ((v > 0 && can != rows[i].can) || (is & OPCODE_CACHES) != (unsigned)rows[i].caches[v])
                fail_msg("%s of 3.%u is %x, with %u caches", rows[i].name, 11 + v, can, is & OPCODE_CACHES);
        }
    }
}

static void whoever_resumes_drives_and_calls(void **state)
{
    (void)state;
    for (unsigned minor = 11; minor <= 15; minor++) {
        for (int i = 0; i < 256; i++) {
            const unsigned is = opcode_effects_of(minor)[i];
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
    opcode_effects_mark(opcode_effects_of(13), code, 7, kinds);
    const uint8_t call = KIND(OPCODE_CALLS | OPCODE_DRIVES);
    const uint8_t wanted[] = { 0, call, call, call, call, 0, KIND(OPCODE_RETURNS) };
    assert_memory_equal(kinds, wanted, sizeof(wanted));
    opcode_effects_mark(opcode_effects_of(13), code, 0, NULL);
    /* An instruction whose caches are cut off. */
    uint8_t few[4] = { 0, 0, 0, 0xEE };
    opcode_effects_mark(opcode_effects_of(13), code, 3, few);
    assert_memory_equal(few, ((uint8_t[]){ 0, call, call, 0xEE }), 4);
}

static void behind_a_hidden_instruction_is_anything(void **state)
{
    (void)state;
    const unsigned char code[] = { 35, 0, 254, 0, 35, 0, 35, 0 };
    uint8_t kinds[4];
    opcode_effects_mark(opcode_effects_of(14), code, 4, kinds);
    assert_int_equal(kinds[0], KIND(OPCODE_RETURNS));
    for (int i = 1; i < 4; i++)
        assert_int_equal(kinds[i] & KIND(ANYTHING), KIND(ANYTHING));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_has_its_instructions),
        cmocka_unit_test(whoever_resumes_drives_and_calls),
        cmocka_unit_test(caches_belong_to_their_instruction),
        cmocka_unit_test(behind_a_hidden_instruction_is_anything),
    };
    return run_all(tests);
}
