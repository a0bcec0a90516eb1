/* SPDX-License-Identifier: MIT */
#include "record/unwind/code_proofs.h"

#include <string.h>

#define PIECES_MOST 800 /* of a batch that still gets proofs: the witness has to have room, too */

void code_proofs_begin(struct code_proofs *proofs, const struct codes *codes)
{
    proofs->count = proofs->good = 0;
    proofs->epoch = codes->epoch;
}

/* The row of a code object; NULL: there is none. */
static const struct code_proof *proof_of(const struct code_proofs *proofs, const struct code *code)
{
    for (size_t i = 0; i < proofs->count; i++)
        if (proofs->rows[i].code == code)
            return &proofs->rows[i];
    return NULL;
}

void code_proofs_plan(struct code_proofs *proofs, const struct codes *codes, const struct walk *walk,
                      struct batch *batch)
{
    if (codes->layout->interpreter_code_generation || walk->epoch != codes->epoch)
        return;
    for (uint32_t i = walk->depth; i > 0 && proofs->count < CODE_PROOFS && batch->count < PIECES_MOST; i--) {
        const struct code *code = walk->links[i - 1].code;
        if (code->address == 0 || proof_of(proofs, code)) /* codes_gone() is no object */
            continue;
        struct code_proof *proof = &proofs->rows[proofs->count++];
        memset(proof->identity, 0, codes->identity_size);
        batch->count += code_identity_pieces(codes, code, proof->identity, batch->pieces + batch->count);
        proof->code = code;
        proof->end = batch->count;
    }
}

bool code_proofs_have(const struct code_proofs *proofs, const struct codes *codes, const struct code *code)
{
    const struct code_proof *proof = proofs->epoch == codes->epoch ? proof_of(proofs, code) : NULL;
    return proof && proof->end <= proofs->good && memcmp(proof->identity, code->identity, codes->identity_size) == 0;
}
