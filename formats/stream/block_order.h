/* SPDX-License-Identifier: MIT */
/* Puts the blocks of one recording into order. In a damaged file a good block may stand in the wrong place: it came
 * before, it comes too early, or it belongs to another recording, as its recording id shows. All three are damage
 * (schemas/stream.md section 5). A block that comes too early is held until the blocks before it have come:
 *
 *     in the file   1  4  2  3  4  7  8  ...           given   1  2  3  4  7  8  ...
 *     held             4  4  4     7  7, 8  ...        until the end, or until no more can be held: 5 and 6 are missing
 */
#ifndef PYREEL_FORMATS_STREAM_BLOCK_ORDER_H
#define PYREEL_FORMATS_STREAM_BLOCK_ORDER_H

#include "formats/stream/block_read.h"

struct held_block {
    struct block block;
    struct bytes payload;
    bool early; /* a block of a lower sequence was found behind it */
};

struct block_order {
    uint64_t next;         /* sequence of the next block to give */
    uint32_t recording_id; /* of all blocks; 0: the recording has no id */

    struct held_block *held; /* blocks that came too early, by sequence. All have a sequence above `next`, but the first
                              * may have the sequence `next`: then it is given next */
    size_t held_count, held_room;
    size_t held_bytes;       /* bytes of their payloads */
    uint64_t missing_at;     /* sequence of the block before which blocks seemed to be missing, if that was the first
                              * damage; else 0 */
    struct bytes given;      /* payload of the given block, if it was held */
    enum block_found ending; /* result of the last read; after the last good block, the held blocks are still given */
    struct fault failure;    /* why reading failed */
};

/* The recording id in the payload of a HEADER, an EVENTS or an END block; 0: none. */
uint32_t block_order_recording_id(enum stream_block kind, struct cursor payload);

/* Gives the next good block of the recording, valid until the next call. *skipped: blocks are missing before it. A
 * failure to read is reported after all good blocks. */
enum block_found block_order_next(struct block_order *order, struct block_reader *blocks, struct block *block,
                                  bool *skipped, struct fault *why);

/* Frees the held blocks. */
void block_order_free(struct block_order *order);

#endif
