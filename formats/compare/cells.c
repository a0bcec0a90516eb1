/* SPDX-License-Identifier: MIT */
#include "formats/compare/cells.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_WIDTH_NS 1000000

static void add_sums(struct cell *cell, const float *sums)
{
    for (size_t i = 0; i < CELL_SUMS; i++)
        cell->sums[i] += sums[i];
}

/* Makes one block of each two. The cells of a row that are in one block then become one cell. */
static void double_width(struct cells *cells)
{
    size_t kept = 0;
    memset(cells->latest, 0, cells->latest_room * sizeof(*cells->latest));
    for (size_t i = 0; i < cells->count; i++) {
        struct cell cell = cells->rows[i];
        uint32_t *latest = &cells->latest[cell.row];
        cell.block /= 2;
        if (*latest && cells->rows[*latest - 1].block == cell.block) {
            add_sums(&cells->rows[*latest - 1], cell.sums);
            continue;
        }
        cells->rows[kept++] = cell;
        *latest = (uint32_t)kept;
    }
    cells->count = kept;
    cells->width_ns *= 2;
    cells->blocks = (cells->blocks + 1) / 2;
}

static bool is_crowd(const struct cells *cells)
{
    return cells->count >= CELLS_CROWD && cells->blocks >= CELLS_BLOCKS_LEAST && cells->count == cells->room;
}

/* The block of a time. A damaged recording may claim any time: the loop ends after 64 rounds. */
static uint32_t block_of(struct cells *cells, uint64_t time_ns)
{
    while (time_ns / cells->width_ns >= CELLS_BLOCKS || is_crowd(cells))
        double_width(cells);
    return (uint32_t)(time_ns / cells->width_ns);
}

static struct cell *cell_of(struct cells *cells, uint32_t row, uint32_t block)
{
    cells->latest = alloc_grow(cells->latest, &cells->latest_room, (size_t)row + 1, sizeof(*cells->latest));
    uint32_t *latest = &cells->latest[row];
    if (*latest && cells->rows[*latest - 1].block >= block)
        return &cells->rows[*latest - 1];
    cells->rows = alloc_grow(cells->rows, &cells->room, cells->count + 1, sizeof(*cells->rows));
    cells->rows[cells->count++] = (struct cell){ .row = row, .block = block };
    cells->blocks = block >= cells->blocks ? block + 1 : cells->blocks;
    *latest = (uint32_t)cells->count;
    return &cells->rows[*latest - 1];
}

void cells_add(struct cells *cells, uint32_t row, uint64_t time_ns, const uint64_t *sums)
{
    float added[CELL_SUMS];
    for (size_t i = 0; i < CELL_SUMS; i++)
        added[i] = (float)sums[i];
    if (!cells->width_ns)
        cells->width_ns = FIRST_WIDTH_NS;
    add_sums(cell_of(cells, row, block_of(cells, time_ns)), added);
}

/* Sorts by counting, because there are few blocks. */
void cells_sort(struct cells *cells)
{
    size_t ends[CELLS_BLOCKS + 1] = { 0 };
    if (cells->count == 0)
        return;
    struct cell *sorted = alloc_resize(NULL, cells->count, sizeof(*sorted));
    for (size_t i = 0; i < cells->count; i++)
        ends[cells->rows[i].block + 1]++;
    for (size_t block = 1; block <= CELLS_BLOCKS; block++)
        ends[block] += ends[block - 1];
    for (size_t i = 0; i < cells->count; i++)
        sorted[ends[cells->rows[i].block]++] = cells->rows[i];
    free(cells->rows);
    free(cells->latest);
    cells->rows = sorted;
    cells->room = cells->count;
    cells->latest = NULL;
    cells->latest_room = 0;
}

void cells_free(struct cells *cells)
{
    free(cells->rows);
    free(cells->latest);
    *cells = (struct cells){ 0 };
}
