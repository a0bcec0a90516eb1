/* SPDX-License-Identifier: MIT */
/* Codes the changes of a block's stacks with a predictor (schemas/stream.md, "Predicted payloads"). Whether a frame
 * goes is predicted from the frame and its caller. The next callee of a caller is predicted from the caller's previous
 * callee, from the frame that was at this depth before, and from the path from the root. */
#ifndef PYREEL_FORMATS_CODEC_PREDICTED_STACKS_H
#define PYREEL_FORMATS_CODEC_PREDICTED_STACKS_H

#include "formats/codec/predictor.h"

/* Part of the file format: another value would be another codec. */
#define PREDICTED_THREADS 64   /* threads, by the low bits of the thread's number */
#define PREDICTED_DEPTH   4096 /* frames per stack */
#define PREDICTED_CALLERS 2048 /* callers, by the low bits of the frame's number */
#define PREDICTED_CALLEES 16   /* callees that are remembered per caller */

/* Special values in place of a frame. */
#define PREDICTED_LEAF  0          /* the stack ends here: nothing is called */
#define PREDICTED_ROUND UINT32_MAX /* a repetition of the frames before follows */

struct predicted_stack {
    uint32_t *frames, *paths; /* room for PREDICTED_DEPTH items each; a path is a hash of all frames up to this depth.
                               * NULL: not allocated yet */
    uint32_t depth;
};

/* The callees of a frame, the most frequent first. */
struct predicted_caller {
    uint32_t frames[PREDICTED_CALLEES];
    uint8_t hits[PREDICTED_CALLEES];
    uint32_t count;
    uint32_t last; /* latest callee + 1; 0: none */
};

struct predicted_stacks {
    struct predicted_stack of[PREDICTED_THREADS];
    struct predicted_caller callers[PREDICTED_CALLERS];
};

/* Begins a block: all stacks are empty and no caller has callees. */
void predicted_stacks_begin(struct predicted_stacks *stacks);

/* Frees the stacks' memory. */
void predicted_stacks_free(struct predicted_stacks *stacks);

/* The stack of a thread, by the low bits of the thread's number. */
struct predicted_stack *predicted_stacks_of(struct predicted_stacks *stacks, uint64_t thread);

/* Codes how many frames go from the leaf, and pops these frames. Returns the number. In a damaged file the number may
 * exceed the stack's depth; the stack is then useless. */
uint64_t predicted_stacks_pop(struct predictor *predictor, struct predicted_stack *stack, uint64_t pop);

/* The frame at the depth at which the first new frame will be pushed, before the change. */
struct predicted_before {
    uint32_t frame; /* frame + 1; 0: none; UINT32_MAX: behind the first new frame */
    uint32_t gone;  /* number of popped frames, limited to GONE_MOST of predicted_stacks.c */
};

/* Describes the frames that predicted_stacks_pop() has just popped. */
struct predicted_before predicted_stacks_before(const struct predicted_stack *stack, uint64_t popped);

/* Codes the next callee of the leaf: a frame, PREDICTED_LEAF or PREDICTED_ROUND. Does not push the frame. */
uint32_t predicted_stacks_call(struct predictor *predictor, struct predicted_stacks *stacks,
                               const struct predicted_stack *stack, struct predicted_before before, uint32_t frame);

/* Pushes a frame. Returns false when the stack is full. */
bool predicted_stacks_push(struct predicted_stack *stack, uint32_t frame);

#endif
