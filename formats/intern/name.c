/* SPDX-License-Identifier: MIT */
#include "formats/intern/name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MARK_SIZE 20 /* "...#" and 16 digits */
#define MARK_ROOM 24

uint64_t name_hash(uint64_t hash, struct text more)
{
    for (size_t i = 0; i < more.size; i++)
        hash = (hash ^ (unsigned char)more.bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

struct text name_marked(struct text name, uint64_t hash, char *room, size_t limit)
{
    size_t size = limit - MARK_ROOM;
    while (size > 0 && ((unsigned char)name.bytes[size] & 0xC0) == 0x80)
        size--; /* no character is cut in two */
    memcpy(room, name.bytes, size);
    char mark[MARK_ROOM];
    snprintf(mark, sizeof(mark), "...#%016" PRIx64, hash);
    memcpy(room + size, mark, MARK_SIZE);
    return (struct text){ room, size + MARK_SIZE };
}

struct text name_cut(struct text name, char *room, size_t limit)
{
    return name.size <= limit ? name : name_marked(name, name_hash(NAME_HASH_START, name), room, limit);
}
