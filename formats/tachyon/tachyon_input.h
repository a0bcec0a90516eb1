/* SPDX-License-Identifier: MIT */
/* A part of a file as a row of bytes: those that stand there, or what the zstd frames hold that stand there. It comes
 * through a window, so a part may be of any size; what a frame may ask for is bounded, too. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_INPUT_H
#define PYREEL_FORMATS_TACHYON_TACHYON_INPUT_H

#include "formats/base/bytes.h"
#include "formats/base/fault.h"

#define TACHYON_PIECE_MOST ((size_t)1 << 20) /* that can be asked for at once */

struct tachyon_input {
    struct cursor from; /* what waits. Take it from here after tachyon_input_has() */
    int fd;
    uint64_t at, end;         /* in the file: what was not read yet */
    struct ZSTD_DCtx_s *zstd; /* NULL: as it is */
    unsigned char *stored;    /* read and not yet decompressed */
    size_t stored_at, stored_size;
    bool in_frame;
    unsigned char *window;
    size_t window_room;
    uint64_t given; /* bytes so far */
    struct fault failure;
};

/* The bytes `at` to `end` of the file, which stays the caller's. Any input is closed with tachyon_input_close(). */
void tachyon_input_open(struct tachyon_input *feed, int fd, uint64_t at, uint64_t end, bool zstd);

/* Waits for more. Use tachyon_input_has(). */
bool tachyon_input_fill(struct tachyon_input *feed, size_t size);

/* Whether `size` more bytes (at most TACHYON_PIECE_MOST) wait in `from`. When it ends before, all the rest does.
 * feed->failure says so when it could not be read or does not decompress. */
static inline bool tachyon_input_has(struct tachyon_input *feed, size_t size)
{
    return cursor_left(&feed->from) >= size || tachyon_input_fill(feed, size);
}

void tachyon_input_close(struct tachyon_input *feed);

#endif
