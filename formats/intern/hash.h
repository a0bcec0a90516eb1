/* SPDX-License-Identifier: MIT */
/* How hash tables of numbers spread what they hold: each number times a factor of its own, and the upper bits of the
 * sum tell where to look. Those of a product depend on all bits of a number, and those of neighbours lie far apart.
 *
 * Numbers in a file may have been chosen to fall on one place. So a table that adds something far from its place takes
 * other factors, which nobody can have known. Some of those spread numbers that count up badly: the sum is mixed then,
 * which takes longer. Who looks for much that is not there, and does not add it, is not helped by all this. */
#ifndef PYREEL_FORMATS_INTERN_HASH_H
#define PYREEL_FORMATS_INTERN_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_FAR 1024 /* places. Where things fall by chance no search is a quarter as long */

struct hash_factors {
    uint64_t a, b, c;
    bool mixes;
};

#define HASH_USUAL ((struct hash_factors){ 0x9E3779B97F4A7C15u, 0xD6E8FEB86659FD93u, 0xC2B2AE3D27D4EB4Fu, false })

/* Spreads the bits of a word over the whole of it: multiply, fold, multiply. */
static inline uint64_t hash_mix(uint64_t word)
{
    word *= 0x9E3779B97F4A7C15u;
    word ^= word >> 32;
    word *= 0xD6E8FEB86659FD93u;
    return word ^ word >> 32;
}

/* Its upper bits tell where (a, b, c) is looked for. */
static inline uint64_t hash_three(const struct hash_factors *spread, uint32_t a, uint32_t b, uint32_t c)
{
    const uint64_t sum = a * spread->a + b * spread->b + c * spread->c;
    return spread->mixes ? hash_mix(sum) : sum;
}

static inline uint64_t hash_pair(const struct hash_factors *spread, uint32_t a, uint32_t b)
{
    return hash_three(spread, a, b, 0);
}

/* Others, by chance; the usual ones where there is none. */
struct hash_factors hash_anew(void);

#endif
