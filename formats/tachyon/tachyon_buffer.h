/* SPDX-License-Identifier: MIT */
/* The records of a Tachyon file until it can be written: its header tells where the tables behind them begin, and an
 * output may be a pipe, where nothing can be mended later. They are kept compressed, in memory while they are few, else
 * in a temporary file. `= {0}` is an empty buffer. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_BUFFER_H
#define PYREEL_FORMATS_TACHYON_TACHYON_BUFFER_H

#include "formats/base/bytes.h"
#include "formats/base/output.h"

struct tachyon_buffer {
    struct ZSTD_CCtx_s *zstd;
    struct bytes plain;  /* waits to be compressed */
    struct bytes packed; /* waits to be written */
    bool on_disk;        /* the file is there, as `fd` */
    int fd;
    uint64_t file_size;
    uint64_t plain_size, packed_size; /* in all */
    struct fault failure;             /* the first thing that went wrong; nothing is added after it */
};

void tachyon_buffer_put(struct tachyon_buffer *store, const void *bytes, size_t size);

/* Ends the adding: the sizes are right from here on. */
void tachyon_buffer_finish(struct tachyon_buffer *store);

/* Writes all, compressed or plain. False with the reason. */
bool tachyon_buffer_write(struct tachyon_buffer *store, bool compressed, struct output *output, struct fault *why);

void tachyon_buffer_free(struct tachyon_buffer *store);

#endif
