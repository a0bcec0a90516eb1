/* SPDX-License-Identifier: MIT */
#include "formats/stack_index.h"

#include "formats/alloc.h"

#include <stdlib.h>

#define ROOM_LEAST_BITS 8

static void take_in(struct stack_index *index, const struct stack *stacks, uint32_t number)
{
    *stack_index_slot(index, stacks, stacks[number].caller, stacks[number].frame) = number;
}

/* Twice the room, with the stacks before `number` in it. */
static void grow(struct stack_index *index, const struct stack *stacks, uint32_t number)
{
    free(index->slots);
    index->shift = index->room ? index->shift - 1 : 64 - ROOM_LEAST_BITS;
    index->room = index->room ? index->room * 2 : 1 << ROOM_LEAST_BITS;
    index->slots = alloc_zeroed(index->room, sizeof(*index->slots));
    for (uint32_t i = 1; i < number; i++)
        take_in(index, stacks, i);
}

/* At most half of the slots are taken: probes stay short. */
void stack_index_add(struct stack_index *index, const struct stack *stacks, uint32_t number)
{
    if ((size_t)number * 2 > index->room)
        grow(index, stacks, number);
    take_in(index, stacks, number);
}

void stack_index_free(struct stack_index *index)
{
    free(index->slots);
    *index = (struct stack_index){ 0 };
}
