/* SPDX-License-Identifier: MIT */
/* Rows: which stacks, frames and functions of the tables are in the profile. An entry that no sample needs has no row.
 * A recording defines more than its samples show when a mode leaves samples out, or when blocks are damaged. */
#ifndef PYREEL_FORMATS_GECKO_TABLES_GECKO_ROWS_H
#define PYREEL_FORMATS_GECKO_TABLES_GECKO_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct gecko;

/* The rows of one kind of entries, in the order of the entries' numbers. `= {0}` is empty. */
struct gecko_rows {
    uint32_t *of;     /* by number: row + 1; 0: no row */
    uint32_t *number; /* by row */
    size_t count;
};

struct gecko_tables {
    struct gecko_rows stacks, frames, functions;
};

/* Finds what the noted stacks need (gecko_leaves.h). Call it after the last sample. */
void gecko_rows_make(struct gecko *gecko);

void gecko_rows_free(struct gecko_tables *tables);

#endif
