/* SPDX-License-Identifier: MIT */
/* The values of a sample. All profiles have the same, because pprof merges and compares only profiles that do. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_COLUMNS_H
#define PYREEL_FORMATS_PPROF_PPROF_COLUMNS_H

#include "formats/model/aggregate.h"

enum pprof_column { COLUMN_SAMPLES, COLUMN_WALL, COLUMN_CPU, COLUMN_GIL, COLUMN_GIL_WAIT, PPROF_COLUMNS };

struct pprof_column_row {
    const char *type, *unit;
    enum aggregate_sum sum;
};
extern const struct pprof_column_row pprof_columns[PPROF_COLUMNS];

#endif
