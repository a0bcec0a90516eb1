/* SPDX-License-Identifier: MIT */
/* Numbers of what one thread uses of a shared table: 0, 1, 2, ... in the order of first use. One numbering serves many
 * threads, one after the other, and a thread costs only what it uses.
 *
 *     rows of the shared table      0  1  2  3  4  5
 *     used by the thread               x     x  x          in the order 4, 1, 3
 *     numbers                          1     2  0
 */
#ifndef PYREEL_FORMATS_GECKO_RAW_NUMBERING_H
#define PYREEL_FORMATS_GECKO_RAW_NUMBERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `= {0}` is empty. */
struct numbering {
    uint32_t *of; /* by row: number + 1; 0: the thread does not use the row */
    size_t of_room;
    size_t *rows; /* by number */
    size_t count, room;
};

/* Whether the row has a number. */
bool numbering_has(const struct numbering *numbering, size_t row);

/* The number of a row, which gets the next number if it has none. */
uint32_t numbering_number(struct numbering *numbering, size_t row);

/* Takes all numbers back, for the next thread. */
void numbering_reset(struct numbering *numbering);

void numbering_free(struct numbering *numbering);

#endif
