/* SPDX-License-Identifier: MIT */
/* Predicts bits from earlier bits in the same contexts, codes them with a range coder, and learns from each bit
 * (schemas/stream.md, "Predicted payloads"). An expected bit takes almost no room, so good contexts make small blocks.
 *
 *     context --> a slot: how often was the bit 1? --+
 *     context --> another                          --+-- mean --> range coder --> bytes
 *     context --> another                          --+
 *
 * As with the range coder, encoder and decoder call the same functions. All arithmetic uses whole numbers, so every
 * machine gets the same results. */
#ifndef PYREEL_FORMATS_CODEC_PREDICTOR_H
#define PYREEL_FORMATS_CODEC_PREDICTOR_H

#include "formats/codec/range_coder.h"

/* Part of the file format: another value would be another codec. */
#define PREDICTOR_CONTEXTS  4    /* contexts of a bit, at most */
#define PREDICTOR_SLOTS_LOG 15   /* log2 of the number of slots; several contexts may share a slot */
#define PREDICTOR_STEPS     4096 /* steps of a likelihood in the tables of odds */
#define PREDICTOR_LEAST     32   /* the least likelihood of a 0 or a 1, in 65536ths */
#define PREDICTOR_SEEN      60   /* limit of the count of bits in a slot */

/* The statistics of a bit in a context. */
struct predictor_slot {
    uint16_t one;  /* likelihood of a 1, in 65536ths */
    uint8_t seen;  /* number of bits so far, up to PREDICTOR_SEEN */
    uint8_t check; /* low bits of the context that owns the slot */
};

struct predictor {
    struct range_coder coder;
    struct predictor_slot slots[1 << PREDICTOR_SLOTS_LOG];
    int16_t odds[PREDICTOR_STEPS];    /* likelihood -> logarithm of the odds, 256 per factor e ... */
    uint16_t likely[PREDICTOR_STEPS]; /* ... and back, in 65536ths; the index is the logarithm + PREDICTOR_STEPS / 2 */
    uint16_t rates[PREDICTOR_SEEN + 1]; /* learning rate in 65536ths, by `seen` */
};

/* Computes the constant tables of a new predictor. */
void predictor_prepare(struct predictor *predictor);

/* Forget all statistics, and begin to encode into `to`, or to decode `from`. */
void predictor_write(struct predictor *predictor, struct bytes *to);
void predictor_read(struct predictor *predictor, struct cursor from);

/* Codes a number in one context. Returns the number; a decoder ignores `number`. */
uint64_t predictor_number(struct predictor *predictor, uint32_t context, uint64_t number);

/* Adds a number to a context. A context is a hash of a sequence of numbers; the empty context is 0. */
static inline uint32_t predictor_context(uint32_t context, uint32_t number)
{
    const uint32_t mixed = (context ^ number) * 0x9E3779B1u;
    return mixed ^ mixed >> 15;
}

/* ---- inline: runs for each bit ---- */

/* The slot at index `at`; reset if another context owned it. */
static inline struct predictor_slot *predictor_slot_at(struct predictor *predictor, size_t at, uint32_t context)
{
    struct predictor_slot *const slot = &predictor->slots[at];
    const uint8_t check = (uint8_t)context;
    if (slot->check != check)
        *slot = (struct predictor_slot){ .one = 1 << 15, .check = check };
    return slot;
}

/* Moves the likelihood towards the bit. A new slot has even odds and the highest rate. */
static inline void predictor_learn(const struct predictor *predictor, struct predictor_slot *slot, bool bit)
{
    const int32_t miss = (bit ? UINT16_MAX : 0) - slot->one;
    slot->one = (uint16_t)(slot->one + (miss * predictor->rates[slot->seen] >> 16));
    slot->seen = (uint8_t)(slot->seen + (slot->seen < PREDICTOR_SEEN));
}

/* The likelihood of a 1 from several contexts: the mean of their odds plus a quarter, because contexts that agree are
 * more reliable together. `odds` is the sum of the odds; `known` is the number of contexts that have seen a bit. */
static inline uint32_t predictor_likely(const struct predictor *predictor, int32_t odds, size_t known)
{
    static const int32_t parts[PREDICTOR_CONTEXTS + 1] = { 0, 81920, 40960, 27306, 20480 };
    const int32_t half = PREDICTOR_STEPS / 2;
    const int32_t mean = (int32_t)((int64_t)odds * parts[known] >> 16);
    return predictor->likely[half + (mean < -half ? -half : mean < half ? mean : half - 1)];
}

/* Codes a bit in `count` contexts. */
static inline bool predictor_bit(struct predictor *predictor, const uint32_t *contexts, size_t count, bool bit)
{
    struct predictor_slot *slots[PREDICTOR_CONTEXTS];
    int32_t odds = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        slots[i] = predictor_slot_at(predictor, contexts[i] >> (32 - PREDICTOR_SLOTS_LOG), contexts[i]);
        odds += predictor->odds[slots[i]->one >> 4];
        known += slots[i]->seen > 0;
    }
    bit = range_coder_bit(&predictor->coder, predictor_likely(predictor, odds, known), bit);
    for (size_t i = 0; i < count; i++)
        predictor_learn(predictor, slots[i], bit);
    return bit;
}

#endif
