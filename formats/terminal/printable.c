/* SPDX-License-Identifier: MIT */
#include "formats/terminal/printable.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <stdio.h>

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

static bool is_hidden(uint32_t code_point)
{
    for (size_t i = 0; i < countof(hidden); i++)
        if (code_point >= hidden[i].first && code_point <= hidden[i].last)
            return true;
    return (code_point & 0xFFFE) == 0xFFFE; /* no character at all */
}

static uint32_t decode(const unsigned char *bytes, size_t size)
{
    static const unsigned char masks[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
    uint32_t code_point = bytes[0] & masks[size];
    for (size_t i = 1; i < size; i++)
        code_point = code_point << 6 | (bytes[i] & 0x3F);
    return code_point;
}

uint32_t printable_next(struct text text, size_t *size)
{
    for (*size = 1; *size <= 4 && *size <= text.size; ++*size)
        if (utf8_valid(text.bytes, *size) || (*size == 1 && text.bytes[0] == '\0'))
            return decode((const unsigned char *)text.bytes, *size);
    *size = 1;
    return UINT32_MAX;
}

static void put_escape(struct bytes *to, uint32_t code_point, unsigned char byte)
{
    char escape[16];
    int size;
    if (code_point == UINT32_MAX)
        size = snprintf(escape, sizeof(escape), "\\x%02x", byte);
    else if (code_point < 0x100)
        size = snprintf(escape, sizeof(escape), "\\x%02x", code_point);
    else
        size = snprintf(escape, sizeof(escape), code_point < 0x10000 ? "\\u%04x" : "\\U%08x", code_point);
    put_bytes(to, escape, (size_t)size);
}

void put_printable(struct bytes *to, struct text text, bool ascii)
{
    while (text.size > 0) {
        size_t size;
        const uint32_t code_point = printable_next(text, &size);
        if (code_point == UINT32_MAX || is_hidden(code_point) || (ascii && code_point > 0x7E))
            put_escape(to, code_point, (unsigned char)text.bytes[0]);
        else
            put_bytes(to, text.bytes, size);
        text = (struct text){ text.bytes + size, text.size - size };
    }
}

void printable_write(struct output *to, struct text text)
{
    struct bytes printable = { 0 };
    put_printable(&printable, text, false);
    output_bytes(to, printable.at, printable.size);
    bytes_free(&printable);
}
