/* SPDX-License-Identifier: MIT */
/* Which samples stay when a profile must have fewer: one of each `every` consecutive samples of a thread, drawn at
 * random, whatever the samples show. The sample that stays stands for its group, so its weights are multiplied by the
 * group's size. The draw depends on numbers only: the same recording gives the same profile.
 *
 *     samples of a thread   | . . x . | . x . . | x . |        every 4; the last group has 2
 *     factor                |     4   |   4     | 2   |
 */
#ifndef PYREEL_FORMATS_GECKO_COLUMNS_THINNING_H
#define PYREEL_FORMATS_GECKO_COLUMNS_THINNING_H

#include <stdbool.h>
#include <stdint.h>

/* The samples of one thread. */
struct thinning {
    uint64_t every; /* 1: all samples stay */
    uint64_t count; /* samples of the thread */
    uint32_t thread;
};

/* The size of the group of a sample, whose number is below `count`. */
static inline uint64_t thinning_factor(const struct thinning *thinning, uint64_t sample)
{
    const uint64_t begin = sample - sample % thinning->every, left = thinning->count - begin;
    return left < thinning->every ? left : thinning->every;
}

/* Whether a sample stays. */
static inline bool thinning_keeps(const struct thinning *thinning, uint64_t sample)
{
    if (thinning->every == 1)
        return true;
    uint64_t dice = (sample / thinning->every + 1) * 0x9E3779B97F4A7C15u + thinning->thread * 0xD1B54A32D192ED03u;
    dice = (dice ^ dice >> 30) * 0xBF58476D1CE4E5B9u;
    dice = (dice ^ dice >> 27) * 0x94D049BB133111EBu;
    dice ^= dice >> 31;
    return sample % thinning->every == dice % thinning_factor(thinning, sample);
}

/* The number of samples that stay. */
static inline uint64_t thinning_kept(const struct thinning *thinning)
{
    return thinning->count / thinning->every + (thinning->count % thinning->every > 0);
}

#endif
