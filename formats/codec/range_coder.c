/* SPDX-License-Identifier: MIT */
#include "formats/codec/range_coder.h"

void range_coder_write(struct range_coder *coder, struct bytes *to)
{
    *coder = (struct range_coder){ .range = UINT32_MAX, .to = to };
}

void range_coder_read(struct range_coder *coder, struct cursor from)
{
    *coder = (struct range_coder){ .range = UINT32_MAX, .reads = true, .from = from };
    for (int i = 0; i < 4; i++)
        coder->code = coder->code << 8 | range_coder_byte(coder);
}

/* Carries a 1 into the last written byte. The carry never overflows the first byte, because the coded number stays
 * below 1. */
static void carry(struct bytes *written)
{
    for (size_t i = written->size; i > 0 && ++written->at[i - 1] == 0;)
        i--;
}

void range_coder_raise(struct range_coder *coder, uint32_t by)
{
    coder->low += by;
    if (coder->low < by)
        carry(coder->to);
}

void range_coder_write_byte(struct range_coder *coder)
{
    const unsigned char byte = (unsigned char)(coder->low >> 24);
    put_bytes(coder->to, &byte, 1);
    coder->low <<= 8;
}

uint32_t range_coder_bits(struct range_coder *coder, unsigned count, uint32_t bits)
{
    const uint32_t most = (1u << count) - 1;
    coder->range >>= count;
    if (coder->reads) {
        bits = coder->code / coder->range;
        bits = bits < most ? bits : most; /* only a damaged file has a larger value */
        coder->code -= bits * coder->range;
    } else {
        bits &= most;
        range_coder_raise(coder, bits * coder->range);
    }
    range_coder_widen(coder);
    return bits;
}

/* Picks the number of the range with the most zeros at its end. At most one more byte is needed, because the range is
 * at least RANGE_LEAST. */
void range_coder_end(struct range_coder *coder)
{
    const uint32_t end = (coder->low + (RANGE_LEAST - 1)) & ~(RANGE_LEAST - 1);
    if (end < coder->low)
        carry(coder->to);
    coder->low = end;
    if (end > 0)
        range_coder_write_byte(coder);
}

bool range_coder_read_all(const struct range_coder *coder)
{
    return coder->from.at == coder->from.end;
}
