/* SPDX-License-Identifier: MIT */
/* Unwinds a copy of a C stack, from the registers of a thread that stood still, by rules (cfi.h).
 *
 *     low addresses                                                     high addresses
 *     sp                cfa = sp of the caller      cfa of the caller
 *     │ frame of f ... return address │ frame of g ... return address │ ...
 *
 * Nothing is guessed: where there is no rule, the stack ends with a reason. */
#ifndef PYREEL_RECORD_NATIVE_C_STACK_H
#define PYREEL_RECORD_NATIVE_C_STACK_H

#include "record/native/code_map.h"

/* The registers of a frame, as DWARF counts them. */
struct c_registers {
    uint64_t pc;
    uint64_t values[CFI_REGISTERS];
    uint32_t known;   /* bit n: register n is known */
    bool behind_call; /* pc is a return address; else that of an instruction that runs */
};

/* A copy of a part of a thread's stack. */
struct c_copy {
    uint64_t begin; /* address of the first byte */
    size_t size;
    const unsigned char *bytes;
};

struct c_frame {
    uint64_t sp, cfa;        /* the frame is [sp, cfa) */
    struct code_place *code; /* valid until the next code_map_refresh() */
};

enum c_end {
    C_ROOT,    /* the outermost frame was reached */
    C_NO_RULE, /* code without a rule, or with one that is not understood */
    C_CUT,     /* the copy ends before, or the stack is damaged */
    C_DEEP,    /* there is no room for more frames */
};

/* Unwinds from these registers. Fills in up to `room` frames, leaf first, up to the one that has the address `last` (0:
 * all). Returns why it ended. *stopped gets the registers of the last frame, unless it is NULL. */
enum c_end c_stack_unwind(struct code_map *map, const struct c_registers *from, const struct c_copy *copy,
                          uint64_t last, struct c_frame *frames, size_t room, size_t *count,
                          struct c_registers *stopped);

/* Reads a word of the copy. False: it is not in the copy. */
bool c_stack_word(const struct c_copy *copy, uint64_t address, uint64_t *word);

/* Sets *caller to the registers of the caller of a frame whose end is known. False: they are not in the copy. */
bool c_stack_caller(const struct cfi_rule *rule, uint64_t cfa, const struct c_copy *copy, struct c_registers *caller);

#endif
