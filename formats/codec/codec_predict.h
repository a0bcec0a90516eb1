/* SPDX-License-Identifier: MIT */
/* Codes the payload of an EVENTS block with a predictor, number by number, and decodes it (schemas/stream.md,
 * "Predicted payloads"). Where most stacks are new, the result has about half the size of a grouped payload, for
 * several times the work. The payload's records need not make sense. Decoding gives the same bytes again. */
#ifndef PYREEL_FORMATS_CODEC_CODEC_PREDICT_H
#define PYREEL_FORMATS_CODEC_CODEC_PREDICT_H

#include "formats/codec/predicted_stacks.h"

/* Part of the file format: another value would be another codec. */
/* bytes of a payload: about two milliseconds of work, up to ten for unusual payloads. */
#define PREDICT_MOST  (24u << 10)
#define PREDICT_RATIO 64 /* limit of payload size / predicted size, so that few stored bytes cannot cause much work */

/* Scratch memory, reused for each block. `= {0}` is empty. */
struct prediction {
    struct predictor *predictor; /* NULL: not allocated yet */
    struct predicted_stacks *stacks;
    struct bytes frames; /* frames of the current record, as coded in the payload */
};

/* Appends the predicted payload to `to`. Returns false and appends nothing when PREDICT_MOST or PREDICT_RATIO would be
 * exceeded, or when decoding would not give the same bytes. */
bool codec_predict_payload(struct prediction *prediction, const struct bytes *payload, struct bytes *to);

/* Decodes a predicted payload and appends its `size` bytes to `to`. `from` is not trusted. Returns false when `from`
 * cannot be a payload of this size; the appended bytes are then useless. Only the block's checksum shows whether the
 * bytes are right, because a range coder decodes any input to something. */
bool codec_predict_undo(struct prediction *prediction, struct cursor from, size_t size, struct bytes *to);

/* Frees the scratch memory. */
void codec_predict_free(struct prediction *prediction);

#endif
