/* SPDX-License-Identifier: MIT */
#include "formats/codec/predictor.h"

#include "formats/base/alloc.h"

#define ROW        16 /* slots in a cache line */
#define ROWS_LOG   (PREDICTOR_SLOTS_LOG - 4)
#define SHORT_MOST 8 /* bits of a unary length that have slots in the first row */
#define MODELLED   6 /* bits of a number, behind its leading 1, that are predicted; the rest are coded as plain bits */

/* ---- tables ---- */

/* 4096 / (1 + e^-x) for x from -8 to 8 in halves, but at least 1 and at most 4095. */
static const uint16_t logistic[33] = { 1,    2,    4,    6,    10,   17,   27,   45,   74,   120,  194,
                                       311,  488,  747,  1102, 1546, 2048, 2550, 2994, 3349, 3608, 3785,
                                       3902, 3976, 4022, 4051, 4069, 4079, 4086, 4090, 4092, 4094, 4095 };

/* The likelihood of odds, both in steps; linear between the entries of the table. */
static uint32_t likely_at(uint32_t odds)
{
    const uint32_t at = odds >> 7, part = odds & 127;
    return (logistic[at] * (128 - part) + logistic[at + 1] * part + 64) >> 7;
}

static uint16_t bounded(uint32_t one)
{
    const uint32_t most = UINT16_MAX - PREDICTOR_LEAST;
    return (uint16_t)(one < PREDICTOR_LEAST ? PREDICTOR_LEAST : one < most ? one : most);
}

void predictor_prepare(struct predictor *predictor)
{
    uint32_t one = 0;
    for (uint32_t odds = 0; odds < PREDICTOR_STEPS; odds++) {
        const uint32_t likely = likely_at(odds);
        predictor->likely[odds] = bounded(likely << 4);
        for (; one <= likely; one++)
            predictor->odds[one] = (int16_t)((int32_t)odds - PREDICTOR_STEPS / 2);
    }
    for (uint32_t seen = 0; seen <= PREDICTOR_SEEN; seen++)
        predictor->rates[seen] = (uint16_t)(131072 / (2 * seen + 3));
}

/* ---- payloads ---- */

static void forget(struct predictor *predictor)
{
    for (size_t i = 0; i < countof(predictor->slots); i++)
        predictor->slots[i] = (struct predictor_slot){ .one = 1 << 15 };
}

void predictor_write(struct predictor *predictor, struct bytes *to)
{
    forget(predictor);
    range_coder_write(&predictor->coder, to);
}

void predictor_read(struct predictor *predictor, struct cursor from)
{
    forget(predictor);
    range_coder_read(&predictor->coder, from);
}

/* ---- numbers ---- */

/* Codes one bit of a number. Each bit has a slot, by its node. The slots of small numbers share a row, which is a cache
 * line. */
static inline bool bit_of_number(struct predictor *predictor, uint32_t context, uint32_t node, bool bit)
{
    const uint32_t row = node < ROW ? context : predictor_context(context, node / ROW);
    struct predictor_slot *const slot = predictor_slot_at(predictor, (row >> (32 - ROWS_LOG)) * ROW + node % ROW, row);
    bit = range_coder_bit(&predictor->coder, bounded(slot->one), bit);
    predictor_learn(predictor, slot, bit);
    return bit;
}

/* How many bits number + 1 has behind its leading 1: 0 to 64. */
static unsigned length_of(uint64_t number)
{
    return number == UINT64_MAX ? 64 : 63 - (unsigned)__builtin_clzll(number + 1);
}

/* Codes a length in unary: `length` bits of 1, then a 0 unless the length is 64. */
static unsigned code_length(struct predictor *predictor, uint32_t context, unsigned length)
{
    unsigned coded = 0;
    while (coded < 64 &&
           bit_of_number(predictor, context, coded < SHORT_MOST ? coded : SHORT_MOST + coded, coded < length))
        coded++;
    return coded;
}

uint64_t predictor_number(struct predictor *predictor, uint32_t context, uint64_t number)
{
    const unsigned length = code_length(predictor, context, length_of(number));
    if (length == 64)
        return UINT64_MAX;
    const uint32_t nodes = length <= 2 ? 4 + 4 * length : 80 + (64 * length);
    uint64_t coded = 1;
    unsigned left = length;
    for (; left > 0 && length - left < MODELLED; left--)
        coded = coded << 1 | bit_of_number(predictor, context, nodes + (uint32_t)coded, (number + 1) >> (left - 1) & 1);
    while (left > 0) {
        const unsigned count = left < 8 ? left : 8;
        left -= count;
        coded = coded << count | range_coder_bits(&predictor->coder, count, (uint32_t)((number + 1) >> left));
    }
    return coded - 1;
}
