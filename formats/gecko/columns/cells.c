/* SPDX-License-Identifier: MIT */
#include "formats/gecko/columns/cells.h"

static struct cell *cell_at(struct cells *cells, uint64_t number)
{
    return &cells->waiting[number % CELLS_WAIT];
}

void cells_begin(struct cells *cells, uint64_t cpu, uint64_t room)
{
    cells->first = cells->next = 0;
    cells->open_first = cells->open_next = 0;
    cells->surplus = 0;
    cells->debt = cpu > room ? cpu - room : 0;
}

static void give_first(struct cells *cells)
{
    if (cells->open_first < cells->open_next && cells->open[cells->open_first % CELLS_WAIT] == cells->first)
        cells->open_first++;
    cells->give(cells->self, cell_at(cells, cells->first++));
}

/* Moves as much of the surplus to the cell as it has room for. */
static void cells_fill(struct cells *cells, struct cell *cell)
{
    const uint64_t more = cells->surplus < cell->room ? cells->surplus : cell->room;
    cell->cpu += more;
    cell->room -= more;
    cells->surplus -= more;
}

/* Moves the surplus to the cells before that ran, the nearest first. */
static void carry_back(struct cells *cells)
{
    while (cells->surplus && cells->open_first < cells->open_next) {
        struct cell *cell = cell_at(cells, cells->open[(cells->open_next - 1) % CELLS_WAIT]);
        cells_fill(cells, cell);
        if (cell->room == 0)
            cells->open_next--;
    }
}

/* Pays back a part of the debt. Returns what remains of the CPU time. */
static uint64_t pay(struct cells *cells, uint64_t cpu)
{
    const uint64_t paid = cells->debt < cpu ? cells->debt : cpu;
    cells->debt -= paid;
    return cpu - paid;
}

/* Makes the cell. The first one also takes the CPU time for which there is no room. */
static struct cell cells_make(struct cells *cells, uint64_t cpu, uint64_t room, enum cell_kind kind)
{
    const uint64_t ahead = cells->next == 0 ? cells->debt : 0;
    const uint64_t own = cells->debt ? pay(cells, cpu) : cpu;
    const bool blank = kind == CELL_BLANK && ahead == 0;
    const uint64_t kept = blank ? 0 : own < room ? own : room;
    cells->surplus += own - kept;
    return (struct cell){ kept + ahead, blank ? 0 : room - kept, kind == CELL_BLANK && !blank ? CELL_SLEPT : kind };
}

void cells_add(struct cells *cells, uint64_t cpu, uint64_t room, enum cell_kind kind)
{
    if (cells->next - cells->first == CELLS_WAIT)
        give_first(cells);
    struct cell *cell = cell_at(cells, cells->next);
    if (kind == CELL_SLEPT && cpu == 0 && cells->next > 0) { /* as most cells: neither gives nor takes */
        *cell = (struct cell){ 0, room, kind };
        cells->next++;
        return;
    }
    *cell = cells_make(cells, cpu, room, kind);
    if (cell->kind == CELL_RAN && cells->surplus)
        cells_fill(cells, cell);
    if (cells->surplus)
        carry_back(cells);
    if (cell->kind == CELL_RAN && cell->room)
        cells->open[cells->open_next++ % CELLS_WAIT] = cells->next;
    cells->next++;
}

/* Gives what is left to the latest cells that slept, and the rest to the last cell. */
static void place_rest(struct cells *cells)
{
    for (uint64_t i = cells->next; i > cells->first && cells->surplus; i--)
        cells_fill(cells, cell_at(cells, i - 1));
    if (cells->surplus == 0 || cells->next == cells->first)
        return;
    struct cell *last = cell_at(cells, cells->next - 1);
    last->kind = last->kind == CELL_BLANK ? CELL_SLEPT : last->kind;
    last->cpu += cells->surplus;
    cells->surplus = 0;
}

void cells_end(struct cells *cells, uint64_t cpu)
{
    cells->surplus += pay(cells, cpu);
    carry_back(cells);
    place_rest(cells);
    while (cells->first < cells->next)
        give_first(cells);
}
