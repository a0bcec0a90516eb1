/* SPDX-License-Identifier: MIT */
/* A range coder: tells bits, each in the less room the likelier it was (schemas/stream.md, "Predicted payloads"). All
 * that is told becomes one number below 1, whose digits are bytes. Who writes and who reads call the same functions:
 * each takes a bit and returns it, and a reader's is ignored. */
#ifndef PYREEL_FORMATS_CODEC_RANGE_CODER_H
#define PYREEL_FORMATS_CODEC_RANGE_CODER_H

#include "formats/base/bytes.h"

#define RANGE_LEAST (1u << 24) /* of a range; smaller ones are widened by a byte */

struct range_coder {
    uint32_t low;   /* where the range begins: what was not written yet */
    uint32_t range; /* how large it is */
    uint32_t code;  /* a reader's: where in the range the number is */
    bool reads;
    struct cursor from; /* behind its end all is zeros */
    struct bytes *to;
};

/* Begins to append to `to`, or to take from `from`. */
void range_coder_write(struct range_coder *coder, struct bytes *to);
void range_coder_read(struct range_coder *coder, struct cursor from);

/* Appends what is left when all was told. */
void range_coder_end(struct range_coder *coder);
/* Whether a reader came to the end of what there is. */
bool range_coder_read_all(const struct range_coder *coder);

/* Tells the lowest bits of a number, 1 to 8 of them, of which nothing is known. */
uint32_t range_coder_bits(struct range_coder *coder, unsigned count, uint32_t bits);

/* ---- what is done for each bit ---- */

void range_coder_raise(struct range_coder *coder, uint32_t by);
void range_coder_write_byte(struct range_coder *coder);

static inline uint32_t range_coder_byte(struct range_coder *coder)
{
    return coder->from.at < coder->from.end ? *coder->from.at++ : 0;
}

static inline void range_coder_widen(struct range_coder *coder)
{
    while (coder->range < RANGE_LEAST) {
        if (coder->reads)
            coder->code = coder->code << 8 | range_coder_byte(coder);
        else
            range_coder_write_byte(coder);
        coder->range <<= 8;
    }
}

/* Tells a bit that is so likely to be 1, in 65536ths: neither never nor always. */
static inline bool range_coder_bit(struct range_coder *coder, uint32_t one, bool bit)
{
    const uint32_t ones = (coder->range >> 16) * one; /* this much of the range is for a 1 */
    if (coder->reads ? coder->code < ones : bit) {
        coder->range = ones;
        range_coder_widen(coder);
        return true;
    }
    coder->range -= ones;
    if (coder->reads)
        coder->code -= ones;
    else
        range_coder_raise(coder, ones);
    range_coder_widen(coder);
    return false;
}

#endif
