/* SPDX-License-Identifier: MIT */
#include "record/python/unicode.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "record/process/remote.h"

/* struct PyASCIIObject.state, low bits first: interned, kind 3, compact 1, ascii 1. */
bool unicode_find(const struct layout *l, uint64_t length, uint32_t state, uint32_t limit,
                  struct characters *characters)
{
    const uint32_t bits = state >> l->string_kind;
    const bool compact = bits >> 3 & 1, ascii = bits >> 4 & 1;
    *characters = (struct characters){ .offset = ascii ? l->string_ascii : l->string_compact,
                                       .kind = bits & 7,
                                       .count = length < limit ? (uint32_t)length : limit,
                                       .cut = length > limit };
    const bool kind_known = characters->kind == 1 || characters->kind == 2 || characters->kind == 4;
    return compact && kind_known && length <= UINT32_MAX;
}

static uint32_t character(const unsigned char *at, uint32_t kind)
{
    if (kind == 1)
        return at[0];
    return kind == 2 ? (uint32_t)(at[0] | at[1] << 8) : half_word_at(at, 0);
}

struct text unicode_text(const struct characters *from, const unsigned char *raw)
{
    char *utf8 = alloc_zeroed((size_t)from->count * 6 + 8, 1);
    size_t size = 0;
    for (uint32_t i = 0; i < from->count; i++)
        size += utf8_put(utf8 + size, character(raw + (size_t)i * from->kind, from->kind));
    if (from->cut)
        size += utf8_put(utf8 + size, 0x2026); /* an ellipsis */
    return (struct text){ utf8, size };
}
