/* SPDX-License-Identifier: MIT */
/* A range coder: codes bits, each in less room the likelier it is (schemas/stream.md, "Predicted payloads"). All bits
 * together become one number below 1, whose digits are the bytes. Encoder and decoder call the same functions: each
 * takes a bit and returns it; a decoder ignores the bit it is given. */
#ifndef PYREEL_FORMATS_CODEC_RANGE_CODER_H
#define PYREEL_FORMATS_CODEC_RANGE_CODER_H

#include "formats/base/bytes.h"

#define RANGE_LEAST (1u << 24) /* a smaller range is widened by a byte */

struct range_coder {
    uint32_t low;   /* start of the range: the digits that are not written yet */
    uint32_t range; /* size of the range */
    uint32_t code;  /* decoder: the number's position in the range */
    bool reads;
    struct cursor from; /* decoder: the input; zeros follow its end */
    struct bytes *to;
};

/* Begin to encode into `to`, or to decode `from`. */
void range_coder_write(struct range_coder *coder, struct bytes *to);
void range_coder_read(struct range_coder *coder, struct cursor from);

/* Encoder: appends the remaining digits. Call it once, at the end. */
void range_coder_end(struct range_coder *coder);
/* Decoder: whether all bytes of the input were read. */
bool range_coder_read_all(const struct range_coder *coder);

/* Codes the lowest `count` bits of `bits`, 1 to 8, as equally likely. Returns them. */
uint32_t range_coder_bits(struct range_coder *coder, unsigned count, uint32_t bits);

/* ---- inline: runs for each bit ---- */

/* Encoder: raises the start of the range, and carries into written bytes. */
void range_coder_raise(struct range_coder *coder, uint32_t by);

/* Encoder: writes the highest byte of `low`. */
void range_coder_write_byte(struct range_coder *coder);

/* Decoder: takes a byte of the input; 0 behind its end. */
static inline uint32_t range_coder_byte(struct range_coder *coder)
{
    return coder->from.at < coder->from.end ? *coder->from.at++ : 0;
}

/* Widens the range by whole bytes until it is at least RANGE_LEAST. */
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

/* Codes a bit. `one` is the likelihood of a 1, in 65536ths: above 0 and below 65536. */
static inline bool range_coder_bit(struct range_coder *coder, uint32_t one, bool bit)
{
    const uint32_t ones = (coder->range >> 16) * one; /* the part of the range that stands for a 1 */
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
