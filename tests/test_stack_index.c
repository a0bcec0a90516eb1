/* SPDX-License-Identifier: MIT */
#include "formats/stack_index.h"

#include "formats/alloc.h"
#include "tests/testing.h"

#include <stdlib.h>

static void knows_what_was_added(void **state)
{
    (void)state;
    static const struct stack stacks[] = { { 0, 0 }, { 0, 7 }, { 1, 7 }, { 0, 8 }, { 2, UINT32_MAX }, { 7, 0 } };
    struct stack_index index = { 0 };
    assert_int_equal(stack_index_find(&index, stacks, 0, 0), 0);
    for (uint32_t i = 1; i < countof(stacks); i++) {
        assert_int_equal(stack_index_find(&index, stacks, stacks[i].caller, stacks[i].frame), 0);
        stack_index_add(&index, stacks, i);
        assert_int_equal(stack_index_find(&index, stacks, stacks[i].caller, stacks[i].frame), i);
    }
    assert_int_equal(stack_index_find(&index, stacks, 0, 0), 0); /* the empty one is none */
    assert_int_equal(stack_index_find(&index, stacks, 7, 1), 0);
    stack_index_free(&index);
    assert_int_equal(stack_index_find(&index, stacks, 0, 7), 0);
    stack_index_free(&index);
}

/* Each caller has `spread` callees: with one it is a long chain, with many a flat tree. */
static void fill(struct stack *stacks, uint32_t count, uint32_t spread)
{
    for (uint32_t i = 1; i <= count; i++)
        stacks[i] = (struct stack){ .caller = (i - 1) / spread, .frame = 1 + (i - 1) % spread };
}

/* However many there are, each has its own number, and searches are short. */
static void many_stacks_keep_their_numbers(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    static const uint32_t spreads[] = { 1, 2, 30, MANY };
    struct stack *stacks = alloc_zeroed(MANY + 1, sizeof(*stacks));
    for (size_t k = 0; k < countof(spreads); k++) {
        struct stack_index index = { 0 };
        size_t steps = 0;
        fill(stacks, MANY, spreads[k]);
        for (uint32_t i = 1; i <= MANY; i++) {
            stack_index_add(&index, stacks, i);
            assert_true(index.room >= 2 * (size_t)i);
        }
        for (uint32_t i = 1; i <= MANY; i++) {
            const uint32_t *slot = stack_index_slot(&index, stacks, stacks[i].caller, stacks[i].frame);
            assert_int_equal(*slot, i);
            steps += ((size_t)(slot - index.slots) - (pairs_hash(stacks[i].caller, stacks[i].frame) >> index.shift)) &
                     (index.room - 1);
        }
        assert_true(steps < MANY);
        assert_int_equal(stack_index_find(&index, stacks, MANY, spreads[k] + 1), 0);
        assert_true(index.room <= 4 * (size_t)MANY);
        stack_index_free(&index);
    }
    free(stacks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_what_was_added),
        cmocka_unit_test(many_stacks_keep_their_numbers),
    };
    return run_all(tests);
}
