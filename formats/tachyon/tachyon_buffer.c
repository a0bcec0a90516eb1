/* SPDX-License-Identifier: MIT */
#include "formats/tachyon/tachyon_buffer.h"

#include "formats/base/alloc.h"
#include "formats/scratch/tempfile.h"
#include "formats/tachyon/tachyon_input.h"

#include <unistd.h>
#include <zstd.h>

#define PLAIN_SIZE  ((size_t)256 << 10) /* bytes that are compressed at once */
#define PACKED_SIZE ((size_t)1 << 20)   /* compressed bytes that stay in memory */
#define LEVEL       5                   /* the level of Tachyon's own files */
#define COPY_SIZE   ((size_t)64 << 10)

static void write_packed(struct tachyon_buffer *store)
{
    if (!store->on_disk) {
        store->fd = tempfile_create(&store->failure);
        store->on_disk = store->fd >= 0;
    }
    if (!store->on_disk ||
        !tempfile_write(store->fd, store->file_size, store->packed.at, store->packed.size, &store->failure))
        return;
    store->file_size += store->packed.size;
    store->packed.size = 0;
}

/* Compresses the waiting bytes. ZSTD_e_end also flushes zstd's own buffers. */
static void tachyon_buffer_compress(struct tachyon_buffer *store, ZSTD_EndDirective how)
{
    if (!store->zstd) {
        store->zstd = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(store->zstd, ZSTD_c_compressionLevel, LEVEL);
    }
    ZSTD_inBuffer in = { store->plain.at, store->plain.size, 0 };
    for (bool more = true; more;) {
        unsigned char piece[32 << 10];
        ZSTD_outBuffer out = { piece, sizeof(piece), 0 };
        const size_t left = ZSTD_compressStream2(store->zstd, &out, &in, how);
        if (ZSTD_isError(left)) {
            fault(&store->failure, "cannot compress: %s", ZSTD_getErrorName(left));
            return;
        }
        put_bytes(&store->packed, piece, out.pos);
        store->packed_size += out.pos;
        more = how == ZSTD_e_end ? left > 0 : in.pos < in.size;
    }
    store->plain.size = 0;
    if (store->packed.size >= PACKED_SIZE)
        write_packed(store);
}

void tachyon_buffer_put(struct tachyon_buffer *store, const void *bytes, size_t size)
{
    if (store->failure.text[0])
        return;
    put_bytes(&store->plain, bytes, size);
    store->plain_size += size;
    if (store->plain.size >= PLAIN_SIZE)
        tachyon_buffer_compress(store, ZSTD_e_continue);
}

void tachyon_buffer_finish(struct tachyon_buffer *store)
{
    if (store->failure.text[0] == '\0')
        tachyon_buffer_compress(store, ZSTD_e_end);
}

static bool copy_file(struct tachyon_buffer *store, bool compressed, struct output *output, struct fault *why)
{
    struct tachyon_input feed;
    tachyon_input_open(&feed, store->fd, 0, store->file_size, !compressed);
    while (tachyon_input_has(&feed, 1)) {
        tachyon_input_has(&feed, COPY_SIZE);
        const struct cursor all = take_part(&feed.from, cursor_left(&feed.from));
        output_bytes(output, all.at, cursor_left(&all));
    }
    const bool good = feed.failure.text[0] == '\0' || fault(why, "%s", feed.failure.text);
    tachyon_input_close(&feed);
    return good;
}

bool tachyon_buffer_write(struct tachyon_buffer *store, bool compressed, struct output *output, struct fault *why)
{
    if (!compressed && store->failure.text[0] == '\0')
        write_packed(store); /* the file is the input of the decompression */
    if (store->failure.text[0])
        return fault(why, "%s", store->failure.text);
    if (store->on_disk && !copy_file(store, compressed, output, why))
        return false;
    output_bytes(output, store->packed.at, store->packed.size);
    return true;
}

void tachyon_buffer_free(struct tachyon_buffer *store)
{
    ZSTD_freeCCtx(store->zstd);
    bytes_free(&store->plain);
    bytes_free(&store->packed);
    if (store->on_disk)
        close(store->fd);
    *store = (struct tachyon_buffer){ 0 };
}
