/* SPDX-License-Identifier: MIT */
/* Decides whether the stack that a copy shows can be believed. Each frame must be known to call the next one
 * (callgraph.h), or enough copies in a row must have shown the call. Calls that enough copies showed become known, even
 * if this sample is dropped. */
#ifndef PYREEL_RECORD_UNWIND_LIVE_VERIFY_H
#define PYREEL_RECORD_UNWIND_LIVE_VERIFY_H

#include "record/unwind/unwind.h"

/* Checks the calls of the frames in unwinder->fresh; the links of the last sample above them are believed. `attempts`
 * counts how often the thread was read for this sample. Returns false when the thread must be read again, as its
 * snapshot now plans. After many attempts, cuts off the frames below the first call that is not proved (walk->cut), and
 * returns true. */
bool verify_calls(struct unwinder *unwinder, struct walk *walk, uint32_t attempts);

#endif
