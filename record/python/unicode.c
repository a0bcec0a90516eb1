/* SPDX-License-Identifier: MIT */
#include "record/python/unicode.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "formats/intern/name.h"
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
                                       .cut = length > limit,
                                       .length = length };
    const bool kind_known = characters->kind == 1 || characters->kind == 2 || characters->kind == 4;
    return compact && kind_known && length <= UINT32_MAX;
}

static uint32_t character(const unsigned char *at, uint32_t kind)
{
    if (kind == 1)
        return at[0];
    return kind == 2 ? (uint32_t)(at[0] | at[1] << 8) : half_word_at(at, 0);
}

static struct text characters_convert(const struct characters *from, const unsigned char *raw, bool ellipsis)
{
    char *utf8 = alloc_zeroed((size_t)from->count * 6 + 8, 1);
    size_t size = 0;
    for (uint32_t i = 0; i < from->count; i++)
        size += utf8_put(utf8 + size, character(raw + (size_t)i * from->kind, from->kind));
    if (ellipsis)
        size += utf8_put(utf8 + size, 0x2026);
    return (struct text){ utf8, size };
}

struct text unicode_text(const struct characters *from, const unsigned char *raw)
{
    return characters_convert(from, raw, from->cut);
}

static uint64_t characters_hash(const struct characters *from, struct text start, const unsigned char *end)
{
    const uint64_t hash = name_hash(NAME_HASH_START, start);
    if (!from->cut)
        return hash;
    const struct text rest = characters_convert(from, end, false);
    const uint64_t whole = name_hash(name_hash(hash, rest), (struct text){ (const char *)&from->length, 8 });
    text_free(rest);
    return whole;
}

struct text unicode_name(const struct characters *from, const unsigned char *raw, const unsigned char *end)
{
    const struct text start = characters_convert(from, raw, false);
    if (!from->cut && start.size <= NAME_LIMIT)
        return start;
    char room[NAME_LIMIT];
    const struct text name = text_copy(name_marked(start, characters_hash(from, start, end), room, sizeof(room)));
    text_free(start);
    return name;
}
