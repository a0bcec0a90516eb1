/* SPDX-License-Identifier: MIT */
/* Finds the number of a stack by the stack's caller and frame, see id_index.h. */
#ifndef PYREEL_FORMATS_INTERN_STACK_INDEX_H
#define PYREEL_FORMATS_INTERN_STACK_INDEX_H

#include "formats/intern/id_index.h"

struct stack {
    uint32_t caller; /* number of the caller's stack; 0 for a root frame */
    uint32_t frame;
};

/* Compares stacks, for id_index_slot(). */
static inline bool stack_index_same(const void *stacks, uint32_t number, const void *wanted)
{
    const struct stack *stack = (const struct stack *)stacks + number, *other = wanted;
    return stack->caller == other->caller && stack->frame == other->frame;
}

/* The number of the stack; 0 when the stack is absent. */
static inline uint32_t stack_index_find(const struct id_index *index, const struct stack *stacks, uint32_t caller,
                                        uint32_t frame)
{
    const struct stack wanted = { caller, frame };
    const uint64_t hash = hash_pair(&index->spread, caller, frame);
    return index->room ? *id_index_slot(index, hash, stack_index_same, stacks, &wanted) : 0;
}

/* Adds a stack with this number, which must be one above the last number added. *stacks is an array with room for *room
 * stacks; the array may move. Entry 0 stands for "no stack". */
void stack_index_add(struct id_index *index, struct stack **stacks, size_t *room, uint32_t number, struct stack stack);

/* Returns the number of the longest stack from which two stacks go on; 0: they have no frame in common. A caller's
 * number is smaller than that of its stack. */
static inline uint32_t stack_common(const struct stack *stacks, uint32_t one, uint32_t other)
{
    while (one != other)
        if (one > other)
            one = stacks[one].caller;
        else
            other = stacks[other].caller;
    return one;
}

#endif
