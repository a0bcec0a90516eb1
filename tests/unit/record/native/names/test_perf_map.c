/* SPDX-License-Identifier: MIT */
/* Files of just-in-time compilers: good lines, and lines that no compiler should write. */
#include "record/native/names/perf_map.h"

#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

static size_t take(struct perf_map *map, const char *lines)
{
    return perf_map_take(map, text_of(lines));
}

static void assert_name(const struct perf_map *map, uint64_t address, const char *wanted)
{
    const struct perf_function *function = perf_map_find(map, address);
    if (wanted && function)
        assert_string_equal(perf_map_name(map, function), wanted);
    else
        assert_true(!wanted && !function);
}

static void lines_are_functions(void **state)
{
    (void)state;
    struct perf_map map = { 0 };
    const char *lines = "2000 10 second one\n1000 20 first::<T>(int)\n0x3000 0x8 third\nDEAD000 fF f\n4000 8 cut";
    assert_int_equal(take(&map, lines), strlen(lines) - strlen("4000 8 cut"));
    assert_name(&map, 0xfff, NULL);
    assert_name(&map, 0x1000, "first::<T>(int)");
    assert_name(&map, 0x101f, "first::<T>(int)");
    assert_name(&map, 0x1020, NULL);
    assert_name(&map, 0x2008, "second one");
    assert_name(&map, 0x3007, "third");
    assert_name(&map, 0x3008, NULL);
    assert_name(&map, 0xdead0fe, "f");
    assert_name(&map, 0x4000, NULL);
    perf_map_close(&map);
}

static void what_is_no_function_is_left_out(void **state)
{
    (void)state;
    struct perf_map map = { 0 };
    take(&map, "\n \nx\n1000\n1000 \n1000 10\n1000 10 \n1000  10 x\n1000 0 x\n11111111111111111 10 x\n"
               "ffffffffffffffff 10 x\n-1 10 x\n1000 10\tx\nname 10 1000\n");
    assert_int_equal(map.count, 0);
    perf_map_take(&map, (struct text){ "1000 10 a\0b\n", 12 });
    assert_int_equal(map.count, 0);
    take(&map, "1000 10 x\n");
    assert_int_equal(map.count, 1);
    perf_map_close(&map);
}

static void later_lines_replace_earlier_ones(void **state)
{
    (void)state;
    struct perf_map map = { 0 };
    take(&map, "1000 100 old\n");
    take(&map, "1040 20 inside\n");
    assert_name(&map, 0x1000, "old");
    assert_name(&map, 0x1050, "inside");
    assert_name(&map, 0x1060, "old");
    take(&map, "1000 100 new\n");
    assert_name(&map, 0x1050, "new");
    perf_map_close(&map);
}

static void a_file_without_end_is_bounded(void **state)
{
    (void)state;
    struct perf_map map = { 0 };
    char line[3000];
    memset(line, 'x', sizeof(line));
    memcpy(line, "1000 10 ", 8);
    memcpy(line + sizeof(line) - 2, "\n", 2);
    take(&map, line);
    assert_int_equal(strlen(perf_map_name(&map, perf_map_find(&map, 0x1000))), 1024);
    static char many[40 * 140000];
    size_t size = 0;
    for (unsigned i = 0; i < 140000; i++)
        size += (size_t)sprintf(many + size, "%x 10 f%u\n", 0x2000 + 0x10 * i, i);
    assert_int_equal(take(&map, many), size);
    assert_int_equal(map.count, 131072);
    assert_name(&map, 0x2000 + 0x10 * 5 + 3, "f5");
    assert_name(&map, 0x2000 + 0x10 * 139999, NULL);
    perf_map_close(&map);
}

TEST_FILE(perf_map)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_functions),
        cmocka_unit_test(what_is_no_function_is_left_out),
        cmocka_unit_test(later_lines_replace_earlier_ones),
        cmocka_unit_test(a_file_without_end_is_bounded),
    };
    return run_all(tests);
}
