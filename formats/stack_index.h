/* SPDX-License-Identifier: MIT */
/* Finds a stack by its caller and its frame: a hash table of the numbers alone. Whose they are stands in the array of
 * stacks itself, where a stack mostly lies beside its caller, so that a place takes 4 bytes and what is looked for
 * often stays near the processor. It only grows; `= {0}` is an empty one. */
#ifndef PYREEL_FORMATS_STACK_INDEX_H
#define PYREEL_FORMATS_STACK_INDEX_H

#include "formats/numbers.h"

struct stack {
    uint32_t caller; /* stack, 0 at the root */
    uint32_t frame;
};

struct stack_index {
    uint32_t *slots; /* numbers of stacks; 0: free */
    size_t room;     /* a power of two, or 0 */
    uint32_t shift;  /* leaves as many bits of a word as a place in `slots` has */
};

/* The slot that has the stack of this caller and frame, or the free one in which it would be. There must be room. */
static inline uint32_t *stack_index_slot(const struct stack_index *index, const struct stack *stacks, uint32_t caller,
                                         uint32_t frame)
{
    const size_t mask = index->room - 1;
    for (size_t i = pairs_hash(caller, frame) >> index->shift;; i = (i + 1) & mask) {
        const uint32_t number = index->slots[i];
        if (number == 0 || (stacks[number].caller == caller && stacks[number].frame == frame))
            return &index->slots[i];
    }
}

/* The number of the stack, 0 when there is none. */
static inline uint32_t stack_index_find(const struct stack_index *index, const struct stack *stacks, uint32_t caller,
                                        uint32_t frame)
{
    return index->room ? *stack_index_slot(index, stacks, caller, frame) : 0;
}

/* Takes in stacks[number], which comes next: it can be found from now on, as all before it. */
void stack_index_add(struct stack_index *index, const struct stack *stacks, uint32_t number);

void stack_index_free(struct stack_index *index);

#endif
