/* SPDX-License-Identifier: MIT */
/* Writing and reading bytes. `struct bytes` is a buffer that grows at its end. A cursor reads bytes from the front. At
 * the end of the bytes, or at a number that is too large, the cursor turns bad, stays bad and gives zeros, so a caller
 * checks `bad` once per record. The bytes under a cursor are not trusted. Section 1 of schemas/stream.md describes the
 * coding of numbers. */
#ifndef PYREEL_FORMATS_BASE_BYTES_H
#define PYREEL_FORMATS_BASE_BYTES_H

#include "formats/base/text.h"

#include <stdint.h>
#include <string.h>

#define NUMBER_MOST 10 /* the longest number in bytes: 64 bits, 7 bits per byte */

struct bytes {
    unsigned char *at;
    size_t size, room;
};

/* Makes room for `size` more bytes and returns the address behind the last byte. The caller fills the room and adds the
 * number of filled bytes to to->size. */
unsigned char *bytes_reserve(struct bytes *to, size_t size);

/* Appends `size` bytes. */
void put_bytes(struct bytes *to, const void *bytes, size_t size);

/* Appends a string without its end. */
static inline void put_string(struct bytes *to, const char *string)
{
    put_bytes(to, string, strlen(string));
}

/* Appends what printf() would print. */
__attribute__((format(printf, 2, 3))) void put_format(struct bytes *to, const char *format, ...);

/* The bytes as a text; valid until the next byte is appended. */
static inline struct text bytes_text(const struct bytes *bytes)
{
    return (struct text){ (const char *)bytes->at, bytes->size };
}

/* Appends four bytes, little-endian. */
void put_u32(struct bytes *to, uint32_t value);

/* Appends a number: 7 bits per byte, the lowest first. */
void put_number(struct bytes *to, uint64_t value);

/* Appends a signed number, coded by signed_to_number(). */
void put_signed(struct bytes *to, int64_t value);

/* Appends the size of a text, as a number, and its bytes. */
void put_text(struct bytes *to, struct text text);

/* Frees the buffer and makes it empty. */
void bytes_free(struct bytes *bytes);

/* Codes a signed number as an unsigned one, so that numbers near 0 stay small: 0, -1, 1, -2 become 0, 1, 2, 3.
 * number_to_signed() is the inverse. */
static inline uint64_t signed_to_number(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t number_to_signed(uint64_t number)
{
    return (int64_t)(number >> 1 ^ (number & 1 ? UINT64_MAX : 0));
}

/* The size of a coded number in bytes. */
static inline size_t number_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

/* Writes a coded number at `to`, which has room for NUMBER_MOST bytes. Returns the address behind the number. */
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

/* A cursor at the first of `size` bytes. The bytes must live as long as the cursor is used. */
static inline struct cursor cursor_of(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    return (struct cursor){ .at = at, .end = size ? at + size : at }; /* a NULL address may come with size 0 */
}

/* The number of bytes that are not taken yet. */
static inline size_t cursor_left(const struct cursor *from)
{
    return (size_t)(from->end - from->at);
}

/* Takes four bytes, little-endian. */
uint32_t take_u32(struct cursor *from);
/* The part of take_number() that takes a number of any length. */
uint64_t take_long_number(struct cursor *from);

/* Takes a number. Inline, because most numbers are one byte long. */
static inline uint64_t take_number(struct cursor *from)
{
    return from->at < from->end && *from->at < 0x80 ? *from->at++ : take_long_number(from);
}

/* Takes a number without a branch on its length of one or two bytes. Faster than take_number() where short and long
 * numbers mix at random. */
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

/* Takes a signed number, coded by signed_to_number(). */
int64_t take_signed(struct cursor *from);
/* Takes a number. A number above UINT32_MAX turns the cursor bad. */
uint32_t take_number32(struct cursor *from);
/* Takes a text. A text that is not valid UTF-8 turns the cursor bad. The text points into the bytes under the cursor.
 */
struct text take_text(struct cursor *from);
/* Takes the next `size` bytes as a cursor of their own. */
struct cursor take_part(struct cursor *from, uint64_t size);

#endif
