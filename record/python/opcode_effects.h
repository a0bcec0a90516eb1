/* SPDX-License-Identifier: MIT */
/* What each instruction of a code object can do to the stack. A frame that called another stands at an instruction that
 * can call: if it does not, the copy is of two moments (see live/find.h). */
#ifndef PYREEL_RECORD_PYTHON_OPCODE_EFFECTS_H
#define PYREEL_RECORD_PYTHON_OPCODE_EFFECTS_H

#include "formats/cpython/opcodes.h"

#include <stddef.h>

#define OPCODE_SHIFT 4 /* effects are kept without the number of caches, in a byte */

/* Writes the effects of the instruction to which each of the `units` two-byte units belongs, shifted by OPCODE_SHIFT,
 * into `kinds`. `opcodes` are the effects by opcode. */
void opcode_effects_write(const uint16_t *opcodes, const unsigned char *instructions, size_t units, uint8_t *kinds);

#endif
