/* SPDX-License-Identifier: MIT */
#include "record/code_parts.h"

#include "formats/alloc.h"
#include "record/linetable.h"

#include <stdlib.h>
#include <string.h>

#define LOADS_MOST 65536 /* of a code object that are remembered */
#define LOOKED_AT  64    /* before a call */

/* An instruction that takes something by its name: its argument, without so many of the low bits, is the place of the
 * name in co_names. Source: Python/bytecodes.c of each version. */
static const struct by_name {
    const char *instruction;
    uint8_t bits_311, bits;
} by_name[] = {
    { "LOAD_ATTR", 0, 1 }, { "LOAD_FROM_DICT_OR_GLOBALS", 0, 0 }, { "LOAD_GLOBAL", 1, 1 }, { "LOAD_METHOD", 0, 0 },
    { "LOAD_NAME", 0, 0 }, { "LOAD_SUPER_ATTR", 0, 2 },
};

/* -1: it is none of those. */
static int bits_before_name(const char *instruction, bool is_311)
{
    if (strncmp(instruction, "LOAD_", 5) != 0)
        return -1;
    for (size_t i = 0; i < countof(by_name); i++)
        if (strcmp(instruction, by_name[i].instruction) == 0)
            return is_311 ? by_name[i].bits_311 : by_name[i].bits;
    return -1;
}

void code_names_make(const struct layout *l, struct code *code, const unsigned char *instructions,
                     const unsigned char *items, size_t count)
{
    const bool is_311 = (l->version >> 16 & 0xff) == 11;
    struct linetable lines = linetable_open(code->line_table, code->line_table_size, code->first_line);
    size_t room = 0;
    uint32_t argument = 0;
    for (uint32_t at = 0; at < code->units; at += 1 + (l->opcodes[instructions[at * 2]] & OPCODE_CACHES)) {
        const uint8_t opcode = instructions[at * 2];
        if (l->opcodes[opcode] & OPCODE_HIDES || !l->opcode_names[opcode].name || code->loads_count == LOADS_MOST)
            break; /* what one hides is not known, nor where the next one begins */
        const char *base = l->opcode_names[l->opcode_names[opcode].base].name;
        argument = argument << 8 | instructions[at * 2 + 1];
        if (strcmp(base, "EXTENDED_ARG") == 0)
            continue;
        const int bits = bits_before_name(base, is_311);
        struct place place;
        if (bits >= 0 && argument >> bits < count && linetable_go(&lines, at, &place)) {
            code->loads = alloc_grow(code->loads, &room, code->loads_count + 1, sizeof(*code->loads));
            code->loads[code->loads_count++] = (struct load){ word_at(items, (argument >> bits) * 8), at, place.line };
        }
        argument = 0;
    }
    if (code->loads_count > 0)
        code->loads = alloc_resize(code->loads, code->loads_count, sizeof(*code->loads));
}

/* How many of the loads are before a unit. */
static size_t loads_before(const struct code *code, uint64_t unit)
{
    size_t low = 0, high = code->loads_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code->loads[middle].unit < unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool codes_names(const struct codes *codes, const struct code *caller, uint32_t frame, uint64_t instruction,
                 const struct code *callee)
{
    const uint64_t unit = (instruction - caller->first) / 2;
    const uint32_t line = codes->line_of[frame].line;
    if (unit >= caller->units || line == 0)
        return false;
    const size_t before = loads_before(caller, unit + 1);
    for (size_t i = before; i > 0 && before - i < LOOKED_AT; i--)
        if (caller->loads[i - 1].name == callee->short_name && caller->loads[i - 1].line == line)
            return true;
    return false;
}
