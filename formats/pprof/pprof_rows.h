/* SPDX-License-Identifier: MIT */
/* The samples that a profile has: rows of the aggregate that look the same in the profile are one row, and the limits
 * of the style hold. A row is a stack with its labels. Nothing is written here, so rows can be made just to count them.
 */
#ifndef PYREEL_FORMATS_PPROF_PPROF_ROWS_H
#define PYREEL_FORMATS_PPROF_PPROF_ROWS_H

#include "formats/pprof/pprof.h"
#include "formats/pprof/pprof_labels.h"

struct pprof_rows {
    const struct tables *tables;
    const struct pprof_style *style;
    struct paths paths; /* find the module of a function; empty when names are not qualified */
    struct pprof_tables refers;
    uint32_t *frame_labels; /* by frame: its label, which is the number of its position */
    struct outline outline; /* each mapping has a node under the root */
    struct pprof_labels labels;
    /* The rows. Instead of a thread and a stack, a row has the number of its labels and its node in the outline. */
    struct aggregate merged; /* with rows that are too rare; pprof_rows_keep() says which are not */
    struct aggregate rest;   /* the sums of the rows that are too rare */
};

/* Makes the rows of a sorted aggregate. All arguments must live as long as `rows`. */
void pprof_rows_make(struct pprof_rows *rows, const struct tables *tables, const struct aggregate *aggregate,
                     const struct pprof_style *style);

/* Whether a row of `merged` has enough samples. */
bool pprof_rows_keep(const struct pprof_rows *rows, const struct aggregate_row *row);

/* The number of samples of the profile. */
size_t pprof_rows_count(const struct pprof_rows *rows);

/* Frees all memory. */
void pprof_rows_free(struct pprof_rows *rows);

#endif
