/* SPDX-License-Identifier: MIT */
/* Reads the good blocks of a recording, from a file or a pipe, in the order of the file. The stream is not trusted:
 * sizes are checked before they are used, and a block is good only if its checksum is right. Bytes between good blocks
 * are skipped and noted as damage. So is a good block that is out of place: a block of another recording, as its
 * recording id shows, and a block whose sequence was passed already (schemas/stream.md section 5).
 *
 *     in the file   1  4  2  3  4  5
 *     given         1  4           5      2 and 3 are lost; 2, 3 and the second 4 are passed over
 */
#ifndef PYREEL_FORMATS_STREAM_BLOCK_READ_H
#define PYREEL_FORMATS_STREAM_BLOCK_READ_H

#include "formats/base/fault.h"
#include "formats/codec/codec_group.h"
#include "formats/codec/stream_format.h"
#include "formats/model/source_kind.h"

struct block_reader {
    int fd;
    unsigned char *window; /* bytes read and not yet used: window[start .. end) */
    size_t start, end, room;
    bool at_end;               /* the file has no more bytes */
    uint32_t recording_id;     /* of all blocks of the recording; 0: the recording has no id */
    uint64_t next;             /* sequence of the next block, if no block is lost */
    uint64_t bytes_read;       /* bytes read from the file */
    uint64_t good, good_plain; /* good blocks, and the plain bytes of their payloads */
    unsigned char *plain;      /* the decompressed block */
    size_t plain_room;
    struct ZSTD_DCtx_s *zstd;
    struct grouping grouping;
    struct bytes joined; /* a payload after ungrouping */
    uint64_t wasted;     /* bytes of bad blocks whose checksum was computed */
    struct damage damage;
};

/* The progress in a file. */
struct block_progress {
    uint64_t bytes_read, bytes_used; /* bytes read from the file; the part up to the end of the last block */
    uint64_t good, good_plain;
    uint64_t next;
    struct damage damage;
};

/* A good block with its payload decompressed. Valid until the next block is read. */
struct block {
    enum stream_block kind;
    uint32_t sequence;
    struct cursor payload;
    uint64_t at;  /* offset of the block in the file, ... */
    size_t size;  /* ... and its size there */
    bool skipped; /* blocks are missing before it */
};

/* The caller keeps `fd` and closes it. */
void block_reader_open(struct block_reader *reader, int fd);
/* Gives a reader that was just opened what its caller has read from the file already. */
void block_reader_begin(struct block_reader *reader, struct text head);

/* Frees the reader's memory. Does not close the file. */
void block_reader_close(struct block_reader *reader);

/* Whether these are the first bytes of a stream. */
bool block_read_recognised(const void *bytes, size_t size);

/* Steps over the file's magic. False with the reason when the file does not begin with it. */
bool block_read_magic(struct block_reader *reader, struct fault *why);

/* The number in a field of a HEADER or an END block; 0 when the field is absent or above 32 bits. */
uint32_t block_read_field(struct cursor payload, uint32_t field);

/* The recording id in the payload of a HEADER, an EVENTS or an END block; 0: none. */
uint32_t block_read_recording_id(enum stream_block kind, struct cursor payload);

enum block_found { BLOCK_FOUND, BLOCK_NO_MORE, BLOCK_UNREADABLE };

/* Reads the next good block of the recording that the first good block of the file belongs to. BLOCK_UNREADABLE with
 * the reason when the file could not be read. */
enum block_found block_read(struct block_reader *reader, struct block *block, struct fault *why);

/* How far this reader is in the file. */
struct block_progress block_read_progress(const struct block_reader *reader);
/* Copies another reader's progress to a reader that only shows progress. */
void block_read_show_progress(struct block_reader *reader, const struct block_progress *progress);

/* Notes the damage and its offset in the file, if it is the first damage. */
void block_read_note_damage(struct block_reader *reader, const char *what, uint64_t at);

#endif
