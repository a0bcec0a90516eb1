/* SPDX-License-Identifier: MIT */
/* Sums by time: the time of a run is cut into blocks of one length, and a cell is the sum of the samples that one row
 * (a thread, task and stack) has in one block.
 *
 *     block        0       1       2       3
 *     row 1       50 ms   48 ms    -      51 ms      three cells
 *     row 2        -       2 ms   50 ms    -         two cells
 *
 * The length of a run is not known while it is read. So blocks begin short, and whenever there are too many blocks, or
 * too many cells, each two neighbours become one. So a run that lasts long enough has CELLS_BLOCKS / 2 to CELLS_BLOCKS
 * blocks, and memory grows with distinct stacks, not with samples. `= {0}` is empty. */
#ifndef PYREEL_FORMATS_COMPARE_CELLS_H
#define PYREEL_FORMATS_COMPARE_CELLS_H

#include "formats/model/aggregate.h"

#define CELLS_BLOCKS       128
#define CELLS_BLOCKS_LEAST 32         /* a crowd of stacks makes no fewer blocks than a half of these */
#define CELLS_CROWD        (1u << 20) /* from so many cells on, blocks become longer */
#define CELL_SUMS          (SUM_CPU_NS + 1)

struct cell {
    uint32_t row;
    uint32_t block;
    float sums[CELL_SUMS]; /* by enum aggregate_sum; noise needs no more digits than these */
};

struct cells {
    struct cell *rows; /* the cells of one row stand in the order of their blocks */
    size_t count, room;
    uint32_t *latest; /* by row: its latest cell, index + 1; 0: none */
    size_t latest_room;
    uint64_t width_ns; /* of a block */
    uint32_t blocks;   /* one more than the last block with a cell */
};

/* Adds a sample of a row. Times of one row do not go back; a time that does counts for the latest block. */
void cells_add(struct cells *cells, uint32_t row, uint64_t time_ns, const uint64_t *sums);

/* Sorts the cells by block. Nothing can be added afterwards. */
void cells_sort(struct cells *cells);

void cells_free(struct cells *cells);

#endif
