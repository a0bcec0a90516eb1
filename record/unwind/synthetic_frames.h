/* SPDX-License-Identifier: MIT */
/* Turns the links of a stack into the frames that are emitted: one frame for each link, and synthetic frames between
 * them. "Below" means nearer the leaf:
 *
 *     <native>     C code that called the frame below it
 *     <GC>         a garbage collection, below the frame that started it
 *     <truncated>  the left-out middle of a very deep stack; the root's and the leaf's ends remain */
#ifndef PYREEL_RECORD_UNWIND_SYNTHETIC_FRAMES_H
#define PYREEL_RECORD_UNWIND_SYNTHETIC_FRAMES_H

#include "record/unwind/thread_list.h"

#define NO_GC UINT32_MAX

/* The options for synthetic frames. All processes of a recording share one struct. */
struct synthetic_frames {
    bool native, gc;
    uint32_t depth; /* the most links of a stack that are emitted, at least 2 */
    struct definitions *definitions;
    uint32_t native_frame, gc_frame, truncated_frame,
        not_sampled_frame; /* their indexes in the definitions; 0: not used yet */
};

/* A thread's stack as it was emitted last. `= {0}` before the first time. */
struct expansion {
    uint32_t links, frames; /* number of links, and of frames with the synthetic ones */
    uint32_t gc;            /* links above <GC>, or NO_GC */
    uint32_t *frames_until; /* for each link: number of frames from the root to it; only if `native` is set */
    size_t frames_until_room;
};

/* How a sample's stack differs from the stack that was emitted last. */
struct expanded {
    uint32_t keep;   /* frames at the root that stay */
    uint32_t pushed; /* number of `frames`, which follow below */
    uint32_t *frames;
    size_t room;
};

/* Fills in *expanded for the stack in `walk`, and updates *expansion. `known`: walk->same links are as they were
 * emitted last; else all frames are pushed anew. `gc`: number of links above <GC>, or NO_GC. The caller frees
 * expanded->frames.
 */
void synthetic_frames_expand(struct expansion *expansion, struct synthetic_frames *wanted, const struct walk *walk,
                             bool known, uint32_t gc, struct expanded *expanded);

/* Returns how many links are above <GC> while a collection runs: the links down to the frame at address `starter`,
 * which started the collection. If `starter` is 0 or not on the stack: all links. */
uint32_t synthetic_frames_gc(const struct walk *walk, uint64_t starter);

/* The same for a thread of the thread list in this tick. NO_GC when the thread does not collect garbage, or when <GC>
 * is not wanted. */
uint32_t synthetic_frames_collecting(const struct synthetic_frames *wanted, const struct thread_list *thread_list,
                                     const struct member *member);

/* The index of each synthetic frame in the definitions; the first call defines the frame. */
uint32_t synthetic_frames_gc_frame(struct synthetic_frames *wanted);
uint32_t synthetic_frames_native_frame(struct synthetic_frames *wanted);
uint32_t synthetic_frames_truncated_frame(struct synthetic_frames *wanted);
/* <not sampled>: no code, but CPU time of which no look is known. */
uint32_t synthetic_frames_not_sampled(struct synthetic_frames *wanted);

/* Frees the memory of an expansion and resets it to `= {0}`. */
void synthetic_frames_free(struct expansion *expansion);

#endif
