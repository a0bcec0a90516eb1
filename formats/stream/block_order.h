/* SPDX-License-Identifier: MIT */
/* The blocks of one recording in their order. Good blocks may still be wrong where they stand: they came before, or
 * come too early, or are of another recording, whose mark is not this one's. That is damage (schemas/stream.md section
 * 5). One that comes too early waits for those that belong before it:
 *
 *     in the file   1  4  2  3  4  7  8  ...           given   1  2  3  4  7  8  ...
 *     held             4  4  4     7  7, 8  ...        until the end, or no more can be held: then 5 and 6 are missing
 */
#ifndef PYREEL_FORMATS_STREAM_BLOCK_ORDER_H
#define PYREEL_FORMATS_STREAM_BLOCK_ORDER_H

#include "formats/stream/block_read.h"

struct held_block {
    struct block block;
    struct bytes payload;
    bool early; /* one that belongs before it was found behind it */
};

struct block_order {
    uint64_t next; /* the sequence of the block that is due */
    uint32_t mark; /* that all blocks have; 0: none has one */

    struct held_block *held; /* blocks that were read too early, by sequence. Each has a number above `next`; only the
                              * first may have the number `next`: then it is due */
    size_t held_count, held_room;
    size_t held_bytes;   /* of their payloads */
    uint64_t missing_at; /* the block ahead of which others seem to be missing, if that was the first damage; or 0 */
    struct bytes given;  /* payload of one that was held */
    enum block_found ending; /* what reading came to; what is held is given first */
    struct fault failure;    /* why it can't go on */
};

/* The mark in the payload of a HEADER, an EVENTS or an END block; 0: it has none. */
uint32_t block_order_mark(enum stream_block kind, struct cursor payload);

/* The next good block of the recording. Blocks are missing before it when its sequence is not the one that was due,
 * which *skipped says. It is valid until the next one is asked for. A failure is told behind all good blocks. */
enum block_found block_order_next(struct block_order *order, struct block_reader *blocks, struct block *block,
                                  bool *skipped, struct fault *why);

void block_order_free(struct block_order *order);

#endif
