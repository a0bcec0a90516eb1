/* SPDX-License-Identifier: MIT */
#include "formats/model/attribute.h"

#include <string.h>

const struct sum_row sum_rows[SUMS] = {
    [SUM_SAMPLES] = { "samples", "samples", "Samples", ATTRIBUTES, NULL },
    [SUM_WALL_NS] = { "wall", "wall-clock time", "Wall-clock time", ATTRIBUTES, NULL },
    [SUM_CPU_NS] = { "cpu", "CPU time", "CPU time", ATTRIBUTE_CPU_TIME,
                     "--async all, sampling many threads, and Tachyon in mode wall record no CPU time; "
                     "pyreel-record -m cpu does" },
    [SUM_GIL_NS] = { "gil", "time with the GIL", "GIL held", ATTRIBUTE_GIL,
                     "--async all does not record who holds the GIL" },
    [SUM_GIL_WAIT_NS] = { "gil_wait", "time of waiting for the GIL", "Waiting for GIL", ATTRIBUTE_GIL_WAIT,
                          "CPython before 3.15, and --async all, do not say who waits for the GIL" },
};

bool sum_named(const char *name, enum aggregate_sum *sum)
{
    for (size_t i = 0; i < SUMS; i++)
        if (strcmp(sum_rows[i].name, name) == 0) {
            *sum = (enum aggregate_sum)i;
            return true;
        }
    return false;
}
