/* SPDX-License-Identifier: MIT */
#include "formats/model/attribute.h"

#include <string.h>

const struct attribute_row attributes[ATTRIBUTES] = {
    [ATTRIBUTE_CPU] = { "cpu", "whether their thread was on a processor", "CPU %", NULL, STATUS_CPU,
                        STATUS_CPU_UNKNOWN },
    [ATTRIBUTE_GIL] = { "gil", "whether their thread held the interpreter's lock", "GIL %", "Time with the GIL",
                        STATUS_GIL, 0 },
    [ATTRIBUTE_GIL_WAIT] = { "gil_wait", "whether their thread waited for the interpreter's lock", "wait %",
                             "Time waiting for the GIL", STATUS_GIL_WAIT, STATUS_GIL_WAIT_UNKNOWN },
    [ATTRIBUTE_EXCEPTION] = { "exception", "whether their thread had an exception", "exc. %",
                              "Time handling exceptions", STATUS_EXCEPTION, 0 },
    [ATTRIBUTE_ELSEWHERE] = { "elsewhere", "whether their thread was in another interpreter", NULL, NULL,
                              STATUS_ELSEWHERE, 0 },
    [ATTRIBUTE_TASK_WAITS] = { "task_waits", "whether their task waited", NULL, NULL, STATUS_TASK_WAITS, 0 },
    [ATTRIBUTE_CPU_TIME] = { "cpu_time", "how much CPU time their thread used", NULL, NULL, 0, STATUS_CPU_UNKNOWN },
};

const struct sum_row sum_rows[SUMS] = {
    [SUM_SAMPLES] = { "samples", "samples", "Samples", ATTRIBUTES, NULL },
    [SUM_WALL_NS] = { "wall", "wall-clock time", "Wall-clock time", ATTRIBUTES, NULL },
    [SUM_CPU_NS] = { "cpu", "CPU time", "CPU time", ATTRIBUTE_CPU_TIME,
                     "--async all, sampling many threads, and Tachyon in mode wall record no CPU time; "
                     "pyreel-record -m cpu does" },
    [SUM_GIL_NS] = { "gil", "time with the interpreter's lock", "GIL held", ATTRIBUTE_GIL,
                     "--async all does not record who holds the interpreter's lock" },
    [SUM_GIL_WAIT_NS] = { "gil_wait", "time of waiting for the interpreter's lock", "Waiting for GIL",
                          ATTRIBUTE_GIL_WAIT,
                          "CPython before 3.15, and --async all, do not say who waits for the interpreter's lock" },
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
