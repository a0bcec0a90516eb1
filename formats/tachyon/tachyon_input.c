/* SPDX-License-Identifier: MIT */
#include "formats/tachyon/tachyon_input.h"

#include "formats/base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define READ_SIZE    ((size_t)128 << 10)
#define WINDOW_LOG   25                  /* limit of a frame's window: 32 MiB. Tachyon's frames have 2 MiB */
#define DECOMPRESSED ((uint64_t)1 << 36) /* limit of all decompressed bytes, 64 GiB: larger than any recording */

void tachyon_input_open(struct tachyon_input *feed, int fd, uint64_t at, uint64_t end, bool zstd)
{
    *feed = (struct tachyon_input){ .fd = fd, .at = at, .end = end };
    if (!zstd)
        return;
    feed->zstd = ZSTD_createDCtx();
    ZSTD_DCtx_setParameter(feed->zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
    feed->stored = alloc_zeroed(READ_SIZE, 1);
}

void tachyon_input_close(struct tachyon_input *feed)
{
    ZSTD_freeDCtx(feed->zstd);
    free(feed->stored);
    free(feed->window);
    *feed = (struct tachyon_input){ 0 };
}

/* Reads the next bytes of the file, at least one and at most `room`. Returns 0 on failure. */
static size_t read_some(struct tachyon_input *feed, unsigned char *to, size_t room)
{
    const uint64_t left = feed->end - feed->at;
    ssize_t got;
    do
        got = pread(feed->fd, to, left < room ? (size_t)left : room, (off_t)feed->at);
    while (got < 0 && errno == EINTR);
    if (got <= 0) {
        fault(&feed->failure, "cannot read it: %s",
              got < 0 ? strerror(errno) : "the file became shorter while it was read");
        return 0;
    }
    feed->at += (size_t)got;
    return (size_t)got;
}

/* Decompresses at most `room` bytes to `to`. Returns 0 at the end and on failure. *more: call again, even after 0
 * bytes. */
static size_t tachyon_input_decompress(struct tachyon_input *feed, unsigned char *to, size_t room, bool *more)
{
    if (feed->stored_at == feed->stored_size && feed->at < feed->end) {
        feed->stored_at = 0;
        feed->stored_size = read_some(feed, feed->stored, READ_SIZE);
        if (feed->stored_size == 0)
            return 0;
    }
    ZSTD_inBuffer in = { feed->stored, feed->stored_size, feed->stored_at };
    ZSTD_outBuffer out = { to, room, 0 };
    if (in.pos == in.size && !feed->in_frame)
        return 0;
    const size_t left = ZSTD_decompressStream(feed->zstd, &out, &in);
    const bool moved = in.pos > feed->stored_at || out.pos > 0;
    feed->stored_at = in.pos;
    feed->in_frame = !ZSTD_isError(left) && left != 0;
    if (ZSTD_isError(left))
        fault(&feed->failure, "its samples are damaged: they do not decompress (%s)", ZSTD_getErrorName(left));
    else if (feed->in_frame && !moved)
        fault(&feed->failure, "its samples are damaged: they end too early");
    else
        *more = true;
    return out.pos;
}

/* Produces bytes as tachyon_input_decompress() does, for plain and for compressed input. */
static size_t produce(struct tachyon_input *feed, unsigned char *to, size_t room, bool *more)
{
    if (feed->zstd)
        return tachyon_input_decompress(feed, to, room, more);
    const size_t got = feed->at < feed->end ? read_some(feed, to, room) : 0;
    *more = got > 0;
    return got;
}

bool tachyon_input_fill(struct tachyon_input *feed, size_t size)
{
    size_t waiting = cursor_left(&feed->from);
    const bool bad = feed->from.bad;
    if (waiting > 0)
        memmove(feed->window, feed->from.at, waiting);
    feed->window = alloc_grow(feed->window, &feed->window_room, size + READ_SIZE, 1);
    for (bool more = true; more && waiting < size && feed->failure.text[0] == '\0';) {
        more = false;
        const size_t got = produce(feed, feed->window + waiting, feed->window_room - waiting, &more);
        waiting += got;
        feed->given += got;
        if (feed->given > DECOMPRESSED)
            fault(&feed->failure, "its samples decompress to more than 64 GiB, the limit of this program");
    }
    feed->from = cursor_of(feed->window, waiting);
    feed->from.bad = bad;
    return waiting >= size && feed->failure.text[0] == '\0';
}
