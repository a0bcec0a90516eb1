/* SPDX-License-Identifier: MIT */
/* Where asyncio keeps its tasks: this program has a section as the module _asyncio has, and looks for it in itself. */
#include "record/python/asyncio_layout.h"

#include "record/python/target.h"
#include "tests/fakes/testing.h"

#include <string.h>
#include <unistd.h>

/* As in CPython 3.14: {task: size, name, awaited_by, is_task, awaited_by_is_set, coro, node; interpreter: size,
 * asyncio_tasks_head; thread: size, asyncio_running_loop, asyncio_running_task, asyncio_tasks_head}. */
static const uint64_t as_published[13] = { 200, 136, 96, 108, 109, 152, 168, 300000, 8192, 768, 600, 608, 616 };

extern uint64_t _Py_AsyncioDebug[13];
__attribute__((section(".AsyncioDebug"))) uint64_t _Py_AsyncioDebug[13] = { 1 };

static struct remote remote;
static struct asyncio_searched searched;

static int begin(void **state)
{
    (void)state;
    struct fault why = { 0 };
    memcpy(_Py_AsyncioDebug, as_published, sizeof(as_published));
    searched = (struct asyncio_searched){ 0 };
    return remote_open(&remote, getpid(), &why) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    asyncio_layout_free_searched(&searched);
    remote_close(&remote);
    return 0;
}

static void the_section_of_a_program_is_found(void **state)
{
    (void)state;
    struct asyncio_layout offsets = { 0 };
    assert_true(asyncio_layout_find(&offsets, &searched, &remote));
    assert_int_equal(offsets.task_size, 200);
    assert_int_equal(offsets.task_name, 136);
    assert_int_equal(offsets.task_waiter, 96);
    assert_int_equal(offsets.task_is_task, 108);
    assert_int_equal(offsets.task_waiter_is_set, 109);
    assert_int_equal(offsets.task_coroutine, 152);
    assert_int_equal(offsets.task_node, 168);
    assert_int_equal(offsets.interpreter_tasks, 8192);
    assert_int_equal(offsets.thread_task, 608);
    assert_int_equal(offsets.thread_tasks, 616);
}

/* A file is looked at once: reading the sections of each library again and again would take long. */
static void a_file_is_searched_once(void **state)
{
    (void)state;
    struct asyncio_layout offsets;
    assert_true(asyncio_layout_find(&offsets, &searched, &remote));
    assert_false(asyncio_layout_find(&offsets, &searched, &remote));
    asyncio_layout_free_searched(&searched);
    assert_true(asyncio_layout_find(&offsets, &searched, &remote));
}

/* Each word that is used is bounded; the others, sizes and the running loop, may be anything. */
static void an_offset_that_can_not_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t word;
        uint64_t limit;
        bool aligned;
    } rows[] = {
        { 0, 1u << 12, false }, { 1, 1u << 12, true },  { 2, 1u << 12, true }, { 3, 1u << 12, false },
        { 4, 1u << 12, false }, { 5, 1u << 12, true },  { 6, 1u << 12, true }, { 8, 1u << 24, true },
        { 11, 1u << 16, true }, { 12, 1u << 16, true },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct {
            uint64_t value;
            bool good;
        } tries[] = {
            { 0, false },
            { rows[i].limit, false },
            { rows[i].limit - 8, true },
            { UINT64_MAX - 7, false },
            { (UINT64_C(1) << 32) + 8, false },
            { 1001, !rows[i].aligned },
            { 8, true },
        };
        for (size_t k = 0; k < sizeof(tries) / sizeof(*tries); k++) {
            struct asyncio_layout offsets;
            begin(NULL);
            _Py_AsyncioDebug[rows[i].word] = tries[k].value;
            if (asyncio_layout_find(&offsets, &searched, &remote) != tries[k].good)
                fail_msg("word %zu may be %#lx or not", rows[i].word, (unsigned long)tries[k].value);
            end(NULL);
        }
    }
    begin(NULL);
    _Py_AsyncioDebug[7] = _Py_AsyncioDebug[9] = _Py_AsyncioDebug[10] = UINT64_MAX;
    struct asyncio_layout offsets;
    assert_true(asyncio_layout_find(&offsets, &searched, &remote));
}

static void a_process_that_is_not_there_has_none(void **state)
{
    (void)state;
    struct asyncio_layout offsets;
    const pid_t pid = remote.pid;
    remote.pid = 0x7FFFFFFF;
    assert_false(asyncio_layout_find(&offsets, &searched, &remote));
    remote.pid = pid;
    assert_true(asyncio_layout_find(&offsets, &searched, &remote)); /* that was not noted for this one */
}

TEST_FILE(asyncio_layout)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_section_of_a_program_is_found, begin, end),
        cmocka_unit_test_setup_teardown(a_file_is_searched_once, begin, end),
        cmocka_unit_test_setup_teardown(an_offset_that_can_not_be_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_process_that_is_not_there_has_none, begin, end),
    };
    return run_all(tests);
}
