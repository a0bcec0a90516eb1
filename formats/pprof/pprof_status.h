/* SPDX-License-Identifier: MIT */
/* The label `status` of a pprof sample: what its thread did. Each sample has one status, the first of these that fits,
 * and no name is a part of another name, because pprof searches for a part of a name.
 *
 *     elsewhere   the thread was in another interpreter, and this stack waited
 *     gil         the thread held the interpreter's lock
 *     waiting     the thread waited for the lock; before CPython 3.15 such a thread is idle
 *     running     the thread had a processor, or was ready to run, without the lock
 *     native      the thread waited while native threads worked for it
 *     idle        the thread slept
 *     unknown     the recording does not say which of them
 *
 * So the wall-clock time of the samples with `gil` is the column gil, and that with `waiting` the column gil_wait. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_STATUS_H
#define PYREEL_FORMATS_PPROF_PPROF_STATUS_H

#include "formats/base/text.h"

#include <stdint.h>

/* The number of the status to which a sample's bits (enum status) belong, from 1. */
uint32_t pprof_status_of(uint32_t status);

/* The name of a status, by its number. */
struct text pprof_status_name(uint32_t number);

#endif
