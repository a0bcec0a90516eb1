/* SPDX-License-Identifier: MIT */
/* Finds things that have the numbers 1, 2, 3, ... by what they are: a hash table of the numbers alone. What each thing
 * is stands in an array of its owner's, where it mostly lies beside what was looked for just before; so a place takes 4
 * bytes, and what is looked for often stays near the processor. It only grows; `= {0}` is an empty one.
 *
 * Who uses it gives two small functions that are known when this is compiled, and become part of the search. */
#ifndef PYREEL_FORMATS_INTERN_ID_INDEX_H
#define PYREEL_FORMATS_INTERN_ID_INDEX_H

#include "formats/intern/hash.h"

#include <stdbool.h>

struct id_index {
    uint32_t *slots; /* numbers; 0: free */
    size_t room;     /* a power of two, or 0 */
    uint32_t shift;  /* leaves as many bits of a hash as a place in `slots` has */
    struct hash_factors spread;
    bool hashed_anew; /* since it last grew */
};

/* Whether things[number] is the one that is looked for. */
typedef bool id_index_same(const void *things, uint32_t number, const void *wanted);

/* The hash of things[number]. */
typedef uint64_t id_index_hash(const struct hash_factors *spread, const void *things, uint32_t number);

/* The slot that has the thing of this hash, or the free one in which it would be. There must be room. */
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

/* The thing of this hash will be looked for soon: its place is fetched from memory in the meantime. */
static inline void id_index_expect(const struct id_index *index, uint64_t hash)
{
    if (index->room)
        __builtin_prefetch(&index->slots[hash >> index->shift]);
}

/* The number that is there, when it is looked for now: most likely that of the thing; 0: there is none. */
static inline uint32_t id_index_guess(const struct id_index *index, uint64_t hash)
{
    return index->room ? index->slots[hash >> index->shift] : 0;
}

/* Takes in things[number], which comes next: it can be found from now on, as all before it. */
void id_index_add(struct id_index *index, const void *things, uint32_t number, id_index_hash *hash);

void id_index_free(struct id_index *index);

#endif
