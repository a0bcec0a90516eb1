/* SPDX-License-Identifier: MIT */
/* Writes blocks: compresses a payload, puts sizes, sequence and checksum before it (schemas/stream.md section 2), and
 * writes the block with one write(). */
#ifndef PYREEL_FORMATS_STREAM_BLOCK_WRITE_H
#define PYREEL_FORMATS_STREAM_BLOCK_WRITE_H

#include "formats/base/fault.h"
#include "formats/codec/codec_group.h"
#include "formats/codec/stream_format.h"

struct block_writer {
    int fd;
    struct ZSTD_CCtx_s *zstd; /* NULL: all blocks are plain */
    struct grouping grouping;
    struct bytes grouped; /* a grouped payload */
    uint32_t sequence;    /* sequence of the next block */
    uint64_t written;     /* bytes written so far */
    uint64_t plain;       /* plain bytes of the written payloads */
    struct bytes stored;  /* the block that is being written */
    uint64_t limit;       /* size limit of the file in bytes; 0: none */
    bool full; /* a block did not fit below the limit: only END is written from now on; the limit leaves room for it */
    bool broken; /* a write failed: only END may still be written ... */
    bool torn;   /* ... unless a part of the failed block stays in the file */
};

/* The caller keeps `fd` and closes it. With CODEC_GROUPED, an EVENTS block is grouped where that saves bytes. That
 * takes so little time that sampling does not suffer. */
void block_writer_open(struct block_writer *writer, int fd, enum stream_codec codec);

/* The bytes that may still be written before END; UINT64_MAX without a limit. */
uint64_t block_write_room(const struct block_writer *writer);

/* Writes a block; before the first one, the file's magic. Returns false with the reason when the block could not be
 * written: a regular file then ends with the last whole block. A block that does not fit below the limit is dropped,
 * see `full`. */
bool block_write(struct block_writer *writer, enum stream_block kind, const struct bytes *payload, struct fault *why);

/* Frees the writer's memory. Does not close the file. */
void block_writer_close(struct block_writer *writer);

#endif
