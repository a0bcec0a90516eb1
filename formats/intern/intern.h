/* SPDX-License-Identifier: MIT */
/* Gives each distinct thing a number, 1, 2, 3, ... in the order of first sight: a pair of 32-bit numbers
 * (`intern_pairs`, for counters and line caches) or a row of bytes (`intern`, for strings and whole definitions). Both
 * are open-addressing hash tables that only grow; `= {0}` is an empty one. What is chosen to fall on one place of them
 * is spread anew, see hash.h. */
#ifndef PYREEL_FORMATS_INTERN_INTERN_H
#define PYREEL_FORMATS_INTERN_INTERN_H

#include "formats/intern/hash.h"

#include <stdbool.h>

struct pair_slot {
    uint32_t a, b;
    uint32_t number; /* 0: free */
};

struct intern_pairs {
    struct pair_slot *slots;
    size_t room; /* a power of two, or 0 */
    uint32_t count;
    uint32_t shift; /* leaves as many bits of a word as a place in `slots` has */
    struct hash_factors spread;
    bool hashed_anew; /* since it last grew */
};

/* Where (a, b) is looked for first. */
static inline size_t intern_pairs_place(const struct intern_pairs *pairs, uint32_t a, uint32_t b)
{
    return hash_pair(&pairs->spread, a, b) >> pairs->shift;
}

/* The slot that (a, b) has, or the free one in which it would be looked for. There must be room. */
static inline struct pair_slot *intern_pairs_slot(const struct intern_pairs *pairs, uint32_t a, uint32_t b)
{
    const size_t mask = pairs->room - 1;
    for (size_t i = intern_pairs_place(pairs, a, b);; i = (i + 1) & mask) {
        struct pair_slot *slot = &pairs->slots[i];
        if ((slot->a == a && slot->b == b) || slot->number == 0)
            return slot;
    }
}

/* Remembers `number` for (a, b), which has none yet. */
void intern_pairs_add(struct intern_pairs *pairs, uint32_t a, uint32_t b, uint32_t number);
/* Gives (a, b), which has none yet, the number count + 1. */
uint32_t intern_pairs_add_next(struct intern_pairs *pairs, uint32_t a, uint32_t b);

/* The number of (a, b), 0 when it has none. */
static inline uint32_t intern_pairs_find(const struct intern_pairs *pairs, uint32_t a, uint32_t b)
{
    return pairs->room ? intern_pairs_slot(pairs, a, b)->number : 0;
}

/* The number of (a, b); a new one is count + 1, and *added says so. Mostly it has one. */
static inline uint32_t intern_pairs_number(struct intern_pairs *pairs, uint32_t a, uint32_t b, bool *added)
{
    const uint32_t known = intern_pairs_find(pairs, a, b);
    *added = known == 0;
    return known ? known : intern_pairs_add_next(pairs, a, b);
}

void intern_pairs_free(struct intern_pairs *pairs);

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
    uint64_t secret;  /* what hashes begin with; 0 until some were found far from their places */
    bool hashed_anew; /* since it last grew */
};

/* The number of the `size` bytes at `bytes`; a new one is count + 1, and *added says so. */
uint32_t intern_number(struct intern *intern, const void *bytes, size_t size, bool *added);
/* The same; *kept is the table's own copy of bytes that were added, which stays where it is until intern_free(). */
uint32_t intern_keep(struct intern *intern, const void *bytes, size_t size, bool *added, const char **kept);
void intern_free(struct intern *intern);

#endif
