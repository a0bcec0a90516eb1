/* SPDX-License-Identifier: MIT */
/* Reads a stream file as events, block by block, from a file or a pipe. The file is not trusted: every length is
 * checked before it is used. A bad block loses only its own contents: the reader looks for the next good block, goes
 * on, and counts the skipped bytes in `blocks.damage` (schemas/stream.md section 5). */
#ifndef PYREEL_FORMATS_STREAM_STREAM_READ_H
#define PYREEL_FORMATS_STREAM_STREAM_READ_H

#include "formats/model/source_kind.h"
#include "formats/stream/block_prefetch.h"
#include "formats/stream/stream_held.h"
#include "formats/stream/stream_notes.h"
#include "formats/stream/stream_status.h"

/* The ticks of one process in a block. Where processes have no ticks of their own, the first row is about all. */
struct reader_clock {
    uint32_t process;   /* 0: all */
    uint32_t *expected; /* threads that have a sample in the next tick unless a record says otherwise */
    size_t expected_room;
    uint32_t expected_count;
    uint64_t tick;       /* number of the latest tick, counted through all blocks */
    uint64_t *ticks;     /* times of the block's ticks, in units, ... */
    uint64_t first_tick; /* ... the first of them is this tick */
    size_t ticks_room;
    uint64_t ticks_closed; /* ticks that are closed but not given; when runs are given: all ticks of the block */
    uint64_t stands_ns;    /* how long a sample stands for */
};

struct reader_process {
    uint64_t tick;  /* number of the process's latest tick, as of the last block */
    uint64_t block; /* the latest block with ticks of the process, 0: none, ... */
    uint32_t clock; /* ... and the index of the clock there */
};

struct reader_thread {
    uint32_t depth;
    uint32_t listed; /* index in `expected` of its clock + 1; 0: absent */
    uint32_t clock;  /* index of the clock whose tick named the thread first in the block, ... */
    uint64_t tick;   /* the last tick of this clock with a record of the thread */
    uint64_t named;  /* ... which is this block */
    uint64_t block;  /* the block in which `depth` is valid */
    uint64_t since;  /* tick of the first sample that is not given yet; valid while listed */
    struct stream_status status;
    uint64_t cpu_units;     /* CPU time at the thread's last sample, ... */
    uint64_t losses;        /* ... and reader->losses at that time */
    uint64_t looked;        /* the latest tick of its process with a look at the thread, ... */
    uint64_t looked_losses; /* ... and reader->losses at that time */
    bool sampled;           /* the thread had a sample with a status */
    struct stream_held held[HELD];
};

struct stream_reader {
    struct block_reader blocks; /* .damage is the damage of the whole recording */
    uint64_t block;             /* number of the block that is being decoded; struct reader_thread refers to it */
    uint64_t at;                /* offset of that block in the file */
    bool ended;                 /* the END block has been given, ... */
    bool complete;              /* ... and reports no loss before it */
    enum end_reason end_reason;
    bool gives_runs; /* set by the caller: the sink takes samples whose count is above 1, ... */
    uint64_t run_ns; /* ... and all runs end at multiples of this time; 0: they don't */
    /* Set by the caller: samples get status 0 and no CPU time, and a change of these does not end a run. */
    bool ignores_status;
    bool ignores_stands; /* set by the caller: each sample stands for an interval, and a change does not end a run */
    bool goes_ahead;     /* set by the caller: a thread prefetches blocks; not for a pipe */
    struct block_prefetch *ahead;
    uint64_t interval_ns, unit_ns;
    bool process_ticks;      /* each process has its own ticks */
    bool is_later_part;      /* looks in the first tick of a process may follow looks in the part before */
    uint64_t most_units;     /* the latest possible time */
    uint64_t step_units;     /* an interval in units; 0: the interval is no multiple of the unit */
    uint64_t runs_end_units; /* with run_ns: the multiple of it behind the latest tick */

    struct reader_thread *threads; /* by number */
    size_t threads_room;
    uint32_t last_thread, last_task, last_process; /* highest numbers defined */
    struct stream_measured *measured;              /* by number of the process */
    size_t measured_room;
    struct reader_process *processes; /* by number; only row 0 where processes have no ticks of their own */
    size_t processes_room;
    struct reader_clock *clocks; /* of the block, in the order of their first ticks */
    size_t clocks_room;
    uint32_t clocks_count;
    uint32_t *ticked; /* with run_ns: indexes of the clocks with ticks that are not given yet */
    size_t ticked_count, ticked_room;
    uint64_t tick_units; /* time of the latest tick of any process */
    uint64_t due_units;  /* the time at which the latest tick was due; 0 at first */
    uint64_t losses;     /* number of losses: of blocks, or of parts of them */
    uint64_t lost_ticks; /* ticks in the lost parts, as far as a later block shows */
    uint32_t *frames;
    size_t frames_room;
    struct stream_cut cut; /* names of the event that is being given */
};

/* Starts reading from `fd`, which stays the caller's; `head` has the bytes that the caller has read from it already.
 * Gives EVENT_RECORDING to the sink. Returns false with the reason: not a pyreel stream, a newer version, or no usable
 * block. */
bool stream_reader_open(struct stream_reader *reader, int fd, struct text head, const struct sink *to,
                        struct fault *why);

/* Gives the events of the next good block. SOURCE_ENDED at the end of the file. SOURCE_STOPPED with the reason in `why`
 * when the file could not be read or the sink refused an event for a reason of its own. */
enum source_state stream_read_block(struct stream_reader *reader, const struct sink *to, struct fault *why);

/* Take the payload of a HEADER or an EVENTS block that the caller has, and give its events, as if the block had been
 * read from a file. The reader begins as zeros. False with the reason when the header is damaged or the sink refused an
 * event. A broken EVENTS payload is damage. */
bool stream_read_header(struct stream_reader *reader, struct cursor payload, const struct sink *to, struct fault *why);
bool stream_read_events(struct stream_reader *reader, struct cursor payload, const struct sink *to, struct fault *why);

/* Takes the payload of an END block and gives its event. A broken payload is damage. */
bool stream_read_end(struct stream_reader *reader, struct cursor payload, const struct sink *to, struct fault *why);

/* Stops reading ahead. A caller that closes the file before SOURCE_ENDED must call this first. The reader's fields stay
 * valid. */
void stream_reader_stop(struct stream_reader *reader);

/* Counts what the tables refused as damage of the block that was read last. */
void stream_reader_forgive(struct stream_reader *reader, const char *what);

/* Frees the reader's memory. Safe on a zeroed reader. */
void stream_reader_close(struct stream_reader *reader);

extern const struct source_kind stream_read_kind;

#endif
