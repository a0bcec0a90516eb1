/* SPDX-License-Identifier: MIT */
#include "formats/stream/block_read.h"

#include "formats/base/alloc.h"
#include "formats/codec/codec_ungroup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define READ_SIZE    ((size_t)64 << 10)   /* a four times larger size is slower for short recordings */
#define WASTE_LIMIT  ((uint64_t)64 << 20) /* limit of `wasted`: this many bytes, or ... */
#define WASTE_FACTOR 16                   /* ... this many times the bytes read from the file */

void block_reader_open(struct block_reader *reader, int fd)
{
    *reader = (struct block_reader){ .fd = fd };
}

void block_reader_begin(struct block_reader *reader, struct text head)
{
    if (head.size == 0)
        return;
    reader->window = alloc_grow(reader->window, &reader->room, head.size, 1);
    memcpy(reader->window, head.bytes, head.size);
    reader->end = head.size;
    reader->bytes_read = head.size;
}

void block_reader_close(struct block_reader *reader)
{
    free(reader->window);
    free(reader->plain);
    bytes_free(&reader->joined);
    codec_group_free(&reader->grouping);
    ZSTD_freeDCtx(reader->zstd);
    *reader = (struct block_reader){ .fd = -1 };
}

/* Reads until `size` bytes wait in the window or the file ends. False when the file cannot be read. */
static bool block_read_fill(struct block_reader *reader, size_t size, struct fault *why)
{
    if (reader->start > 0 && reader->start == reader->end)
        reader->start = reader->end = 0;
    while (reader->end - reader->start < size && !reader->at_end) {
        if (reader->room - reader->end < READ_SIZE && reader->start > 0) {
            memmove(reader->window, reader->window + reader->start, reader->end - reader->start);
            reader->end -= reader->start;
            reader->start = 0;
        }
        reader->window = alloc_grow(reader->window, &reader->room, reader->end + READ_SIZE, 1);
        const ssize_t got = read(reader->fd, reader->window + reader->end, READ_SIZE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fault(why, "cannot read the recording: %s", strerror(errno));
        reader->at_end = got == 0;
        reader->end += (size_t)got;
        reader->bytes_read += (uint64_t)got;
    }
    return true;
}

static size_t waiting(const struct block_reader *reader)
{
    return reader->end - reader->start;
}

/* The offset in the file up to which bytes were used. */
static uint64_t bytes_used(const struct block_reader *reader)
{
    return reader->bytes_read - waiting(reader);
}

struct block_progress block_read_progress(const struct block_reader *reader)
{
    return (struct block_progress){ .bytes_read = reader->bytes_read,
                                    .bytes_used = bytes_used(reader),
                                    .good = reader->good,
                                    .good_plain = reader->good_plain,
                                    .next = reader->next,
                                    .damage = reader->damage };
}

void block_read_show_progress(struct block_reader *reader, const struct block_progress *progress)
{
    reader->bytes_read = progress->bytes_read;
    reader->start = 0;
    reader->end = progress->bytes_read - progress->bytes_used;
    reader->good = progress->good;
    reader->good_plain = progress->good_plain;
    reader->next = progress->next;
    reader->damage = progress->damage;
}

void block_read_note_damage(struct block_reader *reader, const char *what, uint64_t at)
{
    fault(&reader->damage.first, "%s at byte %" PRIu64, what, at);
}

static const char no_zstd[] = "a block that does not decompress";

static const char *block_read_decompress(struct block_reader *reader, struct cursor stored, size_t size)
{
    if (!reader->zstd)
        reader->zstd = ZSTD_createDCtx();
    reader->plain = alloc_grow(reader->plain, &reader->plain_room, size + 1, 1);
    const size_t got = ZSTD_decompressDCtx(reader->zstd, reader->plain, size, stored.at, cursor_left(&stored));
    return ZSTD_isError(got) || got != size ? no_zstd : NULL;
}

static const char *take_plain(struct block_reader *reader, struct cursor stored, size_t size, struct cursor *payload)
{
    (void)reader;
    *payload = stored;
    return cursor_left(&stored) == size ? NULL : "a block of an unknown coding";
}

/* Decompresses and ungroups a payload. Only the header of the zstd frame has the size of the grouped payload. */
static const char *take_grouped(struct block_reader *reader, struct cursor stored, size_t size, struct cursor *payload)
{
    const unsigned long long grouped = ZSTD_getFrameContentSize(stored.at, cursor_left(&stored));
    if (grouped >
        GROUP_MOST(size)) /* also when the size is unknown: zstd's two codes for that are larger than any size */
        return no_zstd;
    const char *wrong = block_read_decompress(reader, stored, (size_t)grouped);
    if (wrong)
        return wrong;
    reader->joined.size = 0;
    if (!codec_ungroup_payload(&reader->grouping, reader->plain, (size_t)grouped, size, &reader->joined))
        return "a block whose columns do not fit together";
    *payload = cursor_of(reader->joined.at, size);
    return NULL;
}

uint32_t block_read_field(struct cursor payload, uint32_t field)
{
    while (cursor_left(&payload) > 0 && !payload.bad) {
        const uint64_t number = take_number(&payload);
        struct cursor part = take_part(&payload, take_number(&payload));
        if (number == field)
            return payload.bad ? 0 : take_number32(&part);
    }
    return 0;
}

/* The id is in a note. A later pyreel may write other notes before it. */
static uint32_t recording_id_of_notes(struct cursor payload)
{
    while (cursor_left(&payload) > 0 && !payload.bad) {
        const uint64_t tag = take_number(&payload);
        if ((tag & 7) != RECORD_NOTE)
            return 0;
        struct cursor fields = take_part(&payload, take_number(&payload));
        if (tag >> 3 == NOTE_RECORDING_ID)
            return payload.bad ? 0 : take_number32(&fields);
    }
    return 0;
}

uint32_t block_read_recording_id(enum stream_block kind, struct cursor payload)
{
    switch (kind) {
    case BLOCK_HEADER:
        return block_read_field(payload, HEADER_RECORDING_ID);
    case BLOCK_EVENTS:
        take_number(&payload); /* the base */
        return recording_id_of_notes(payload);
    case BLOCK_END:
        return block_read_field(payload, END_RECORDING_ID);
    }
    return 0;
}

static const char *(*const codecs[])(struct block_reader *, struct cursor stored, size_t size,
                                     struct cursor *payload) = {
    [CODEC_PLAIN] = take_plain,
    [CODEC_GROUPED] = take_grouped,
};

/* Whether this kind of block may have this codec. */
static bool is_coded_well(const unsigned char *header)
{
    const unsigned char codec = header[STREAM_CODEC_AT];
    return (codec == CODEC_PLAIN || (codec == CODEC_GROUPED && header[4] == BLOCK_EVENTS)) && !header[6] && !header[7];
}

/* The damage of a block in which the file ends. */
static const char cut_block[] = "a cut block";

/* Reads a block at the start of the window and steps over it. Returns NULL, or the damage of the block. */
static const char *parse_block(struct block_reader *reader, struct block *block, struct fault *why)
{
    if (!block_read_fill(reader, STREAM_BLOCK_HEADER, why))
        return "unreadable";
    if (waiting(reader) < STREAM_BLOCK_HEADER)
        return cut_block;
    const unsigned char *header = reader->window + reader->start;
    if (memcmp(header, STREAM_SYNC, 4) != 0)
        return "bytes that are no block";
    struct cursor fields = cursor_of(header + 8, 16);
    const uint32_t sequence = take_u32(&fields);
    const uint32_t stored_size = take_u32(&fields);
    const uint32_t plain_size = take_u32(&fields);
    const uint32_t checksum = take_u32(&fields);
    if (stored_size > STREAM_BLOCK_LIMIT || plain_size > STREAM_BLOCK_LIMIT)
        return "a block of impossible size";
    if (!is_coded_well(header))
        return "a block of an unknown coding";
    const size_t size = STREAM_BLOCK_HEADER + stored_size;
    if (!block_read_fill(reader, size, why))
        return "unreadable";
    if (waiting(reader) < size)
        return cut_block;

    header = reader->window + reader->start;
    const unsigned char *stored = header + STREAM_BLOCK_HEADER;
    const uint32_t sum = (uint32_t)crc32_z(crc32(0, header, STREAM_CHECKSUM_AT), stored, stored_size);
    reader->wasted += size; /* taken back below if the block is good */
    if (sum != checksum)
        return "a block with a wrong checksum";
    reader->wasted += plain_size;
    struct cursor payload = { 0 };
    const char *wrong = codecs[header[STREAM_CODEC_AT]](reader, cursor_of(stored, stored_size), plain_size, &payload);
    if (wrong)
        return wrong;
    reader->wasted -= size + plain_size;
    reader->good_plain += plain_size;
    *block = (struct block){ header[4], sequence, payload, bytes_used(reader), size, false };
    reader->start += size;
    return NULL;
}

/* Skips to the next sync bytes, where a block may begin. */
static void skip_to_sync(struct block_reader *reader)
{
    const size_t before = reader->start;
    reader->start++;
    const void *found = memmem(reader->window + reader->start, waiting(reader), STREAM_SYNC, 4);
    if (found)
        reader->start = (size_t)((const unsigned char *)found - reader->window);
    else if (waiting(reader) > 3 && !reader->at_end)
        reader->start = reader->end - 3; /* a part of the sync bytes may be there */
    else if (waiting(reader) > 0 && reader->at_end)
        reader->start = reader->end;
    reader->damage.bytes += reader->start - before;
    reader->damage.tail += reader->start - before;
}

/* Gives up on the rest of the file. Without a limit, a file of bad blocks would take time that grows with the square of
 * its size. */
static void pass_over_rest(struct block_reader *reader)
{
    reader->damage.bytes += waiting(reader);
    reader->damage.tail += waiting(reader);
    reader->start = reader->end;
    reader->at_end = true;
}

/* Finds the next good block, of whichever recording. */
static enum block_found find_block(struct block_reader *reader, struct block *block, struct fault *why)
{
    const char *first_wrong = NULL;
    for (;;) {
        if (!block_read_fill(reader, 1, why))
            return BLOCK_UNREADABLE;
        if (waiting(reader) == 0)
            return BLOCK_NO_MORE;
        struct fault unreadable = { 0 };
        const char *wrong = parse_block(reader, block, &unreadable);
        if (unreadable.text[0]) {
            fault(why, "%s", unreadable.text);
            return BLOCK_UNREADABLE;
        }
        if (!wrong) {
            reader->good++;
            return BLOCK_FOUND;
        }
        if (!first_wrong) {
            first_wrong = wrong;
            block_read_note_damage(reader, wrong, bytes_used(reader));
            reader->damage.cut = wrong == cut_block;
        }
        if (reader->wasted > WASTE_LIMIT + WASTE_FACTOR * reader->bytes_read)
            pass_over_rest(reader);
        else
            skip_to_sync(reader);
    }
}

/* Learns from the first good block of the file which recording is read. */
static void block_read_begin_recording(struct block_reader *reader, const struct block *first)
{
    reader->recording_id = block_read_recording_id(first->kind, first->payload);
    reader->next = first->sequence;
}

/* Whether the block belongs to this recording. A block of an unknown kind counts as one of this recording. */
static bool block_read_is_ours(const struct block_reader *reader, const struct block *block)
{
    const bool has_id = block->kind == BLOCK_END || block->kind == BLOCK_EVENTS;
    return !has_id || block_read_recording_id(block->kind, block->payload) == reader->recording_id;
}

/* Skips a block of another recording. Its bytes, and bytes that were skipped before it, may be the lost end of this
 * recording: they count in `tail`. */
static void pass_over_strange(struct block_reader *reader, const struct block *block)
{
    reader->damage.bytes += block->size;
    reader->damage.tail += block->size;
    block_read_note_damage(reader, "a block of another recording", block->at);
}

static void pass_over_late(struct block_reader *reader, const struct block *block)
{
    reader->damage.duplicates++;
    block_read_note_damage(reader, "a repeated or late block", block->at);
}

/* Counts the blocks that are missing before a block of the recording. */
static void step_to(struct block_reader *reader, struct block *block)
{
    block->skipped = block->sequence > reader->next;
    if (block->skipped)
        block_read_note_damage(reader, "missing blocks ahead of the one", block->at);
    reader->damage.blocks += block->sequence - reader->next;
    reader->damage.tail = 0;
    reader->next = (uint64_t)block->sequence + 1;
}

enum block_found block_read(struct block_reader *reader, struct block *block, struct fault *why)
{
    for (;;) {
        const enum block_found found = find_block(reader, block, why);
        if (found != BLOCK_FOUND)
            return found;
        if (reader->good == 1)
            block_read_begin_recording(reader, block);
        if (!block_read_is_ours(reader, block)) {
            pass_over_strange(reader, block);
        } else if (block->sequence < reader->next) {
            pass_over_late(reader, block);
        } else {
            step_to(reader, block);
            return BLOCK_FOUND;
        }
    }
}

bool block_read_recognised(const void *bytes, size_t size)
{
    return size >= STREAM_MAGIC_SIZE && memcmp(bytes, STREAM_MAGIC, STREAM_MAGIC_SIZE) == 0;
}

bool block_read_magic(struct block_reader *reader, struct fault *why)
{
    if (!block_read_fill(reader, STREAM_MAGIC_SIZE, why))
        return false;
    if (waiting(reader) == 0)
        return fault(why, "it is empty");
    if (!block_read_recognised(reader->window + reader->start, waiting(reader)))
        return fault(why, "it is not a pyreel recording");
    reader->start += STREAM_MAGIC_SIZE;
    return true;
}
