/* SPDX-License-Identifier: MIT */
/* The CPU time of a thread's samples, as the viewer can draw it. The viewer draws a cell of the column as CPU time
 * over the time since the sample before, and cuts off what is more than this time: the room of the cell. So a surplus
 * goes back to the nearest cells before whose threads ran and that have room; what is left then goes to the next such
 * cells.
 *
 *     cell     0     1     2     3     4
 *     room     1.0   0.9   1.1   0.8   1.0
 *     ran      yes   yes   yes   yes   no
 *     before   1.0   0.9   0.8   1.0   0
 *     after    1.0   0.9   1.0   0.8   0          the surplus of cell 3 went to cell 2
 *
 * The cells wait in a ring for a surplus of later cells, and leave the ring in their order. Times are in any unit. No
 * CPU time is lost: what is left at the end goes to the latest cells that slept, and in the end to the last cell. */
#ifndef PYREEL_FORMATS_GECKO_COLUMNS_CELLS_H
#define PYREEL_FORMATS_GECKO_COLUMNS_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CELLS_WAIT 256u /* cells that wait at most */

enum cell_kind {
    CELL_RAN,   /* the thread ran: the cell takes a surplus */
    CELL_SLEPT, /* the thread did not run: the cell keeps what is placed on it */
    CELL_BLANK, /* nothing is known */
};

struct cell {
    uint64_t cpu, room; /* `room` is what is left for more */
    enum cell_kind kind;
};

/* Set `give` and `self`; the rest starts as zeros. */
struct cells {
    /* Takes the next cell. */
    void (*give)(void *self, const struct cell *cell);
    void *self;
    struct cell waiting[CELLS_WAIT]; /* a ring, by the number of the cell */
    uint64_t first, next;            /* the numbers of the cells that wait: first, ..., next - 1 */
    uint64_t open[CELLS_WAIT];       /* a ring of the numbers of waiting cells that ran and have room */
    uint64_t open_first, open_next;
    uint64_t surplus; /* CPU time that no cell has yet */
    uint64_t debt;    /* CPU time that the first cell got and that belongs to later cells */
};

/* Begins a thread with so much CPU time, and so much room in all of its cells. What has no room at all goes to the
 * first cell: the viewer has no time for that cell and ignores it. */
void cells_begin(struct cells *cells, uint64_t cpu, uint64_t room);

/* Adds the next cell of the thread, with the CPU time that is placed on it. */
void cells_add(struct cells *cells, uint64_t cpu, uint64_t room, enum cell_kind kind);

/* Ends the thread: gives all cells. `cpu` is CPU time behind the last cell. */
void cells_end(struct cells *cells, uint64_t cpu);

#endif
