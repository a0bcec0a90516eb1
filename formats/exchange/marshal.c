/* SPDX-License-Identifier: MIT */
#include "formats/exchange/marshal.h"

#include <stdint.h>
#include <string.h>

#define DIGIT_BITS 15 /* of a long number's digit */

/* Writes the lowest `size` bytes of a value, the lowest first. */
static void put_low(struct output *to, uint64_t value, size_t size)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    output_bytes(to, bytes, size);
}

void marshal_begin_dict(struct output *to)
{
    output_bytes(to, "{", 1);
}

void marshal_end_dict(struct output *to)
{
    output_bytes(to, "0", 1);
}

void marshal_begin_tuple(struct output *to, uint8_t size)
{
    output_bytes(to, ")", 1);
    put_low(to, size, 1);
}

static bool is_ascii(struct text text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.bytes[i] >= 0x80)
            return false;
    return true;
}

void marshal_text(struct output *to, struct text text)
{
    const bool is_short = text.size <= UINT8_MAX && is_ascii(text);
    output_bytes(to, is_short ? "z" : "u", 1);
    put_low(to, text.size, is_short ? 1 : 4);
    output_text(to, text);
}

static void put_long(struct output *to, uint64_t value)
{
    size_t digits = 0;
    for (uint64_t rest = value; rest; rest >>= DIGIT_BITS)
        digits++;
    output_bytes(to, "l", 1);
    put_low(to, digits, 4);
    for (; digits > 0; digits--, value >>= DIGIT_BITS)
        put_low(to, value & ((1u << DIGIT_BITS) - 1), 2);
}

void marshal_number(struct output *to, uint64_t value)
{
    if (value > INT32_MAX) {
        put_long(to, value);
        return;
    }
    output_bytes(to, "i", 1);
    put_low(to, value, 4);
}

void marshal_float(struct output *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    output_bytes(to, "g", 1);
    put_low(to, bits, 8);
}
