/* SPDX-License-Identifier: MIT */
/* Stores samples of many threads until the samples of each thread can be read in one piece. The latest samples of a
 * thread wait in a small buffer of the thread's column. Samples are coded as differences, two or three bytes each.
 * Consecutive samples with the same stack and the same step are coded as one count. A full buffer, or the buffer of a
 * thread that has ended, moves to one log for all threads. The end of the log stays in memory. The rest lies in a
 * temporary file without a name, so nothing remains on the disk however the program ends, and a short recording makes
 * no file.
 *
 *     thread 1   [open]   chunks at 0, 65540          log   |1111|2222|1111|3|22..
 *     thread 2   [open]   chunks at 32769, 98310
 *
 * `= {0}` is an empty spool, and an empty column. */
#ifndef PYREEL_FORMATS_SCRATCH_SPOOL_H
#define PYREEL_FORMATS_SCRATCH_SPOOL_H

#include "formats/base/bytes.h"
#include "formats/base/fault.h"

struct spool {
    int fd;
    bool on_disk;         /* the temporary file exists, as `fd` */
    uint64_t file_size;   /* bytes of the log that are in the file, ... */
    struct bytes tail;    /* ... and the bytes that are not in the file yet */
    struct fault failure; /* the first failure; nothing is stored after a failure */
};

/* Time and stack are any numbers. Both take the least room when they change little from sample to sample. A column may
 * hold other pairs of numbers that come with the samples, if the first number of a pair never decreases. */
struct spool_sample {
    uint64_t time;
    uint32_t stack;
};

struct spool_chunk {
    uint64_t at; /* offset in the log */
    size_t size;
};

/* The samples of one thread. The owner of a column frees it with spool_drop(). */
struct spool_column {
    struct bytes open;
    struct spool_chunk *chunks;
    size_t chunks_count;
    uint64_t count;           /* number of samples */
    struct spool_sample last; /* the latest sample, ... */
    uint64_t step;            /* ... and the time between it and the sample before */
    uint64_t same;            /* samples that are not in `open` yet: they have the stack and the step of `last` */
};

/* The part of spool_add() that takes a sample whose stack or step differs from that of the sample before. */
void spool_add_other(struct spool *spool, struct spool_column *column, struct spool_sample sample);

/* Adds a sample to a column. A failure is kept in spool->failure. */
static inline void spool_add(struct spool *spool, struct spool_column *column, struct spool_sample sample)
{
    if (sample.stack != column->last.stack || sample.time - column->last.time != column->step || column->count == 0) {
        spool_add_other(spool, column, sample);
        return;
    }
    column->last.time = sample.time;
    column->count++;
    column->same++;
}

/* Moves the column's buffer to the log. For a column that gets few or no more samples. */
void spool_settle(struct spool *spool, struct spool_column *column);

/* Reads a column from its first sample. `= {0}` is an empty reader. One reader may read many columns, one after the
 * other. */
struct spool_reader {
    struct spool *spool;
    const struct spool_column *column;
    size_t chunk;        /* index of the chunk to load next */
    struct bytes loaded; /* a chunk that was read from the file */
    struct cursor from;
    struct spool_sample last;
    uint64_t step, same; /* `same` more samples have the stack and the step of `last` */
};

/* Lets the reader begin at the first sample of a column. `spool` and `column` must live as long as the reader reads,
 * and get no samples meanwhile. */
void spool_rewind(struct spool_reader *reader, struct spool *spool, const struct spool_column *column);

/* The part of spool_next() that decodes a sample. False after the last sample, and when the file cannot be read:
 * spool->failure has the reason. */
bool spool_next_other(struct spool_reader *reader, struct spool_sample *sample);

/* Gives the next sample. False after the last one, and on failure: spool->failure has the reason. */
static inline bool spool_next(struct spool_reader *reader, struct spool_sample *sample)
{
    if (reader->same == 0)
        return spool_next_other(reader, sample);
    reader->same--;
    reader->last.time += reader->step;
    *sample = reader->last;
    return true;
}

/* Skips the following samples that have the stack and the step of the last sample, as far as the reader has decoded
 * them. Returns their number. */
static inline uint64_t spool_pass_same(struct spool_reader *reader)
{
    const uint64_t same = reader->same;
    reader->last.time += same * reader->step;
    reader->same = 0;
    return same;
}

/* Frees the reader's memory. */
void spool_reader_free(struct spool_reader *reader);

/* Frees a column. Its chunks stay in the log. */
void spool_drop(struct spool_column *column);

/* Frees the spool and closes its temporary file. */
void spool_close(struct spool *spool);

#endif
