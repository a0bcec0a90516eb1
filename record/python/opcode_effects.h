/* SPDX-License-Identifier: MIT */
/* What an instruction can do to the stack, by the version's opcodes. A frame that called another stands at an
 * instruction that can call: if it does not, the copy is of two moments (see live/find.h). */
#ifndef PYREEL_RECORD_PYTHON_OPCODE_EFFECTS_H
#define PYREEL_RECORD_PYTHON_OPCODE_EFFECTS_H

#include <stddef.h>
#include <stdint.h>

enum {
    OPCODE_CACHES = 0x0f,  /* units behind it that belong to it */
    OPCODE_CALLS = 0x10,   /* can be followed by the frame of a Python function, without C between them */
    OPCODE_DRIVES = 0x20,  /* can go on with a generator or coroutine, itself or through C */
    OPCODE_HIDES = 0x40,   /* stands in the place of another one, which is kept elsewhere: while tracing, say */
    OPCODE_RESUMES = 0x80, /* can be followed by the frame of a generator or coroutine, without C between them */
    OPCODE_RETURNS = 0x100,
    OPCODE_SUBSCRIPTS = 0x200, /* calls when its argument says that it is a subscript */
    OPCODE_SHIFT = 4,          /* what is marked has no caches */
};

/* 256 such masks, by opcode; `minor` is that of a supported version. */
const uint16_t *opcode_effects_of(unsigned minor);

/* Writes what the instruction is, to which each of the `units` two-byte units belongs, shifted by OPCODE_SHIFT, into
 * `kinds`. */
void opcode_effects_mark(const uint16_t *opcodes, const unsigned char *instructions, size_t units, uint8_t *kinds);

#endif
