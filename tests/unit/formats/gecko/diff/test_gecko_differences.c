/* SPDX-License-Identifier: MIT */
#include "formats/gecko/diff/differences.h"

#include "formats/base/alloc.h"
#include "formats/gecko/tables/gecko_leaves.h"
#include "tests/fakes/testing.h"

/* main > parse, main > sort > key, main > log: numbers 2, 3, 5 and 4; 1 is main. */
static struct stack stacks[] = { { 0 },           { .caller = 0 }, { .caller = 1 },
                                 { .caller = 1 }, { .caller = 1 }, { .caller = 3 } };
static const struct tables tables = { .stacks = stacks, .stacks_count = countof(stacks) };

static uint32_t code(uint32_t stack, enum gecko_leaf_kind leaf)
{
    return stack << GECKO_LEAF_BITS | leaf;
}

static void add_to_both(struct differences *differences, uint32_t code, uint64_t base_ns, uint64_t new_ns)
{
    differences_add(differences, SIDE_BASE, code, base_ns);
    differences_add(differences, SIDE_NEW, code, new_ns);
}

static void assert_row(const struct differences *differences, size_t row, uint32_t code, int64_t more_ns)
{
    assert_int_equal(differences->rows[row].code, code);
    assert_int_equal(differences->rows[row].more_ns, more_ns);
}

static void slower_stacks_come_first_in_the_order_of_the_tree(void **state)
{
    (void)state;
    struct differences differences = { 0 };
    add_to_both(&differences, code(4, LEAF_NONE), 50, 0);
    add_to_both(&differences, code(5, LEAF_NONE), 0, 300);
    add_to_both(&differences, code(2, LEAF_NONE), 400, 400);
    add_to_both(&differences, code(3, LEAF_IDLE), 100, 60);
    add_to_both(&differences, code(3, LEAF_NONE), 100, 101);
    differences_add(&differences, SIDE_NEW, code(3, LEAF_NONE), 4);
    differences_settle(&differences, &tables, 1);
    assert_int_equal(differences.count, 4);
    assert_row(&differences, 0, code(3, LEAF_NONE), 5);
    assert_row(&differences, 1, code(5, LEAF_NONE), 300);
    assert_row(&differences, 2, code(3, LEAF_IDLE), -40);
    assert_row(&differences, 3, code(4, LEAF_NONE), -50);
    differences_free(&differences);
}

static void the_factor_is_that_of_base(void **state)
{
    (void)state;
    struct differences differences = { 0 };
    add_to_both(&differences, code(2, LEAF_NONE), 1000, 2000);
    add_to_both(&differences, code(3, LEAF_NONE), 1000, 2500);
    add_to_both(&differences, code(4, LEAF_NONE), 1, 0);
    differences_settle(&differences, &tables, 2);
    assert_int_equal(differences.count, 2);
    assert_row(&differences, 0, code(3, LEAF_NONE), 500);
    assert_row(&differences, 1, code(4, LEAF_NONE), -2);
    differences_free(&differences);
}

/* A damaged recording may claim any time. */
static void no_sum_overflows(void **state)
{
    (void)state;
    struct differences differences = { 0 };
    for (size_t i = 0; i < 4; i++) {
        differences_add(&differences, SIDE_BASE, code(1, LEAF_NONE), UINT64_MAX / 2);
        differences_add(&differences, SIDE_NEW, code(2, LEAF_NONE), UINT64_MAX / 2);
    }
    differences_settle(&differences, &tables, 1e30);
    assert_int_equal(differences.count, 2);
    assert_true(differences.rows[0].more_ns == -differences.rows[1].more_ns);
    assert_int_equal(differences.rows[0].code, code(2, LEAF_NONE));
    differences_free(&differences);
}

static void nothing_is_no_difference(void **state)
{
    (void)state;
    struct differences differences = { 0 };
    differences_settle(&differences, &(struct tables){ 0 }, 1);
    assert_int_equal(differences.count, 0);
    differences_free(&differences);
}

TEST_FILE(gecko_differences)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slower_stacks_come_first_in_the_order_of_the_tree),
        cmocka_unit_test(the_factor_is_that_of_base),
        cmocka_unit_test(no_sum_overflows),
        cmocka_unit_test(nothing_is_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
