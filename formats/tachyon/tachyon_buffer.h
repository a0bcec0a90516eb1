/* SPDX-License-Identifier: MIT */
/* Stores the records of a Tachyon file until they can be written. The header comes first in the file and has the
 * offsets of the tables behind the records, and an output may be a pipe. The records are stored compressed, in memory
 * while they are few, else in a temporary file. `= {0}` is an empty buffer. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_BUFFER_H
#define PYREEL_FORMATS_TACHYON_TACHYON_BUFFER_H

#include "formats/base/bytes.h"
#include "formats/base/output.h"

struct tachyon_buffer {
    struct ZSTD_CCtx_s *zstd;
    struct bytes plain;  /* bytes that wait to be compressed */
    struct bytes packed; /* compressed bytes in memory */
    bool on_disk;        /* the temporary file exists, as `fd` */
    int fd;
    uint64_t file_size;
    uint64_t plain_size, packed_size; /* total sizes */
    struct fault failure;             /* the first failure; nothing is stored after a failure */
};

/* Appends bytes of records. A failure is kept in store->failure. */
void tachyon_buffer_put(struct tachyon_buffer *store, const void *bytes, size_t size);

/* Ends the input: the sizes are final from here on. */
void tachyon_buffer_finish(struct tachyon_buffer *store);

/* Writes all records, compressed or plain. Returns false with the reason. */
bool tachyon_buffer_write(struct tachyon_buffer *store, bool compressed, struct output *output, struct fault *why);

/* Frees the buffer and closes its temporary file. */
void tachyon_buffer_free(struct tachyon_buffer *store);

#endif
