/* SPDX-License-Identifier: MIT */
/* Finds the number of a thing by the thing's contents. The things have the numbers 1, 2, 3, ... and stand in an array
 * of the caller's. The index is a hash table of the numbers alone, so a slot takes 4 bytes and slots that are often
 * read stay in the processor's cache. The things that are compared mostly lie near each other in the array. The table
 * only grows; `= {0}` is an empty one.
 *
 * The caller passes two small functions, to compare and to hash. They are known at compile time, so the compiler
 * inlines them into the search. */
#ifndef PYREEL_FORMATS_INTERN_ID_INDEX_H
#define PYREEL_FORMATS_INTERN_ID_INDEX_H

#include "formats/intern/hash.h"

#include <stdbool.h>

struct id_index {
    uint32_t *slots; /* numbers of things; 0: the slot is free */
    size_t room;     /* a power of two, or 0 */
    uint32_t shift;  /* the hash shifted right by this is the index of a slot */
    struct hash_factors spread;
    bool hashed_anew; /* the factors were changed since the table last grew */
};

/* Whether things[number] is equal to `wanted`. */
typedef bool id_index_same(const void *things, uint32_t number, const void *wanted);

/* The hash of things[number]. */
typedef uint64_t id_index_hash(const struct hash_factors *spread, const void *things, uint32_t number);

/* Finds the slot that holds the thing with this hash, or the free slot in which the thing belongs. The table must not
 * be empty. */
static inline uint32_t *id_index_slot(const struct id_index *index, uint64_t hash, id_index_same *same,
                                      const void *things, const void *wanted)
{
    const size_t mask = index->room - 1;
    for (size_t i = hash >> index->shift;; i = (i + 1) & mask) {
        const uint32_t number = index->slots[i];
        if (number == 0 || same(things, number, wanted))
            return &index->slots[i];
    }
}

/* Prefetches the slot at which a search for this hash begins. */
static inline void id_index_expect(const struct id_index *index, uint64_t hash)
{
    if (index->room)
        __builtin_prefetch(&index->slots[hash >> index->shift]);
}

/* The number in the slot at which a search for this hash begins: most likely the number of the thing; 0: the slot is
 * free, so the thing is absent. */
static inline uint32_t id_index_guess(const struct id_index *index, uint64_t hash)
{
    return index->room ? index->slots[hash >> index->shift] : 0;
}

/* Adds things[number], which must be one above the last number added. `hash` computes the hash of a thing. */
void id_index_add(struct id_index *index, const void *things, uint32_t number, id_index_hash *hash);

/* Frees the table and makes it empty. */
void id_index_free(struct id_index *index);

#endif
