/* SPDX-License-Identifier: MIT */
#include "formats/tally.h"

#include "tests/story.h"
#include "tests/testing.h"

#include <string.h>

static void counts_each_stack_of_each_thread(void **state)
{
    (void)state;
    static const struct tally_row given[] = { { 2, 5, 1 }, { 1, 9, 1 }, { 2, 5, 3 }, { 1, 2, 10 },
                                              { 2, 0, 1 }, { 1, 9, 1 }, { 1, 9, 5 } };
    static const struct tally_row seen[] = { { 2, 5, 4 }, { 1, 9, 7 }, { 1, 2, 10 }, { 2, 0, 1 } };
    static const struct tally_row sorted[] = { { 1, 2, 10 }, { 1, 9, 7 }, { 2, 0, 1 }, { 2, 5, 4 } };
    struct tally tally = { 0 };
    for (size_t i = 0; i < countof(given); i++)
        tally_add(&tally, given[i].thread, given[i].stack, given[i].samples);
    assert_int_equal(tally.count, countof(seen));
    for (size_t i = 0; i < countof(seen); i++) {
        assert_int_equal(tally.rows[i].thread, seen[i].thread);
        assert_int_equal(tally.rows[i].stack, seen[i].stack);
        assert_int_equal(tally.rows[i].samples, seen[i].samples);
    }
    tally_sort(&tally);
    for (size_t i = 0; i < countof(sorted); i++) {
        assert_int_equal(tally.rows[i].thread, sorted[i].thread);
        assert_int_equal(tally.rows[i].stack, sorted[i].stack);
        assert_int_equal(tally.rows[i].samples, sorted[i].samples);
    }
    tally_free(&tally);
    tally_sort(&tally);
    tally_free(&tally);
}

/* Frames 1 and 2 look alike (mark 7), frame 3 does not: the stacks 1-3 and 2-3 are one node. */
static void stacks_that_look_alike_are_one_node(void **state)
{
    (void)state;
    static struct stack stacks[] = { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 }, { 4, 1 } };
    static const uint32_t marks[] = { 99, 7, 7, 8 };
    const struct tables tables = { .stacks = stacks, .stacks_count = countof(stacks) };
    struct outline outline = { 0 };
    const uint32_t root = outline_child(&outline, 0, 50), other = outline_child(&outline, 0, 51);
    assert_int_equal(outline_child(&outline, 0, 50), root);
    const uint32_t deep = outline_place(&outline, &tables, marks, root, 5);
    const uint32_t pair = outline_place(&outline, &tables, marks, root, 3);
    assert_int_equal(outline_place(&outline, &tables, marks, root, 4), pair);
    assert_int_equal(outline_place(&outline, &tables, marks, root, 1),
                     outline_place(&outline, &tables, marks, root, 2));
    assert_int_equal(outline.nodes[deep].parent, pair);
    assert_int_equal(outline.nodes[deep].mark, 7);
    assert_int_equal(outline.nodes[pair].mark, 8);
    assert_int_equal(outline.nodes[outline.nodes[outline.nodes[pair].parent].parent].mark, 50);
    const uint32_t none = outline_place(&outline, &tables, marks, root, 0);
    assert_int_equal(outline.nodes[none].parent, root);
    assert_int_equal(outline.nodes[none].mark, 99);
    const uint32_t elsewhere = outline_place(&outline, &tables, marks, other, 3);
    assert_int_not_equal(elsewhere, pair);
    assert_int_equal(outline_place(&outline, &tables, marks, root, 3), pair);
    for (uint32_t node = 1; node <= outline.numbers.count; node++)
        assert_true(outline.nodes[node].parent < node);
    outline_free(&outline);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_each_stack_of_each_thread),
        cmocka_unit_test(stacks_that_look_alike_are_one_node),
    };
    return run_all(tests);
}
