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

static size_t byte_put_escaped(char *to, unsigned char byte)
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
        return byte_put_escaped(to, (unsigned char)(code_point & 0xFF));
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
            used += byte_put_escaped(clean + used, (unsigned char)bytes.bytes[i]);
            i++;
            continue;
        }
        memcpy(clean + used, bytes.bytes + i, length);
        used += length;
        i += length;
    }
    return (struct text){ clean, used };
}

/* ---- text for people's eyes ---- */

/* Characters that show nothing, or change how the text around them is shown. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    { 0x00, 0x1F },                           /* C0 controls */
    { 0x7F, 0x9F },                           /* DEL, C1 controls */
    { 0xAD, 0xAD },                           /* soft hyphen */
    { 0x61C, 0x61C },                         /* Arabic letter mark */
    { 0x115F, 0x1160 },                       /* fillers that show nothing, here and below */
    { 0x180E, 0x180E },   { 0x200B, 0x200F }, /* zero-width characters, marks of direction */
    { 0x2028, 0x202E },                       /* ends of lines and paragraphs, embeddings and overrides of direction */
    { 0x2060, 0x206F },                       /* invisible operators, isolates of direction */
    { 0x3164, 0x3164 },   { 0xFEFF, 0xFEFF }, /* byte order mark */
    { 0xFFA0, 0xFFA0 },   { 0xFFF9, 0xFFFB }, /* annotations */
    { 0xE0000, 0xE0FFF },                     /* tags, and variants of characters */
};

bool utf8_is_hidden(uint32_t code_point)
{
    for (size_t i = 0; i < countof(hidden); i++)
        if (code_point >= hidden[i].first && code_point <= hidden[i].last)
            return true;
    return (code_point & 0xFFFE) == 0xFFFE; /* no character at all */
}

static uint32_t utf8_decode(const unsigned char *bytes, size_t size)
{
    static const unsigned char masks[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
    uint32_t code_point = bytes[0] & masks[size];
    for (size_t i = 1; i < size; i++)
        code_point = code_point << 6 | (bytes[i] & 0x3F);
    return code_point;
}

uint32_t utf8_next(struct text text, size_t *size)
{
    for (*size = 1; *size <= 4 && *size <= text.size; ++*size)
        if (utf8_valid(text.bytes, *size) || (*size == 1 && text.bytes[0] == '\0'))
            return utf8_decode((const unsigned char *)text.bytes, *size);
    *size = 1;
    return UINT32_MAX;
}

static size_t put_hidden(char *to, uint32_t code_point, unsigned char byte)
{
    if (code_point == UINT32_MAX || code_point < 0x100)
        return byte_put_escaped(to, code_point < 0x100 ? (unsigned char)code_point : byte);
    return (size_t)snprintf(to, UTF8_SHOWN, code_point < 0x10000 ? "\\u%04x" : "\\U%08x", code_point);
}

size_t utf8_show(struct text *text, bool ascii, char *to)
{
    size_t size;
    const char *at = text->bytes;
    const uint32_t code_point = utf8_next(*text, &size);
    *text = (struct text){ at + size, text->size - size };
    if (code_point == UINT32_MAX || utf8_is_hidden(code_point) || (ascii && code_point > 0x7E))
        return put_hidden(to, code_point, (unsigned char)*at);
    memcpy(to, at, size);
    return size;
}

void utf8_show_string(char *room, size_t room_size, const char *string)
{
    struct text left = { string, strlen(string) };
    char shown[UTF8_SHOWN];
    size_t used = 0;
    while (left.size > 0) {
        const size_t size = utf8_show(&left, false, shown);
        if (used + size >= room_size)
            break;
        memcpy(room + used, shown, size);
        used += size;
    }
    room[used] = '\0';
}

const char *utf8_shown(const char *string)
{
    static _Thread_local char rooms[8][4096];
    static _Thread_local unsigned latest;
    char *room = rooms[latest++ % countof(rooms)];
    utf8_show_string(room, sizeof(rooms[0]), string);
    return room;
}

void utf8_print(FILE *to, struct text text)
{
    char shown[UTF8_SHOWN];
    while (text.size > 0)
        fwrite(shown, 1, utf8_show(&text, false, shown), to);
}
