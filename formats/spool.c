/* SPDX-License-Identifier: MIT */
#include "formats/spool.h"

#include "formats/alloc.h"
#include "formats/scratch.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK_SIZE ((size_t)32 << 10) /* a column's share of memory */
#define TAIL_SIZE  ((size_t)1 << 20)  /* of the log, before it goes to the file */

static bool create_file(struct spool *spool)
{
    spool->fd = scratch_create(&spool->failure);
    spool->on_disk = spool->fd >= 0;
    return spool->on_disk;
}

static void write_tail(struct spool *spool)
{
    if (!spool->on_disk && !create_file(spool))
        return;
    if (!scratch_write(spool->fd, spool->file_size, spool->tail.at, spool->tail.size, &spool->failure))
        return;
    spool->file_size += spool->tail.size;
    spool->tail.size = 0;
}

/* A chunk lies wholly in the file or wholly in the tail: it comes in one piece and the tail goes in one. */
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

void spool_add(struct spool *spool, struct spool_column *column, struct spool_sample sample)
{
    if (spool->failure.text[0])
        return;
    put_number(&column->open, sample.time - column->last.time);
    put_signed(&column->open, (int64_t)sample.stack - column->last.stack);
    column->last = sample;
    column->count++;
    if (column->open.size >= CHUNK_SIZE)
        append_chunk(spool, column);
}

void spool_settle(struct spool *spool, struct spool_column *column)
{
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
}

static bool load_chunk(struct spool_reader *reader, const struct spool_chunk *chunk)
{
    struct bytes *loaded = &reader->loaded;
    loaded->at = alloc_grow(loaded->at, &loaded->room, chunk->size, 1);
    if (!scratch_read(reader->spool->fd, chunk->at, loaded->at, chunk->size, &reader->spool->failure))
        return false;
    reader->from = cursor_of(loaded->at, chunk->size);
    return true;
}

/* First the chunks, in the file or in the tail, then what the column still holds. */
static bool next_part(struct spool_reader *reader)
{
    const struct spool_column *column = reader->column;
    const struct spool *spool = reader->spool;
    if (reader->chunk > column->chunks_count)
        return false;
    const size_t at = reader->chunk++;
    if (at == column->chunks_count) {
        if (column->open.size > 0)
            reader->from = cursor_of(column->open.at, column->open.size);
        return column->open.size > 0;
    }
    const struct spool_chunk *chunk = &column->chunks[at];
    if (chunk->at < spool->file_size)
        return load_chunk(reader, chunk);
    reader->from = cursor_of(spool->tail.at + (chunk->at - spool->file_size), chunk->size);
    return true;
}

bool spool_next(struct spool_reader *reader, struct spool_sample *sample)
{
    if (cursor_left(&reader->from) == 0 && !next_part(reader))
        return false;
    const uint64_t time_step = take_number(&reader->from);
    const int64_t stack_step = take_signed(&reader->from);
    assert(!reader->from.bad);
    reader->last.time += time_step;
    reader->last.stack = (uint32_t)(reader->last.stack + stack_step);
    *sample = reader->last;
    return true;
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
