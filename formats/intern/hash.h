/* SPDX-License-Identifier: MIT */
/* Hash functions for tables of numbers. A hash is the sum of the numbers, each multiplied by a factor of its own. The
 * upper bits of the sum give the slot at which a search begins: the upper bits of a product depend on all bits of a
 * number, and neighbouring numbers get distant slots.
 *
 * A file may contain numbers that were chosen to collide in one slot. So a table that adds an entry far from its first
 * slot changes to random factors, which the author of the file cannot know. Some random factors spread consecutive
 * numbers badly, so the sum is then mixed, which takes longer. None of this speeds up many searches for absent numbers
 * that are never added. */
#ifndef PYREEL_FORMATS_INTERN_HASH_H
#define PYREEL_FORMATS_INTERN_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_FAR 1024 /* slots. Without chosen collisions, no search is a quarter as long */

struct hash_factors {
    uint64_t a, b, c;
    bool mixes;
};

#define HASH_USUAL ((struct hash_factors){ 0x9E3779B97F4A7C15u, 0xD6E8FEB86659FD93u, 0xC2B2AE3D27D4EB4Fu, false })

/* Mixes the bits of a word, so that each bit of the result depends on all bits of the word. */
static inline uint64_t hash_mix(uint64_t word)
{
    word *= 0x9E3779B97F4A7C15u;
    word ^= word >> 32;
    word *= 0xD6E8FEB86659FD93u;
    return word ^ word >> 32;
}

/* The hash of four numbers. The upper bits give the slot at which the search for (a, b, c, d) begins. */
static inline uint64_t hash_four(const struct hash_factors *spread, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    const uint64_t sum = a * spread->a + b * spread->b + c * spread->c + d * (spread->a ^ spread->b << 1);
    return spread->mixes ? hash_mix(sum) : sum;
}

/* The hash of three numbers. */
static inline uint64_t hash_three(const struct hash_factors *spread, uint32_t a, uint32_t b, uint32_t c)
{
    return hash_four(spread, a, b, c, 0);
}

/* The hash of two numbers. */
static inline uint64_t hash_pair(const struct hash_factors *spread, uint32_t a, uint32_t b)
{
    return hash_three(spread, a, b, 0);
}

/* The hash of some bytes. `seed` is a secret, or the hash of what precedes the bytes. */
static inline uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t hash = seed ^ size;
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        hash = hash_mix(hash ^ word);
    }
    uint64_t rest = 0;
    memcpy(&rest, at, size);
    return hash_mix(hash ^ rest);
}

/* Random factors; the usual factors when the system has no random numbers. */
struct hash_factors hash_anew(void);

#endif
