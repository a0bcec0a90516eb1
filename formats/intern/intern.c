/* SPDX-License-Identifier: MIT */
#include "formats/intern/intern.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* A table is at most 5/8 full, so searches stay short. */
static bool table_is_crowded(uint32_t count, size_t room)
{
    return (size_t)count * 8 >= room * 5;
}

/* Moves all pairs into new slots. */
static void pairs_rebuild(struct intern_pairs *pairs, size_t room)
{
    const struct intern_pairs old = *pairs;
    pairs->room = room;
    pairs->slots = alloc_zeroed(room, sizeof(*pairs->slots));
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].number)
            *intern_pairs_slot(pairs, old.slots[i].a, old.slots[i].b) = old.slots[i];
    free(old.slots);
}

static void pairs_grow(struct intern_pairs *pairs)
{
    if (pairs->room == 0)
        pairs->spread = HASH_USUAL;
    pairs->shift = pairs->room ? pairs->shift - 1 : 64 - 6;
    pairs->hashed_anew = false;
    pairs_rebuild(pairs, pairs->room ? pairs->room * 2 : 64);
}

/* Whether the slot is so far from the first slot of its pair that new factors are worth a try. */
static bool is_far(const struct intern_pairs *pairs, const struct pair_slot *slot)
{
    const size_t steps = (size_t)(slot - pairs->slots) - intern_pairs_first_slot(pairs, slot->a, slot->b);
    return (steps & (pairs->room - 1)) >= HASH_FAR && !pairs->hashed_anew;
}

void intern_pairs_add(struct intern_pairs *pairs, uint32_t a, uint32_t b, uint32_t number)
{
    if (table_is_crowded(pairs->count, pairs->room))
        pairs_grow(pairs);
    struct pair_slot *slot = intern_pairs_slot(pairs, a, b);
    *slot = (struct pair_slot){ a, b, number };
    pairs->count++;
    if (!is_far(pairs, slot))
        return;
    pairs->hashed_anew = true; /* only once per size: if new factors do not help, no factors do */
    pairs->spread = hash_anew();
    pairs_rebuild(pairs, pairs->room);
}

uint32_t intern_pairs_add_next(struct intern_pairs *pairs, uint32_t a, uint32_t b)
{
    const uint32_t number = pairs->count + 1;
    intern_pairs_add(pairs, a, b, number);
    return number;
}

void intern_pairs_free(struct intern_pairs *pairs)
{
    free(pairs->slots);
    *pairs = (struct intern_pairs){ 0 };
}

/* ---- rows of bytes ---- */

static bool same_text(const void *texts, uint32_t number, const void *wanted)
{
    return text_equal(((const struct text *)texts)[number], *(const struct text *)wanted);
}

static uint64_t text_hash(const struct hash_factors *spread, struct text text)
{
    return hash_bytes(spread->mixes ? spread->a : 0, text.bytes, text.size);
}

static uint64_t text_row_hash(const struct hash_factors *spread, const void *texts, uint32_t number)
{
    return text_hash(spread, ((const struct text *)texts)[number]);
}

uint32_t intern_find(const struct intern *intern, const void *bytes, size_t size)
{
    const struct id_index *index = &intern->index;
    const struct text wanted = { bytes, size };
    return index->room ? *id_index_slot(index, text_hash(&index->spread, wanted), same_text, intern->texts, &wanted)
                       : 0;
}

uint32_t intern_number(struct intern *intern, const void *bytes, size_t size, bool *added)
{
    struct id_index *index = &intern->index;
    const uint32_t known = intern_find(intern, bytes, size);
    *added = known == 0;
    if (known)
        return known;
    const uint32_t number = ++intern->count;
    intern->texts = alloc_grow(intern->texts, &intern->room, (size_t)number + 1, sizeof(*intern->texts));
    intern->texts[number] = (struct text){ alloc_copy(bytes, size), size };
    id_index_add(index, intern->texts, number, text_row_hash);
    return number;
}

struct text intern_text(struct intern *intern, struct text text)
{
    bool added;
    if (text.size == 0)
        return (struct text){ "", 0 };
    const uint32_t number = intern_number(intern, text.bytes, text.size, &added);
    return intern->texts[number]; /* the call above may have moved the array */
}

void intern_free(struct intern *intern)
{
    for (uint32_t i = 1; i <= intern->count; i++)
        text_free(intern->texts[i]);
    free(intern->texts);
    id_index_free(&intern->index);
    *intern = (struct intern){ 0 };
}
