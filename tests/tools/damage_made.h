/* SPDX-License-Identifier: MIT */
/* A recording with everything in it: processes, threads that come, get names and go, tasks, instructions, statuses,
 * failures, samples that stand for more than an interval, and definitions in each block that samples of others need. */
#ifndef PYREEL_TESTS_TOOLS_DAMAGE_MADE_H
#define PYREEL_TESTS_TOOLS_DAMAGE_MADE_H

#include "formats/base/bytes.h"

/* `kind` 0 is compressed, 1 is plain and short, 2 is like 1, and each process has its own ticks. */
struct bytes made_recording(uint32_t kind);

#endif
