/* SPDX-License-Identifier: MIT */
#include "formats/scratch/spool.h"

#include "formats/base/alloc.h"
#include "formats/scratch/tempfile.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK_SIZE ((size_t)32 << 10) /* size of a column's buffer in memory */
#define TAIL_SIZE  ((size_t)1 << 20)  /* bytes of the log that stay in memory before they go to the file */

static bool create_file(struct spool *spool)
{
    spool->fd = tempfile_create(&spool->failure);
    spool->on_disk = spool->fd >= 0;
    return spool->on_disk;
}

static void write_tail(struct spool *spool)
{
    if (!spool->on_disk && !create_file(spool))
        return;
    if (!tempfile_write(spool->fd, spool->file_size, spool->tail.at, spool->tail.size, &spool->failure))
        return;
    spool->file_size += spool->tail.size;
    spool->tail.size = 0;
}

/* Appends the column's buffer to the log as a chunk. A chunk lies wholly in the file or wholly in the tail, because a
 * chunk is appended in one piece and the tail is written in one piece. */
static void append_chunk(struct spool *spool, struct spool_column *column)
{
    column->chunks = alloc_resize(column->chunks, column->chunks_count + 1, sizeof(*column->chunks));
    column->chunks[column->chunks_count++] = (struct spool_chunk){ .at = spool->file_size + spool->tail.size,
                                                                   .size = column->open.size };
    put_bytes(&spool->tail, column->open.at, column->open.size);
    column->open.size = 0;
    if (spool->tail.size >= TAIL_SIZE)
        write_tail(spool);
}

/* Writes the count of equal samples. In the coding, an odd number counts samples that have the stack and the step of
 * the sample before. An even number is twice what put_signed() makes of the difference of the stacks; the step follows.
 */
static void put_same(struct spool_column *column)
{
    if (column->same == 0)
        return;
    put_number(&column->open, column->same << 1 | 1);
    column->same = 0;
}

void spool_add_other(struct spool *spool, struct spool_column *column, struct spool_sample sample)
{
    if (spool->failure.text[0])
        return;
    put_same(column);
    if (column->open.size >= CHUNK_SIZE)
        append_chunk(spool, column);
    const int64_t difference = (int64_t)sample.stack - column->last.stack;
    column->step = sample.time - column->last.time;
    put_number(&column->open, ((uint64_t)difference << 1 ^ (difference < 0 ? UINT64_MAX : 0)) << 1);
    put_number(&column->open, column->step);
    column->last = sample;
    column->count++;
}

void spool_settle(struct spool *spool, struct spool_column *column)
{
    put_same(column);
    if (column->open.size > 0 && !spool->failure.text[0])
        append_chunk(spool, column);
    bytes_free(&column->open);
}

void spool_rewind(struct spool_reader *reader, struct spool *spool, const struct spool_column *column)
{
    reader->spool = spool;
    reader->column = column;
    reader->chunk = 0;
    reader->from = (struct cursor){ 0 };
    reader->last = (struct spool_sample){ 0 };
    reader->step = reader->same = 0;
}

static bool load_chunk(struct spool_reader *reader, const struct spool_chunk *chunk)
{
    struct bytes *loaded = &reader->loaded;
    loaded->at = alloc_grow(loaded->at, &loaded->room, chunk->size, 1);
    if (!tempfile_read(reader->spool->fd, chunk->at, loaded->at, chunk->size, &reader->spool->failure))
        return false;
    reader->from = cursor_of(loaded->at, chunk->size);
    return true;
}

/* Goes to the next part of a column. The parts are the chunks, in the file or in the tail, then the column's buffer,
 * then the count of equal samples that are in no buffer yet. */
static bool next_part(struct spool_reader *reader)
{
    const struct spool_column *column = reader->column;
    const struct spool *spool = reader->spool;
    if (reader->chunk > column->chunks_count + 1)
        return false;
    const size_t at = reader->chunk++;
    if (at == column->chunks_count + 1)
        reader->same = column->same;
    if (at == column->chunks_count)
        reader->from = cursor_of(column->open.at, column->open.size);
    if (at >= column->chunks_count)
        return true;
    const struct spool_chunk *chunk = &column->chunks[at];
    if (chunk->at < spool->file_size)
        return load_chunk(reader, chunk);
    reader->from = cursor_of(spool->tail.at + (chunk->at - spool->file_size), chunk->size);
    return true;
}

static void take_entry(struct spool_reader *reader)
{
    const uint64_t entry = take_number(&reader->from);
    reader->same = entry & 1 ? entry >> 1 : 1;
    if (entry & 1)
        return;
    const int64_t difference = (int64_t)(entry >> 2) ^ (entry & 2 ? -1 : 0);
    reader->last.stack = (uint32_t)(reader->last.stack + difference);
    reader->step = take_number(&reader->from);
}

bool spool_next_other(struct spool_reader *reader, struct spool_sample *sample)
{
    while (reader->same == 0 && cursor_left(&reader->from) == 0)
        if (!next_part(reader))
            return false;
    if (reader->same == 0)
        take_entry(reader);
    assert(!reader->from.bad && reader->same > 0);
    return spool_next(reader, sample);
}

void spool_reader_free(struct spool_reader *reader)
{
    bytes_free(&reader->loaded);
    *reader = (struct spool_reader){ 0 };
}

void spool_drop(struct spool_column *column)
{
    bytes_free(&column->open);
    free(column->chunks);
    *column = (struct spool_column){ 0 };
}

void spool_close(struct spool *spool)
{
    if (spool->on_disk)
        close(spool->fd);
    bytes_free(&spool->tail);
    *spool = (struct spool){ 0 };
}
