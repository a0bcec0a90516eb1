/* SPDX-License-Identifier: MIT */
/* For each two-byte unit of a code object: the instruction that the unit belongs to, and whether an opcode can stand in
 * the place of that instruction. This holds while the code object lives: CPython specialises an instruction to another
 * form of the same base. */
#ifndef PYREEL_RECORD_PYTHON_OPCODE_BASES_H
#define PYREEL_RECORD_PYTHON_OPCODE_BASES_H

#include "formats/cpython/opcodes.h"

#include <stdbool.h>
#include <stddef.h>

/* The instruction to which a two-byte unit of code belongs. */
struct instruction {
    uint8_t base;   /* 0: not known */
    uint8_t before; /* so many units before this one it begins */
};

/* Tells of each unit; what cannot be told is left as it is. `opcodes` are those of the same version. */
void opcode_bases_make(const struct opcode_name *names, const uint16_t *opcodes, const unsigned char *instructions,
                       size_t units, struct instruction *into);

/* Whether an opcode can have come to stand where an instruction of this base was. */
bool opcode_bases_fit(const struct opcode_name *names, const uint16_t *opcodes, uint8_t opcode, uint8_t base);

#endif
