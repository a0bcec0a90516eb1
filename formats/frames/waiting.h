/* SPDX-License-Identifier: MIT */
/* Whether a thread waited instead of running its innermost function. Outputs show a wait as a frame of its own below
 * the function, so that time that a thread waited is never taken for time that the function worked:
 *
 *     main > work > [waiting for GIL]      the thread waits for the interpreter's lock
 *     main > work > [idle]                 the thread is known not to run, and does not hold the lock
 *     main > work > [waiting for native threads]   the same, while native threads work for the thread
 *     main > work                          anything else, or nobody knows */
#ifndef PYREEL_FORMATS_FRAMES_WAITING_H
#define PYREEL_FORMATS_FRAMES_WAITING_H

#include "formats/model/attribute.h"

enum waiting { WAITS_NOT, WAITS_IDLE, WAITS_FOR_LOCK, WAITS_FOR_NATIVE, WAITINGS };

#define IDLE_FRAME    "[idle]"
#define WAITING_FRAME "[waiting for GIL]"
#define NATIVE_FRAME  "[waiting for native threads]"

/* Whether the thread of a sample with this status waited. Nobody knows whether a thread without a status ran. A thread
 * that is in another interpreter waits in this one. A thread that holds the lock is never idle, because all others wait
 * for it. */
static inline enum waiting waiting_of(uint32_t status)
{
    if (attribute_is(status, ATTRIBUTE_ELSEWHERE))
        return WAITS_IDLE;
    if (attribute_is(status, ATTRIBUTE_GIL_WAIT))
        return WAITS_FOR_LOCK;
    if (status & STATUS_NATIVE_WAIT)
        return WAITS_FOR_NATIVE;
    if (attribute_known(status, ATTRIBUTE_CPU) && !attribute_is(status, ATTRIBUTE_CPU) &&
        !attribute_is(status, ATTRIBUTE_GIL))
        return WAITS_IDLE;
    return WAITS_NOT;
}

/* The group of a status in an aggregate (model/aggregate.h): waiting_of(), or WAITING_UNKNOWN when nobody knows whether
 * the thread waited. */
#define WAITING_UNKNOWN WAITINGS

static inline uint32_t waiting_group(uint32_t status)
{
    const enum waiting waiting = waiting_of(status);
    const bool known = waiting != WAITS_NOT || attribute_known(status, ATTRIBUTE_CPU) ||
                       attribute_is(status, ATTRIBUTE_GIL);
    return known ? waiting : WAITING_UNKNOWN;
}

/* Whether the threads of a group are known to wait. */
static inline enum waiting waiting_of_group(uint32_t group)
{
    return group < WAITINGS ? (enum waiting)group : WAITS_NOT;
}

#endif
