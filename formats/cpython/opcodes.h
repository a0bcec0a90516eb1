/* SPDX-License-Identifier: MIT */
/* The instructions of each version of CPython: their names, the instruction that each is a form of, and its effects on
 * the stack. opcode_table.h has all of it: tests/tools/make-opcodes writes that file.
 *
 * The interpreter replaces an instruction by a form of it that is made for the values it meets (LOAD_ATTR by
 * LOAD_ATTR_SLOT), and back; sys.monitoring replaces an instruction by a form that reports it (INSTRUMENTED_CALL). All
 * forms have the base, the place in the code, the caches and the effects of the instruction that they replace.
 *
 * INSTRUMENTED_LINE, INSTRUMENTED_INSTRUCTION and ENTER_EXECUTOR replace any instruction: only a reader who saw the
 * code before knows which. */
#ifndef PYREEL_FORMATS_CPYTHON_OPCODES_H
#define PYREEL_FORMATS_CPYTHON_OPCODES_H

#include <stdint.h>

struct opcode_name {
    const char *name; /* NULL: no instruction */
    uint8_t base;     /* opcode of the instruction that this one is a form of; its own opcode when it is no form */
};

/* The effects of an instruction, a mask. */
enum {
    OPCODE_CACHES = 0x0f,  /* units behind it that belong to it */
    OPCODE_CALLS = 0x10,   /* can be followed by the frame of a Python function, without C between them */
    OPCODE_DRIVES = 0x20,  /* can go on with a generator or coroutine, itself or through C */
    OPCODE_HIDES = 0x40,   /* replaces any instruction, which is kept elsewhere: while tracing, say */
    OPCODE_RESUMES = 0x80, /* can be followed by the frame of a generator or coroutine, without C between them */
    OPCODE_RETURNS = 0x100,
    OPCODE_SUBSCRIPTS = 0x200, /* calls when its argument is OPCODE_SUBSCRIPT_ARGUMENT */
};

#define OPCODE_SUBSCRIPT_ARGUMENT 26 /* NB_SUBSCR: BINARY_OP is a subscript, and may call __getitem__ */

/* 256 names and 256 masks, by opcode. NULL when 3.`minor` is not a version that we know. */
const struct opcode_name *opcodes_names_of(unsigned minor);
const uint16_t *opcodes_effects_of(unsigned minor);

#endif
