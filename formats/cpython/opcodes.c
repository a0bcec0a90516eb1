/* SPDX-License-Identifier: MIT */
#include "formats/cpython/opcodes.h"

#include "formats/base/alloc.h"
#include "formats/cpython/opcode_table.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_known(unsigned minor)
{
    return minor >= FIRST_MINOR && minor < FIRST_MINOR + VERSIONS;
}

const struct opcode_name *opcodes_names_of(unsigned minor)
{
    static struct opcode_name of[VERSIONS][256];
    if (!is_known(minor))
        return NULL;
    const unsigned version = minor - FIRST_MINOR;
    const struct opcode_row *base = opcode_rows;
    for (const struct opcode_row *row = opcode_rows; row < opcode_rows + countof(opcode_rows); row++) {
        base = row->is == BASE ? row : base;
        const uint8_t number = row->numbers[version];
        if (number)
            of[version][number] = (struct opcode_name){ row->name, base->numbers[version] };
    }
    return of[version];
}

const uint16_t *opcodes_effects_of(unsigned minor)
{
    static uint16_t of[VERSIONS][256];
    if (!is_known(minor))
        return NULL;
    const unsigned version = minor - FIRST_MINOR;
    const struct opcode_row *base = opcode_rows;
    for (const struct opcode_row *row = opcode_rows; row < opcode_rows + countof(opcode_rows); row++) {
        base = row->is == BASE ? row : base;
        const uint8_t number = row->numbers[version];
        if (number)
            of[version][number] = base->effects[version];
    }
    return of[version];
}
