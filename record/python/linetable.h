/* SPDX-License-Identifier: MIT */
/* The location table of a code object (co_linetable since 3.11): which source line and columns each instruction comes
 * from. Pure: bytes in, a place out. The bytes come from the target and are not trusted.
 *
 *     entry   1 cccc lll   code cccc, covers lll + 1 code units
 *             0-9   short: same line; column from cccc and one more byte
 *             10-12 one line: line += cccc - 10; two bytes, column and end column
 *             13    line only: signed line step
 *             14    long: signed line step, end line step, column + 1, end column + 1
 *             15    no location
 *
 * Steps and columns of 13 and 14 are numbers of 6 bits to the byte, low bits first, bit 6 = more follows.
 * Source of the layout: Objects/locations.md in CPython 3.11 and later. */
#ifndef PYREEL_RECORD_PYTHON_LINETABLE_H
#define PYREEL_RECORD_PYTHON_LINETABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct location {
    uint32_t line, end_line;    /* 0: unknown */
    int32_t column, end_column; /* UTF-8 bytes from 0; -1: unknown */
};

/* The place of code unit `unit` (counted in two-byte units from the start of the code). When the table does not cover
 * it, or is broken before it, returns false and *place is unknown. */
bool linetable_find(const uint8_t *table, size_t size, uint32_t first_line, uint32_t unit, struct location *location);

/* The same for units in rising order, each entry of the table being passed once. */
struct linetable {
    const uint8_t *at, *end;
    bool bad;
    int64_t line;
    uint64_t covered;         /* units before the next entry */
    struct location location; /* of those before them */
};

struct linetable linetable_open(const uint8_t *table, size_t size, uint32_t first_line);
bool linetable_go(struct linetable *table, uint32_t unit, struct location *location);

#endif
