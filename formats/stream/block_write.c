/* SPDX-License-Identifier: MIT */
#include "formats/stream/block_write.h"

#include "formats/base/alloc.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define END_ROOM 128 /* bytes below the limit that are reserved for END, which is always smaller */

void block_writer_open(struct block_writer *writer, int fd, enum stream_codec codec)
{
    *writer = (struct block_writer){ .fd = fd, .zstd = codec == CODEC_GROUPED ? ZSTD_createCCtx() : NULL };
}

void block_writer_close(struct block_writer *writer)
{
    bytes_free(&writer->stored);
    bytes_free(&writer->grouped);
    codec_group_free(&writer->grouping);
    ZSTD_freeCCtx(writer->zstd);
    *writer = (struct block_writer){ .fd = -1 };
}

uint64_t block_write_room(const struct block_writer *writer)
{
    if (writer->limit == 0)
        return UINT64_MAX;
    const uint64_t taken = writer->written + END_ROOM;
    return taken < writer->limit ? writer->limit - taken : 0;
}

/* Truncates the file to remove the written part of a block when the disk is full. Does nothing when the file does not
 * end there, because somebody else has appended to it, or for a pipe. */
static bool block_take_back(struct block_writer *writer, size_t part)
{
    struct stat file;
    const off_t end = lseek(writer->fd, 0, SEEK_CUR);
    if (end < (off_t)part || fstat(writer->fd, &file) != 0 || file.st_size != end)
        return false;
    if (ftruncate(writer->fd, end - (off_t)part) != 0 || lseek(writer->fd, end - (off_t)part, SEEK_SET) < 0)
        return false;
    writer->written -= part;
    return true;
}

static bool block_write_all(struct block_writer *writer, const struct bytes *bytes, struct fault *why)
{
    for (size_t done = 0; done < bytes->size;) {
        const ssize_t part = write(writer->fd, bytes->at + done, bytes->size - done);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0) {
            fault(why, "cannot write the recording: %s", strerror(errno));
            writer->broken = true;
            writer->torn = done > 0 && !block_take_back(writer, done);
            return false;
        }
        done += (size_t)part;
        writer->written += (uint64_t)part;
    }
    return true;
}

/* The recorder compresses a block between ticks, and misses ticks when that takes long. So the level depends on the
 * size: compression takes about a millisecond, two for the largest blocks. A second of samples has 1 to 6 KiB at 1 kHz,
 * 10 to 40 KiB at 10 kHz. */
static int level_by_size(size_t size)
{
    static const struct {
        size_t most;
        int level;
    } levels[] = { { 4 << 10, 15 }, { 24 << 10, 9 }, { 128 << 10, 6 } };
    for (size_t i = 0; i < countof(levels); i++)
        if (size <= levels[i].most)
            return levels[i].level;
    return 3;
}

/* Appends the grouped payload, compressed, to writer->stored. False when the payload cannot be grouped, or the result
 * is not smaller than the payload. */
static bool store_grouped(struct block_writer *writer, const struct bytes *payload)
{
    struct bytes *stored = &writer->stored, *grouped = &writer->grouped;
    grouped->size = 0;
    if (!codec_group_payload(&writer->grouping, payload, grouped))
        return false;
    const size_t room = ZSTD_compressBound(grouped->size);
    stored->at = alloc_grow(stored->at, &stored->room, stored->size + room, 1);
    const size_t size = ZSTD_compressCCtx(writer->zstd, stored->at + stored->size, room, grouped->at, grouped->size,
                                          level_by_size(grouped->size));
    if (ZSTD_isError(size) || size >= payload->size)
        return false;
    stored->size += size;
    return true;
}

/* Appends the payload to writer->stored. Returns the codec. */
static enum stream_codec store_payload(struct block_writer *writer, enum stream_block kind, const struct bytes *payload)
{
    if (writer->zstd && kind == BLOCK_EVENTS && store_grouped(writer, payload))
        return CODEC_GROUPED;
    put_bytes(&writer->stored, payload->at, payload->size);
    return CODEC_PLAIN;
}

static void patch_u32(struct bytes *bytes, size_t at, uint32_t value)
{
    for (size_t i = 0; i < 4; i++)
        bytes->at[at + i] = (unsigned char)(value >> 8 * i);
}

/* Makes the whole block in writer->stored. */
static void make_block(struct block_writer *writer, enum stream_block kind, const struct bytes *payload)
{
    struct bytes *stored = &writer->stored;
    stored->size = 0;
    if (writer->sequence == 0)
        put_bytes(stored, STREAM_MAGIC, STREAM_MAGIC_SIZE);
    const size_t header = stored->size;
    const size_t body = header + STREAM_BLOCK_HEADER;
    put_bytes(stored, STREAM_SYNC, 4);
    put_u32(stored, kind);
    put_u32(stored, writer->sequence);
    put_u32(stored, 0); /* codec, stored size and checksum are filled in below */
    put_u32(stored, (uint32_t)payload->size);
    put_u32(stored, 0);
    stored->at[header + STREAM_CODEC_AT] = (unsigned char)store_payload(writer, kind, payload);
    patch_u32(stored, header + STREAM_STORED_SIZE_AT, (uint32_t)(stored->size - body));
    uint32_t checksum = (uint32_t)crc32(0, stored->at + header, STREAM_CHECKSUM_AT);
    checksum = (uint32_t)crc32_z(checksum, stored->at + body, stored->size - body);
    patch_u32(stored, header + STREAM_CHECKSUM_AT, checksum);
}

bool block_write(struct block_writer *writer, enum stream_block kind, const struct bytes *payload, struct fault *why)
{
    if (writer->torn || (writer->broken && kind != BLOCK_END))
        return fault(why, "an earlier write of the recording failed");
    if (payload->size > STREAM_BLOCK_LIMIT) {
        writer->broken = true;
        return fault(why, "a tick is too large for the format");
    }
    if (writer->full && kind == BLOCK_EVENTS)
        return true;
    make_block(writer, kind, payload);
    if (kind == BLOCK_EVENTS && writer->stored.size > block_write_room(writer)) {
        writer->full = true;
        return true;
    }
    if (!block_write_all(writer, &writer->stored, why))
        return false;
    writer->sequence++;
    writer->plain += payload->size;
    return true;
}
