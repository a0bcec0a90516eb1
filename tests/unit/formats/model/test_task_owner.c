/* SPDX-License-Identifier: MIT */
#include "formats/frames/task_frame.h"
#include "formats/model/task_owner.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

static void names_of_tasks_are_merged(void **state)
{
    (void)state;
    static const struct {
        struct text name;
        struct text merged;
    } rows[] = {
        { T("<task Task-7>"), T("<task>") },
        { T("<task Task-70000000000000000000>"), T("<task>") },
        { T("<task Task-7 (2 parents)>"), T("<task>") },
        { T("<task Task->"), T("<task Task->") },
        { T("<task Task-7b>"), T("<task Task-7b>") },
        { T("<task Task-7 (parents)>"), T("<task Task-7 (parents)>") },
        { T("<task Task-7 (2 parents)> >"), T("<task Task-7 (2 parents)> >") },
        { T("<task Task-7 (2 parents) >"), T("<task Task-7 (2 parents) >") },
        { T("<task Task-7"), T("<task Task-7") },
        { T("<task fetch 12>"), T("<task fetch 12>") },
        { T("<task >"), T("<task >") },
        { T("<task "), T("<task ") },
        { T("<task>"), T("<task>") },
        { T("<GC>"), T("<GC>") },
        { T("Task-7"), T("Task-7") },
        { T(""), T("") },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        const struct text merged = task_frame_merged(rows[i].name);
        assert_int_equal(merged.size, rows[i].merged.size);
        assert_memory_equal(merged.bytes, rows[i].merged.bytes, merged.size);
    }
}

/* Threads 1 and 5 had the same number, one after the other; 2 and 6 to 9 are entries of tasks. */
static const struct event threads[] = {
    PROCESS(1, 10, "/"),
    PROCESS(2, 20, "/"),
    TASK(1, 1, "t"),
    TASK(2, 2, "u"),
    THREAD(1, 1, 10, "python3"),
    TASK_ENTRY(2, 1, 11, 1, "t"), /* its thread comes behind it */
    THREAD(3, 1, 11, "loop"),
    TASK_ENTRY(4, 1, 10, 1, "t"),
    { EVENT_THREAD, .thread = { 5, 1, 10, false, 0, 0, T("again"), 0 } },
    TASK_ENTRY(6, 1, 10, 1, "t"),
    TASK_ENTRY(7, 2, 20, 2, "u"), /* of a main thread that the recording does not have */
    TASK_ENTRY(8, 2, 21, 2, "u"),
    TASK_ENTRY(9, 2, 0, 2, "u"),
    { EVENT_THREAD, .thread = { 10, 1, 10, false, 3, 0, T("T"), 1 } }, /* in another interpreter */
};

static void entries_have_the_thread_of_their_loop(void **state)
{
    (void)state;
    static const uint32_t wanted[] = { 0, 1, 3, 3, 1, 5, 5, 0, 0, 0, 0 };
    struct tables tables = { 0 };
    struct task_owners owners = { 0 };
    for (size_t i = 0; i < countof(threads); i++) {
        struct event event = threads[i];
        assert_true(tables_take(&tables, &event, NULL));
    }
    task_owner_find(&owners, &tables);
    for (size_t i = 1; i < countof(wanted); i++)
        assert_int_equal(task_owner_of(&owners, &tables, i), wanted[i]);
    assert_text(task_owner_name(&owners, &tables, 1), "MainThread");
    assert_text(task_owner_name(&owners, &tables, 2), "loop");
    assert_text(task_owner_name(&owners, &tables, 4), "MainThread");
    assert_text(task_owner_name(&owners, &tables, 6), "again");
    assert_text(task_owner_name(&owners, &tables, 7), "MainThread");
    assert_text(task_owner_name(&owners, &tables, 8), "Thread");
    assert_text(task_owner_name(&owners, &tables, 9), "unknown thread");
    assert_text(task_owner_name(&owners, &tables, 10), "Thread");
    task_owner_free(&owners);
    tables_free(&tables);
}

TEST_FILE(task_owner)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_tasks_are_merged),
        cmocka_unit_test(entries_have_the_thread_of_their_loop),
    };
    return run_all(tests);
}
