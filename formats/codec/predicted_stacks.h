/* SPDX-License-Identifier: MIT */
/* Tells how the stacks of a block's threads change, by a predictor (schemas/stream.md, "Predicted payloads"): whether a
 * frame stays is foretold by which it is and who called it, what its caller calls next by what that called before, from
 * there and along the same path. */
#ifndef PYREEL_FORMATS_CODEC_PREDICTED_STACKS_H
#define PYREEL_FORMATS_CODEC_PREDICTED_STACKS_H

#include "formats/codec/predictor.h"

/* The format's: others make another codec. */
#define PREDICTED_THREADS 64   /* by the low bits of their numbers */
#define PREDICTED_DEPTH   4096 /* frames of a stack */
#define PREDICTED_CALLERS 2048 /* by the low bits of theirs */
#define PREDICTED_CALLEES 16   /* of a caller that are remembered */

/* What stands in place of a frame. */
#define PREDICTED_LEAF  0          /* nothing is called */
#define PREDICTED_ROUND UINT32_MAX /* frames that repeat those before them */

struct predicted_stack {
    uint32_t *frames, *paths; /* PREDICTED_DEPTH of them, a path being all frames up to there; NULL: never used */
    uint32_t depth;
};

/* What a frame called, the most frequent first. */
struct predicted_caller {
    uint32_t frames[PREDICTED_CALLEES];
    uint8_t hits[PREDICTED_CALLEES];
    uint32_t count;
    uint32_t last; /* that it called, plus 1; 0: none */
};

struct predicted_stacks {
    struct predicted_stack of[PREDICTED_THREADS];
    struct predicted_caller callers[PREDICTED_CALLERS];
};

/* No stack is known, and nobody called anything. */
void predicted_stacks_begin(struct predicted_stacks *stacks);
void predicted_stacks_free(struct predicted_stacks *stacks);

struct predicted_stack *predicted_stack_of(struct predicted_stacks *stacks, uint64_t thread);

/* Tells how many frames go from the leaf, and takes them off: 0 to the stack's depth, or more where the file is
 * damaged, and then the stack is of no use. */
uint64_t predicted_stacks_pop(struct predictor *predictor, struct predicted_stack *stack, uint64_t pop);

/* What stood where the first frame is going to be called. */
struct predicted_before {
    uint32_t frame; /* plus 1; 0: nothing; UINT32_MAX: another frame was called there by now */
    uint32_t gone;  /* frames, it and those that it had called, as far as that matters */
};

struct predicted_before predicted_stacks_before(const struct predicted_stack *stack, uint64_t popped);

/* Tells what the leaf calls: a frame, PREDICTED_LEAF or PREDICTED_ROUND. It is not pushed. */
uint32_t predicted_stacks_call(struct predictor *predictor, struct predicted_stacks *stacks,
                               const struct predicted_stack *stack, struct predicted_before before, uint32_t frame);

/* False when there is no room. */
bool predicted_stacks_push(struct predicted_stack *stack, uint32_t frame);

#endif
