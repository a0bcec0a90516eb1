/* SPDX-License-Identifier: MIT */
/* Prefetches the blocks of one recording (block_read.h). Reading, checking and decompressing a block takes about as
 * long as decoding it. So a thread prepares the next blocks while the caller decodes one.
 *
 *     the thread  --->  slot  slot ... slot  --->  stream reader
 *                       each with a whole block, and the progress in the file when the block was found
 *
 * The caller sees the progress of a reader that has read no further than the given block. */
#ifndef PYREEL_FORMATS_STREAM_BLOCK_PREFETCH_H
#define PYREEL_FORMATS_STREAM_BLOCK_PREFETCH_H

#include "formats/stream/block_read.h"

struct block_prefetch;

/* Starts the thread, which takes over `blocks`. The caller's copy then only shows the progress up to the given block
 * and must not be read with. Returns NULL, with nothing changed, when no thread can be started. Not for a pipe:
 * block_prefetch_end() might wait for ever. */
struct block_prefetch *block_prefetch_begin(struct block_reader *blocks);

/* Gives the next block, as block_read() does. */
enum block_found block_prefetch_next(struct block_prefetch *ahead, struct block_reader *blocks, struct block *block,
                                     struct fault *why);

/* Ends the thread, whatever it does, and frees everything. NULL is allowed. */
void block_prefetch_end(struct block_prefetch *ahead);

#endif
