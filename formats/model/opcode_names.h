/* SPDX-License-Identifier: MIT */
/* What each version calls its instructions, and which one each is a form of. The interpreter replaces an instruction
 * by a form of it that is made for what comes by there (LOAD_ATTR by LOAD_ATTR_SLOT), and back; sys.monitoring by one
 * that tells of it (INSTRUMENTED_CALL). All forms of one have its base and its place in the code.
 *
 * INSTRUMENTED_LINE, INSTRUMENTED_INSTRUCTION and ENTER_EXECUTOR stand in the place of any instruction:
 * which one that is only who saw it before can tell. */
#ifndef PYREEL_FORMATS_MODEL_OPCODE_NAMES_H
#define PYREEL_FORMATS_MODEL_OPCODE_NAMES_H

#include <stdint.h>

struct opcode_name {
    const char *name; /* NULL: no instruction */
    uint8_t base;     /* opcode of what it is a form of; its own when of none */
};

/* 256 of them, by opcode. NULL when 3.`minor` is not a version that we know. */
const struct opcode_name *opcode_names_of(unsigned minor);

#endif
