/* SPDX-License-Identifier: MIT */
#include "formats/intern/stack_index.h"

#include "formats/base/alloc.h"

#define ROOM_LEAST 64

static uint64_t stack_row_hash(const struct hash_factors *spread, const void *stacks, uint32_t number)
{
    const struct stack *stack = (const struct stack *)stacks + number;
    return hash_pair(spread, stack->caller, stack->frame);
}

/* Doubles the array. New items are not zeroed: memory that nobody touches costs nothing. */
static void make_room(struct stack **stacks, size_t *room)
{
    const size_t before = *room;
    *room = before ? before * 2 : ROOM_LEAST;
    *stacks = alloc_resize(*stacks, *room, sizeof(**stacks));
    if (before == 0)
        (*stacks)[0] = (struct stack){ 0 };
}

void stack_index_add(struct id_index *index, struct stack **stacks, size_t *room, uint32_t number, struct stack stack)
{
    if (number >= *room)
        make_room(stacks, room);
    (*stacks)[number] = stack;
    id_index_add(index, *stacks, number, stack_row_hash);
}
