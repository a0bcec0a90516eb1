/* SPDX-License-Identifier: MIT */
/* Samples of many threads, put aside until each thread's can be given in one piece. A thread's samples gather in a
 * small buffer of its own, coded as differences (two or three bytes each; those that come at the same step and have the
 * same stack as the one before, as a count); a full buffer, or that of a thread that has ended, moves to one log for
 * all. The log's end waits in memory and the rest lies in one temporary file that has no name, so nothing is left
 * behind however we end, and a short recording never makes a file at all.
 *
 *     thread 1   [open]   chunks at 0, 65540          log   |1111|2222|1111|3|22..
 *     thread 2   [open]   chunks at 32769, 98310
 *
 * `= {0}` is an empty spool, and an empty column. */
#ifndef PYREEL_FORMATS_BASE_SPOOL_H
#define PYREEL_FORMATS_BASE_SPOOL_H

#include "formats/base/bytes.h"
#include "formats/base/fault.h"

struct spool {
    int fd;
    bool on_disk;         /* the file is there, as `fd` */
    uint64_t file_size;   /* bytes of the log that lie in it */
    struct bytes tail;    /* and those that do not yet */
    struct fault failure; /* the first thing that went wrong; nothing is added after it */
};

/* Time and stack are any numbers; both are cheapest when they change little from one sample to the next. A column may
 * as well hold other pairs of numbers that come with the samples, of which the first does not fall. */
struct spool_sample {
    uint64_t time;
    uint32_t stack;
};

struct spool_chunk {
    uint64_t at; /* in the log */
    size_t size;
};

/* The samples of one thread. Its owner keeps it and gives it back with spool_drop(). */
struct spool_column {
    struct bytes open;
    struct spool_chunk *chunks;
    size_t chunks_count;
    uint64_t count;           /* of samples */
    struct spool_sample last; /* the latest one, ... */
    uint64_t step;            /* ... and its distance from the one before */
    uint64_t same;            /* samples, not in `open` yet, that came at this step and had this stack */
};

/* For spool_add(): one that is not like the one before. */
void spool_add_other(struct spool *spool, struct spool_column *column, struct spool_sample sample);

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

/* Few or no samples will follow: moves the column's buffer to the log. */
void spool_settle(struct spool *spool, struct spool_column *column);

/* Reads a column from its first sample. `= {0}` is empty; one reader may read many columns, one after the other. */
struct spool_reader {
    struct spool *spool;
    const struct spool_column *column;
    size_t chunk;        /* the next one to load */
    struct bytes loaded; /* a chunk of the file */
    struct cursor from;
    struct spool_sample last;
    uint64_t step, same; /* so many samples more like the last one */
};

void spool_rewind(struct spool_reader *reader, struct spool *spool, const struct spool_column *column);

/* Gives the next sample; false after the last one, and when the file can't be read: spool->failure says so. */
bool spool_next_other(struct spool_reader *reader, struct spool_sample *sample);

static inline bool spool_next(struct spool_reader *reader, struct spool_sample *sample)
{
    if (reader->same == 0)
        return spool_next_other(reader, sample);
    reader->same--;
    reader->last.time += reader->step;
    *sample = reader->last;
    return true;
}

/* Steps over the samples that have the stack of the last one and come at its step, as far as that is known without
 * looking. Returns how many. */
static inline uint64_t spool_pass_same(struct spool_reader *reader)
{
    const uint64_t same = reader->same;
    reader->last.time += same * reader->step;
    reader->same = 0;
    return same;
}

void spool_reader_free(struct spool_reader *reader);
void spool_drop(struct spool_column *column);
void spool_close(struct spool *spool);

#endif
