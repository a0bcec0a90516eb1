/* SPDX-License-Identifier: MIT */
#include "formats/callees.h"

#include "formats/alloc.h"

#include <stdlib.h>
#include <string.h>

void callees_begin(struct callees *callees)
{
    memset(callees->recent, 0, sizeof(callees->recent));
    for (size_t i = 0; i < CALLEES_THREADS; i++)
        callees->stacks[i].depth = 0;
}

void callees_free(struct callees *callees)
{
    for (size_t i = 0; i < CALLEES_THREADS; i++)
        free(callees->stacks[i].frames);
}

void callees_keep(struct callees *callees, uint64_t thread, uint64_t keep)
{
    struct callees_stack *stack = callees->stack = &callees->stacks[thread % CALLEES_THREADS];
    stack->depth = keep < stack->depth ? keep : stack->depth;
}

void callees_pop(struct callees *callees, uint64_t thread, uint64_t pop)
{
    struct callees_stack *stack = callees->stack = &callees->stacks[thread % CALLEES_THREADS];
    stack->depth -= pop < stack->depth ? pop : stack->depth;
}

static uint32_t frame_at(const struct callees_stack *stack, uint64_t depth)
{
    return depth > 0 && depth <= CALLEES_DEPTH ? stack->frames[depth - 1] : 0;
}

static void push(struct callees_stack *stack, uint32_t frame)
{
    if (stack->depth < CALLEES_DEPTH) {
        stack->frames = alloc_grow(stack->frames, &stack->room, (size_t)stack->depth + 1, sizeof(*stack->frames));
        stack->frames[stack->depth] = frame;
    }
    stack->depth++;
}

/* Makes the one at `rank` the latest; the last one goes when none of them is it. */
static void note_call(uint32_t *recent, size_t rank, uint32_t frame)
{
    for (size_t i = rank < CALLEES_RECENT ? rank : CALLEES_RECENT - 1; i > 0; i--)
        recent[i] = recent[i - 1];
    recent[0] = frame;
}

uint64_t callees_tell(struct callees *callees, uint32_t frame)
{
    const uint32_t caller = frame_at(callees->stack, callees->stack->depth);
    uint32_t *const recent = callees->recent[caller % CALLEES_CALLERS];
    size_t rank = 0;
    while (rank < CALLEES_RECENT && recent[rank] != frame)
        rank++;
    note_call(recent, rank, frame);
    push(callees->stack, frame);
    if (rank < CALLEES_RECENT)
        return 1 + rank;
    const int64_t ahead = (int64_t)frame - caller - 1;
    return 1 + CALLEES_RECENT + signed_to_number(ahead);
}

/* The frame so far ahead of the one behind its caller, as a signed; 0 when there is none. */
static uint32_t frame_ahead(uint32_t caller, uint64_t ahead)
{
    if (ahead > (uint64_t)UINT32_MAX * 2)
        return 0;
    const int64_t frame = (int64_t)caller + 1 + number_to_signed(ahead);
    return frame > 0 && frame <= UINT32_MAX ? (uint32_t)frame : 0;
}

uint32_t callees_take(struct callees *callees, uint64_t told)
{
    const uint32_t caller = frame_at(callees->stack, callees->stack->depth);
    uint32_t *const recent = callees->recent[caller % CALLEES_CALLERS];
    const uint64_t rank = told - 1; /* a large one for 0 */
    const uint32_t frame = rank < CALLEES_RECENT ? recent[rank] : frame_ahead(caller, rank - CALLEES_RECENT);
    if (frame == 0)
        return 0;
    note_call(recent, rank < CALLEES_RECENT ? (size_t)rank : CALLEES_RECENT, frame);
    push(callees->stack, frame);
    return frame;
}

void callees_repeat(struct callees *callees, uint64_t distance, uint64_t length)
{
    struct callees_stack *const stack = callees->stack;
    for (; length > 0 && stack->depth < CALLEES_DEPTH; length--)
        push(stack, distance > 0 && distance <= stack->depth ? frame_at(stack, stack->depth + 1 - distance) : 0);
    stack->depth = length < UINT64_MAX - stack->depth ? stack->depth + length : UINT64_MAX;
}
