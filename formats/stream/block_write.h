/* SPDX-License-Identifier: MIT */
/* Writes blocks: compresses a payload, puts sizes, sequence and checksum in front (schemas/stream.md section 2) and
 * hands the whole to the kernel at once. */
#ifndef PYREEL_FORMATS_STREAM_BLOCK_WRITE_H
#define PYREEL_FORMATS_STREAM_BLOCK_WRITE_H

#include "formats/base/fault.h"
#include "formats/codec/codec_group.h"
#include "formats/codec/codec_predict.h"
#include "formats/codec/stream_format.h"

struct block_writer {
    int fd;
    enum stream_codec codec;  /* the highest that EVENTS blocks have, if it pays; others are at most compressed */
    int level;                /* zstd's, or 0: by the size of a block; with one, none is predicted */
    struct ZSTD_CCtx_s *zstd; /* NULL: payloads are stored as they are */
    struct grouping grouping;
    struct bytes grouped; /* a payload, rearranged */
    struct prediction prediction;
    struct bytes predicted; /* a payload, told so */
    unsigned unpaid;        /* blocks in a row for which predicting did not pay */
    unsigned pause;         /* blocks for which it is not tried */
    uint32_t sequence;      /* of the next block */
    uint64_t written;       /* bytes so far */
    uint64_t plain;         /* bytes of their payloads before compression */
    struct bytes stored;    /* a block on its way out */
    uint64_t limit;         /* what the file may grow to; 0: as it likes */
    bool full;              /* a block did not fit: only the end is written from now on, for which there is room */
    bool broken;            /* a write failed: only the end may still be written ... */
    bool torn;              /* ... unless a part of the failed block stands in the file */
};

/* `fd` stays the caller's. Level 0 takes about as much time for a block as passes unnoticed. */
void block_writer_open(struct block_writer *writer, int fd, enum stream_codec codec, int level);

/* Bytes of the file that are left for what stands before the end; UINT64_MAX without a limit. */
uint64_t block_write_room(const struct block_writer *writer);

/* Writes a block; the first one takes the file's magic along. False when it could not be written: a regular file then
 * ends in the last whole block. One for which there is no room below the limit is dropped, see `full`. */
bool block_write(struct block_writer *writer, enum stream_block kind, const struct bytes *payload, struct fault *why);

void block_writer_close(struct block_writer *writer);

#endif
