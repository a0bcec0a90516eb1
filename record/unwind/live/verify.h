/* SPDX-License-Identifier: MIT */
/* Whether the stack that a copy shows can be believed: whether each frame is known to call the next (callgraph.h), and
 * if not, whether enough copies in a row have shown it. What those show is known later, whatever becomes of this
 * sample.
 */
#ifndef PYREEL_RECORD_UNWIND_LIVE_VERIFY_H
#define PYREEL_RECORD_UNWIND_LIVE_VERIFY_H

#include "record/unwind/unwind.h"

/* Of the frames in unwinder->fresh, below those of the last sample. False: read the thread again, by what its
 * snapshot now plans. May cut off what could not be seen for sure in so many attempts. */
bool verify_calls(struct unwinder *unwinder, struct walk *walk, uint32_t attempts);

#endif
