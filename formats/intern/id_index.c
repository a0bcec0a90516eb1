/* SPDX-License-Identifier: MIT */
#include "formats/intern/id_index.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_LEAST_BITS 8
#define SMALL           16384 /* slots */

/* Puts a number into the first free slot of its search. Returns how many taken slots the search passed. */
static size_t take_in(struct id_index *index, const void *things, uint32_t number, id_index_hash *hash)
{
    const size_t mask = index->room - 1, first = hash(&index->spread, things, number) >> index->shift;
    size_t i = first;
    while (index->slots[i])
        i = (i + 1) & mask;
    index->slots[i] = number;
    return (i - first) & mask;
}

static void take_in_all(struct id_index *index, const void *things, uint32_t end, id_index_hash *hash)
{
    for (uint32_t i = 1; i < end; i++)
        take_in(index, things, i, hash);
}

/* Empties the table and doubles its size. */
static void grow(struct id_index *index)
{
    free(index->slots);
    if (index->room == 0)
        index->spread = HASH_USUAL;
    index->shift = index->room ? index->shift - 1 : 64 - ROOM_LEAST_BITS;
    index->room = index->room ? index->room * 2 : 1 << ROOM_LEAST_BITS;
    index->slots = alloc_zeroed(index->room, sizeof(*index->slots));
    index->hashed_anew = false;
}

/* At most half of the slots are taken, so searches stay short. Of a small table, at most a quarter: most searches then
 * end at their first slot, and the processor foresees that. */
static bool id_index_is_crowded(const struct id_index *index, size_t number)
{
    return number * (index->room < SMALL ? 4 : 2) > index->room;
}

void id_index_add(struct id_index *index, const void *things, uint32_t number, id_index_hash *hash)
{
    if (id_index_is_crowded(index, number)) {
        grow(index);
        take_in_all(index, things, number, hash);
    }
    if (take_in(index, things, number, hash) < HASH_FAR || index->hashed_anew)
        return;
    index->hashed_anew = true; /* only once per size: if new factors do not help, no factors do */
    index->spread = hash_anew();
    memset(index->slots, 0, index->room * sizeof(*index->slots));
    take_in_all(index, things, number + 1, hash);
}

void id_index_free(struct id_index *index)
{
    free(index->slots);
    *index = (struct id_index){ 0 };
}
