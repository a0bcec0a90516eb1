/* SPDX-License-Identifier: MIT */
#include "formats/intern/stack_index.h"

#include "formats/base/alloc.h"
#include "tests/fakes/chosen.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>

/* Stacks, and how to find them. */
struct found {
    struct id_index index;
    struct stack *stacks;
    size_t room;
    uint32_t count;
};

static void add(struct found *found, struct stack stack)
{
    stack_index_add(&found->index, &found->stacks, &found->room, ++found->count, stack);
}

static uint32_t find(const struct found *found, struct stack stack)
{
    return stack_index_find(&found->index, found->stacks, stack.caller, stack.frame);
}

static void forget(struct found *found)
{
    id_index_free(&found->index);
    free(found->stacks);
    *found = (struct found){ 0 };
}

static void knows_what_was_added(void **state)
{
    (void)state;
    static const struct stack stacks[] = { { 0, 7 }, { 1, 7 }, { 0, 8 }, { 2, UINT32_MAX }, { 7, 0 } };
    struct found found = { 0 };
    assert_int_equal(find(&found, (struct stack){ 0, 0 }), 0);
    for (uint32_t i = 0; i < countof(stacks); i++) {
        assert_int_equal(find(&found, stacks[i]), 0);
        add(&found, stacks[i]);
        assert_int_equal(find(&found, stacks[i]), i + 1);
    }
    assert_memory_equal(found.stacks + 1, stacks, sizeof(stacks));
    assert_int_equal(find(&found, (struct stack){ 0, 0 }), 0); /* the empty one is none */
    assert_int_equal(find(&found, (struct stack){ 7, 1 }), 0);
    forget(&found);
    assert_int_equal(find(&found, stacks[0]), 0);
    forget(&found);
}

/* How many places a search looks at beyond the first, in all. */
static size_t steps_of(const struct found *found)
{
    const struct id_index *index = &found->index;
    size_t steps = 0;
    for (uint32_t i = 1; i <= found->count; i++) {
        const uint64_t hash = hash_pair(&index->spread, found->stacks[i].caller, found->stacks[i].frame);
        const uint32_t *slot = id_index_slot(index, hash, stack_index_same, found->stacks, &found->stacks[i]);
        assert_int_equal(*slot, i);
        steps += ((size_t)(slot - index->slots) - (hash >> index->shift)) & (index->room - 1);
    }
    return steps;
}

/* However many there are, each has its own number, and searches are short. Each caller has so many callees: with one it
 * is a long chain, with many a flat tree. */
static void many_stacks_keep_their_numbers(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    static const uint32_t callees[] = { 1, 2, 30, MANY };
    for (size_t k = 0; k < countof(callees); k++) {
        struct found found = { 0 };
        for (uint32_t i = 0; i < MANY; i++) {
            add(&found, (struct stack){ i / callees[k], 1 + i % callees[k] });
            assert_true(found.index.room >= 2 * ((size_t)i + 1));
        }
        assert_true(steps_of(&found) < MANY);
        assert_int_equal(find(&found, (struct stack){ MANY, callees[k] + 1 }), 0);
        assert_true(found.index.room <= 4 * (size_t)MANY);
        forget(&found);
    }
}

/* Stacks that are made to fall on one place, by who knows how they are usually spread: frames count up by a number
 * whose product with its factor is hardly larger than 0. */
static void stacks_that_were_chosen_are_found_soon(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    const uint64_t factor = HASH_USUAL.b;
    const uint32_t step = chosen_step(factor, MANY);
    struct found found = { 0 };
    for (uint32_t i = 0; i < MANY; i++)
        add(&found, (struct stack){ 0, i * step });
    assert_int_not_equal(found.index.spread.b, factor);
    assert_true(steps_of(&found) < MANY);
    forget(&found);
}

TEST_FILE(stack_index)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_what_was_added),
        cmocka_unit_test(many_stacks_keep_their_numbers),
        cmocka_unit_test(stacks_that_were_chosen_are_found_soon),
    };
    return run_all(tests);
}
