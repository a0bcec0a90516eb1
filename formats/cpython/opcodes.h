/* SPDX-License-Identifier: MIT */
/* The instructions of each version of CPython: their names, and the instruction that each is a form of. opcode_table.h
 * has all of it: tests/tools/make-opcodes writes that file.
 *
 * The interpreter replaces an instruction by a form of it that is made for the values it meets (LOAD_ATTR by
 * LOAD_ATTR_SLOT), and back; sys.monitoring replaces an instruction by a form that reports it (INSTRUMENTED_CALL). All
 * forms have the base, the place in the code and the caches of the instruction that they replace.
 *
 * INSTRUMENTED_LINE, INSTRUMENTED_INSTRUCTION and ENTER_EXECUTOR replace any instruction: only a reader who saw the
 * code before knows which. */
#ifndef PYREEL_FORMATS_CPYTHON_OPCODES_H
#define PYREEL_FORMATS_CPYTHON_OPCODES_H

#include <stdbool.h>
#include <stdint.h>

struct opcode_name {
    const char *name; /* NULL: no instruction */
    uint8_t base;     /* opcode of the instruction that this one is a form of; its own opcode when it is no form */
    uint8_t caches;   /* units behind it that belong to it */
    bool hides;       /* replaces any instruction, which is kept elsewhere: while tracing, say */
};

/* 256 instructions, by opcode. NULL when 3.`minor` is not a version that we know. */
const struct opcode_name *opcodes_names_of(unsigned minor);

#endif
