/* SPDX-License-Identifier: MIT */
/* Tells the frames of a block's stacks by who called them (schemas/stream.md, "Grouped payloads"). A program that comes
 * to a place mostly goes on from there as it did before, so a frame is mostly one of those that its caller called last,
 * and a small number says which: its place in a list in which the latest comes first (move-to-front). One that was
 * never called from there is mostly new, and then its number is the one behind that of its caller.
 *
 * Whoever writes and whoever reads follow the same stacks, so nothing is lost if these are nonsense: frames are then
 * guessed badly, and told as they are. */
#ifndef PYREEL_FORMATS_CODEC_CALL_MTF_H
#define PYREEL_FORMATS_CODEC_CALL_MTF_H

#include "formats/base/bytes.h"

#define CALL_MTF_RECENT  4           /* that are remembered of a caller */
#define CALL_MTF_CALLERS 1024        /* by the low bits of their numbers */
#define CALL_MTF_THREADS 64          /* by the low bits of theirs */
#define CALL_MTF_DEPTH   4096        /* frames of a stack that are remembered: those nearest the root */
#define CALL_MTF_REPEATS (64u << 20) /* frames of a block that are remembered from repeated ones */

struct call_mtf_stack {
    uint32_t *frames; /* CALL_MTF_DEPTH of them; NULL: the thread was never told of */
    uint64_t depth;   /* may be more than are remembered */
};

struct call_mtf {
    uint32_t recent[CALL_MTF_CALLERS][CALL_MTF_RECENT]; /* latest first; 0: none */
    struct call_mtf_stack stacks[CALL_MTF_THREADS];
    struct call_mtf_stack *stack; /* of the thread that is being told of */
    uint64_t repeats_left;        /* frames of the block that may still be pushed as repeated ones */
};

/* A block begins: no stack is known. */
void call_mtf_begin(struct call_mtf *call_mtf);

/* A thread's stack changes: so many frames of it stay, or so many go. What is told next is pushed. */
static inline void call_mtf_keep(struct call_mtf *call_mtf, uint64_t thread, uint64_t keep);
static inline void call_mtf_pop(struct call_mtf *call_mtf, uint64_t thread, uint64_t pop);

/* Pushes a frame, 1 to UINT32_MAX, and gives what stands for it, at least 1. */
uint64_t call_mtf_tell(struct call_mtf *call_mtf, uint32_t frame);

/* Pushes frames, each the one that stands `distance` before it. False when a block has more of them than any
 * program: they take no bytes, and would keep a reader busy for long. */
bool call_mtf_repeat(struct call_mtf *call_mtf, uint64_t distance, uint64_t length);

void call_mtf_free(struct call_mtf *call_mtf);

/* ---- what is done for each stack and each frame of a recording ---- */

/* Gives a stack its room. */
void call_mtf_remember(struct call_mtf_stack *stack);

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

/* The frame at a depth; 0: none that is remembered. */
static inline uint32_t call_mtf_frame_at(const struct call_mtf_stack *stack, uint64_t depth)
{
    return depth > 0 && depth <= CALL_MTF_DEPTH ? stack->frames[depth - 1] : 0;
}

/* The caller of what is pushed next. */
static inline uint32_t call_mtf_top(const struct call_mtf_stack *stack)
{
    return call_mtf_frame_at(stack, stack->depth);
}

/* Returns call_mtf_top() as it is then. */
static inline uint32_t call_mtf_push(struct call_mtf_stack *stack, uint32_t frame)
{
    if (stack->depth++ >= CALL_MTF_DEPTH)
        return 0;
    stack->frames[stack->depth - 1] = frame;
    return frame;
}

/* One of two without a branch: which it is nobody can foretell here, and guessing wrong takes longer than both. */
static inline uint64_t call_mtf_either(bool first, uint64_t one, uint64_t other)
{
    return other ^ ((one ^ other) & -(uint64_t)first);
}

_Static_assert(CALL_MTF_RECENT == 4, "each is named below");

/* Makes the one at `rank` the latest; the last one goes when none of them is it. */
static inline void call_mtf_note(uint32_t *recent, uint64_t rank, uint32_t frame)
{
    const uint32_t first = recent[0], second = recent[1], third = recent[2], fourth = recent[3];
    recent[0] = frame;
    recent[1] = (uint32_t)call_mtf_either(rank >= 1, first, second);
    recent[2] = (uint32_t)call_mtf_either(rank >= 2, second, third);
    recent[3] = (uint32_t)call_mtf_either(rank >= 3, third, fourth);
}

/* The frame for which `told` stands when `caller` calls it, and which is to be pushed; 0 when it stands for none. */
static inline uint32_t call_mtf_called(struct call_mtf *call_mtf, uint32_t caller, uint64_t told)
{
    uint32_t *const recent = call_mtf->recent[caller % CALL_MTF_CALLERS];
    const uint64_t rank = told - 1; /* a large one for 0 */
    /* One that is none of those is told by how far it is ahead of the one behind its caller. */
    const uint64_t ahead = (uint64_t)caller + 1 + (uint64_t)number_to_signed(rank - CALL_MTF_RECENT);
    const uint64_t frame = call_mtf_either(rank < CALL_MTF_RECENT, recent[rank % CALL_MTF_RECENT], ahead);
    if (frame == 0 || frame > UINT32_MAX)
        return 0;
    call_mtf_note(recent, rank, (uint32_t)frame);
    return (uint32_t)frame;
}

#endif
