/* SPDX-License-Identifier: MIT */
#include "record/unwind/live/callgraph.h"

#include "tests/fakes/testing.h"

static uint32_t tick;

static const struct made_call *made(uint32_t caller, uint32_t callee, uint32_t function)
{
    static struct made_call call;
    call = (struct made_call){ .caller = caller, .callee = callee, .function = function };
    return &call;
}

static void a_call_is_known_when_it_was_seen_a_few_times(void **state)
{
    (void)state;
    struct callgraph callgraph = { 0 };
    assert_false(callgraph_known(&callgraph, 1, 2));
    callgraph_see(&callgraph, made(1, 2, 20), ++tick);
    assert_false(callgraph_known(&callgraph, 1, 2));
    for (int i = 0; i < 300; i++)
        callgraph_see(&callgraph, made(1, 2, 20), ++tick);
    assert_true(callgraph_known(&callgraph, 1, 2));
    assert_false(callgraph_known(&callgraph, 2, 1));
    assert_false(callgraph_known(&callgraph, 1, 3));
    callgraph_free(&callgraph);
    assert_false(callgraph_known(&callgraph, 1, 2));
    callgraph_free(&callgraph);
}

static void a_function_is_odd_where_only_others_are_known_to_be_called(void **state)
{
    (void)state;
    struct callgraph callgraph = { 0 };
    callgraph_see(&callgraph, made(1, 2, 20), ++tick);
    assert_false(callgraph_odd(&callgraph, made(1, 2, 30))); /* nothing is known yet */
    for (int i = 0; i < 3; i++)
        callgraph_see(&callgraph, made(1, 2, 20), ++tick);
    assert_true(callgraph_odd(&callgraph, made(1, 2, 30)));
    assert_false(callgraph_odd(&callgraph, made(1, 2, 20))); /* at another line */
    assert_false(callgraph_odd(&callgraph, made(2, 2, 30)));
    for (int i = 0; i < 3; i++)
        callgraph_see(&callgraph, made(1, 3, 30), ++tick);
    assert_false(callgraph_odd(&callgraph, made(1, 2, 30)));
    callgraph_free(&callgraph);
    assert_false(callgraph_odd(&callgraph, made(1, 2, 40)));
}

static void show(struct callgraph *callgraph, uint32_t callee, uint32_t times, uint32_t from, uint32_t step)
{
    for (uint32_t i = 0; i < times; i++)
        callgraph_show(callgraph, made(1, callee, 20), from + i * step);
}

static void what_single_copies_show_often_is_known(void **state)
{
    (void)state;
    struct callgraph callgraph = { 0 };
    show(&callgraph, 2, 1000, 1, 1); /* nobody knows that the function is called there */
    assert_false(callgraph_known(&callgraph, 1, 2));
    for (int i = 0; i < 3; i++)
        callgraph_see(&callgraph, made(1, 3, 20), ++tick);
    assert_false(callgraph_known(&callgraph, 1, 2));
    show(&callgraph, 2, 7, 5000, 100);
    assert_false(callgraph_known(&callgraph, 1, 2));
    show(&callgraph, 2, 1, 6000, 1);
    assert_true(callgraph_known(&callgraph, 1, 2));
    callgraph_show(&callgraph, made(1, 4, 30), 1); /* another function */
    assert_false(callgraph_known(&callgraph, 1, 4));
    callgraph_free(&callgraph);
}

static void what_single_copies_show_seldom_is_not(void **state)
{
    (void)state;
    struct callgraph callgraph = { 0 };
    for (int i = 0; i < 3; i++)
        callgraph_see(&callgraph, made(1, 3, 20), ++tick);
    show(&callgraph, 2, 1000, 1, 2500);
    assert_false(callgraph_known(&callgraph, 1, 2));
    show(&callgraph, 2, 16, UINT32_MAX - 4, 1); /* the count of copies begins anew */
    assert_true(callgraph_known(&callgraph, 1, 2));
    callgraph_free(&callgraph);
}

static void a_call_counts_once_in_a_tick(void **state)
{
    (void)state;
    struct callgraph callgraph = { 0 };
    for (int i = 0; i < 10; i++)
        callgraph_see(&callgraph, made(1, 2, 20), 5);
    assert_false(callgraph_known(&callgraph, 1, 2));
    for (uint32_t i = 6; i < 8; i++)
        callgraph_see(&callgraph, made(1, 2, 20), i);
    assert_true(callgraph_known(&callgraph, 1, 2));
    show(&callgraph, 3, 100, 9, 0);
    assert_false(callgraph_known(&callgraph, 1, 3));
    callgraph_free(&callgraph);
}

static void what_is_driven_is_not_called(void **state)
{
    (void)state;
    struct callgraph callgraph = { 0 };
    for (int i = 0; i < 3; i++)
        callgraph_see_driven(&callgraph, 1, 2, ++tick);
    assert_true(callgraph_known(&callgraph, 1, 2 | CALLGRAPH_DRIVEN));
    assert_false(callgraph_known(&callgraph, 1, 2));
    assert_false(callgraph_odd(&callgraph, made(1, 2, 20)));
    callgraph_free(&callgraph);
}

/* More than are remembered: it starts anew, and still tells them apart. */
static void memory_is_bounded(void **state)
{
    (void)state;
    struct callgraph callgraph = { 0 };
    const uint32_t many = 1100000;
    for (uint32_t i = 1; i <= many; i++)
        callgraph_see(&callgraph, made(i, i + 1, 1), ++tick);
    assert_true(callgraph.pairs.count <= 1 << 20);
    for (uint32_t i = 1; i <= many; i += 1000)
        assert_false(callgraph_known(&callgraph, i, i + 1));
    for (int i = 0; i < 3; i++)
        callgraph_see(&callgraph, made(many, many + 1, 1), ++tick);
    assert_true(callgraph_known(&callgraph, many, many + 1));
    callgraph_free(&callgraph);
}

TEST_FILE(callgraph)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_known_when_it_was_seen_a_few_times),
        cmocka_unit_test(a_function_is_odd_where_only_others_are_known_to_be_called),
        cmocka_unit_test(what_single_copies_show_often_is_known),
        cmocka_unit_test(what_single_copies_show_seldom_is_not),
        cmocka_unit_test(a_call_counts_once_in_a_tick),
        cmocka_unit_test(what_is_driven_is_not_called),
        cmocka_unit_test(memory_is_bounded),
    };
    return run_all(tests);
}
