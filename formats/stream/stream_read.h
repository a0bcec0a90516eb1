/* SPDX-License-Identifier: MIT */
/* Reads a stream file as events, block by block, from a file or a pipe. The file is not trusted: every length is
 * bounded before it is used. A bad block costs what is in it: the reader looks for the next good one, goes on, and
 * counts what it passed over in `blocks.damage`; the rules are section 5 of schemas/stream.md. */
#ifndef PYREEL_FORMATS_STREAM_STREAM_READ_H
#define PYREEL_FORMATS_STREAM_STREAM_READ_H

#include "formats/model/source_kind.h"
#include "formats/stream/block_prefetch.h"
#include "formats/stream/stream_status.h"
#include "formats/stream/stream_task.h"

struct reader_thread {
    uint32_t depth;
    uint32_t listed; /* its place in `expected` + 1; 0 while absent */
    uint64_t tick;   /* the tick that has named it */
    uint64_t block;  /* the block that knows its depth */
    uint64_t since;  /* the tick of its first sample that has not been given; while listed */
    struct stream_status status;
    uint64_t cpu_units; /* CPU time at its last sample, ... */
    uint64_t losses;    /* ... before which so much had been lost */
    bool sampled;       /* it had one with a status */
    struct stream_task runs;
};

struct stream_reader {
    struct block_reader blocks; /* its damage is the recording's */
    uint64_t block;             /* blocks decoded, which also tells one from the next in struct reader_thread */
    uint64_t at;                /* where the one that is being decoded begins in the file */
    struct block_order order;
    bool ended;    /* the END block has been given, ... */
    bool complete; /* ... and does not say that something was lost before it */
    enum end_reason end_reason;
    bool gives_runs; /* to be set by who can take samples with `more` */
    /* To be set by who does not ask what threads did: samples have status 0 and no CPU time, and runs go on when these
     * change. */
    bool ignores_status;
    bool ignores_stands; /* to be set by who only counts: samples stand for an interval, and runs go on */
    bool goes_ahead;     /* to be set where a thread that finds blocks ahead pays; not for a pipe */
    struct block_prefetch *ahead;
    uint64_t interval_ns, unit_ns;
    bool weighted;       /* samples may stand for other than an interval */
    uint64_t most_units; /* a time can be */
    uint64_t step_units; /* an interval; 0: it is no multiple of the unit */

    struct reader_thread *threads; /* by number */
    size_t threads_room;
    uint32_t last_thread, last_task; /* the highest numbers defined */
    uint32_t *expected;              /* threads that the current tick samples unless it says otherwise */
    size_t expected_room;
    uint32_t expected_count;
    uint64_t tick; /* ticks read */
    uint64_t tick_units;
    uint64_t due_units;  /* the moment at which the latest tick was due; 0 at first */
    uint64_t *ticks;     /* times of the block's ticks, in units, ... */
    uint64_t first_tick; /* ... of which this is the first */
    size_t ticks_room;
    uint64_t losses;     /* of blocks, or of parts of them */
    uint64_t lost_ticks; /* that were asked for in those, as far as a later block tells */
    uint32_t *frames;
    size_t frames_room;
};

/* Starts reading `fd`, which stays the caller's and of which `head` was read already, and gives EVENT_RECORDING to the
 * sink. False with the reason: not a pyreel stream, a newer version, nothing usable in it. */
bool stream_reader_open(struct stream_reader *reader, int fd, struct text head, const struct sink *to,
                        struct fault *why);

/* Gives the events of the next good block. SOURCE_ENDED at the end of the file; SOURCE_STOPPED when it cannot go on:
 * the file could not be read or the sink refused for a reason of its own, which is in `why`. */
enum source_state stream_read_block(struct stream_reader *reader, const struct sink *to, struct fault *why);

/* Reads no more: who has not come to SOURCE_ENDED asks for this before the file is closed. What was read stays. */
void stream_reader_stop(struct stream_reader *reader);

/* What the tables refused is damage of the block that was read last. */
void stream_reader_forgive(struct stream_reader *reader, const char *what);

/* Frees what it holds. Safe on a zeroed reader. */
void stream_reader_close(struct stream_reader *reader);

extern const struct source_kind stream_read_kind;

#endif
