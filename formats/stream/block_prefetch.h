/* SPDX-License-Identifier: MIT */
/* The blocks of one recording in their order (block_order.h), found ahead of who decodes them: to read, check and
 * decompress a block takes about as long as to decode it, so a thread does it while the block before is decoded.
 *
 *     the thread  --->  slot  slot ... slot  --->  stream reader
 *                       each a block that is whole, and how far the file was read when it was found
 *
 * Who decodes sees what the reader of blocks would show if it had gone no further than this block. */
#ifndef PYREEL_FORMATS_STREAM_BLOCK_PREFETCH_H
#define PYREEL_FORMATS_STREAM_BLOCK_PREFETCH_H

#include "formats/stream/block_order.h"

struct block_prefetch;

/* Takes the place of `blocks` and `order`: both stay behind to show how far the blocks are that were given, and are not
 * to be read with any more. NULL, and nothing has changed, when there can be no more threads. Not for a pipe, where
 * block_prefetch_end() might wait for ever. */
struct block_prefetch *block_prefetch_begin(struct block_reader *blocks, struct block_order *order);

/* As block_order_next(). */
enum block_found block_prefetch_next(struct block_prefetch *ahead, struct block_order *order,
                                     struct block_reader *blocks, struct block *block, bool *skipped,
                                     struct fault *why);

/* Ends the thread, wherever it is, and frees it all. NULL is none. */
void block_prefetch_end(struct block_prefetch *ahead);

#endif
