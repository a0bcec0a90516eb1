/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof_columns.h"

const struct pprof_column_row pprof_columns[PPROF_COLUMNS] = {
    [COLUMN_SAMPLES] = { "samples", "count", SUM_SAMPLES },
    [COLUMN_WALL] = { "wall", "nanoseconds", SUM_WALL_NS },
    [COLUMN_CPU] = { "cpu", "nanoseconds", SUM_CPU_NS },
    [COLUMN_GIL] = { "gil", "nanoseconds", SUM_GIL_NS },
    [COLUMN_GIL_WAIT] = { "gil_wait", "nanoseconds", SUM_GIL_WAIT_NS },
};
