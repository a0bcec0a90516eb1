/* SPDX-License-Identifier: MIT */
#include "formats/model/attribute.h"

const struct attribute_row attributes[ATTRIBUTES] = {
    [ATTRIBUTE_CPU] = { "cpu", "whether their thread was on a processor", STATUS_CPU, STATUS_CPU_UNKNOWN },
    [ATTRIBUTE_GIL] = { "gil", "whether their thread held the interpreter's lock", STATUS_GIL, 0 },
    [ATTRIBUTE_GIL_WAIT] = { "gil_wait", "whether their thread waited for the interpreter's lock", STATUS_GIL_WAIT,
                             STATUS_GIL_WAIT_UNKNOWN },
    [ATTRIBUTE_EXCEPTION] = { "exception", "whether their thread had an exception", STATUS_EXCEPTION, 0 },
    [ATTRIBUTE_ELSEWHERE] = { "elsewhere", "whether their thread was in another interpreter", STATUS_ELSEWHERE, 0 },
    [ATTRIBUTE_TASK_WAITS] = { "task_waits", "whether their task waited", STATUS_TASK_WAITS, 0 },
    [ATTRIBUTE_CPU_TIME] = { "cpu_time", "how much CPU time their thread used", 0, STATUS_CPU_UNKNOWN },
};
