/* SPDX-License-Identifier: MIT */
/* Foretells bits by what they were before in the same contexts, tells them by a range coder, and learns from each
 * (schemas/stream.md, "Predicted payloads"). What was expected takes next to nothing, so whoever gives each bit a good
 * context has small blocks.
 *
 *     context --> a place: how often was it 1 there? --+
 *     context --> another                            --+-- mean --> range coder --> bytes
 *     context --> another                            --+
 *
 * As with the coder, who writes and who reads call the same functions. All is whole numbers: every machine finds the
 * same. */
#ifndef PYREEL_FORMATS_CODEC_PREDICTOR_H
#define PYREEL_FORMATS_CODEC_PREDICTOR_H

#include "formats/codec/range_coder.h"

/* The format's: others make another codec. */
#define PREDICTOR_CONTEXTS   4    /* of a bit, at most */
#define PREDICTOR_PLACES_LOG 15   /* places for contexts, some of which share one */
#define PREDICTOR_STEPS      4096 /* of a likelihood where several are mixed, and of odds */
#define PREDICTOR_LEAST      32   /* 65536ths: nothing is less likely, or likelier than what this leaves */
#define PREDICTOR_SEEN       60   /* times that a bit was told; more do not matter */

/* What is known of a bit in a context. */
struct predictor_place {
    uint16_t one;  /* how likely it is 1, in 65536ths */
    uint8_t seen;  /* how often it was told, up to PREDICTOR_SEEN */
    uint8_t check; /* tells the context that has this place from others */
};

struct predictor {
    struct range_coder coder;
    struct predictor_place places[1 << PREDICTOR_PLACES_LOG];
    int16_t odds[PREDICTOR_STEPS];      /* of a likelihood: their logarithm, 256 to the factor e ... */
    uint16_t likely[PREDICTOR_STEPS];   /* ... and back, in 65536ths, from half of the steps below even odds on */
    uint16_t rates[PREDICTOR_SEEN + 1]; /* how much of a miss is learned, in 65536ths, by how often it was told */
};

/* Makes the tables of a new one, which never change. */
void predictor_prepare(struct predictor *predictor);

/* Forgets all, and begins to append to `to`, or to take from `from`. */
void predictor_write(struct predictor *predictor, struct bytes *to);
void predictor_read(struct predictor *predictor, struct cursor from);

/* Tells a number in one context. */
uint64_t predictor_number(struct predictor *predictor, uint32_t context, uint64_t number);

/* A context is made of numbers, one after the other, from 0 on. */
static inline uint32_t predictor_context(uint32_t context, uint32_t number)
{
    const uint32_t mixed = (context ^ number) * 0x9E3779B1u;
    return mixed ^ mixed >> 15;
}

/* ---- what is done for each bit ---- */

static inline struct predictor_place *predictor_place_at(struct predictor *predictor, size_t at, uint32_t context)
{
    struct predictor_place *const place = &predictor->places[at];
    const uint8_t check = (uint8_t)context;
    if (place->check != check)
        *place = (struct predictor_place){ .one = 1 << 15, .check = check };
    return place;
}

/* A place that was never used is at even odds: the miss is the smaller, the larger the rate. */
static inline void predictor_learn(const struct predictor *predictor, struct predictor_place *place, bool bit)
{
    const int32_t miss = (bit ? UINT16_MAX : 0) - place->one;
    place->one = (uint16_t)(place->one + (miss * predictor->rates[place->seen] >> 16));
    place->seen = (uint8_t)(place->seen + (place->seen < PREDICTOR_SEEN));
}

/* How likely a bit is 1 of which several contexts say something: the mean of their odds, and a quarter more, since
 * those that agree are surer together. `known` is how many have seen it before. */
static inline uint32_t predictor_likely(const struct predictor *predictor, int32_t odds, size_t known)
{
    static const int32_t parts[PREDICTOR_CONTEXTS + 1] = { 0, 81920, 40960, 27306, 20480 };
    const int32_t half = PREDICTOR_STEPS / 2;
    const int32_t mean = (int32_t)((int64_t)odds * parts[known] >> 16);
    return predictor->likely[half + (mean < -half ? -half : mean < half ? mean : half - 1)];
}

/* Tells a bit by what is known of it in `count` contexts. */
static inline bool predictor_bit(struct predictor *predictor, const uint32_t *contexts, size_t count, bool bit)
{
    struct predictor_place *places[PREDICTOR_CONTEXTS];
    int32_t odds = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        places[i] = predictor_place_at(predictor, contexts[i] >> (32 - PREDICTOR_PLACES_LOG), contexts[i]);
        odds += predictor->odds[places[i]->one >> 4];
        known += places[i]->seen > 0;
    }
    bit = range_coder_bit(&predictor->coder, predictor_likely(predictor, odds, known), bit);
    for (size_t i = 0; i < count; i++)
        predictor_learn(predictor, places[i], bit);
    return bit;
}

#endif
