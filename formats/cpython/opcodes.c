/* SPDX-License-Identifier: MIT */
#include "formats/cpython/opcodes.h"

#include "formats/base/alloc.h"
#include "formats/cpython/opcode_table.h"

#include <stddef.h>

const struct opcode_name *opcodes_names_of(unsigned minor)
{
    static struct opcode_name of[VERSIONS][256];
    if (minor < FIRST_MINOR || minor >= FIRST_MINOR + VERSIONS)
        return NULL;
    const unsigned version = minor - FIRST_MINOR;
    const struct opcode_row *base = opcode_rows;
    for (const struct opcode_row *row = opcode_rows; row < opcode_rows + countof(opcode_rows); row++) {
        base = row->is == FORM ? base : row;
        const uint8_t number = row->numbers[version];
        if (!number)
            continue;
        of[version][number] = (struct opcode_name){ row->name, base->numbers[version], base->caches[version],
                                                    base->is == HIDES };
    }
    return of[version];
}
