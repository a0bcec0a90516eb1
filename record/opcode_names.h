/* SPDX-License-Identifier: MIT */
/* What each version calls its instructions, and which one each is a form of. The interpreter replaces an instruction
 * by a form of it that is made for what comes by there (LOAD_ATTR by LOAD_ATTR_SLOT), and back; sys.monitoring by one
 * that tells of it (INSTRUMENTED_CALL). All forms of one have its base and its place in the code.
 *
 * INSTRUMENTED_LINE, INSTRUMENTED_INSTRUCTION and ENTER_EXECUTOR (OPCODE_HIDES) stand in the place of any instruction:
 * which one that is only who saw it before can tell. */
#ifndef PYREEL_RECORD_OPCODE_NAMES_H
#define PYREEL_RECORD_OPCODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct opcode_name {
    const char *name; /* NULL: no instruction */
    uint8_t base;     /* opcode of what it is a form of; its own when of none */
};

/* 256 of them, by opcode; `minor` is that of a supported version. */
const struct opcode_name *opcode_names_of(unsigned minor);

/* The instruction to which a two-byte unit of code belongs. */
struct instruction {
    uint8_t base;   /* 0: not known */
    uint8_t before; /* so many units before this one it begins */
};

/* Tells of each unit; what cannot be told is left as it is. `opcodes` are those of the same version. */
void opcode_names_mark(const struct opcode_name *names, const uint16_t *opcodes, const unsigned char *instructions,
                       size_t units, struct instruction *marks);

/* Whether an opcode can have come to stand where an instruction of this base was. */
bool opcode_names_fit(const struct opcode_name *names, const uint16_t *opcodes, uint8_t opcode, uint8_t base);

#endif
