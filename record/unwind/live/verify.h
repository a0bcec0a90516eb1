/* SPDX-License-Identifier: MIT */
/* Decides whether the stack that a copy shows can be believed. Each frame must be known to call the next one
 * (callgraph.h), or enough copies in a row must have shown the call. Calls that enough copies showed become known, even
 * if this sample is dropped. */
#ifndef PYREEL_RECORD_UNWIND_LIVE_VERIFY_H
#define PYREEL_RECORD_UNWIND_LIVE_VERIFY_H

#include "record/unwind/unwind.h"

struct verdict {
    bool believed;    /* false: the thread must be read again */
    bool cut;         /* after many attempts: the frames below the first call that is not proved are left out */
    uint32_t frames;  /* of unwinder->fresh, from the root on, that are believed */
    bool twice, near; /* the copies that the next snapshot is to have: see struct snapshot */
};

/* Judges the calls of the frames in unwinder->fresh; the links of the last sample above them are believed. Before that,
 * drops a suspended generator that its caller is not known to resume from `fresh`, with the frames below it. `attempts`
 * counts how often the thread was read for this sample. Calls that this copy shows are counted in the call graph. */
struct verdict verify_calls(struct unwinder *unwinder, struct walk *walk, uint32_t attempts);

#endif
