/* SPDX-License-Identifier: MIT */
#include "formats/calls/totals.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

#define RUNS (STATUS_RECORDED | STATUS_CPU | STATUS_GIL)
#define IDLE STATUS_RECORDED
#define LOCK (STATUS_RECORDED | STATUS_GIL_WAIT)

/* main calls walk, which calls itself and json. Two workers of a pool wait and run. */
static const struct event story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = 100 * MS, .time_unit_ns = 2 * MS } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "pool-1"),
    THREAD(3, 1, 4244, "pool-2"),
    STRING(1, "/home/u/a.py"),
    STRING(2, "main"),
    STRING(3, "walk"),
    STRING(4, "/usr/lib/python3.15/json/decoder.py"),
    STRING(5, "decode"),
    STRING(6, "<GC>"),
    FUNCTION(1, 2, 1, 1),
    FUNCTION(2, 3, 1, 10),
    FUNCTION(3, 5, 4, 30),
    SYNTHETIC(4, 6, KIND_GC),
    FRAME(1, 1, 3),  /* main:3 */
    FRAME(2, 2, 11), /* walk:11 */
    FRAME(3, 2, 12), /* walk:12 */
    FRAME(4, 3, 33), /* decode:33 */
    FRAME(5, 4, 0),  /* <GC> */
    STATUS_SAMPLE(100 * MS, 1, 0, RUNS, 0, 1, 2, 3),
    STATUS_SAMPLE(100 * MS, 2, 0, IDLE, 0, 2),
    STATUS_SAMPLE(100 * MS, 3, 0, IDLE, 0, 2),
    TICK(100 * MS),
    STATUS_SAMPLE(200 * MS, 1, 1, RUNS, 0, 2, 4, 5),
    STATUS_SAMPLE(200 * MS, 2, 1, LOCK, 0, 4),
    TICK(200 * MS),
    STATUS_SAME(300 * MS, 1, 4, RUNS, 0),
    TICK(300 * MS),
};

struct world {
    struct tables tables;
    struct aggregate aggregate;
    struct frame_filter filter;
    struct entries entries;
    struct groups groups;
    struct call_tree tree;
};

static void open_world(struct world *world, struct entries_style style, struct groups_style groups)
{
    struct fault why = { 0 };
    world->aggregate.group_of = waiting_group;
    for (size_t i = 0; i < countof(story); i++) {
        struct event event = story[i];
        assert_true(tables_take(&world->tables, &event, &why));
        if (event.kind == EVENT_RUN)
            aggregate_add_run(&world->aggregate, &event.run);
    }
    aggregate_sort(&world->aggregate);
    style.filter = &world->filter;
    entries_find(&world->entries, &world->tables, &style);
    groups_find(&world->groups, &world->tables, &world->aggregate, &groups);
}

static void make_tree(struct world *world)
{
    assert_true(call_tree_make(&world->tree, &world->entries, &world->groups, &world->aggregate));
    call_tree_sort(&world->tree, SUM_SAMPLES);
}

static void close_world(struct world *world)
{
    call_tree_free(&world->tree);
    groups_free(&world->groups);
    entries_free(&world->entries);
    frame_filter_free(&world->filter);
    aggregate_free(&world->aggregate);
    tables_free(&world->tables);
}

/* The tree as text: a line for each node, with its self and total number of samples. */
static void assert_tree(const struct world *world, const char *wanted)
{
    char *made = NULL;
    size_t size = 0, depth = 0;
    FILE *to = open_memstream(&made, &size);
    const struct call_tree *tree = &world->tree;
    for (uint32_t node = call_tree_next(tree, 0, &depth); node; node = call_tree_next(tree, node, &depth)) {
        const struct call_node *row = &tree->nodes[node];
        const struct group *group = &world->groups.rows[row->group];
        const struct text name = row->entry ? entries_code(&world->entries, row->entry)->name : group->thread;
        fprintf(to, "%*s%.*s", (int)(2 * (depth - 1)), "", (int)name.size, name.bytes);
        if (row->entry && entries_line(&world->entries, row->entry))
            fprintf(to, ":%u", entries_line(&world->entries, row->entry));
        fprintf(to, " %d %d\n", (int)row->self[SUM_SAMPLES], (int)row->total[SUM_SAMPLES]);
    }
    fclose(to);
    assert_string_equal(made, wanted);
    free(made);
}

/* Two collections and a function that is called as they are; C code of two libraries that is called alike. */
static void test_what_a_frame_is_tells_its_entry_apart(void **state)
{
    (void)state;
    static const struct event events[] = {
        STRING(1, "<GC>"),
        STRING(2, "/lib/a.so"),
        STRING(3, "/lib/b.so"),
        SYNTHETIC(1, 1, KIND_GC),
        FUNCTION(2, 1, 0, 0),
        { EVENT_FUNCTION, .function = { 3, 1, 0, 0, KIND_NATIVE, 2, 0 } },
        { EVENT_FUNCTION, .function = { 4, 1, 0, 0, KIND_NATIVE, 3, 0 } },
        FRAME(1, 1, 0),
        FRAME(2, 2, 0),
        { EVENT_FRAME, .frame = { 3, 3, 0, 0, -1, -1, 0, 0, 0x10, 0, 0 } },
        { EVENT_FRAME, .frame = { 4, 3, 0, 0, -1, -1, 0, 0, 0x20, 0, 0 } },
        { EVENT_FRAME, .frame = { 5, 4, 0, 0, -1, -1, 0, 0, 0x10, 0, 0 } },
    };
    static const enum code_kind kinds[] = { CODE_GC, CODE_OTHER, CODE_NATIVE, CODE_NATIVE, CODE_NATIVE };
    struct tables tables = { 0 };
    struct entries entries;
    for (size_t i = 0; i < countof(events); i++) {
        struct event event = events[i];
        assert_true(tables_take(&tables, &event, NULL));
    }
    entries_find(&entries, &tables, &(struct entries_style){ .kind = ENTRY_FUNCTION });
    for (size_t i = 0; i < countof(kinds); i++)
        assert_int_equal(entries_code(&entries, entries.labels[i + 1])->kind, kinds[i]);
    assert_int_not_equal(entries.labels[1], entries.labels[2]);
    assert_int_equal(entries.labels[3], entries.labels[4]);
    assert_int_not_equal(entries.labels[3], entries.labels[5]);
    assert_text(entries_code(&entries, entries.labels[5])->file, "b.so");
    entries_free(&entries);
    tables_free(&tables);
}

static void test_functions_are_nodes_below_their_groups(void **state)
{
    struct world world = { 0 };
    (void)state;
    open_world(&world, (struct entries_style){ .kind = ENTRY_FUNCTION, .waits = true }, (struct groups_style){ 0 });
    make_tree(&world);
    assert_tree(&world, "MainThread 0 3\n"
                        "  main:1 0 3\n"
                        "    walk:10 0 3\n"
                        "      decode:30 0 2\n"
                        "        <GC> 2 2\n"
                        "      walk:10 1 1\n"
                        "pool 0 3\n"
                        "  walk:10 0 3\n"
                        "    [idle] 2 2\n"
                        "    decode:30 0 1\n"
                        "      [waiting for GIL] 1 1\n");
    close_world(&world);
}

static void test_lines_and_files_are_entries(void **state)
{
    struct world world = { 0 };
    (void)state;
    open_world(&world, (struct entries_style){ .kind = ENTRY_LINE }, (struct groups_style){ .one = true });
    make_tree(&world);
    assert_tree(&world, " 0 6\n"
                        "  main:3 0 3\n"
                        "    walk:11 0 3\n"
                        "      decode:33 0 2\n"
                        "        <GC> 2 2\n"
                        "      walk:12 1 1\n"
                        "  walk:11 2 3\n"
                        "    decode:33 1 1\n");
    close_world(&world);
    world = (struct world){ 0 };
    open_world(&world, (struct entries_style){ .kind = ENTRY_FILE }, (struct groups_style){ .one = true });
    make_tree(&world);
    struct entry_totals *totals = totals_of(&world.tree, 0);
    for (uint32_t entry = 1; entry < world.entries.count; entry++)
        if (text_equal(entries_code(&world.entries, entry)->name, TEXT("a.py"))) {
            assert_int_equal(totals[entry].total[SUM_SAMPLES], 6); /* a sample counts once */
            assert_int_equal(totals[entry].self[SUM_SAMPLES], 3);
        }
    free(totals);
    close_world(&world);
}

static void test_a_module_is_an_entry(void **state)
{
    struct world world = { 0 };
    bool found = false;
    (void)state;
    open_world(&world, (struct entries_style){ .kind = ENTRY_MODULE }, (struct groups_style){ .one = true });
    for (uint32_t entry = 1; entry < world.entries.count; entry++)
        found |= text_equal(entries_code(&world.entries, entry)->name, TEXT("json.decoder"));
    assert_true(found);
    close_world(&world);
}

static void test_recursion_counts_once(void **state)
{
    struct world world = { 0 };
    (void)state;
    open_world(&world, (struct entries_style){ .kind = ENTRY_LINE }, (struct groups_style){ 0 });
    make_tree(&world);
    struct entry_totals *totals = totals_of_codes(&world.tree, 0);
    for (uint32_t code = 1; code < world.entries.codes_count; code++)
        if (text_equal(world.entries.codes[code].name, TEXT("walk"))) {
            assert_int_equal(totals[code].total[SUM_SAMPLES], 6);
            assert_int_equal(totals[code].self[SUM_SAMPLES], 3);
            assert_int_equal(totals[code].total[SUM_WALL_NS], 600 * MS);
        }
    free(totals);
    totals = totals_of_codes(&world.tree, world.tree.nodes[0].child); /* of the main thread */
    for (uint32_t code = 1; code < world.entries.codes_count; code++)
        if (text_equal(world.entries.codes[code].name, TEXT("walk")))
            assert_int_equal(totals[code].total[SUM_SAMPLES], 3);
    free(totals);
    close_world(&world);
}

static void test_groups_say_whose_samples(void **state)
{
    struct world world = { 0 };
    (void)state;
    open_world(&world, (struct entries_style){ .kind = ENTRY_FUNCTION }, (struct groups_style){ 0 });
    assert_int_equal(world.groups.count, 2);
    assert_text(world.groups.rows[0].process, "app.py");
    assert_text(world.groups.rows[1].thread, "pool");
    assert_int_equal(world.groups.rows[1].threads, 2);
    assert_int_equal(world.groups.rows[1].waits_ns, 300 * MS);
    assert_int_equal(world.groups.rows[0].sums[SUM_GIL_NS], 300 * MS);
    close_world(&world);
    world = (struct world){ 0 };
    open_world(&world, (struct entries_style){ .kind = ENTRY_FUNCTION }, (struct groups_style){ .ids = true });
    assert_int_equal(world.groups.count, 3);
    assert_text(world.groups.rows[2].thread, "pool-2");
    close_world(&world);
}

static void test_the_filter_works_on_entries(void **state)
{
    struct world world = { 0 };
    struct fault why = { 0 };
    (void)state;
    assert_true(patterns_add(&world.filter.hide, "^main", &why));
    assert_true(frame_filter_fold(&world.filter, "stdlib"));
    world.filter.no_gc = true;
    open_world(&world, (struct entries_style){ .kind = ENTRY_FUNCTION }, (struct groups_style){ .one = true });
    make_tree(&world);
    assert_tree(&world, " 0 6\n"
                        "  walk:10 2 6\n"
                        "    <stdlib> 3 3\n"
                        "    walk:10 1 1\n");
    close_world(&world);

    world = (struct world){ 0 };
    assert_true(patterns_add(&world.filter.focus, "nowhere", &why));
    open_world(&world, (struct entries_style){ .kind = ENTRY_FUNCTION }, (struct groups_style){ 0 });
    assert_false(call_tree_make(&world.tree, &world.entries, &world.groups, &world.aggregate));
    close_world(&world);
}

TEST_FILE(calls)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_frame_is_tells_its_entry_apart),
        cmocka_unit_test(test_functions_are_nodes_below_their_groups),
        cmocka_unit_test(test_lines_and_files_are_entries),
        cmocka_unit_test(test_a_module_is_an_entry),
        cmocka_unit_test(test_recursion_counts_once),
        cmocka_unit_test(test_groups_say_whose_samples),
        cmocka_unit_test(test_the_filter_works_on_entries),
    };
    return run_all(tests);
}
