/* SPDX-License-Identifier: MIT */
#include "formats/base/utf8.h"

#include "formats/base/alloc.h"

#include <string.h>

#define REPLACEMENT 0xFFFDu

/* The length of the well-formed sequence at `bytes`; 0 when the bytes begin with none. */
static size_t sequence_length(const unsigned char *bytes, size_t left)
{
    /* The first byte of a sequence determines the length and the smallest code point that may have this length. */
    static const struct {
        unsigned char mask, value;
        size_t length;
        uint32_t least;
    } forms[] = {
        { 0x80, 0x00, 1, 0x1 },
        { 0xE0, 0xC0, 2, 0x80 },
        { 0xF0, 0xE0, 3, 0x800 },
        { 0xF8, 0xF0, 4, 0x10000 },
    };
    for (size_t f = 0; f < countof(forms); f++) {
        if ((bytes[0] & forms[f].mask) != forms[f].value)
            continue;
        if (forms[f].length > left)
            return 0;
        uint32_t code_point = bytes[0] & (unsigned char)~forms[f].mask;
        for (size_t i = 1; i < forms[f].length; i++) {
            if ((bytes[i] & 0xC0) != 0x80)
                return 0;
            code_point = code_point << 6 | (bytes[i] & 0x3F);
        }
        const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
        return code_point < forms[f].least || code_point > 0x10FFFF || surrogate ? 0 : forms[f].length;
    }
    return 0;
}

bool utf8_valid(const char *bytes, size_t size)
{
    const unsigned char *at = (const unsigned char *)bytes;
    while (size > 0) {
        const size_t length = sequence_length(at, size);
        if (length == 0)
            return false;
        at += length;
        size -= length;
    }
    return true;
}

static size_t put_escaped(char *to, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    const char escaped[] = { '\\', 'x', digits[byte >> 4], digits[byte & 15] };
    memcpy(to, escaped, sizeof(escaped));
    return sizeof(escaped);
}

size_t utf8_put(char *to, uint32_t code_point)
{
    /* Python's "surrogateescape" stores the undecodable byte NN of a name as U+DCNN. */
    if (code_point >= 0xDC80 && code_point <= 0xDCFF)
        return put_escaped(to, (unsigned char)(code_point & 0xFF));
    if (code_point == 0 || code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000))
        code_point = REPLACEMENT;
    if (code_point < 0x80) {
        to[0] = (char)code_point;
        return 1;
    }
    const size_t length = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    to[0] = (char)((0xF00u >> length & 0xF0) | code_point);
    return length;
}

struct text utf8_clean(struct text bytes)
{
    char *clean = alloc_zeroed(bytes.size * 4 + 1, 1);
    size_t used = 0;
    for (size_t i = 0; i < bytes.size;) {
        const size_t length = sequence_length((const unsigned char *)bytes.bytes + i, bytes.size - i);
        if (length == 0) {
            used += put_escaped(clean + used, (unsigned char)bytes.bytes[i]);
            i++;
            continue;
        }
        memcpy(clean + used, bytes.bytes + i, length);
        used += length;
        i += length;
    }
    return (struct text){ clean, used };
}

void utf8_print(FILE *to, struct text text)
{
    const bool valid = utf8_valid(text.bytes, text.size);
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char c = (unsigned char)text.bytes[i];
        const bool second_set = valid && c == 0xC2 && (unsigned char)text.bytes[i + 1] < 0xA0; /* C1: two bytes */
        fputc(c < ' ' || c == 0x7F || second_set || (c > 0x7F && !valid) ? '?' : c, to);
        i += second_set;
    }
}
