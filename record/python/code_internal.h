/* SPDX-License-Identifier: MIT */
/* What code.c and code_read.c share. */
#ifndef PYREEL_RECORD_PYTHON_CODE_INTERNAL_H
#define PYREEL_RECORD_PYTHON_CODE_INTERNAL_H

#include "record/python/code.h"

/* Reads `count` code objects, of which address, copy and interpreter are set, and fills in the rest. read[i]: the code
 * object was readable. All but the first may also be left out because of their size. */
void code_read(struct codes *codes, struct code *const *which, bool *read, size_t count);

#endif
