/* SPDX-License-Identifier: MIT */
#include "record/code_parts.h"

#include "formats/alloc.h"
#include "record/linetable.h"

#include <stdlib.h>
#include <string.h>

#define LOOKED_AT 64 /* instructions before a call that take something by its name */
#define COMPARED  8  /* of them that take it by the name of the function, and whose lines are looked at */

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
    size_t room = 0;
    uint32_t argument = 0;
    for (uint32_t at = 0; at < code->units; at += 1 + (l->opcodes[instructions[at * 2]] & OPCODE_CACHES)) {
        const uint8_t opcode = instructions[at * 2];
        const char *base = l->opcode_names[l->opcode_names[opcode].base].name;
        if (l->opcodes[opcode] & OPCODE_HIDES || !base)
            return; /* what it hides is not known, nor where the next one begins */
        argument = argument << 8 | instructions[at * 2 + 1];
        if (strcmp(base, "EXTENDED_ARG") == 0)
            continue;
        const int bits = bits_before_name(base, is_311);
        if (bits >= 0 && argument >> bits < count) {
            code->loads = alloc_grow(code->loads, &room, code->loads_count + 1, sizeof(*code->loads));
            code->loads[code->loads_count++] = (struct load){ word_at(items, (argument >> bits) * 8), at };
        }
        argument = 0;
    }
}

static uint32_t line_of(const struct code *code, uint32_t unit)
{
    struct place place;
    return linetable_find(code->line_table, code->line_table_size, code->first_line, unit, &place) ? place.line : 0;
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

bool code_names(const struct code *caller, uint64_t instruction, const struct code *callee)
{
    const uint64_t unit = (instruction - caller->first) / 2;
    if (unit >= caller->units)
        return false;
    uint32_t line = 0, compared = 0;
    const size_t before = loads_before(caller, unit + 1);
    for (size_t i = before; i > 0 && before - i < LOOKED_AT && compared < COMPARED; i--) {
        if (caller->loads[i - 1].name != callee->short_name)
            continue;
        line = line ? line : line_of(caller, (uint32_t)unit);
        if (line && line == line_of(caller, caller->loads[i - 1].unit))
            return true;
        compared++;
    }
    return false;
}
