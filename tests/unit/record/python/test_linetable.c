/* SPDX-License-Identifier: MIT */
#include "record/python/linetable.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"
#include "tests/unit/record/python/linetable_cases.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* clang-format off */
#define CASE(name, first_line) \
    { #name, name##_table, sizeof(name##_table), first_line, name##_runs, countof(name##_runs) }
/* clang-format on */

static const struct {
    const char *name;
    const uint8_t *table;
    size_t size;
    uint32_t first_line;
    const struct run *runs;
    size_t runs_count;
} cases[] = { PY311_CASES, PY312_CASES, PY315_CASES };

static void assert_unknown(const struct location *location)
{
    assert_int_equal(location->line, 0);
    assert_int_equal(location->end_line, 0);
    assert_int_equal(location->column, -1);
    assert_int_equal(location->end_column, -1);
}

static void says_what_python_says(void **state)
{
    (void)state;
    for (size_t c = 0; c < countof(cases); c++) {
        uint32_t unit = 0;
        for (size_t r = 0; r < cases[c].runs_count; r++) {
            const struct location *wanted = &cases[c].runs[r].location;
            for (uint32_t i = 0; i < cases[c].runs[r].units; i++, unit++) {
                struct location location;
                if (!linetable_find(cases[c].table, cases[c].size, cases[c].first_line, unit, &location) ||
                    memcmp(&location, wanted, sizeof(location)) != 0)
                    fail_msg("%s, unit %u: %u-%u:%d-%d where Python says %u-%u:%d-%d", cases[c].name, unit,
                             location.line, location.end_line, location.column, location.end_column, wanted->line,
                             wanted->end_line, wanted->column, wanted->end_column);
            }
        }
        struct linetable rising = linetable_open(cases[c].table, cases[c].size, cases[c].first_line);
        for (uint32_t at = 0; at < unit + 8; at += 1 + at % 5) {
            struct location going, found;
            assert_int_equal(linetable_go(&rising, at, &going),
                             linetable_find(cases[c].table, cases[c].size, cases[c].first_line, at, &found));
            assert_memory_equal(&going, &found, sizeof(found));
        }
        struct location behind = { 1, 1, 1, 1 };
        assert_false(linetable_find(cases[c].table, cases[c].size, cases[c].first_line, unit, &behind));
        assert_unknown(&behind);
    }
}

/* A copy that ends where memory ends: a byte more read is a crash. */
struct fenced {
    uint8_t *page;
    size_t page_size;
};

static const uint8_t *fence(struct fenced *fenced, const uint8_t *bytes, size_t size)
{
    memcpy(fenced->page + fenced->page_size - size, bytes, size);
    return fenced->page + fenced->page_size - size;
}

static void start_fence(struct fenced *fenced)
{
    fenced->page_size = (size_t)sysconf(_SC_PAGESIZE);
    fenced->page = mmap(NULL, 2 * fenced->page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(fenced->page != MAP_FAILED);
    assert_int_equal(mprotect(fenced->page + fenced->page_size, fenced->page_size, PROT_NONE), 0);
}

/* A table cut anywhere gives the whole one's places for what it still has, and nothing for what it has not. */
static void a_cut_table_gives_no_wrong_place(void **state)
{
    (void)state;
    struct fenced fenced;
    start_fence(&fenced);
    for (size_t c = 0; c < countof(cases); c++) {
        uint32_t units = 0;
        for (size_t r = 0; r < cases[c].runs_count; r++)
            units += cases[c].runs[r].units;
        for (size_t size = 0; size < cases[c].size; size++) {
            const uint8_t *cut = fence(&fenced, cases[c].table, size);
            bool last = true;
            for (uint32_t unit = 0; unit < units; unit++) {
                struct location part, whole;
                const bool found = linetable_find(cut, size, cases[c].first_line, unit, &part);
                linetable_find(cases[c].table, cases[c].size, cases[c].first_line, unit, &whole);
                if (found)
                    assert_memory_equal(&part, &whole, sizeof(part));
                else
                    assert_unknown(&part);
                assert_true(last || !found);
                last = found;
            }
            assert_false(last);
        }
    }
    munmap(fenced.page, 2 * fenced.page_size);
}

static void garbage_is_read_to_its_end_only(void **state)
{
    (void)state;
    struct fenced fenced;
    start_fence(&fenced);
    uint64_t random = 42;
    uint8_t bytes[64];
    for (int round = 0; round < 50000; round++) {
        for (size_t i = 0; i < sizeof(bytes); i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (uint8_t)(random >> 56) | (i % 3 == 0 ? 0x80 : 0);
        }
        const size_t size = random >> 32 & 63;
        struct location location;
        if (linetable_find(fence(&fenced, bytes, size), size, (uint32_t)random, random & 127, &location))
            assert_true(location.end_line >= location.line && location.column >= -1 && location.end_column >= -1);
        else
            assert_unknown(&location);
    }
    munmap(fenced.page, 2 * fenced.page_size);
}

static void damaged_entries_end_the_table(void **state)
{
    (void)state;
    static const struct {
        uint8_t table[16];
        size_t size;
        uint32_t unit;
        bool found;
    } rows[] = {
        { { 0x00, 0x00 }, 2, 0, false },                                           /* no mark of an entry */
        { { 0x80, 0x00, 0x00, 0x00, 0x80, 0x00 }, 6, 0, true },                    /* before the damage ... */
        { { 0x80, 0x00, 0x00, 0x00, 0x80, 0x00 }, 6, 1, false },                   /* ... at it ... */
        { { 0x80, 0x00, 0x00, 0x00, 0x80, 0x00 }, 6, 2, false },                   /* ... and behind it */
        { { 0xE8, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x00 }, 8, 0, false },       /* a number of 42 bits */
        { { 0xE8, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40 }, 9, 0, false }, /* one without end */
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct location location;
        assert_int_equal(linetable_find(rows[i].table, rows[i].size, 5, rows[i].unit, &location), rows[i].found);
        if (!rows[i].found)
            assert_unknown(&location);
    }
    struct location location;
    assert_false(linetable_find(NULL, 0, 5, 0, &location));
    assert_unknown(&location);
}

/* Steps below line 1 and beyond 32 bits are no lines; what follows may be one again. */
static void lines_out_of_range_are_unknown(void **state)
{
    (void)state;
    static const uint8_t below[] = { 0xE8, 0x15 /* -10 */, 0xE8, 0x18 /* +12 */ };
    struct location location;
    assert_true(linetable_find(below, sizeof(below), 5, 0, &location));
    assert_unknown(&location);
    assert_true(linetable_find(below, sizeof(below), 5, 1, &location));
    assert_int_equal(location.line, 7);
    assert_int_equal(location.end_line, 7);
    static const uint8_t far[] = { 0xE8, 0x7E, 0x7F, 0x7F, 0x7F, 0x7F, 0x03 /* + 2^31 - 1 */, 0x80, 0x00, 0x80, 0x00 };
    for (uint32_t unit = 0; unit < 3; unit++)
        if (linetable_find(far, sizeof(far), 100, unit, &location))
            assert_int_equal(location.line, 0);
}

/* A function of 300,000 statements, as programs that write programs make them. */
static void a_large_table_is_followed_to_its_end(void **state)
{
    (void)state;
    const uint32_t statements = 300000;
    uint8_t *table = alloc_zeroed(statements, 4);
    for (uint32_t i = 0; i < statements; i++)
        memcpy(table + (size_t)i * 4, (const uint8_t[]){ 0xD9 /* +1 line, 2 units */, 4, 9, 0xF8 /* none, 1 */ }, 4);
    static const uint32_t probes[] = { 0, 1, 77777, 299999 };
    for (size_t i = 0; i < countof(probes); i++) {
        struct location location;
        const uint32_t line = 11 + probes[i];
        for (uint32_t unit = 0; unit < 2; unit++) {
            assert_true(linetable_find(table, (size_t)statements * 4, 10, probes[i] * 3 + unit, &location));
            const struct location wanted = { line, line, 4, 9 };
            assert_memory_equal(&location, &wanted, sizeof(location));
        }
        assert_true(linetable_find(table, (size_t)statements * 4, 10, probes[i] * 3 + 2, &location));
        assert_unknown(&location);
    }
    free(table);
}

TEST_FILE(linetable)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_python_says),           cmocka_unit_test(a_cut_table_gives_no_wrong_place),
        cmocka_unit_test(garbage_is_read_to_its_end_only), cmocka_unit_test(damaged_entries_end_the_table),
        cmocka_unit_test(lines_out_of_range_are_unknown),  cmocka_unit_test(a_large_table_is_followed_to_its_end),
    };
    return run_all(tests);
}
