/* SPDX-License-Identifier: MIT */
#include "formats/model/aggregate.h"

#include "formats/model/outline.h"
#include "tests/fakes/chosen.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define REC STATUS_RECORDED

static void assert_rows(const struct aggregate *aggregate, const struct aggregate_row *wanted, size_t count)
{
    assert_int_equal(aggregate->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(aggregate->rows[i].thread, wanted[i].thread);
        assert_int_equal(aggregate->rows[i].task, wanted[i].task);
        assert_int_equal(aggregate->rows[i].stack, wanted[i].stack);
        assert_int_equal(aggregate->rows[i].group, wanted[i].group);
        for (size_t k = 0; k < SUMS; k++)
            assert_int_equal(aggregate->rows[i].sums[k], wanted[i].sums[k]);
    }
}

static void counts_each_stack_of_each_thread(void **state)
{
    (void)state;
    static const struct aggregate_row given[] = { { 2, 0, 5, 0, { 1 }, 0 },          { 1, 0, 9, 0, { 1 }, 0 },
                                                  { 2, 0, 5, 0, { 3, 4, 2, 1 }, 0 }, { 1, 0, 2, 0, { 10 }, 0 },
                                                  { 2, 0, 0, 0, { 1 }, 0 },          { 1, 0, 9, 0, { 1, 7 }, 0 },
                                                  { 1, 0, 9, 0, { 5, 1 }, 0 } };
    static const struct aggregate_row seen[] = { { 2, 0, 5, 0, { 4, 4, 2, 1 }, 0 },
                                                 { 1, 0, 9, 0, { 7, 8 }, 0 },
                                                 { 1, 0, 2, 0, { 10 }, 0 },
                                                 { 2, 0, 0, 0, { 1 }, 0 } };
    static const struct aggregate_row sorted[] = { { 1, 0, 2, 0, { 10 }, 0 },
                                                   { 1, 0, 9, 0, { 7, 8 }, 0 },
                                                   { 2, 0, 0, 0, { 1 }, 0 },
                                                   { 2, 0, 5, 0, { 4, 4, 2, 1 }, 0 } };
    struct aggregate aggregate = { 0 };
    for (size_t i = 0; i < countof(given); i++)
        aggregate_add(&aggregate, &given[i]);
    assert_rows(&aggregate, seen, countof(seen));
    aggregate_sort(&aggregate);
    assert_rows(&aggregate, sorted, countof(sorted));
    aggregate_free(&aggregate);
    aggregate_sort(&aggregate);
    aggregate_free(&aggregate);
}

/* The same stack of the same thread is another row when another task runs it. */
static void tells_tasks_apart(void **state)
{
    (void)state;
    static const struct run given[] = {
        { .count = 1, .thread = 2, .stack = 5 },
        { .count = 1, .thread = 1, .stack = 5, .task = 7 },
        { .count = 1, .thread = 1, .stack = 5, .task = 3 },
        { .count = 1, .thread = 1, .stack = 5 },
        { .count = 1, .thread = 1, .stack = 5, .task = 7 },
        { .count = 1, .thread = 2, .stack = 5, .task = 7 },
        { .count = 1, .thread = 1, .stack = 4, .task = 7 },
    };
    static const struct aggregate_row wanted[] = { { 1, 0, 5, 0, { 1 }, 0 }, { 1, 3, 5, 0, { 1 }, 0 },
                                                   { 1, 7, 4, 0, { 1 }, 0 }, { 1, 7, 5, 0, { 2 }, 0 },
                                                   { 2, 0, 5, 0, { 1 }, 0 }, { 2, 7, 5, 0, { 1 }, 0 } };
    struct aggregate aggregate = { 0 };
    for (size_t i = 0; i < countof(given); i++)
        aggregate_add_run(&aggregate, &given[i]);
    aggregate_sort(&aggregate);
    assert_rows(&aggregate, wanted, countof(wanted));
    assert_int_equal(aggregate.samples, countof(given));
    aggregate_free(&aggregate);
}

/* The stack of a thread's n-th sample when it stays where it is for so many. */
static uint32_t stack_of(uint32_t n, uint32_t stays, uint32_t stacks)
{
    return n / stays * (n / stays) % stacks;
}

static void assert_counted(uint32_t samples, uint32_t stays)
{
    enum { THREADS = 3, STACKS = 40 };
    static const uint32_t numbers[THREADS] = { 1, 1 + AGGREGATE_THREADS,
                                               2 * AGGREGATE_THREADS }; /* two share a place */
    uint64_t wanted[THREADS][STACKS] = { 0 };
    struct aggregate aggregate = { 0 };
    for (uint32_t i = 0; i < samples; i++) {
        const struct run run = { .thread = numbers[i % THREADS],
                                 .stack = stack_of(i / THREADS, stays, STACKS),
                                 .count = i + 1 };
        wanted[i % THREADS][run.stack] += run.count;
        aggregate_add_run(&aggregate, &run);
    }
    aggregate_sort(&aggregate);
    size_t at = 0;
    for (uint32_t thread = 0; thread < THREADS; thread++)
        for (uint32_t stack = 0; stack < STACKS; stack++) {
            if (wanted[thread][stack] == 0)
                continue;
            assert_true(at < aggregate.count);
            assert_int_equal(aggregate.rows[at].thread, numbers[thread]);
            assert_int_equal(aggregate.rows[at].stack, stack);
            assert_int_equal(aggregate.rows[at++].sums[SUM_SAMPLES], wanted[thread][stack]);
        }
    assert_int_equal(aggregate.count, at);
    aggregate_free(&aggregate);
}

/* A thread that stays where it is takes one row of those that wait. */
static uint32_t lowest_bits(uint32_t status)
{
    return status & 3;
}

/* Without group_of, the status tells nothing apart. */
static void tells_groups_of_statuses_apart(void **state)
{
    (void)state;
    static const uint32_t statuses[] = { 1, 4, 1, 5, 2 };
    static const struct aggregate_row together[] = { { 1, 7, 5, 0, { 5 }, 0 } };
    static const struct aggregate_row apart[] = { { 1, 7, 5, 1, { 3 }, 0 },
                                                  { 1, 7, 5, 0, { 1 }, 0 },
                                                  { 1, 7, 5, 2, { 1 }, 0 } };
    for (int groups = 0; groups < 2; groups++) {
        struct aggregate aggregate = { .group_of = groups ? lowest_bits : NULL };
        for (size_t i = 0; i < countof(statuses); i++) {
            const struct run run = { .count = 1, .thread = 1, .task = 7, .stack = 5, .status = statuses[i] };
            aggregate_add_run(&aggregate, &run);
        }
        aggregate_sort(&aggregate);
        assert_rows(&aggregate, groups ? apart : together, groups ? 3 : 1);
        aggregate_free(&aggregate);
    }
}

/* Only where they are asked for, and together with groups. */
static void tells_spans_apart(void **state)
{
    (void)state;
    const struct span_ids a = { 1, 2, 3 }, b = { 1, 2, 4 };
    const struct run runs[] = {
        { .count = 1, .thread = 1, .stack = 5 },
        { .count = 1, .thread = 1, .stack = 5, .span = a },
        { .count = 1, .thread = 1, .stack = 5, .span = a, .status = 1 },
        { .count = 1, .thread = 1, .stack = 5, .span = b },
        { .count = 1, .thread = 1, .stack = 5, .span = a },
    };
    const struct {
        struct span_ids span;
        uint32_t group;
        uint64_t count;
    } wanted[] = { { { 0 }, 0, 1 }, { a, 0, 2 }, { a, 1, 1 }, { b, 0, 1 } };
    struct aggregate together = { 0 }, apart = { .by_span = true, .group_of = lowest_bits };
    for (size_t i = 0; i < countof(runs); i++) {
        aggregate_add_run(&together, &runs[i]);
        aggregate_add_run(&apart, &runs[i]);
    }
    aggregate_sort(&together);
    aggregate_sort(&apart);
    assert_int_equal(together.count, 1);
    assert_int_equal(apart.count, countof(wanted));
    for (size_t i = 0; i < countof(wanted); i++) {
        const struct aggregate_row *row = &apart.rows[i];
        assert_true(span_ids_equal(aggregate_span(&apart, row), wanted[i].span));
        assert_int_equal(aggregate_group(&apart, row), wanted[i].group);
        assert_int_equal(row->sums[SUM_SAMPLES], wanted[i].count);
    }
    aggregate_free(&together);
    aggregate_free(&apart);
}

static void what_stays_waits_as_one(void **state)
{
    (void)state;
    struct aggregate aggregate = { 0 };
    for (uint32_t i = 0; i < 2 * AGGREGATE_WAITING; i++) {
        aggregate_add_run(&aggregate, &(struct run){ .count = 1, .thread = 1, .stack = 7 });
        aggregate_add_run(&aggregate, &(struct run){ .count = 1, .thread = 2, .stack = 7 });
    }
    assert_int_equal(aggregate.waiting_count, 2);
    aggregate_sort(&aggregate);
    assert_rows(&aggregate,
                (struct aggregate_row[]){ { 1, 0, 7, 0, { 2 * AGGREGATE_WAITING }, 0 },
                                          { 2, 0, 7, 0, { 2 * AGGREGATE_WAITING }, 0 } },
                2);
    aggregate_free(&aggregate);
}

/* What samples add waits for more of it: however many there are, whether new rows come up among them, and however long
 * a thread stays where it is, none is forgotten and none counted twice. */
static void counts_all_that_wait(void **state)
{
    (void)state;
    for (uint32_t stays = 1; stays <= 3; stays++)
        for (uint32_t samples = 0; samples <= 5 * AGGREGATE_WAITING * stays; samples++)
            assert_counted(samples, stays);
}

/* Also where numbers have several digits, as sorting takes them. */
static void rows_are_in_order(void **state)
{
    (void)state;
    static const uint32_t numbers[] = { 1,
                                        2,
                                        2046,
                                        2047,
                                        2048,
                                        2049,
                                        1u << 21,
                                        1u << 22,
                                        1u << 23,
                                        99u << 22,
                                        UINT32_MAX - 2049,
                                        UINT32_MAX - 1,
                                        UINT32_MAX };
    enum { NUMBERS = countof(numbers), ROWS = NUMBERS * NUMBERS * NUMBERS };
    struct aggregate aggregate = { 0 };
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint32_t k = (uint32_t)((uint64_t)i * 1009 % ROWS); /* in one long ring */
        const struct aggregate_row row = {
            numbers[k % NUMBERS], numbers[k / NUMBERS % NUMBERS], numbers[k / NUMBERS / NUMBERS], 0, { k }, 0
        };
        aggregate_add(&aggregate, &row);
    }
    aggregate_sort(&aggregate);
    assert_int_equal(aggregate.count, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint32_t thread = i / NUMBERS / NUMBERS, task = i / NUMBERS % NUMBERS, stack = i % NUMBERS;
        assert_int_equal(aggregate.rows[i].thread, numbers[thread]);
        assert_int_equal(aggregate.rows[i].task, numbers[task]);
        assert_int_equal(aggregate.rows[i].stack, numbers[stack]);
        assert_int_equal(aggregate.rows[i].sums[0], thread + NUMBERS * task + NUMBERS * NUMBERS * stack);
    }
    aggregate_free(&aggregate);
}

/* Rows that are made to fall on one place are spread anew, and still found. */
static void rows_that_were_chosen_are_counted_once(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    const uint64_t factor = HASH_USUAL.b;
    const uint32_t step = chosen_step(factor, MANY);
    struct aggregate aggregate = { 0 };
    for (uint32_t i = 0; i < 2 * MANY; i++) {
        const struct run run = { .count = 1, .thread = 1, .stack = i % MANY * step };
        aggregate_add_run(&aggregate, &run);
    }
    assert_int_not_equal(aggregate.index.spread.b, factor);
    aggregate_sort(&aggregate);
    assert_int_equal(aggregate.count, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(aggregate.rows[i].sums[SUM_SAMPLES], 2);
    aggregate_free(&aggregate);
}

/* What is known is what some sample told: without a status, bits that are not set say nothing. */
static void sums_up_what_samples_did(void **state)
{
    (void)state;
    static const struct {
        struct run run;
        uint64_t with_status, with_cpu; /* from then on */
    } given[] = {
        { { .count = 1, .thread = 1, .stack = 2 }, 0, 0 },
        { { .count = 1, .thread = 1, .stack = 2, .wall_ns = 3, .status = REC | STATUS_CPU_UNKNOWN | STATUS_GIL },
          1,
          0 },
        { { .count = 1,
            .thread = 1,
            .stack = 2,
            .wall_ns = 40,
            .status = REC | STATUS_GIL | STATUS_CPU,
            .cpu_ns = 700 },
          2,
          1 },
        { { .count = 1, .thread = 1, .stack = 2, .wall_ns = 500, .status = REC | STATUS_GIL_WAIT, .cpu_ns = 11 },
          3,
          2 },
        { { .count = 1, .thread = 1, .stack = 3, .wall_ns = 6, .status = REC | STATUS_EXCEPTION }, 4, 3 },
    };
    static const struct aggregate_row wanted[] = { { 1, 0, 2, 0, { 4, 543, 711, 43, 500 }, 0 },
                                                   { 1, 0, 3, 0, { 1, 6, 0, 0, 0 }, 0 } };
    struct aggregate aggregate = { 0 };
    for (size_t i = 0; i < countof(given); i++) {
        aggregate_add_run(&aggregate, &given[i].run);
        assert_int_equal(aggregate.samples, i + 1);
        assert_int_equal(aggregate.known[SUM_GIL_NS], given[i].with_status);
        assert_int_equal(aggregate.known[SUM_CPU_NS], given[i].with_cpu);
        assert_true(aggregate_knows(&aggregate, SUM_SAMPLES));
        assert_true(aggregate_knows(&aggregate, SUM_WALL_NS));
        assert_int_equal(aggregate_knows(&aggregate, SUM_CPU_NS), given[i].with_cpu > 0);
        assert_int_equal(aggregate_knows(&aggregate, SUM_GIL_NS), given[i].with_status > 0);
        assert_int_equal(aggregate_knows(&aggregate, SUM_GIL_WAIT_NS), given[i].with_status > 0);
    }
    aggregate_sort(&aggregate);
    assert_rows(&aggregate, wanted, countof(wanted));
    aggregate_free(&aggregate);
}

/* Each sample of a run stands for the same time; what is not known of them stands for none. */
static void a_run_stands_for_as_long_as_its_samples(void **state)
{
    (void)state;
    static const struct run given[] = {
        { .thread = 1, .count = 10, .wall_ns = 10000, .status = REC | STATUS_GIL },
        { .thread = 1, .count = 5, .wall_ns = 150, .status = REC | STATUS_GIL_WAIT },
        { .thread = 1, .count = 2, .wall_ns = 4, .status = STATUS_GIL },
    };
    static const struct aggregate_row wanted = { 1, 0, 0, 0, { 17, 10154, 0, 10000, 150 }, 0 };
    struct aggregate aggregate = { 0 };
    for (size_t i = 0; i < countof(given); i++)
        aggregate_add_run(&aggregate, &given[i]);
    aggregate_sort(&aggregate);
    assert_rows(&aggregate, &wanted, 1);
    aggregate_free(&aggregate);
}

/* Rows stay in the order of first sight, with what waited. */
static void rows_outlive_their_index(void **state)
{
    (void)state;
    static const struct aggregate_row wanted[] = { { 2, 0, 5, 0, { 1 }, 0 }, { 1, 0, 9, 0, { 2 }, 0 } };
    struct aggregate aggregate = { 0 };
    aggregate_add(&aggregate, &wanted[0]);
    for (size_t i = 0; i < 2; i++)
        aggregate_add_run(&aggregate, &(struct run){ .count = 1, .thread = 1, .stack = 9 });
    aggregate_end_adding(&aggregate);
    assert_int_equal(aggregate.index.room, 0);
    assert_rows(&aggregate, wanted, countof(wanted));
    aggregate_free(&aggregate);
}

/* Frames 1 and 2 look alike (label 7), frame 3 does not: the stacks 1-3 and 2-3 are one node. */
static void stacks_that_look_alike_are_one_node(void **state)
{
    (void)state;
    static struct stack stacks[] = { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 }, { 4, 1 } };
    static const uint32_t labels[] = { 99, 7, 7, 8 };
    const struct tables tables = { .stacks = stacks, .stacks_count = countof(stacks) };
    struct outline outline = { 0 };
    const uint32_t root = outline_child(&outline, 0, 50), other = outline_child(&outline, 0, 51);
    assert_int_equal(outline_child(&outline, 0, 50), root);
    const uint32_t deep = outline_node(&outline, &tables, labels, root, 5);
    const uint32_t pair = outline_node(&outline, &tables, labels, root, 3);
    assert_int_equal(outline_node(&outline, &tables, labels, root, 4), pair);
    assert_int_equal(outline_node(&outline, &tables, labels, root, 1),
                     outline_node(&outline, &tables, labels, root, 2));
    assert_int_equal(outline.nodes[deep].caller, pair);
    assert_int_equal(outline.nodes[deep].frame, 7);
    assert_int_equal(outline.nodes[pair].frame, 8);
    assert_int_equal(outline.nodes[outline.nodes[outline.nodes[pair].caller].caller].frame, 50);
    const uint32_t none = outline_node(&outline, &tables, labels, root, 0);
    assert_int_equal(outline.nodes[none].caller, root);
    assert_int_equal(outline.nodes[none].frame, 99);
    const uint32_t elsewhere = outline_node(&outline, &tables, labels, other, 3);
    assert_int_not_equal(elsewhere, pair);
    assert_int_equal(outline_node(&outline, &tables, labels, root, 3), pair);
    for (uint32_t node = 1; node <= outline.count; node++)
        assert_true(outline.nodes[node].caller < node);
    const uint32_t count = outline.count;
    outline_end_placing(&outline); /* an output still reads the nodes */
    assert_int_equal(outline.index.room + outline.stacks_room + outline.climb_room, 0);
    assert_int_equal(outline.count, count);
    assert_int_equal(outline.nodes[deep].caller, pair);
    outline_free(&outline);
}

/* Frame 1 is dropped, frames 2 and 3 are of one kind. */
static void frames_are_dropped_and_folded(void **state)
{
    (void)state;
    static struct stack stacks[] = { { 0, 0 }, { 0, 1 }, { 1, 2 }, { 2, 1 }, { 3, 3 }, { 4, 4 }, { 5, 2 } };
    static const uint32_t labels[] = { OUTLINE_DROPPED, OUTLINE_DROPPED, 9 | OUTLINE_FOLDS, 9 | OUTLINE_FOLDS, 8 };
    static struct frame frames[countof(labels)];
    const struct tables tables = { .stacks = stacks, .stacks_count = countof(stacks), .frames = frames };
    struct outline outline = { 0 };
    const uint32_t root = outline_child(&outline, 0, 9); /* a thread that is named like the kind */
    assert_int_equal(outline_node(&outline, &tables, labels, root, 0), root);
    assert_int_equal(outline_node(&outline, &tables, labels, root, 1), root);
    const uint32_t folded = outline_node(&outline, &tables, labels, root, 2);
    assert_int_not_equal(folded, root);
    assert_int_equal(outline.nodes[folded].frame, 9);
    assert_int_equal(outline_node(&outline, &tables, labels, root, 3), folded);
    assert_int_equal(outline_node(&outline, &tables, labels, root, 4), folded);
    const uint32_t below = outline_node(&outline, &tables, labels, root, 6);
    assert_int_equal(outline.nodes[below].frame, 9);
    assert_int_equal(outline.nodes[outline.nodes[below].caller].frame, 8);
    assert_int_equal(outline.nodes[outline.nodes[below].caller].caller, folded);
    assert_int_equal(outline_node(&outline, &tables, labels, 0, 1), 0);
    outline_free(&outline);
}

/* Frame 2 is shown at the leaf alone, in whichever order the stacks are placed. */
static void a_frame_may_be_shown_at_the_leaf_alone(void **state)
{
    (void)state;
    static struct stack stacks[] = { { 0, 0 }, { 0, 1 }, { 1, 2 }, { 2, 3 }, { 2, 2 }, { 2, 4 }, { 5, 3 } };
    static struct frame frames[] = {
        { 0 }, { .number = 1 }, { .number = 2 }, { .number = 3 }, { .number = 4, .inlined = 1 }
    };
    static const uint32_t labels[] = { 5, 6, 7 | OUTLINE_AT_LEAF, 8, 9 | OUTLINE_AT_LEAF };
    static const uint32_t orders[][4] = { { 1, 2, 3, 4 }, { 4, 3, 2, 1 }, { 3, 2, 4, 2 } };
    const struct tables tables = {
        .stacks = stacks, .stacks_count = countof(stacks), .frames = frames, .frames_count = countof(frames)
    };
    for (size_t i = 0; i < countof(orders); i++) {
        struct outline outline = { 0 };
        for (size_t k = 0; k < 4; k++)
            outline_node(&outline, &tables, labels, 0, orders[i][k]);
        const uint32_t caller = outline_node(&outline, &tables, labels, 0, 1);
        const uint32_t leaf = outline_node(&outline, &tables, labels, 0, 2);
        const uint32_t below = outline_node(&outline, &tables, labels, 0, 3);
        assert_int_equal(outline.nodes[leaf].frame, 7);
        assert_int_equal(outline.nodes[leaf].caller, caller);
        assert_int_equal(outline.nodes[below].caller, caller); /* and not the leaf */
        assert_int_equal(outline_node(&outline, &tables, labels, 0, 4), leaf);
        const uint32_t inlined = outline_node(&outline, &tables, labels, 0, 5);
        assert_int_equal(outline.nodes[inlined].frame, 9);
        assert_int_equal(outline.nodes[inlined].caller, leaf); /* what it is inlined into is the same code */
        assert_int_equal(outline_node(&outline, &tables, labels, 0, 6), below);
        outline_free(&outline);
    }
}

static void sums_have_names(void **state)
{
    (void)state;
    static const char *const names[] = { "samples", "wall", "cpu", "gil", "gil_wait" };
    enum aggregate_sum sum = SUM_SAMPLES;
    for (size_t i = 0; i < countof(names); i++) {
        assert_true(sum_named(names[i], &sum));
        assert_int_equal(sum, i);
    }
    assert_false(sum_named("", &sum));
    assert_false(sum_named("exception", &sum));
}

TEST_FILE(aggregate)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_names),
        cmocka_unit_test(counts_each_stack_of_each_thread),
        cmocka_unit_test(tells_tasks_apart),
        cmocka_unit_test(tells_groups_of_statuses_apart),
        cmocka_unit_test(tells_spans_apart),
        cmocka_unit_test(what_stays_waits_as_one),
        cmocka_unit_test(counts_all_that_wait),
        cmocka_unit_test(rows_are_in_order),
        cmocka_unit_test(rows_that_were_chosen_are_counted_once),
        cmocka_unit_test(sums_up_what_samples_did),
        cmocka_unit_test(a_run_stands_for_as_long_as_its_samples),
        cmocka_unit_test(rows_outlive_their_index),
        cmocka_unit_test(stacks_that_look_alike_are_one_node),
        cmocka_unit_test(frames_are_dropped_and_folded),
        cmocka_unit_test(a_frame_may_be_shown_at_the_leaf_alone),
    };
    return run_all(tests);
}
