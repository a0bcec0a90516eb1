/* SPDX-License-Identifier: MIT */
/* Part of code.c: what it shares with the reading of code objects. */
#ifndef PYREEL_RECORD_PYTHON_CODE_INTERNAL_H
#define PYREEL_RECORD_PYTHON_CODE_INTERNAL_H

#include "record/python/code.h"

#define IDENTITY_PIECES 3 /* the most that an identity is read in */

/* code_read.c: reads code objects of which no more than the address, the copy and the interpreter are known, and fills
 * them in; *read says for each whether it could be. Some may be left out that the first one would not be: for their
 * size. */
void code_read(struct codes *codes, struct code *const *which, bool *read, size_t count);

/* The pieces that tell this code object from any other that may come to its address; the first one lies in its head.
 * Returns how many. */
size_t code_identity_pieces(const struct codes *codes, const struct code *code, unsigned char *into,
                            struct piece *pieces);

#endif
