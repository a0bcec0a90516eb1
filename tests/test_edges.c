/* SPDX-License-Identifier: MIT */
#include "record/edges.h"

#include "tests/testing.h"

static void a_call_is_known_when_it_was_seen_a_few_times(void **state)
{
    (void)state;
    struct edges edges = { 0 };
    assert_false(edges_known(&edges, 1, 2));
    edges_see(&edges, 1, 2, 20);
    assert_false(edges_known(&edges, 1, 2));
    for (int i = 0; i < 300; i++)
        edges_see(&edges, 1, 2, 20);
    assert_true(edges_known(&edges, 1, 2));
    assert_false(edges_known(&edges, 2, 1));
    assert_false(edges_known(&edges, 1, 3));
    edges_free(&edges);
    assert_false(edges_known(&edges, 1, 2));
    edges_free(&edges);
}

static void a_function_is_odd_where_only_others_are_known_to_be_called(void **state)
{
    (void)state;
    struct edges edges = { 0 };
    edges_see(&edges, 1, 2, 20);
    assert_false(edges_odd(&edges, 1, 30)); /* nothing is known yet */
    for (int i = 0; i < 3; i++)
        edges_see(&edges, 1, 2, 20);
    assert_true(edges_odd(&edges, 1, 30));
    assert_false(edges_odd(&edges, 1, 20)); /* at another line */
    assert_false(edges_odd(&edges, 2, 30));
    for (int i = 0; i < 3; i++)
        edges_see(&edges, 1, 3, 30);
    assert_false(edges_odd(&edges, 1, 30));
    edges_free(&edges);
    assert_false(edges_odd(&edges, 1, 40));
}

/* More than are remembered: it starts anew, and still tells them apart. */
static void memory_is_bounded(void **state)
{
    (void)state;
    struct edges edges = { 0 };
    const uint32_t many = 1100000;
    for (uint32_t i = 1; i <= many; i++)
        edges_see(&edges, i, i + 1, 1);
    assert_true(edges.pairs.count <= 1 << 20);
    for (uint32_t i = 1; i <= many; i += 1000)
        assert_false(edges_known(&edges, i, i + 1));
    for (int i = 0; i < 3; i++)
        edges_see(&edges, many, many + 1, 1);
    assert_true(edges_known(&edges, many, many + 1));
    edges_free(&edges);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_known_when_it_was_seen_a_few_times),
        cmocka_unit_test(a_function_is_odd_where_only_others_are_known_to_be_called),
        cmocka_unit_test(memory_is_bounded),
    };
    return run_all(tests);
}
