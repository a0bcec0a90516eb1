/* SPDX-License-Identifier: MIT */
#include "record/python/opcode_bases.h"

void opcode_bases_make(const struct opcode_name *names, const unsigned char *instructions, size_t units,
                       struct instruction *into)
{
    for (size_t at = 0; at < units;) {
        const struct opcode_name *is = &names[instructions[at * 2]];
        /* An instruction that hides another one has an unknown number of caches, so it is not known where the next
         * instruction begins. */
        if (is->hides || !is->name)
            return;
        const size_t first = at;
        for (size_t i = 0; i <= is->caches && at < units; i++, at++)
            into[at] = (struct instruction){ is->base, (uint8_t)(at - first) };
    }
}

bool opcode_bases_fit(const struct opcode_name *names, uint8_t opcode, uint8_t base)
{
    return base && names[opcode].name && (names[opcode].base == base || names[opcode].hides);
}
