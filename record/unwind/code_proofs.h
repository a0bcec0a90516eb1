/* SPDX-License-Identifier: MIT */
/* Part of unwind.c: reads the identities of the code objects that a stack probably has with the call that reads the
 * stack, so that no further call has to confirm them (code.h). Only for versions whose interpreters do not count the
 * code objects that they free: 3.11 to 3.13. */
#ifndef PYREEL_RECORD_UNWIND_CODE_PROOFS_H
#define PYREEL_RECORD_UNWIND_CODE_PROOFS_H

#include "record/python/code.h"
#include "record/unwind/walk.h"

#define CODE_PROOFS 32 /* the most code objects per call */

/* `= {0}` has no proofs. */
struct code_proofs {
    struct code_proof {
        const struct code *code;
        size_t end; /* index in the batch behind the last piece of the identity */
        unsigned char identity[CODE_IDENTITY];
    } rows[CODE_PROOFS];
    size_t count;
    size_t good;    /* pieces of the batch that the call has read */
    uint64_t epoch; /* codes->epoch for which the pointers are valid */
};

/* Begins a batch. */
void code_proofs_begin(struct code_proofs *proofs, const struct codes *codes);

/* Adds the identities of the code objects of a thread's last stack, from the leaf on, as many as there is room for. */
void code_proofs_plan(struct code_proofs *proofs, const struct codes *codes, const struct walk *walk,
                      struct batch *batch);

/* Whether the call has read the identity of this code object, and found it unchanged. */
bool code_proofs_have(const struct code_proofs *proofs, const struct codes *codes, const struct code *code);

#endif
