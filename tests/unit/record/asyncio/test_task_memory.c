/* SPDX-License-Identifier: MIT */
#include "record/asyncio/task_memory.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#define PAGE 0x10000u

static struct remote remote;
static unsigned char here[PAGE], there[PAGE];
static struct task_memory memory;

static int begin(void **state)
{
    (void)state;
    fake_remote_reset();
    for (size_t i = 0; i < PAGE; i++)
        here[i] = there[i] = (unsigned char)i;
    fake_remote_map(0x100000, here, PAGE);
    fake_remote_map(0x500000, there, PAGE);
    struct fault unused = { 0 };
    assert_true(remote_open(&remote, 1, &unused));
    memory = (struct task_memory){ 0 };
    return 0;
}

static int end(void **state)
{
    (void)state;
    task_memory_free(&memory);
    remote_close(&remote);
    fake_remote_reset();
    return 0;
}

static void assert_range(size_t index, unsigned char first)
{
    assert_non_null(task_memory_at(&memory, index));
    assert_int_equal(task_memory_at(&memory, index)[0], first);
}

static void ranges_are_read_as_they_were_added(void **state)
{
    (void)state;
    task_memory_add(&memory, 0x500020, 8);
    task_memory_add(&memory, 0x100010, 16);
    task_memory_add(&memory, 0x100014, 4); /* inside another range */
    assert_null(task_memory_at(&memory, 0));
    assert_int_equal(task_memory_read(&memory, &remote), REMOTE_READ);
    assert_range(0, 0x20);
    assert_range(1, 0x10);
    assert_range(2, 0x14);
    here[0x14] = 99;
    assert_range(2, 0x14);
    assert_int_equal(task_memory_read(&memory, &remote), REMOTE_READ);
    assert_range(2, 99);
    task_memory_clear(&memory);
    task_memory_add(&memory, 0x500030, 8);
    assert_null(task_memory_at(&memory, 0));
    assert_int_equal(task_memory_read(&memory, &remote), REMOTE_READ);
    assert_range(0, 0x30);
}

static void what_lies_close_together_is_one_piece(void **state)
{
    (void)state;
    for (size_t i = 0; i < 100; i++)
        task_memory_add(&memory, 0x100000 + (99 - i) * 192, 72);
    task_memory_add(&memory, 0x500000, 8);
    task_memory_add(&memory, 0x508000, 8);
    assert_int_equal(task_memory_read(&memory, &remote), REMOTE_READ);
    assert_int_equal(remote.calls, 1);
    assert_int_equal(remote.pieces, 3);
}

static void a_range_that_is_gone_takes_no_other_along(void **state)
{
    (void)state;
    task_memory_add(&memory, 0x100010, 8);
    task_memory_add(&memory, 0x300000, 8);
    task_memory_add(&memory, 0x500010, 8);
    task_memory_add(&memory, UINT64_MAX - 4, 8); /* an address that nothing can have */
    assert_int_equal(task_memory_read(&memory, &remote), REMOTE_READ);
    assert_range(0, 0x10);
    assert_null(task_memory_at(&memory, 1));
    assert_range(2, 0x10);
    assert_null(task_memory_at(&memory, 3));
    assert_int_equal(memory.lost, 2);
    fake_remote_unmap(0x500000);
    assert_int_equal(task_memory_read(&memory, &remote), REMOTE_READ);
    assert_range(0, 0x10);
    assert_null(task_memory_at(&memory, 2));
}

static void more_ranges_than_a_call_reads(void **state)
{
    (void)state;
    enum { APART = 4096, COUNT = 3000 };
    static unsigned char wide[COUNT * APART];
    fake_remote_map(0x10000000, wide, sizeof(wide));
    for (size_t i = 0; i < COUNT; i++) {
        wide[i * APART] = (unsigned char)(i * 7);
        task_memory_add(&memory, 0x10000000 + i * APART, 1);
    }
    assert_int_equal(task_memory_read(&memory, &remote), REMOTE_READ);
    assert_int_equal(remote.calls, 3);
    for (size_t i = 0; i < COUNT; i++)
        assert_range(i, wide[i * APART]);
}

static void more_bytes_than_are_read_are_left_out(void **state)
{
    (void)state;
    task_memory_add(&memory, 0x100010, 8);
    task_memory_add(&memory, 0x200000, UINT32_MAX);
    task_memory_add(&memory, 0x500010, 8);
    assert_int_equal(task_memory_read(&memory, &remote), REMOTE_READ);
    assert_range(0, 0x10);
    assert_null(task_memory_at(&memory, 1));
    assert_range(2, 0x10);
}

static void after_the_time_to_read_nothing_is_read(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 5000; i++)
        task_memory_add(&memory, i * PAGE, 8);
    fake_remote_time(1000, 0);
    remote_give_up_at(&remote, 999);
    assert_int_equal(task_memory_read(&memory, &remote), REMOTE_READ);
    assert_true(remote.calls <= 5);
    assert_null(task_memory_at(&memory, 0));
    remote_give_up_at(&remote, 0);
}

static void a_process_that_is_gone_is_told(void **state)
{
    (void)state;
    task_memory_add(&memory, 0x100010, 8);
    fake_remote_answer(REMOTE_GONE);
    assert_int_equal(task_memory_read(&memory, &remote), REMOTE_GONE);
}

TEST_FILE(task_memory)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranges_are_read_as_they_were_added, begin, end),
        cmocka_unit_test_setup_teardown(what_lies_close_together_is_one_piece, begin, end),
        cmocka_unit_test_setup_teardown(a_range_that_is_gone_takes_no_other_along, begin, end),
        cmocka_unit_test_setup_teardown(more_ranges_than_a_call_reads, begin, end),
        cmocka_unit_test_setup_teardown(more_bytes_than_are_read_are_left_out, begin, end),
        cmocka_unit_test_setup_teardown(after_the_time_to_read_nothing_is_read, begin, end),
        cmocka_unit_test_setup_teardown(a_process_that_is_gone_is_told, begin, end),
    };
    return run_all(tests);
}
