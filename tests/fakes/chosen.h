/* SPDX-License-Identifier: MIT */
/* Numbers that are made to fall on one place of a hash table, by who knows how it usually spreads them, see
 * formats/intern/hash.h: they count up by a step whose product with their factor is hardly larger than 0. */
#ifndef PYREEL_TESTS_FAKES_CHOSEN_H
#define PYREEL_TESTS_FAKES_CHOSEN_H

#include "formats/intern/hash.h"

/* The step, for so many numbers times `factor`. */
static inline uint32_t chosen_step(uint64_t factor, uint32_t count)
{
    uint32_t step = 1;
    for (uint32_t i = 2; i < UINT32_MAX / count; i++)
        step = factor * i < factor * step ? i : step;
    return step;
}

#endif
