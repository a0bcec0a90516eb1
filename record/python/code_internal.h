/* SPDX-License-Identifier: MIT */
/* What code.c and code_read.c share. */
#ifndef PYREEL_RECORD_PYTHON_CODE_INTERNAL_H
#define PYREEL_RECORD_PYTHON_CODE_INTERNAL_H

#include "record/python/code.h"

#define IDENTITY_PIECES 3 /* the most pieces that an identity consists of */

/* Reads `count` code objects, of which address, copy and interpreter are set, and fills in the rest. read[i]: the code
 * object was readable. All but the first may also be left out because of their size. */
void code_read(struct codes *codes, struct code *const *which, bool *read, size_t count);

/* Fills in `pieces` (room for IDENTITY_PIECES) to read the identity of a code object into `into` (CODE_IDENTITY bytes).
 * The first piece lies in the code object's head. Returns the number of pieces. */
size_t code_identity_pieces(const struct codes *codes, const struct code *code, unsigned char *into,
                            struct piece *pieces);

#endif
