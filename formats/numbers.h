/* SPDX-License-Identifier: MIT */
/* Gives each distinct thing a number, 1, 2, 3, ... in the order of first sight: a pair of 32-bit numbers (`pairs`, for
 * stacks, counters and line caches) or a row of bytes (`intern`, for strings and whole definitions).
 * Both are open-addressing hash tables that only grow; `= {0}` is an empty one. */
#ifndef PYREEL_FORMATS_NUMBERS_H
#define PYREEL_FORMATS_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pair_slot {
    uint32_t a, b;
    uint32_t number; /* 0: free */
};

struct pairs {
    struct pair_slot *slots;
    size_t room; /* a power of two, or 0 */
    uint32_t count;
};

/* The number of (a, b); a new one is count + 1, and *added says so. */
uint32_t pairs_number(struct pairs *pairs, uint32_t a, uint32_t b, bool *added);
/* The number of (a, b), 0 when it has none. */
uint32_t pairs_find(const struct pairs *pairs, uint32_t a, uint32_t b);
/* Remembers `number` for (a, b), which has none yet. */
void pairs_add(struct pairs *pairs, uint32_t a, uint32_t b, uint32_t number);
void pairs_free(struct pairs *pairs);

struct intern_slot {
    uint64_t hash;
    char *bytes; /* a copy; ours */
    size_t size;
    uint32_t number; /* 0: free */
};

struct intern {
    struct intern_slot *slots;
    size_t room;
    uint32_t count;
};

/* The number of the `size` bytes at `bytes`; a new one is count + 1, and *added says so. */
uint32_t intern_number(struct intern *intern, const void *bytes, size_t size, bool *added);
void intern_free(struct intern *intern);

#endif
