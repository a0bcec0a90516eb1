/* SPDX-License-Identifier: MIT */
/* A stack's links → the frames that are told of it: one for each link, and between them marks of what is no Python
 * code:
 *
 *     <native>   C code that called the frame below it
 *     <GC>       a garbage collection, below the frame that started it
 *     <truncated>  frames of a very deep stack that are not told: the middle, so that root and leaf are there */
#ifndef PYREEL_RECORD_UNWIND_SYNTHETIC_FRAMES_H
#define PYREEL_RECORD_UNWIND_SYNTHETIC_FRAMES_H

#include "record/unwind/thread_list.h"

#define NO_GC UINT32_MAX

/* Which marks are wanted. */
struct marks {
    bool native, gc;
    uint32_t depth;                                   /* links that are told at most: 2 or more */
    uint32_t native_frame, gc_frame, truncated_frame; /* as defined to the sink; 0: not yet */
};

/* Of a thread: what was told last. `= {0}` before the first time. */
struct expansion {
    uint32_t links, frames; /* so many of each */
    uint32_t gc;            /* links above <GC>, or NO_GC */
    uint32_t *places;       /* frames up to and with each link; only where <native> is wanted */
    size_t places_room;
};

/* What is told now. */
struct told_frames {
    uint32_t keep;   /* frames nearest the root that are as they were told */
    uint32_t pushed; /* frames[] below them */
    uint32_t *frames;
    size_t room;
};

/* `known`: walk->same links are as they were told; else nothing is. `gc`: links above <GC>, or NO_GC. */
void synthetic_frames_expand(struct expansion *expansion, struct marks *marks, struct codes *codes,
                             const struct walk *walk, bool known, uint32_t gc, struct told_frames *told);

/* Where a collection that runs now belongs: below the frame at this address, which started it; if that is 0 or not
 * there, below the leaf. */
uint32_t synthetic_frames_gc(const struct walk *walk, uint64_t starter);

/* The same for a thread of the thread list, in this tick; NO_GC when it does not collect garbage, or that is not
 * wanted. */
uint32_t synthetic_frames_collecting(const struct marks *marks, const struct thread_list *thread_list,
                                     const struct member *member);

/* The frames of the marks. */
uint32_t synthetic_frames_gc_frame(struct marks *marks, struct codes *codes);
uint32_t synthetic_frames_native_frame(struct marks *marks, struct codes *codes);
uint32_t synthetic_frames_truncated_frame(struct marks *marks, struct codes *codes);

void synthetic_frames_free(struct expansion *expansion);

#endif
