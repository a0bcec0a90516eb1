/* SPDX-License-Identifier: MIT */
#include "formats/codec/call_mtf.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void call_mtf_begin(struct call_mtf *call_mtf)
{
    memset(call_mtf->recent, 0, sizeof(call_mtf->recent));
    call_mtf->repeats_left = CALL_MTF_REPEATS;
    for (size_t i = 0; i < CALL_MTF_THREADS; i++)
        call_mtf->stacks[i].depth = 0;
}

void call_mtf_free(struct call_mtf *call_mtf)
{
    for (size_t i = 0; i < CALL_MTF_THREADS; i++)
        free(call_mtf->stacks[i].frames);
}

void call_mtf_remember(struct call_mtf_stack *stack)
{
    stack->frames = alloc_zeroed(CALL_MTF_DEPTH, sizeof(*stack->frames));
}

uint64_t call_mtf_encode(struct call_mtf *call_mtf, uint32_t frame)
{
    const uint32_t caller = call_mtf_top(call_mtf->stack);
    uint32_t *const recent = call_mtf->recent[caller % CALL_MTF_CALLERS];
    size_t rank = 0;
    while (rank < CALL_MTF_RECENT && recent[rank] != frame)
        rank++;
    call_mtf_note(recent, rank, frame);
    call_mtf_push(call_mtf->stack, frame);
    if (rank < CALL_MTF_RECENT)
        return 1 + rank;
    const int64_t ahead = (int64_t)frame - caller - 1;
    return 1 + CALL_MTF_RECENT + signed_to_number(ahead);
}

bool call_mtf_repeat(struct call_mtf *call_mtf, uint64_t distance, uint64_t length)
{
    struct call_mtf_stack *const stack = call_mtf->stack;
    for (; length > 0 && stack->depth < CALL_MTF_DEPTH; length--) {
        if (call_mtf->repeats_left == 0)
            return false;
        call_mtf->repeats_left--;
        const bool there = distance > 0 && distance <= stack->depth;
        call_mtf_push(stack, there ? call_mtf_frame_at(stack, stack->depth + 1 - distance) : 0);
    }
    stack->depth = length < UINT64_MAX - stack->depth ? stack->depth + length : UINT64_MAX;
    return true;
}
