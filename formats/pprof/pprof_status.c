/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof_status.h"

#include "formats/model/attribute.h"

#include <string.h>

enum { ELSEWHERE = 1, GIL, WAITING, RUNNING, NATIVE, IDLE, UNKNOWN };

static const char *const names[] = {
    [ELSEWHERE] = "elsewhere", [GIL] = "gil",   [WAITING] = "waiting", [RUNNING] = "running",
    [NATIVE] = "native",       [IDLE] = "idle", [UNKNOWN] = "unknown",
};

uint32_t pprof_status_of(uint32_t status)
{
    if (attribute_is(status, ATTRIBUTE_ELSEWHERE))
        return ELSEWHERE;
    if (attribute_is(status, ATTRIBUTE_GIL))
        return GIL;
    if (attribute_is(status, ATTRIBUTE_GIL_WAIT))
        return WAITING;
    if (!attribute_known(status, ATTRIBUTE_CPU))
        return UNKNOWN;
    if (attribute_is(status, ATTRIBUTE_CPU))
        return RUNNING;
    return status & STATUS_NATIVE_WAIT ? NATIVE : IDLE;
}

struct text pprof_status_name(uint32_t number)
{
    return text_of(names[number]);
}
