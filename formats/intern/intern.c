/* SPDX-License-Identifier: MIT */
#include "formats/intern/intern.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_bytes(uint64_t secret, const unsigned char *bytes, size_t size)
{
    uint64_t hash = secret ^ size;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, bytes, sizeof(word));
        hash = hash_mix(hash ^ word);
    }
    uint64_t rest = 0;
    memcpy(&rest, bytes, size);
    return hash_mix(hash ^ rest);
}

/* A table is at most 5/8 full, so searches stay short. */
static bool crowded(uint32_t count, size_t room)
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
    if (crowded(pairs->count, pairs->room))
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

static struct intern_slot *intern_slot(const struct intern *intern, uint64_t hash, const void *bytes, size_t size)
{
    const size_t mask = intern->room - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct intern_slot *slot = &intern->slots[i];
        if (slot->number == 0)
            return slot;
        if (slot->hash == hash && slot->size == size && memcmp(slot->bytes, bytes, size) == 0)
            return slot;
    }
}

static void intern_rebuild(struct intern *intern, size_t room)
{
    const struct intern old = *intern;
    intern->room = room;
    intern->slots = alloc_zeroed(room, sizeof(*intern->slots));
    for (size_t i = 0; i < old.room; i++) {
        const struct intern_slot *slot = &old.slots[i];
        if (slot->number)
            *intern_slot(intern, slot->hash, slot->bytes, slot->size) = *slot;
    }
    free(old.slots);
}

static void intern_spread_anew(struct intern *intern)
{
    intern->hashed_anew = true; /* only once per size: if new factors do not help, no factors do */
    intern->secret = hash_anew().a;
    for (size_t i = 0; i < intern->room; i++) {
        struct intern_slot *slot = &intern->slots[i];
        if (slot->number)
            slot->hash = hash_bytes(intern->secret, (const unsigned char *)slot->bytes, slot->size);
    }
    intern_rebuild(intern, intern->room);
}

/* Returns the copy. */
static const char *intern_add(struct intern *intern, struct intern_slot *slot, uint64_t hash, const void *bytes,
                              size_t size)
{
    const size_t mask = intern->room - 1, steps = ((size_t)(slot - intern->slots) - (size_t)hash) & mask;
    char *copy = alloc_copy(bytes, size);
    *slot = (struct intern_slot){ hash, copy, size, ++intern->count };
    if (steps >= HASH_FAR && !intern->hashed_anew)
        intern_spread_anew(intern);
    return copy;
}

uint32_t intern_keep(struct intern *intern, const void *bytes, size_t size, bool *added, const char **kept)
{
    if (crowded(intern->count, intern->room)) {
        intern->hashed_anew = false;
        intern_rebuild(intern, intern->room ? intern->room * 2 : 64);
    }
    const uint64_t hash = hash_bytes(intern->secret, bytes, size);
    struct intern_slot *slot = intern_slot(intern, hash, bytes, size);
    *added = slot->number == 0;
    if (!*added)
        return slot->number;
    *kept = intern_add(intern, slot, hash, bytes, size);
    return intern->count;
}

uint32_t intern_number(struct intern *intern, const void *bytes, size_t size, bool *added)
{
    const char *unused;
    return intern_keep(intern, bytes, size, added, &unused);
}

void intern_free(struct intern *intern)
{
    for (size_t i = 0; i < intern->room; i++)
        free(intern->slots[i].bytes);
    free(intern->slots);
    *intern = (struct intern){ 0 };
}
