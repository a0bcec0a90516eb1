/* SPDX-License-Identifier: MIT */
/* The part of the search in find.h that goes from a frame towards the leaf. Only find.c uses it. */
#ifndef PYREEL_RECORD_UNWIND_LIVE_FIND_INTERNAL_H
#define PYREEL_RECORD_UNWIND_LIVE_FIND_INTERNAL_H

#include "record/unwind/live/live_frame.h"

/* Finds the frames that `leaf` has called, directly and indirectly, and puts them into walker->down. The next plain
 * frame would lie at walker->behind. Returns ATTEMPT_ACCEPTED, also when there is no such frame, or ATTEMPT_LEARNED. */
enum attempt find_callees(struct walker *walker, struct walk *walk, struct live_frame leaf);

/* Returns the address of the last frame on the data stack, at or beyond `frame`, that has not returned. `frame` must be
 * in the copy. Before 3.14, where frames that have returned are not marked, returns `frame`. Why: the caller of such a
 * frame may be a generator, which is easily found from there alone. */
uint64_t find_callees_last_alive(struct walker *walker, struct walk *walk, uint64_t frame);

#endif
