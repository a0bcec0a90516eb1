/* SPDX-License-Identifier: MIT */
/* Decodes the ticks of a block: their times, and the samples without a record. A thread without a record in a tick has
 * the same stack as in the tick before. Part of formats/stream/stream_read.h; no file outside stream_read.c and
 * stream_decode.c includes this header.
 *
 * Most samples have no record. A reader that gives runs does not give them tick by tick. It gives a run as one sample
 * when the run ends: at the thread's next record, at a note of its status, its task or the time that samples stand for,
 * at the end of the block, or where all runs end (reader->run_ns).
 *
 *     tick          1    2    3    4    5    6                        runs: of ticks 2 and 3; of 5 and 6
 *     records of    A              A
 *     `since` of A  2    2    2    5    5    5 */
#ifndef PYREEL_FORMATS_STREAM_STREAM_DECODE_H
#define PYREEL_FORMATS_STREAM_STREAM_DECODE_H

#include "formats/stream/stream_read.h"

/* The state while the events of a block are decoded. */
struct decoding {
    struct stream_reader *reader;
    struct reader_clock *clock; /* of the current tick, or of the next one. NULL: no TICK-PROCESS came yet */
    struct cursor from;
    const struct sink *to;
    struct fault *why;
    uint64_t ticks_left;   /* ticks that the block may still have */
    uint64_t samples_left; /* samples without a record that the block may still have */
    uint32_t frames_left;  /* frames that the block may still name. The limit is needed because repeated frames take no
                            * bytes */
    uint32_t named;        /* expected threads with a record in the tick */
    bool in_tick;
    bool all_failed; /* no thread could be read in the tick */
    bool weighed;    /* the tick's samples have fixed how long all of them stand for */
    bool unsure;     /* a sample without a record may break a rule: each is checked in its tick */
};

/* Notes that the file breaks a rule: the cursor turns bad. Returns false. */
static inline bool stream_decode_broken(struct decoding *d)
{
    d->from.bad = true;
    return false;
}

/* The thread with this number, which may be one whose definition was lost. NULL: the file is broken. */
struct reader_thread *stream_decode_thread(struct stream_reader *reader, uint64_t number);
/* The thread with this number, if the open tick may name it. NULL as well when a tick of another process has named the
 * thread.
 */
struct reader_thread *stream_decode_thread_of_tick(struct decoding *d, uint64_t number);

/* Begins a block. A block depends on earlier blocks only for definitions. */
void stream_decode_begin(struct stream_reader *reader);

/* The next ticks are of this process; 0: of all processes. No tick is open. */
void stream_decode_choose_clock(struct decoding *d, uint32_t process);

/* Begins a tick with the argument of its record. */
bool stream_decode_begin_tick(struct decoding *d, uint64_t argument);
/* Ends the tick, if one is open. Every expected thread without a record has the same stack again. */
bool stream_decode_close_tick(struct decoding *d);
/* Adds `count` ticks that are on time and in which nothing changes. */
bool stream_decode_repeat(struct decoding *d, uint64_t count);
/* Gives the remaining samples of closed ticks, whatever ended the block. */
bool stream_decode_end(struct decoding *d);

/* The time of the latest tick. */
uint64_t stream_decode_time_ns(const struct stream_reader *reader);

/* Notes that a record of the tick names this thread. NULL: the file is broken, because a thread may have one record per
 * tick. */
struct reader_thread *stream_decode_name_thread(struct decoding *d, uint64_t number);
/* The named thread, whose run has been given, has no sample in this tick. It is expected in the next tick, or (dismiss)
 * it is not. */
void stream_decode_expect_thread(struct decoding *d, uint32_t number);
void stream_decode_dismiss_thread(struct decoding *d, uint32_t number);
/* Gives the named thread's sample: `keep` frames of its last stack, then `pushed` frames of reader->frames. */
bool stream_decode_give_sample(struct decoding *d, uint32_t number, uint32_t keep, uint32_t pushed);

/* Gives the thread's samples up to the last closed tick. Call it before the thread's stack, status or task changes. */
bool stream_decode_give_run(struct decoding *d, uint32_t number);
/* Gives the runs of all threads of the tick's process, as stream_decode_give_run() does. */
bool stream_decode_give_runs(struct decoding *d);
/* No thread of the process could be read in this tick. */
bool stream_decode_fail_tick(struct decoding *d);

#endif
