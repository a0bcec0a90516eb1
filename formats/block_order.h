/* SPDX-License-Identifier: MIT */
/* The blocks of one recording in their order. Good blocks may still be wrong where they stand: they came before, or
 * come too early, or are of another recording, whose mark is not this one's. Those are passed over and counted as
 * damage (schemas/stream.md section 5). */
#ifndef PYREEL_FORMATS_BLOCK_ORDER_H
#define PYREEL_FORMATS_BLOCK_ORDER_H

#include "formats/block_read.h"

struct block_order {
    uint32_t next; /* the sequence of the block that is due */
    uint32_t mark; /* that all blocks have; 0: none has one */

    struct bytes held;   /* payload of a block that was given before the one behind it */
    bool waits;          /* that one was read to see whether the other came too early, ... */
    struct block behind; /* ... and is not given yet */
};

/* The mark in the payload of a HEADER, an EVENTS or an END block; 0: it has none. */
uint32_t block_mark(enum stream_block kind, struct cursor payload);

/* The next good block of the recording. Blocks are missing before it when its sequence is not the one that was due,
 * which *skipped says. It is valid until the next one is asked for. */
enum block_found block_in_order(struct block_order *order, struct block_reader *blocks, struct block *block,
                                bool *skipped, struct fault *why);

void block_order_free(struct block_order *order);

#endif
