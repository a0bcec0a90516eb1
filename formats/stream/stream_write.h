/* SPDX-License-Identifier: MIT */
/* Writes events as a stream file. The writer collects records in an open block. When a second has passed or the block
 * is large, the writer compresses the block, adds a checksum and writes it with one write(). Written bytes never
 * change, so the file may be a pipe, and a killed recorder loses only the open block.
 *
 * For each thread the writer keeps the stack as the open block has it, because each block must have every stack anew.
 */
#ifndef PYREEL_FORMATS_STREAM_STREAM_WRITE_H
#define PYREEL_FORMATS_STREAM_STREAM_WRITE_H

#include "formats/model/sink.h"
#include "formats/stream/block_write.h"
#include "formats/stream/stream_held.h"
#include "formats/stream/stream_notes.h"
#include "formats/stream/stream_status.h"

/* The ticks of one process in a block; the first row is about the ticks of all processes, where processes have no ticks
 * of their own. */
struct stream_clock {
    uint32_t *expected; /* threads that the next tick is expected to sample */
    size_t expected_room;
    uint32_t expected_count;
    uint64_t stands_ns; /* how long a sample stands for now, as the open block has it */
};

/* The clock of a process in a block. */
struct stream_clock_of {
    uint64_t block; /* in an other block the process has no clock */
    uint32_t clock; /* index of the row */
};

struct stream_thread {
    uint32_t process;
    uint32_t *stack; /* frames, root first */
    size_t stack_room;
    uint32_t depth;
    uint64_t tick;       /* the last tick, from 1, with a record of the thread */
    uint32_t listed;     /* index in `expected` of its clock + 1; 0: absent */
    uint64_t block;      /* the block, from 1, that has the thread's stack */
    uint64_t cpu_ns;     /* CPU time of all samples so far */
    uint64_t told_units; /* as much of it as a reader computes */
    bool task;           /* an entry that stands for a task: its CPU time is exact in each tick */
    struct stream_status status;
    struct stream_held held[HELD];
};

struct totals {
    uint64_t ticks, samples, missed, failed;
};

struct stream_writer {
    struct block_writer blocks;
    struct bytes open; /* payload of the open block */
    struct bytes note; /* fields of the note being written */

    uint64_t interval_ns, unit_ns;
    uint32_t recording_id; /* in the header and in each block */
    bool process_ticks;    /* each process has its own ticks; in the header, too */
    uint64_t block;        /* number of the open block, from 1 */
    uint64_t block_units;  /* base of the open block */
    uint64_t named;        /* frames that the open block names, with repetitions */
    uint64_t last_units;   /* time of the latest tick, written or waiting in `idle` */
    uint64_t tick;         /* number of the open tick or the next one, from 1 */
    bool tick_open;        /* the TICK record of `tick` is written */
    uint64_t idle;         /* ticks on time and without a change that wait to become one REPEAT */
    int64_t
        *rests_ns; /* by process: CPU time that is not written yet, of ended threads and entries; below 0: too much */
    size_t rests_room;
    uint64_t shortest_ns;  /* the shortest time that samples of the open block stand for; UINT64_MAX: it has no tick */
    bool tick_sampled;     /* the tick has a sample; all its samples stand for the same time */
    bool tick_begun;       /* `tick_process` and `clock` are those of the tick */
    uint32_t tick_process; /* the process of the tick; 0: all processes */
    uint32_t said_process; /* the process of the latest tick in the open block; 0: none */

    /* Threads come and go, and their numbers only grow. A thread has a row until the block in which it ends is closed,
     * and a later thread gets the row. */
    struct stream_thread *threads;
    size_t threads_room;
    uint32_t threads_count;
    uint32_t *rows; /* by number of the thread: the index of its row + 1; 0: none */
    size_t rows_room;
    uint32_t *ended; /* threads that have ended in the block */
    size_t ended_room;
    uint32_t ended_count;
    uint32_t *spare; /* indexes of rows that no thread has */
    size_t spare_room;
    uint32_t spare_count;
    struct stream_measured *measured; /* by number of the process */
    size_t measured_room;
    struct stream_clock *clocks; /* of the open block, in the order of their first ticks */
    size_t clocks_room;
    uint32_t clocks_count;
    uint32_t clock;                   /* index of the row of the tick */
    struct stream_clock_of *clock_of; /* by number of the process */
    size_t clock_of_room;

    struct totals now, kept; /* for END: the totals of all events, and of those that are in the file when it is full */
};

/* Starts a stream on `fd`, which stays the caller's. The first event must be EVENT_RECORDING. */
void stream_writer_open(struct stream_writer *writer, int fd, enum stream_codec codec);

/* Limits the file to this size. Near the limit blocks get smaller, so that little is lost. */
void stream_writer_limit(struct stream_writer *writer, uint64_t bytes);

/* Whether the limit is reached: EVENT_END is due, and there is room for the events that come before it. */
bool stream_writer_full(const struct stream_writer *writer);

/* Whether events wait for their block to be written. */
bool stream_writer_waits(const struct stream_writer *writer);

/* Writes what waits. Not within a tick: for a pause in which no tick comes. False with the reason. */
bool stream_writer_flush(struct stream_writer *writer, struct fault *why);

/* Takes an event. Returns false with the reason when the file cannot be written. EVENT_END writes everything and ends
 * the stream. */
bool stream_write(struct stream_writer *writer, const struct event *event, struct fault *why);

/* The writer as a sink. */
struct sink stream_writer_sink(struct stream_writer *writer);

/* Frees the writer's memory and writes nothing. Safe on a zeroed writer. */
void stream_writer_close(struct stream_writer *writer);

#endif
