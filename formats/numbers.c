/* SPDX-License-Identifier: MIT */
#include "formats/numbers.h"

#include "formats/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Spreads the bits of a key over the whole word: multiply, fold, multiply. */
static uint64_t mix(uint64_t key)
{
    key *= 0x9E3779B97F4A7C15u;
    key ^= key >> 32;
    key *= 0xD6E8FEB86659FD93u;
    return key ^ key >> 32;
}

static uint64_t hash_bytes(const unsigned char *bytes, size_t size)
{
    uint64_t hash = size;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, bytes, sizeof(word));
        hash = mix(hash ^ word);
    }
    uint64_t rest = 0;
    memcpy(&rest, bytes, size);
    return mix(hash ^ rest);
}

/* Tables are kept at most 5/8 full: probes stay short. */
static bool crowded(uint32_t count, size_t room)
{
    return (size_t)count * 8 >= room * 5;
}

static void pairs_grow(struct pairs *pairs)
{
    const struct pairs old = *pairs;
    pairs->room = old.room ? old.room * 2 : 64;
    pairs->shift = old.room ? old.shift - 1 : 64 - 6;
    pairs->slots = alloc_zeroed(pairs->room, sizeof(*pairs->slots));
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].number)
            *pairs_slot(pairs, old.slots[i].a, old.slots[i].b) = old.slots[i];
    free(old.slots);
}

void pairs_add(struct pairs *pairs, uint32_t a, uint32_t b, uint32_t number)
{
    if (crowded(pairs->count, pairs->room))
        pairs_grow(pairs);
    *pairs_slot(pairs, a, b) = (struct pair_slot){ a, b, number };
    pairs->count++;
}

uint32_t pairs_add_next(struct pairs *pairs, uint32_t a, uint32_t b)
{
    const uint32_t number = pairs->count + 1;
    pairs_add(pairs, a, b, number);
    return number;
}

void pairs_free(struct pairs *pairs)
{
    free(pairs->slots);
    *pairs = (struct pairs){ 0 };
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

static void intern_grow(struct intern *intern)
{
    const struct intern old = *intern;
    intern->room = old.room ? old.room * 2 : 64;
    intern->slots = alloc_zeroed(intern->room, sizeof(*intern->slots));
    for (size_t i = 0; i < old.room; i++) {
        const struct intern_slot *slot = &old.slots[i];
        if (slot->number)
            *intern_slot(intern, slot->hash, slot->bytes, slot->size) = *slot;
    }
    free(old.slots);
}

uint32_t intern_number(struct intern *intern, const void *bytes, size_t size, bool *added)
{
    if (crowded(intern->count, intern->room))
        intern_grow(intern);
    const uint64_t hash = hash_bytes(bytes, size);
    struct intern_slot *slot = intern_slot(intern, hash, bytes, size);
    *added = slot->number == 0;
    if (*added)
        *slot = (struct intern_slot){ hash, alloc_copy(bytes, size), size, ++intern->count };
    return slot->number;
}

void intern_free(struct intern *intern)
{
    for (size_t i = 0; i < intern->room; i++)
        free(intern->slots[i].bytes);
    free(intern->slots);
    *intern = (struct intern){ 0 };
}
