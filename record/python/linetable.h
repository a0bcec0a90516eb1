/* SPDX-License-Identifier: MIT */
/* The location table of a code object (co_linetable since 3.11): which source line and columns each instruction comes
 * from. Reads only the given bytes, which come from the target and are not trusted.
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

/* Where an instruction comes from. */
struct location {
    uint32_t line, end_line;    /* 0: unknown */
    int32_t column, end_column; /* UTF-8 bytes from 0; -1: unknown */
};

/* Finds the location of a code unit; a unit is two bytes, counted from the start of the code. Returns false, and an
 * unknown location, when the table does not cover the unit or is broken before it. */
bool linetable_find(const uint8_t *table, size_t size, uint32_t first_line, uint32_t unit, struct location *location);

/* The same for units in rising order. Passes each entry of the table once. */
struct linetable {
    const uint8_t *at, *end;
    bool bad;
    int64_t line;
    uint64_t covered;         /* number of units before the next entry */
    struct location location; /* location of the last entry that was passed */
};

/* Begins at the first unit. The table stays the caller's. */
struct linetable linetable_open(const uint8_t *table, size_t size, uint32_t first_line);
/* As linetable_find(), for a unit that is not before the last one. */
bool linetable_go(struct linetable *table, uint32_t unit, struct location *location);

#endif
