/* SPDX-License-Identifier: MIT */
/* Interning: each distinct thing gets a number, 1, 2, 3, ... in the order of first sight. A thing is a pair of 32-bit
 * numbers (`intern_pairs`, for counters and line caches) or a row of bytes (`intern`, for strings and whole
 * definitions). Both are open-addressing hash tables that only grow; `= {0}` is an empty one. hash.h explains how the
 * tables resist input that was chosen to collide. */
#ifndef PYREEL_FORMATS_INTERN_INTERN_H
#define PYREEL_FORMATS_INTERN_INTERN_H

#include "formats/base/text.h"
#include "formats/intern/id_index.h"

#include <stdbool.h>

struct pair_slot {
    uint32_t a, b;
    uint32_t number; /* 0: free */
};

struct intern_pairs {
    struct pair_slot *slots;
    size_t room; /* a power of two, or 0 */
    uint32_t count;
    uint32_t shift; /* the hash shifted right by this is the index of a slot */
    struct hash_factors spread;
    bool hashed_anew; /* the factors were changed since the table last grew */
};

/* The index of the slot at which the search for (a, b) begins. */
static inline size_t intern_pairs_first_slot(const struct intern_pairs *pairs, uint32_t a, uint32_t b)
{
    return hash_pair(&pairs->spread, a, b) >> pairs->shift;
}

/* Finds the slot that holds (a, b), or the free slot in which (a, b) belongs. The table must not be empty. */
static inline struct pair_slot *intern_pairs_slot(const struct intern_pairs *pairs, uint32_t a, uint32_t b)
{
    const size_t mask = pairs->room - 1;
    for (size_t i = intern_pairs_first_slot(pairs, a, b);; i = (i + 1) & mask) {
        struct pair_slot *slot = &pairs->slots[i];
        if ((slot->a == a && slot->b == b) || slot->number == 0)
            return slot;
    }
}

/* Adds (a, b), which must be absent, with this number. */
void intern_pairs_add(struct intern_pairs *pairs, uint32_t a, uint32_t b, uint32_t number);
/* Adds (a, b), which must be absent, with the number count + 1. Returns the number. */
uint32_t intern_pairs_add_next(struct intern_pairs *pairs, uint32_t a, uint32_t b);

/* The number of (a, b); 0 when the pair is absent. */
static inline uint32_t intern_pairs_find(const struct intern_pairs *pairs, uint32_t a, uint32_t b)
{
    return pairs->room ? intern_pairs_slot(pairs, a, b)->number : 0;
}

/* The number of (a, b). Adds an absent pair with the number count + 1 and sets *added. Inline, because most pairs are
 * present. */
static inline uint32_t intern_pairs_number(struct intern_pairs *pairs, uint32_t a, uint32_t b, bool *added)
{
    const uint32_t known = intern_pairs_find(pairs, a, b);
    *added = known == 0;
    return known ? known : intern_pairs_add_next(pairs, a, b);
}

/* Frees the table and makes it empty. */
void intern_pairs_free(struct intern_pairs *pairs);

struct intern {
    struct text *texts; /* by number; row 0 is unused. The bytes are copies that the table owns, with a 0 behind them; a
                         * copy stays where it is until intern_free() */
    size_t room;
    uint32_t count;
    struct id_index index; /* of texts */
};

/* The number of the `size` bytes at `bytes`. Adds a copy of absent bytes with the number count + 1 and sets *added. */
uint32_t intern_number(struct intern *intern, const void *bytes, size_t size, bool *added);

/* The number of these bytes; 0 when they are absent. */
uint32_t intern_find(const struct intern *intern, const void *bytes, size_t size);

/* A copy of a text that lives as long as the table; equal texts have one copy. The empty text is no row of the table.
 */
struct text intern_text(struct intern *intern, struct text text);

/* Frees the table with its copies and makes it empty. */
void intern_free(struct intern *intern);

#endif
