/* SPDX-License-Identifier: MIT */
/* The tables of a thread in the raw format (gecko_raw.h). Each thread has tables of its own, with only what the thread
 * uses, so the samples and the markers of a thread come first and number what they need; then the tables follow. The
 * format has no functions and no files: a frame has a location, from which readers take both:
 *
 *     work (/srv/app.py:12)     the function work, whose first line is line 12 of the file
 *     [idle]                    a function without a file
 */
#ifndef PYREEL_FORMATS_GECKO_RAW_RAW_TABLES_H
#define PYREEL_FORMATS_GECKO_RAW_RAW_TABLES_H

#include "formats/gecko/raw/numbering.h"

struct gecko;

/* The rows that the thread uses, by their numbers in the profile's tables. `= {0}` is empty. */
struct raw_tables {
    struct numbering stacks, frames, strings;
    size_t *path; /* rows of stacks without numbers, from a leaf towards the root */
    size_t path_room;
    size_t *locations; /* by row of functions: string of the profile + 1; 0: not made yet */
    size_t locations_room;
};

/* The numbers in the tables of the current thread: of the stack of a code (gecko_leaves.h), and of a string of the
 * profile. */
uint32_t raw_tables_stack(struct gecko *gecko, uint32_t code);
uint32_t raw_tables_string(struct gecko *gecko, size_t string);

/* Writes the tables of the current thread, and begins the next thread. */
void raw_tables_emit(struct gecko *gecko);

void raw_tables_free(struct raw_tables *tables);

#endif
