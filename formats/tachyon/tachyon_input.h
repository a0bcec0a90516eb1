/* SPDX-License-Identifier: MIT */
/* Reads a part of a file as a sequence of bytes: the plain bytes, or the contents of zstd frames. A window holds the
 * bytes, so the part may have any size. The memory that a zstd frame may ask for is limited. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_INPUT_H
#define PYREEL_FORMATS_TACHYON_TACHYON_INPUT_H

#include "formats/base/bytes.h"
#include "formats/base/fault.h"

#define TACHYON_PIECE_MOST ((size_t)1 << 20) /* bytes that can be asked for at once */

struct tachyon_input {
    struct cursor from; /* the bytes in the window. Take bytes from here after tachyon_input_has() */
    int fd;
    uint64_t at, end;         /* part of the file that is not read yet */
    struct ZSTD_DCtx_s *zstd; /* NULL: plain bytes */
    unsigned char *stored;    /* bytes read and not yet decompressed */
    size_t stored_at, stored_size;
    bool in_frame;
    unsigned char *window;
    size_t window_room;
    uint64_t given; /* bytes given so far */
    struct fault failure;
};

/* Opens the bytes from `at` to `end` of the file, which the caller keeps open. Close every input with
 * tachyon_input_close(). */
void tachyon_input_open(struct tachyon_input *feed, int fd, uint64_t at, uint64_t end, bool zstd);

/* Reads more bytes. Call tachyon_input_has() instead. */
bool tachyon_input_fill(struct tachyon_input *feed, size_t size);

/* Makes `size` bytes (at most TACHYON_PIECE_MOST) available in `from`. Returns false when fewer are left; all of these
 * are then in `from`. feed->failure has the reason when the bytes could not be read or decompressed. */
static inline bool tachyon_input_has(struct tachyon_input *feed, size_t size)
{
    return cursor_left(&feed->from) >= size || tachyon_input_fill(feed, size);
}

/* Frees the input's memory. Does not close the file. */
void tachyon_input_close(struct tachyon_input *feed);

#endif
