/* SPDX-License-Identifier: MIT */
#include "formats/cpython/opcodes.h"

#include "formats/base/alloc.h"
#include "formats/cpython/opcode_table.h"

#include <stddef.h>

/* The tables of one version, by opcode. */
struct by_opcode {
    struct opcode_name names[256];
    uint16_t effects[256];
};

/* Fills in the tables of a version, 3.`minor`. NULL: the version is not in the table. */
static const struct by_opcode *by_opcode(unsigned minor)
{
    static struct by_opcode of[VERSIONS];
    if (minor < FIRST_MINOR || minor >= FIRST_MINOR + VERSIONS)
        return NULL;
    const unsigned version = minor - FIRST_MINOR;
    const struct opcode_row *base = opcode_rows;
    for (const struct opcode_row *row = opcode_rows; row < opcode_rows + countof(opcode_rows); row++) {
        base = row->is == BASE ? row : base;
        const uint8_t number = row->numbers[version];
        if (!number)
            continue;
        of[version].names[number] = (struct opcode_name){ row->name, base->numbers[version] };
        of[version].effects[number] = base->effects[version];
    }
    return &of[version];
}

const struct opcode_name *opcodes_names_of(unsigned minor)
{
    const struct by_opcode *of = by_opcode(minor);
    return of ? of->names : NULL;
}

const uint16_t *opcodes_effects_of(unsigned minor)
{
    const struct by_opcode *of = by_opcode(minor);
    return of ? of->effects : NULL;
}
