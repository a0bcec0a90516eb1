/* SPDX-License-Identifier: MIT */
#include "record/python/opcode_effects.h"

#include <stdbool.h>
#include <string.h>

void opcode_effects_write(const uint16_t *opcodes, const unsigned char *instructions, size_t units, uint8_t *kinds)
{
    for (size_t at = 0; at < units;) {
        const uint16_t kind = opcodes[instructions[at * 2]];
        /* From here on it is not known where an instruction begins: each unit may have any effect. */
        if (kind & OPCODE_HIDES) {
            memset(kinds + at, (OPCODE_CALLS | OPCODE_DRIVES | OPCODE_RESUMES | OPCODE_HIDES) >> OPCODE_SHIFT,
                   units - at);
            return;
        }
        const bool calls = kind & OPCODE_SUBSCRIPTS && instructions[at * 2 + 1] == OPCODE_SUBSCRIPT_ARGUMENT;
        for (size_t i = 0; i <= (kind & OPCODE_CACHES) && at < units; i++)
            kinds[at++] = (uint8_t)((calls ? kind | OPCODE_CALLS : kind) >> OPCODE_SHIFT);
    }
}
