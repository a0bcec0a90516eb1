/* SPDX-License-Identifier: MIT */
#include "formats/flame/packed.h"

#include "formats/scratch/tempfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Up to so many bytes, the best compression costs no time that anybody notices. Of 7 MB, the best takes 3 s and the
 * usual one 0.3 s, for 5 % more bytes. */
#define BEST_MOST ((uint64_t)1 << 20)

#define CHUNK ((size_t)48 << 10) /* bytes; a multiple of 3, so that only the last chunk of base64 is padded */

bool packed_open(struct packed *packed, struct fault *why)
{
    packed->fd = tempfile_create(why);
    if (packed->fd < 0)
        return false;
    const int written_fd = fcntl(packed->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (written_fd < 0) {
        close(packed->fd);
        return fault(why, "cannot open a temporary file twice: %s", strerror(errno));
    }
    output_open_fd(&packed->plain, written_fd, "a temporary file (set TMPDIR to choose another folder)", false);
    return true;
}

/* Writes bytes as base64, padded unless their number is a multiple of 3. */
static void write_base64(struct output *to, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t at = 0; at < size; at += 3) {
        const size_t count = size - at < 3 ? size - at : 3;
        uint32_t three = (uint32_t)bytes[at] << 16;
        three |= count > 1 ? (uint32_t)bytes[at + 1] << 8 : 0;
        three |= count > 2 ? bytes[at + 2] : 0u;
        unsigned char *room = output_room(to);
        for (size_t i = 0; i < 4; i++)
            room[i] = i <= count ? (unsigned char)digits[three >> (18 - 6 * i) & 63] : '=';
        output_filled(to, 4);
    }
}

/* Packs all bytes of the file. */
static bool pack(int fd, uint64_t size, z_stream *gzip, struct output *to, struct fault *why)
{
    unsigned char plain[CHUNK], made[CHUNK];
    gzip->next_out = made;
    gzip->avail_out = sizeof(made);
    for (uint64_t at = 0;;) {
        const size_t count = size - at < sizeof(plain) ? (size_t)(size - at) : sizeof(plain);
        if (!tempfile_read(fd, at, plain, count, why))
            return false;
        at += count;
        gzip->next_in = plain;
        gzip->avail_in = (unsigned)count;
        const int flush = at == size ? Z_FINISH : Z_NO_FLUSH;
        int state;
        while ((state = deflate(gzip, flush)) == Z_OK && gzip->avail_out == 0) {
            write_base64(to, made, sizeof(made));
            gzip->next_out = made;
            gzip->avail_out = sizeof(made);
        }
        if (state == Z_STREAM_END)
            break;
    }
    write_base64(to, made, sizeof(made) - gzip->avail_out);
    return true;
}

bool packed_close(struct packed *packed, struct output *to, struct fault *why)
{
    uint64_t size;
    gz_header header = { .os = 3 }; /* no time and no name: the same bytes give the same file */
    z_stream gzip = { 0 };
    bool good = output_close(&packed->plain, &size, why);
    if (good) {
        deflateInit2(&gzip, size <= BEST_MOST ? Z_BEST_COMPRESSION : Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 9,
                     Z_DEFAULT_STRATEGY);
        deflateSetHeader(&gzip, &header);
        good = pack(packed->fd, size, &gzip, to, why);
        deflateEnd(&gzip);
    }
    close(packed->fd);
    return good;
}

void packed_abandon(struct packed *packed)
{
    if (!packed->plain.open)
        return;
    output_abandon(&packed->plain);
    close(packed->fd);
}
