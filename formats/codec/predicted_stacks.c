/* SPDX-License-Identifier: MIT */
#include "formats/codec/predicted_stacks.h"

#include "formats/base/alloc.h"
#include "formats/codec/predicted_contexts.h"

#include <stdlib.h>

#define POP_BY_ONES 24  /* frames whose popping takes one coded bit each; the rest takes a number */
#define NEAR_LEAF   3   /* distances from the leaf that are contexts of their own */
#define GONE_MOST   7   /* larger numbers of popped frames are one context */
#define HITS_MOST   255 /* count of a callee at which all counts of the caller are halved */

void predicted_stacks_begin(struct predicted_stacks *stacks)
{
    for (size_t i = 0; i < PREDICTED_THREADS; i++)
        stacks->of[i].depth = 0;
    for (size_t i = 0; i < PREDICTED_CALLERS; i++)
        stacks->callers[i].count = stacks->callers[i].last = 0;
}

void predicted_stacks_free(struct predicted_stacks *stacks)
{
    for (size_t i = 0; i < PREDICTED_THREADS; i++) {
        free(stacks->of[i].frames);
        free(stacks->of[i].paths);
    }
}

struct predicted_stack *predicted_stacks_of(struct predicted_stacks *stacks, uint64_t thread)
{
    struct predicted_stack *stack = &stacks->of[thread % PREDICTED_THREADS];
    if (!stack->frames) {
        stack->frames = alloc_zeroed(PREDICTED_DEPTH, sizeof(*stack->frames));
        stack->paths = alloc_zeroed(PREDICTED_DEPTH, sizeof(*stack->paths));
    }
    return stack;
}

/* The frame and the path at a depth; 0 at the root. */
static uint32_t frame_at(const struct predicted_stack *stack, uint32_t depth)
{
    return depth > 0 ? stack->frames[depth - 1] : 0;
}

static uint32_t path_at(const struct predicted_stack *stack, uint32_t depth)
{
    return depth > 0 ? stack->paths[depth - 1] : 0;
}

/* ---- popped frames ---- */

/* Codes whether the leaf goes, after `gone` frames went. */
static bool predict_gone(struct predictor *predictor, const struct predicted_stack *stack, uint32_t gone, bool goes)
{
    const uint32_t leaf = frame_at(stack, stack->depth), caller = frame_at(stack, stack->depth - 1);
    const uint32_t near = gone < NEAR_LEAF ? gone : NEAR_LEAF;
    const uint32_t contexts[] = { predictor_context(predicted_contexts_of(TOPIC_POP, near), leaf),
                                  predictor_context(
                                      predictor_context(predicted_contexts_of(TOPIC_POP_CALLER, near), leaf), caller),
                                  predicted_contexts_of(TOPIC_POP_COUNT, gone) };
    return predictor_bit(predictor, contexts, countof(contexts), goes);
}

uint64_t predicted_stacks_pop(struct predictor *predictor, struct predicted_stack *stack, uint64_t pop)
{
    uint32_t gone = 0;
    while (stack->depth > 0 && gone < POP_BY_ONES && predict_gone(predictor, stack, gone, gone < pop)) {
        stack->depth--;
        gone++;
    }
    if (gone < POP_BY_ONES || stack->depth == 0)
        return gone;
    const uint64_t more = predictor_number(predictor, predicted_contexts_of(TOPIC_POP_MORE, 0), pop - gone);
    if (more > stack->depth)
        return UINT64_MAX;
    stack->depth -= (uint32_t)more;
    return gone + more;
}

/* ---- callees ---- */

struct predicted_before predicted_stacks_before(const struct predicted_stack *stack, uint64_t popped)
{
    if (popped == 0)
        return (struct predicted_before){ 0, 0 };
    return (struct predicted_before){ stack->frames[stack->depth] + 1,
                                      popped < GONE_MOST ? (uint32_t)popped : GONE_MOST };
}

static void halve_hits(struct predicted_caller *caller)
{
    for (uint32_t i = 0; i < caller->count; i++)
        caller->hits[i] /= 2;
}

/* Counts a call. A callee that is not remembered is appended, or replaces the last one when the list is full. */
static void note_call(struct predicted_caller *caller, uint32_t rank, uint32_t frame)
{
    if (rank == caller->count) {
        caller->count += caller->count < PREDICTED_CALLEES;
        rank = caller->count - 1;
        caller->hits[rank] = 0;
    }
    if (caller->hits[rank] == HITS_MOST)
        halve_hits(caller);
    const uint8_t hits = (uint8_t)(caller->hits[rank] + 1);
    for (; rank > 0 && caller->hits[rank - 1] <= hits; rank--) {
        caller->frames[rank] = caller->frames[rank - 1];
        caller->hits[rank] = caller->hits[rank - 1];
    }
    caller->frames[rank] = frame;
    caller->hits[rank] = hits;
    caller->last = frame + 1;
}

/* Codes a callee that is not in the list: 0 is PREDICTED_LEAF, 1 is PREDICTED_ROUND; any other frame is coded as its
 * difference to caller + 1. */
static uint32_t predict_new(struct predictor *predictor, uint32_t caller, uint32_t frame)
{
    const int64_t ahead = (int64_t)frame - caller - 1;
    const uint64_t coded = frame == PREDICTED_LEAF ? 0 : frame == PREDICTED_ROUND ? 1 : 2 + signed_to_number(ahead);
    const uint64_t found = predictor_number(predictor, predicted_contexts_of(TOPIC_NEW, caller == 0), coded);
    if (found < 2)
        return found == 0 ? PREDICTED_LEAF : PREDICTED_ROUND;
    return (uint32_t)(caller + 1 + (uint64_t)number_to_signed(found - 2));
}

uint32_t predicted_stacks_call(struct predictor *predictor, struct predicted_stacks *stacks,
                               const struct predicted_stack *stack, struct predicted_before before, uint32_t frame)
{
    const uint32_t number = frame_at(stack, stack->depth);
    struct predicted_caller *caller = &stacks->callers[number % PREDICTED_CALLERS];
    const uint32_t last_context = predictor_context(predicted_contexts_of(TOPIC_CALL_AFTER, number), caller->last);
    const uint32_t before_frame = predictor_context(predicted_contexts_of(TOPIC_CALL_BEFORE, number), before.frame);
    const uint32_t before_context = predictor_context(before_frame, before.gone);
    const uint32_t path_context = predicted_contexts_of(TOPIC_CALL_PATH, path_at(stack, stack->depth));
    uint32_t rank = 0;
    for (; rank < caller->count; rank++) {
        const uint32_t callee = caller->frames[rank];
        const uint32_t contexts[] = { predictor_context(last_context, callee),
                                      predictor_context(before_context, callee),
                                      predictor_context(path_context, callee) };
        if (predictor_bit(predictor, contexts, countof(contexts), callee == frame))
            break;
    }
    frame = rank < caller->count ? caller->frames[rank] : predict_new(predictor, number, frame);
    note_call(caller, rank, frame);
    return frame;
}

bool predicted_stacks_push(struct predicted_stack *stack, uint32_t frame)
{
    if (stack->depth == PREDICTED_DEPTH)
        return false;
    stack->paths[stack->depth] = predictor_context(path_at(stack, stack->depth), frame);
    stack->frames[stack->depth++] = frame;
    return true;
}
