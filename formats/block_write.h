/* SPDX-License-Identifier: MIT */
/* Writes blocks: compresses a payload, puts sizes, sequence and checksum in front (schemas/stream.md section 2) and
 * hands the whole to the kernel at once. */
#ifndef PYREEL_FORMATS_BLOCK_WRITE_H
#define PYREEL_FORMATS_BLOCK_WRITE_H

#include "formats/bytes.h"
#include "formats/fault.h"
#include "formats/stream.h"

struct block_writer {
    int fd;
    int level;                /* zstd's */
    struct ZSTD_CCtx_s *zstd; /* NULL: payloads are stored as they are */
    uint32_t sequence;        /* of the next block */
    uint64_t written;         /* bytes so far */
    uint64_t plain;           /* bytes of their payloads before compression */
    struct bytes stored;      /* a block on its way out */
    bool broken;              /* a write failed: nothing more is written */
};

/* `fd` stays the caller's. */
void block_writer_open(struct block_writer *writer, int fd, enum stream_codec codec, int level);

/* Writes a block; the first one takes the file's magic along. False when it could not be written. */
bool block_write(struct block_writer *writer, enum stream_block kind, const struct bytes *payload, struct fault *why);

void block_writer_close(struct block_writer *writer);

#endif
