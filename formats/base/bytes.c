/* SPDX-License-Identifier: MIT */
#include "formats/base/bytes.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned char *bytes_reserve(struct bytes *to, size_t size)
{
    if (to->room - to->size < size)
        to->at = alloc_grow(to->at, &to->room, to->size + size, 1);
    return to->at + to->size;
}

void put_bytes(struct bytes *to, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    memcpy(bytes_reserve(to, size), bytes, size);
    to->size += size;
}

void put_format(struct bytes *to, const char *format, ...)
{
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    const int size = vsnprintf(NULL, 0, format, values);
    va_end(values);
    if (size > 0) {
        vsnprintf((char *)bytes_reserve(to, (size_t)size + 1), (size_t)size + 1, format, again);
        to->size += (size_t)size;
    }
    va_end(again);
}

void put_u32(struct bytes *to, uint32_t value)
{
    unsigned char *at = bytes_reserve(to, 4);
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
    to->size += 4;
}

void put_number(struct bytes *to, uint64_t value)
{
    to->size = (size_t)(number_write(bytes_reserve(to, NUMBER_MOST), value) - to->at);
}

/* Signed numbers near 0 become small numbers: 0, -1, 1, -2, ... are 0, 1, 2, 3, ... */
void put_signed(struct bytes *to, int64_t value)
{
    put_number(to, signed_to_number(value));
}

void put_text(struct bytes *to, struct text text)
{
    put_number(to, text.size);
    put_bytes(to, text.bytes, text.size);
}

void bytes_free(struct bytes *bytes)
{
    free(bytes->at);
    *bytes = (struct bytes){ 0 };
}

uint32_t take_u32(struct cursor *from)
{
    const struct cursor part = take_part(from, 4);
    if (part.bad)
        return 0;
    return (uint32_t)part.at[0] | (uint32_t)part.at[1] << 8 | (uint32_t)part.at[2] << 16 | (uint32_t)part.at[3] << 24;
}

uint64_t take_long_number(struct cursor *from)
{
    uint64_t value = 0;
    for (unsigned shift = 0; from->at < from->end && shift < 7 * NUMBER_MOST; shift += 7) {
        const unsigned char byte = *from->at++;
        if (shift == 63 && byte > 1)
            break; /* more than 64 bits */
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    from->bad = true;
    from->at = from->end;
    return 0;
}

int64_t take_signed(struct cursor *from)
{
    return number_to_signed(take_number(from));
}

uint32_t take_number32(struct cursor *from)
{
    const uint64_t value = take_number(from);
    if (value <= UINT32_MAX)
        return (uint32_t)value;
    from->bad = true;
    from->at = from->end;
    return 0;
}

struct cursor take_part(struct cursor *from, uint64_t size)
{
    if (from->bad || size > cursor_left(from)) {
        from->bad = true;
        from->at = from->end;
        return (struct cursor){ .at = from->end, .end = from->end, .bad = true };
    }
    const struct cursor part = cursor_of(from->at, (size_t)size);
    from->at += size;
    return part;
}

struct text take_text(struct cursor *from)
{
    const struct cursor part = take_part(from, take_number(from));
    const struct text text = { (const char *)part.at, cursor_left(&part) };
    if (utf8_valid(text.bytes, text.size))
        return text;
    from->bad = true;
    from->at = from->end;
    return (struct text){ 0 };
}
