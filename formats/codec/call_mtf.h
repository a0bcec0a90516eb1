/* SPDX-License-Identifier: MIT */
/* Codes the frames of a block's stacks relative to their callers (schemas/stream.md, "Grouped payloads"). A caller
 * mostly calls one of the frames that it called last. So each caller has a list of its recent call_mtf, the latest
 * first (move-to-front), and a frame is coded as its rank in this list. A frame that is not in the list is mostly new,
 * and its number is mostly the caller's number + 1. So it is coded as the difference to the caller's number + 1.
 *
 *     recent callees of frame 7:  12 9       frame 12: code 1    frame 9: code 2    frame 8: code 5
 *
 * Writer and reader follow the same stacks, so every payload survives the round trip. Stacks that make no sense only
 * give large codes. */
#ifndef PYREEL_FORMATS_CODEC_CALL_MTF_H
#define PYREEL_FORMATS_CODEC_CALL_MTF_H

#include "formats/base/bytes.h"

#define CALL_MTF_RECENT  4           /* recent callees per caller */
#define CALL_MTF_CALLERS 1024        /* callers, by the low bits of the caller's number */
#define CALL_MTF_THREADS 64          /* threads, by the low bits of the thread's number */
#define CALL_MTF_DEPTH   4096        /* frames per stack that are remembered: those nearest the root */
#define CALL_MTF_REPEATS (64u << 20) /* limit of frames in a block that come from repetitions */

struct call_mtf_stack {
    uint32_t *frames; /* room for CALL_MTF_DEPTH frames; NULL: the block has no record of the thread yet */
    uint64_t depth;   /* may exceed CALL_MTF_DEPTH */
};

struct call_mtf {
    uint32_t recent[CALL_MTF_CALLERS][CALL_MTF_RECENT]; /* by caller, the latest callee first; 0: none */
    struct call_mtf_stack stacks[CALL_MTF_THREADS];
    struct call_mtf_stack *stack; /* stack of the current record's thread */
    uint64_t repeats_left;        /* frames of the block that repetitions may still push */
};

/* Begins a block: all stacks are empty. */
void call_mtf_begin(struct call_mtf *call_mtf);

/* Begin a change of a thread's stack: `keep` frames stay, or `pop` frames go. The frames that are coded next are
 * pushed. */
static inline void call_mtf_keep(struct call_mtf *call_mtf, uint64_t thread, uint64_t keep);
static inline void call_mtf_pop(struct call_mtf *call_mtf, uint64_t thread, uint64_t pop);

/* Encodes a frame, 1 to UINT32_MAX, and pushes it. Returns its code, at least 1. */
uint64_t call_mtf_encode(struct call_mtf *call_mtf, uint32_t frame);

/* Pushes `length` frames, each a copy of the frame `distance` before it. Returns false when repetitions push more
 * frames than a block may have. The limit exists because repeated frames take no bytes but keep a reader busy. */
bool call_mtf_repeat(struct call_mtf *call_mtf, uint64_t distance, uint64_t length);

/* Frees the stacks' memory. */
void call_mtf_free(struct call_mtf *call_mtf);

/* ---- inline: runs for each stack and each frame of a recording ---- */

/* Allocates the frames of a stack. */
void call_mtf_remember(struct call_mtf_stack *stack);

/* Makes the thread's stack the current one. */
static inline struct call_mtf_stack *call_mtf_turn_to(struct call_mtf *call_mtf, uint64_t thread)
{
    call_mtf->stack = &call_mtf->stacks[thread % CALL_MTF_THREADS];
    if (!call_mtf->stack->frames)
        call_mtf_remember(call_mtf->stack);
    return call_mtf->stack;
}

static inline void call_mtf_keep(struct call_mtf *call_mtf, uint64_t thread, uint64_t keep)
{
    struct call_mtf_stack *stack = call_mtf_turn_to(call_mtf, thread);
    stack->depth = keep < stack->depth ? keep : stack->depth;
}

static inline void call_mtf_pop(struct call_mtf *call_mtf, uint64_t thread, uint64_t pop)
{
    struct call_mtf_stack *stack = call_mtf_turn_to(call_mtf, thread);
    stack->depth -= pop < stack->depth ? pop : stack->depth;
}

/* The frame at a depth; 0 at the root, and where no frame is remembered. */
static inline uint32_t call_mtf_frame_at(const struct call_mtf_stack *stack, uint64_t depth)
{
    return depth > 0 && depth <= CALL_MTF_DEPTH ? stack->frames[depth - 1] : 0;
}

/* The caller of the next pushed frame. */
static inline uint32_t call_mtf_top(const struct call_mtf_stack *stack)
{
    return call_mtf_frame_at(stack, stack->depth);
}

/* Pushes a frame. Returns the new call_mtf_top(). */
static inline uint32_t call_mtf_push(struct call_mtf_stack *stack, uint32_t frame)
{
    if (stack->depth++ >= CALL_MTF_DEPTH)
        return 0;
    stack->frames[stack->depth - 1] = frame;
    return frame;
}

/* Selects one of two numbers without a branch. The processor cannot predict which one, and a mispredicted branch takes
 * longer than computing both. */
static inline uint64_t call_mtf_either(bool first, uint64_t one, uint64_t other)
{
    return other ^ ((one ^ other) & -(uint64_t)first);
}

_Static_assert(CALL_MTF_RECENT == 4, "call_mtf_note() names each");

/* Moves the callee at `rank` to the front. At a rank beyond the list, the last callee is dropped. */
static inline void call_mtf_note(uint32_t *recent, uint64_t rank, uint32_t frame)
{
    const uint32_t first = recent[0], second = recent[1], third = recent[2], fourth = recent[3];
    recent[0] = frame;
    recent[1] = (uint32_t)call_mtf_either(rank >= 1, first, second);
    recent[2] = (uint32_t)call_mtf_either(rank >= 2, second, third);
    recent[3] = (uint32_t)call_mtf_either(rank >= 3, third, fourth);
}

/* Decodes a frame that `caller` calls; the caller of this function pushes the frame. Returns 0 when the code stands for
 * no frame. */
static inline uint32_t call_mtf_decode(struct call_mtf *call_mtf, uint32_t caller, uint64_t code)
{
    uint32_t *const recent = call_mtf->recent[caller % CALL_MTF_CALLERS];
    const uint64_t rank = code - 1; /* code 0 gives a large rank, too */
    /* The code of a frame outside the list is its difference to caller + 1. */
    const uint64_t ahead = (uint64_t)caller + 1 + (uint64_t)number_to_signed(rank - CALL_MTF_RECENT);
    const uint64_t frame = call_mtf_either(rank < CALL_MTF_RECENT, recent[rank % CALL_MTF_RECENT], ahead);
    if (frame == 0 || frame > UINT32_MAX)
        return 0;
    call_mtf_note(recent, rank, (uint32_t)frame);
    return (uint32_t)frame;
}

#endif
