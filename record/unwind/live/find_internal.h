/* SPDX-License-Identifier: MIT */
/* From a frame towards the leaf. For find.c alone. */
#ifndef PYREEL_RECORD_UNWIND_LIVE_FIND_INTERNAL_H
#define PYREEL_RECORD_UNWIND_LIVE_FIND_INTERNAL_H

#include "record/unwind/live/live_frame.h"

/* Goes on from a frame that nothing was seen below, the data stack going on at walker->behind: finds what it called,
 * into walker->down. ATTEMPT_ACCEPTED or ATTEMPT_LEARNED. */
enum attempt find_callees(struct walker *walker, struct walk *walk, struct live_frame leaf);

/* Where frames that have returned are marked (since 3.14): the last one on the data stack that has not, at or below
 * this one, which is in the copy. What called it may be a generator, which is easily found from there alone. */
uint64_t find_callees_last_alive(struct walker *walker, struct walk *walk, uint64_t frame);

#endif
