/* SPDX-License-Identifier: MIT */
/* Tells the payload of an EVENTS block by predicting it number by number, and back (schemas/stream.md, "Predicted
 * payloads"): about half of what a grouped one takes where most stacks are new, for several times the work. Whether the
 * records make sense does not matter, and nothing is lost: what comes back is the same byte for byte. */
#ifndef PYREEL_FORMATS_CODEC_CODEC_PREDICT_H
#define PYREEL_FORMATS_CODEC_CODEC_PREDICT_H

#include "formats/codec/predicted_stacks.h"

/* The format's: others make another codec. */
#define PREDICT_MOST  (24u << 10) /* bytes of a payload: mostly two milliseconds' work, for strange ones up to ten */
#define PREDICT_RATIO 64          /* times what it takes when predicted, at most: it is not read for next to nothing */

/* Room that is used again for each block. `= {0}` is empty. */
struct prediction {
    struct predictor *predictor; /* NULL: never used */
    struct predicted_stacks *stacks;
    struct bytes frames; /* of a record, as they stand in the payload */
};

/* Appends the predicted payload. False, and nothing appended, when it is larger than PREDICT_MOST or PREDICT_RATIO
 * allow, or has something in it that would not come back as it was. */
bool codec_predict_payload(struct prediction *prediction, const struct bytes *payload, struct bytes *to);

/* Appends the payload of `size` bytes that was predicted. Nothing in `from` is trusted. False when it can't have been
 * so many bytes; what was appended is then of no use. Whether it was these, only the block's checksum tells: a coder
 * that reads on finds something. */
bool codec_predict_undo(struct prediction *prediction, struct cursor from, size_t size, struct bytes *to);

void codec_predict_free(struct prediction *prediction);

#endif
