/* SPDX-License-Identifier: MIT */
/* CPU time goes to cells that ran and have room, and none is lost. */
#include "formats/gecko/columns/cells.h"

#include "tests/fakes/testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST 4000

struct column {
    struct cells cells;
    struct cell given[MOST];
    size_t count;
};

static void keep(void *self, const struct cell *cell)
{
    struct column *column = self;
    assert_true(column->count < MOST);
    column->given[column->count++] = *cell;
}

static void spread(struct column *column, const struct cell *cells, size_t count)
{
    uint64_t cpu = 0, room = 0;
    for (size_t i = 0; i < count; i++) {
        cpu += cells[i].cpu;
        room += cells[i].room;
    }
    *column = (struct column){ .cells = { .give = keep, .self = column } };
    cells_begin(&column->cells, cpu, room);
    for (size_t i = 0; i < count; i++)
        cells_add(&column->cells, cells[i].cpu, cells[i].room, cells[i].kind);
    cells_end(&column->cells, 0);
    assert_int_equal(column->count, count);
}

/* "3/5" is a cell with CPU time 3 and room 5 of a thread that ran; with "s" behind it slept, with "b" it is blank. The
 * cells that come out: "3", "-" for a blank one. */
static void assert_spread(const char *cells, const char *wanted)
{
    static struct column column;
    struct cell read[64];
    size_t count = 0, used = 0;
    char text[512] = "";
    for (int at = 0, size;
         sscanf(cells + at, " %" SCNu64 "/%" SCNu64 "%n", &read[count].cpu, &read[count].room, &size) == 2;
         at += size, count++) {
        const char end = cells[at + size];
        read[count].kind = end == 's' ? CELL_SLEPT : end == 'b' ? CELL_BLANK : CELL_RAN;
        at += end == 's' || end == 'b';
    }
    spread(&column, read, count);
    for (size_t i = 0; i < count; i++)
        used += column.given[i].kind == CELL_BLANK
                    ? (size_t)snprintf(text + used, sizeof(text) - used, " -")
                    : (size_t)snprintf(text + used, sizeof(text) - used, " %" PRIu64, column.given[i].cpu);
    assert_string_equal(text, wanted);
}

static void a_surplus_goes_to_the_nearest_cells_before(void **state)
{
    (void)state;
    assert_spread("0/0 5/10 5/10 5/10 18/10", " 0 5 8 10 10");
    assert_spread("0/0 5/10 0/10s 5/10 20/10", " 0 10 0 10 10");
}

static void a_surplus_without_cells_before_goes_on(void **state)
{
    (void)state;
    assert_spread("7/0 5/10 5/10 5/10", " 0 10 7 5");
    assert_spread("7/0 0/10s 8/10 0/10s 5/10", " 0 0 10 0 10");
}

static void sleeping_cells_keep_what_they_have(void **state)
{
    (void)state;
    assert_spread("0/0 3/10s 12/10 4/10s", " 0 3 10 6");
    assert_spread("0/0 0/10s 0/10s 25/10s", " 0 5 10 10"); /* no cell ran */
    assert_spread("0/0b 0/10b 9/10 0/10b", " - - 9 -");
    assert_spread("0/0b 3/10b 9/10 0/10b", " - - 10 2"); /* the last cell is known, because it has CPU time */
}

static void more_than_there_is_time_goes_to_the_first_cell(void **state)
{
    (void)state;
    assert_spread("5/0", " 5");
    assert_spread("10/0 10/10 10/10 10/10", " 10 10 10 10");
    assert_spread("0/0 10/10 30/10 10/10", " 20 10 10 10");
    assert_spread("0/0b 30/10", " 20 10");
    assert_spread("0/0 0/10s 45/10", " 25 10 10");
}

static uint64_t dice = 1;

static uint64_t roll(uint64_t below)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (dice >> 33) % below;
}

/* Whatever is placed: the sum stays, and only the first cell has more than its room. */
static void assert_true_of(const struct cell *cells, size_t count, bool fits)
{
    static struct column column;
    uint64_t before = 0, after = 0;
    spread(&column, cells, count);
    for (size_t i = 0; i < count; i++) {
        before += cells[i].cpu;
        after += column.given[i].cpu;
        if (i > 0 && fits)
            assert_true(column.given[i].cpu <= cells[i].room);
        if (cells[i].kind == CELL_SLEPT && fits && i > 0)
            assert_true(column.given[i].cpu <= cells[i].cpu);
    }
    assert_true(before == after);
}

/* Ticks with jitter, looks that ran or slept for a while, and CPU time that comes late. */
static void no_cell_is_too_large(void **state)
{
    (void)state;
    static struct cell cells[MOST];
    for (unsigned round = 0; round < soak(200); round++) {
        const size_t count = 2 + roll(MOST - 2);
        const uint64_t late = 1 + roll(30), busy = 1 + roll(100);
        uint64_t owed = 0;
        bool ran = true;
        for (size_t i = 0; i < count; i++) {
            ran = roll(20) ? ran : roll(2);
            cells[i] = (struct cell){ 0, i ? 80 + roll(41) : 0, ran ? CELL_RAN : CELL_SLEPT };
            owed += ran ? cells[i].room * busy / 100 : 0;
            if (ran && i % late == 0) {
                cells[i].cpu = owed;
                owed = 0;
            }
        }
        assert_true_of(cells, count, true);
    }
}

/* Any CPU time on any cell: the sum stays. */
static void nothing_is_lost(void **state)
{
    (void)state;
    static struct cell cells[MOST];
    for (unsigned round = 0; round < soak(200); round++) {
        const size_t count = 1 + roll(MOST - 1);
        for (size_t i = 0; i < count; i++)
            cells[i] = (struct cell){ roll(3) ? 0 : roll(1 + roll(100000)), roll(100), (enum cell_kind)roll(3) };
        assert_true_of(cells, count, false);
    }
}

TEST_FILE(cells)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_surplus_goes_to_the_nearest_cells_before),
        cmocka_unit_test(a_surplus_without_cells_before_goes_on),
        cmocka_unit_test(sleeping_cells_keep_what_they_have),
        cmocka_unit_test(more_than_there_is_time_goes_to_the_first_cell),
        cmocka_unit_test(no_cell_is_too_large),
        cmocka_unit_test(nothing_is_lost),
    };
    return run_all(tests);
}
