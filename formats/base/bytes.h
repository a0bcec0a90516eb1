/* SPDX-License-Identifier: MIT */
/* The two ends of a row of bytes. `struct bytes` grows at its back. A cursor hands out bytes from the front: past the
 * end, or at a number that does not fit, it turns bad, stays bad and gives zeros, so look at `bad` once per record.
 * What a cursor reads is not trusted. The coding of numbers is section 1 of schemas/stream.md. */
#ifndef PYREEL_FORMATS_BASE_BYTES_H
#define PYREEL_FORMATS_BASE_BYTES_H

#include "formats/base/text.h"

#include <stdint.h>

#define NUMBER_MOST 10 /* bytes of a number: 64 bits, 7 to the byte */

struct bytes {
    unsigned char *at;
    size_t size, room;
};

/* Where the next `size` bytes are to be written, which are not counted yet. */
unsigned char *bytes_reserve(struct bytes *to, size_t size);
void put_bytes(struct bytes *to, const void *bytes, size_t size);
void put_u32(struct bytes *to, uint32_t value); /* four bytes, little-endian */
void put_number(struct bytes *to, uint64_t value);
void put_signed(struct bytes *to, int64_t value);
void put_text(struct bytes *to, struct text text);
void bytes_free(struct bytes *bytes);

/* The number that a signed is told by, small ones of either sign by small ones; and back. */
static inline uint64_t signed_to_number(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t number_to_signed(uint64_t number)
{
    return (int64_t)(number >> 1 ^ (number & 1 ? UINT64_MAX : 0));
}

/* Bytes that a number takes. */
static inline size_t number_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

/* Writes a number to where there is room for it, and returns where it ends. */
static inline unsigned char *number_write(unsigned char *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (unsigned char)(value | 0x80);
    *to++ = (unsigned char)value;
    return to;
}

struct cursor {
    const unsigned char *at, *end;
    bool bad;
};

static inline struct cursor cursor_of(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    return (struct cursor){ .at = at, .end = size ? at + size : at }; /* of nothing there may be no address */
}

static inline size_t cursor_left(const struct cursor *from)
{
    return (size_t)(from->end - from->at);
}

uint32_t take_u32(struct cursor *from);
/* For take_number(): one of any length. */
uint64_t take_long_number(struct cursor *from);

/* Most numbers are a byte long. */
static inline uint64_t take_number(struct cursor *from)
{
    return from->at < from->end && *from->at < 0x80 ? *from->at++ : take_long_number(from);
}

/* The same where numbers of one byte and of two take turns, and nobody can tell which comes next. */
static inline uint64_t take_either_number(struct cursor *from)
{
    if (cursor_left(from) < 2)
        return take_number(from);
    const uint64_t low = from->at[0], high = from->at[1], two = low >> 7;
    if ((two & high >> 7) != 0)
        return take_long_number(from);
    from->at += 1 + two;
    return (low & 0x7F) | (high << 7 & -two);
}

int64_t take_signed(struct cursor *from);
/* A number that must fit 32 bits. */
uint32_t take_number32(struct cursor *from);
/* A text that must be valid UTF-8; it points into what the cursor reads. */
struct text take_text(struct cursor *from);
/* The next `size` bytes as a cursor of their own. */
struct cursor take_part(struct cursor *from, uint64_t size);

#endif
