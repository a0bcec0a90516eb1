/* SPDX-License-Identifier: MIT */
/* The effects that each instruction of a code object can have on the stack. Example: a frame that called another one
 * must stand at an instruction that can call; if not, the copy mixes two moments (live/find.h). */
#ifndef PYREEL_RECORD_PYTHON_OPCODE_EFFECTS_H
#define PYREEL_RECORD_PYTHON_OPCODE_EFFECTS_H

#include "formats/cpython/opcodes.h"

#include <stddef.h>

#define OPCODE_SHIFT 4 /* effects are kept without the number of caches, in a byte */

/* Writes the effects of the instruction to which each of the `units` two-byte units belongs, shifted by OPCODE_SHIFT,
 * into `kinds`. `opcodes` are the effects by opcode. */
void opcode_effects_write(const uint16_t *opcodes, const unsigned char *instructions, size_t units, uint8_t *kinds);

#endif
