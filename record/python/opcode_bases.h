/* SPDX-License-Identifier: MIT */
/* Finds the instruction to which each two-byte unit of a code object belongs, and checks whether an opcode can replace
 * that instruction. CPython specialises an instruction to another form of the same base, so the base stays the same
 * while the code object lives. */
#ifndef PYREEL_RECORD_PYTHON_OPCODE_BASES_H
#define PYREEL_RECORD_PYTHON_OPCODE_BASES_H

#include "formats/cpython/opcodes.h"

#include <stdbool.h>
#include <stddef.h>

/* The instruction to which a two-byte unit of code belongs. */
struct instruction {
    uint8_t base;   /* 0: not known */
    uint8_t before; /* the instruction begins this many units before this one */
};

/* Fills in `into` for each of the `units` units; does not touch units whose instruction is not known. `names` is the
 * table of the target's version. */
void opcode_bases_make(const struct opcode_name *names, const unsigned char *instructions, size_t units,
                       struct instruction *into);

/* Whether an opcode can have replaced an instruction of this base. */
bool opcode_bases_fit(const struct opcode_name *names, uint8_t opcode, uint8_t base);

#endif
