/* SPDX-License-Identifier: MIT */
/* Writes events as a stream file: collects records in an open block; when a second has passed or the block is large,
 * compresses it, puts a checksum on it and writes it with one write(). What has been written is never touched again,
 * so the file may be a pipe, and a killed recorder loses the open block only.
 *
 * Per thread it keeps the stack as the open block has it, since each block must tell every stack anew. */
#ifndef PYREEL_FORMATS_STREAM_STREAM_WRITE_H
#define PYREEL_FORMATS_STREAM_STREAM_WRITE_H

#include "formats/model/sink.h"
#include "formats/stream/block_write.h"
#include "formats/stream/stream_status.h"
#include "formats/stream/stream_task.h"

struct stream_thread {
    uint32_t *stack; /* frames, root first */
    size_t stack_room;
    uint32_t depth;
    uint64_t tick;   /* the tick (counted from 1) it last appeared in */
    uint32_t listed; /* its place in `expected` + 1; 0 while absent */
    uint64_t block;  /* the block (counted from 1) that knows its stack */
    uint64_t cpu_ns; /* CPU time of its samples so far */
    struct stream_status status;
    struct stream_task runs;
};

struct totals {
    uint64_t ticks, samples, missed, failed;
};

struct stream_writer {
    struct block_writer blocks;
    struct bytes open; /* payload of the open block */
    struct bytes note; /* fields of the note being written */

    uint64_t interval_ns, unit_ns;
    uint32_t mark;        /* in each block, as it is in the header */
    bool weighted;        /* so is this: samples may stand for other than an interval */
    uint64_t block;       /* which one is open, from 1 */
    uint64_t block_units; /* time of its base */
    uint64_t named;       /* frames that its records name, repeated ones too */
    uint64_t last_units;  /* time of the latest tick that is written or waits in `idle` */
    uint64_t tick;        /* the open tick or the next one, from 1 */
    bool tick_open;       /* its TICK record is written */
    uint64_t idle;        /* ticks on time without a change that wait to become one REPEAT */
    uint64_t stands_ns;   /* how long samples stand for now, as the open block says it */
    bool tick_sampled;    /* the tick has a sample, and all others stand for as long */

    struct stream_thread *threads; /* by number */
    size_t threads_room;
    uint32_t *expected; /* threads that the next tick is expected to sample */
    size_t expected_room;
    uint32_t expected_count;

    struct totals now, kept; /* for END: of all that was taken, and without what found no room below the limit */
};

/* Starts a stream on `fd`, which stays the caller's. `level` is zstd's, or 0: by need. EVENT_RECORDING must come first.
 */
void stream_writer_open(struct stream_writer *writer, int fd, enum stream_codec codec, int level);

/* The file may not grow past so many bytes. Blocks get smaller when that is near, so that little is lost. */
void stream_writer_limit(struct stream_writer *writer, uint64_t bytes);

/* Whether that is reached: EVENT_END is due, and there is room for what is told before it. */
bool stream_writer_full(const struct stream_writer *writer);

/* Takes an event. False when the file cannot be written, with the reason. EVENT_END writes all and ends the stream. */
bool stream_write(struct stream_writer *writer, const struct event *event, struct fault *why);

/* The writer as a sink. */
struct sink stream_writer_sink(struct stream_writer *writer);

/* Frees what it holds; writes nothing. Safe on a zeroed writer. */
void stream_writer_close(struct stream_writer *writer);

#endif
