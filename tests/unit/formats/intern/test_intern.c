/* SPDX-License-Identifier: MIT */
#include "formats/intern/intern.h"

#include "tests/fakes/chosen.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

#define MANY 200000u

static void pairs_are_numbered_in_order_of_first_sight(void **state)
{
    (void)state;
    static const struct {
        uint32_t a, b, number;
        bool added;
    } rows[] = {
        { 0, 0, 1, true },
        { 0, 1, 2, true },
        { 1, 0, 3, true },
        { 0, 1, 2, false },
        { UINT32_MAX, UINT32_MAX, 4, true },
        { 0, 0, 1, false },
        { 1, 0, 3, false },
        { UINT32_MAX, UINT32_MAX, 4, false },
    };
    struct intern_pairs pairs = { 0 };
    assert_int_equal(intern_pairs_find(&pairs, 0, 0), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        bool added;
        assert_int_equal(intern_pairs_number(&pairs, rows[i].a, rows[i].b, &added), rows[i].number);
        assert_int_equal(added, rows[i].added);
    }
    assert_int_equal(pairs.count, 4);
    assert_int_equal(intern_pairs_find(&pairs, 1, 1), 0);
    intern_pairs_free(&pairs);
    assert_int_equal(intern_pairs_find(&pairs, 0, 0), 0);
}

static void many_pairs_keep_their_numbers(void **state)
{
    (void)state;
    struct intern_pairs pairs = { 0 };
    for (uint32_t i = 0; i < MANY; i++) {
        bool added = false;
        assert_int_equal(intern_pairs_number(&pairs, i % 300, i / 300 * 4096, &added), i + 1);
        assert_true(added);
    }
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(intern_pairs_find(&pairs, i % 300, i / 300 * 4096), i + 1);
    assert_int_equal(pairs.count, MANY);
    assert_int_equal(intern_pairs_find(&pairs, 300, 0), 0);
    intern_pairs_free(&pairs);
}

/* How many places searches look at beyond the first, in all. */
static size_t steps_of_pairs(const struct intern_pairs *pairs)
{
    size_t steps = 0;
    for (size_t i = 0; i < pairs->room; i++) {
        const struct pair_slot *slot = &pairs->slots[i];
        if (slot->number)
            steps += (i - intern_pairs_first_slot(pairs, slot->a, slot->b)) & (pairs->room - 1);
    }
    return steps;
}

/* Numbers that count up, or go in the steps of addresses, are spread so well that searches are short. */
static void pairs_lie_near_where_they_are_looked_for(void **state)
{
    (void)state;
    static const struct {
        uint32_t a_values, a_step, b_step;
    } rows[] = {
        { 8, 1, 1 },    { 1000, 1, 1 },   { 1, 0, 1 },     { 1, 0, 64 },
        { 1, 0, 4096 }, { 16, 1, 65536 }, { 20000, 1, 0 }, { 20000, 4096, 1 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct intern_pairs pairs = { 0 };
        for (uint32_t k = 0; k < 20000; k++)
            intern_pairs_add(&pairs, k % rows[i].a_values * rows[i].a_step, k / rows[i].a_values * rows[i].b_step,
                             k + 1);
        assert_int_equal(pairs.spread.b, HASH_USUAL.b);
        assert_true(steps_of_pairs(&pairs) < pairs.count);
        intern_pairs_free(&pairs);
    }
}

static void pairs_that_were_chosen_are_found_soon(void **state)
{
    (void)state;
    const uint64_t factor = HASH_USUAL.b;
    const uint32_t step = chosen_step(factor, MANY);
    struct intern_pairs pairs = { 0 };
    for (uint32_t i = 0; i < MANY; i++)
        intern_pairs_add(&pairs, 3, i * step, i + 1);
    assert_int_not_equal(pairs.spread.b, factor);
    assert_true(steps_of_pairs(&pairs) < pairs.count);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(intern_pairs_find(&pairs, 3, i * step), i + 1);
    intern_pairs_free(&pairs);
}

static void pairs_remember_numbers_of_others(void **state)
{
    (void)state;
    struct intern_pairs pairs = { 0 };
    for (uint32_t i = 1; i <= 1000; i++)
        intern_pairs_add(&pairs, i, i, 7 * i);
    for (uint32_t i = 1; i <= 1000; i++)
        assert_int_equal(intern_pairs_find(&pairs, i, i), 7 * i);
    intern_pairs_free(&pairs);
}

static void bytes_are_told_apart_by_size_too(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        uint32_t number;
    } rows[] = {
        { "", 0, 1 },
        { "\0", 1, 2 },
        { "\0\0", 2, 3 },
        { "a", 1, 4 },
        { "a\0", 2, 5 },
        { "12345678", 8, 6 },
        { "12345678\0", 9, 7 },
        { "", 0, 1 },
        { "\0\0", 2, 3 },
        { "12345678", 8, 6 },
        { "123456781234567", 15, 8 },
        { "123456781234568", 15, 9 },
    };
    struct intern intern = { 0 };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        bool added;
        const uint32_t before = intern.count;
        assert_int_equal(intern_number(&intern, rows[i].bytes, rows[i].size, &added), rows[i].number);
        assert_int_equal(added, intern.count == before + 1);
        assert_int_equal(added, rows[i].number > before);
    }
    intern_free(&intern);
}

static void many_rows_of_bytes_keep_their_numbers(void **state)
{
    (void)state;
    struct intern intern = { 0 };
    char text[32];
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < MANY; i++) {
            bool added;
            snprintf(text, sizeof(text), "module%u.function%u", i % 100, i);
            assert_int_equal(intern_number(&intern, text, strlen(text), &added), i + 1);
            assert_int_equal(added, round == 0);
        }
    }
    intern_free(&intern);
}

/* The odd number that takes a multiplication by this odd one back. */
static uint64_t inverse(uint64_t factor)
{
    uint64_t found = factor; /* right in 3 bits, then in twice as many each time */
    for (int i = 0; i < 5; i++)
        found *= 2 - factor * found;
    return found;
}

/* The word that hash_mix() makes into this one. */
static uint64_t unmixed(uint64_t word)
{
    word ^= word >> 32;
    word *= inverse(0xD6E8FEB86659FD93u);
    word ^= word >> 32;
    return word * inverse(0x9E3779B97F4A7C15u);
}

/* Words whose hashes begin alike: chosen by someone who knows how hashes are made. */
static void bytes_that_were_chosen_are_found_soon(void **state)
{
    (void)state;
    struct intern intern = { 0 };
    bool added;
    for (uint64_t i = 0; i < MANY; i++) {
        const uint64_t word = unmixed(unmixed(i)) ^ sizeof(word);
        assert_int_equal(intern_number(&intern, &word, sizeof(word), &added), i + 1);
    }
    assert_true(intern.index.spread.mixes); /* random factors */
    for (uint64_t i = 0; i < MANY; i++) {
        const uint64_t word = unmixed(unmixed(i)) ^ sizeof(word);
        assert_int_equal(intern_number(&intern, &word, sizeof(word), &added), i + 1);
        assert_false(added);
    }
    intern_free(&intern);
}

static void the_bytes_are_copied(void **state)
{
    (void)state;
    struct intern intern = { 0 };
    char text[] = "one";
    bool added;
    intern_number(&intern, text, 3, &added);
    memcpy(text, "two", 3);
    assert_int_equal(intern_number(&intern, "one", 3, &added), 1);
    assert_int_equal(intern_number(&intern, text, 3, &added), 2);
    intern_free(&intern);
}

TEST_FILE(intern)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_numbered_in_order_of_first_sight),
        cmocka_unit_test(many_pairs_keep_their_numbers),
        cmocka_unit_test(pairs_lie_near_where_they_are_looked_for),
        cmocka_unit_test(pairs_that_were_chosen_are_found_soon),
        cmocka_unit_test(pairs_remember_numbers_of_others),
        cmocka_unit_test(bytes_are_told_apart_by_size_too),
        cmocka_unit_test(many_rows_of_bytes_keep_their_numbers),
        cmocka_unit_test(bytes_that_were_chosen_are_found_soon),
        cmocka_unit_test(the_bytes_are_copied),
    };
    return run_all(tests);
}
