/* SPDX-License-Identifier: MIT */
/* A stack's links → the frames that are emitted: one for each link, and between them synthetic frames for what is no
 * Python code:
 *
 *     <native>   C code that called the frame below it
 *     <GC>       a garbage collection, below the frame that started it
 *     <truncated>  frames of a very deep stack that are left out: the middle, so that root and leaf are there */
#ifndef PYREEL_RECORD_UNWIND_SYNTHETIC_FRAMES_H
#define PYREEL_RECORD_UNWIND_SYNTHETIC_FRAMES_H

#include "record/unwind/thread_list.h"

#define NO_GC UINT32_MAX

/* Which synthetic frames are wanted. All processes of a recording share one. */
struct synthetic_frames {
    bool native, gc;
    uint32_t depth; /* links of a stack that are emitted at most: 2 or more */
    struct definitions *definitions;
    uint32_t native_frame, gc_frame, truncated_frame; /* their indexes; 0: not yet met */
};

/* Of a thread: its stack as it was last emitted. `= {0}` before the first time. */
struct expansion {
    uint32_t links, frames; /* so many of each */
    uint32_t gc;            /* links above <GC>, or NO_GC */
    uint32_t *frames_until; /* frames up to and with each link; only where <native> is wanted */
    size_t frames_until_room;
};

/* What a sample has of a stack: how it differs from the stack that was last emitted. */
struct expanded {
    uint32_t keep;   /* frames nearest the root that are as they were */
    uint32_t pushed; /* frames[] below them */
    uint32_t *frames;
    size_t room;
};

/* `known`: walk->same links are as they were emitted; else nothing is. `gc`: links above <GC>, or NO_GC. */
void synthetic_frames_expand(struct expansion *expansion, struct synthetic_frames *wanted, const struct walk *walk,
                             bool known, uint32_t gc, struct expanded *expanded);

/* Where a collection that runs now belongs: below the frame at this address, which started it; if that is 0 or not
 * there, below the leaf. */
uint32_t synthetic_frames_gc(const struct walk *walk, uint64_t starter);

/* The same for a thread of the thread list, in this tick; NO_GC when it does not collect garbage, or that is not
 * wanted. */
uint32_t synthetic_frames_collecting(const struct synthetic_frames *wanted, const struct thread_list *thread_list,
                                     const struct member *member);

/* The index of each synthetic frame. */
uint32_t synthetic_frames_gc_frame(struct synthetic_frames *wanted);
uint32_t synthetic_frames_native_frame(struct synthetic_frames *wanted);
uint32_t synthetic_frames_truncated_frame(struct synthetic_frames *wanted);

void synthetic_frames_free(struct expansion *expansion);

#endif
