/* SPDX-License-Identifier: MIT */
#include "record/python/opcode_bases.h"

#include "record/python/opcode_effects.h"

void opcode_bases_make(const struct opcode_name *names, const uint16_t *opcodes, const unsigned char *instructions,
                       size_t units, struct instruction *into)
{
    for (size_t at = 0; at < units;) {
        const uint8_t opcode = instructions[at * 2];
        /* An instruction that hides another one (OPCODE_HIDES) has an unknown number of caches, so it is not known
         * where the next instruction begins. */
        if (opcodes[opcode] & OPCODE_HIDES || !names[opcode].name)
            return;
        const size_t first = at;
        for (size_t i = 0; i <= (opcodes[opcode] & OPCODE_CACHES) && at < units; i++, at++)
            into[at] = (struct instruction){ names[opcode].base, (uint8_t)(at - first) };
    }
}

bool opcode_bases_fit(const struct opcode_name *names, const uint16_t *opcodes, uint8_t opcode, uint8_t base)
{
    return base && names[opcode].name && (names[opcode].base == base || opcodes[opcode] & OPCODE_HIDES);
}
