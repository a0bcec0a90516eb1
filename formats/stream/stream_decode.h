/* SPDX-License-Identifier: MIT */
/* The ticks of a block that is being read: their times, and the samples that no record tells because a thread is where
 * it was. Part of formats/stream/stream_read.h; nobody else includes it.
 *
 * Most samples are such. They are not given tick by tick when the reader gives runs, but as one when the run ends: with
 * the thread's next record, with a note of its status or its task or of how long samples stand for, or with the block.
 *
 *     tick          1    2    3    4    5    6                        runs: of ticks 2 and 3; of 5 and 6
 *     records of    A              A
 *     `since` of A  2    2    2    5    5    5
 */
#ifndef PYREEL_FORMATS_STREAM_STREAM_DECODE_H
#define PYREEL_FORMATS_STREAM_STREAM_DECODE_H

#include "formats/stream/stream_read.h"

/* The events of a block, one after the other: what is being read and where it goes. */
struct decoding {
    struct stream_reader *reader;
    struct cursor from;
    const struct sink *to;
    struct fault *why;
    uint64_t ticks_left;   /* that the block may still have */
    uint64_t samples_left; /* that it may still have without a record each */
    uint64_t ticks_closed; /* and not given: all of the block when runs are given */
    uint32_t frames_left;  /* that it may still name; repeated ones take no bytes */
    uint32_t named;        /* expected threads that the tick's records name */
    uint64_t stands_ns;    /* how long a sample stands for */
    bool in_tick;
    bool all_failed; /* the tick samples nothing */
    bool weighed;    /* how long the samples of the tick stand for is settled */
    bool unsure;     /* a sample may break a rule that no record breaks: each is looked at in its tick */
};

/* The file breaks a rule: false, and the cursor is bad. */
static inline bool broken(struct decoding *d)
{
    d->from.bad = true;
    return false;
}

/* A thread by its number, which may be that of one whose definition was lost. NULL: the file is broken. */
struct reader_thread *stream_decode_thread(struct stream_reader *reader, uint64_t number);

/* Each block tells everything but definitions anew. */
void stream_decode_begin(struct stream_reader *reader);

/* Begins a tick; `jitter` is how far it is from the moment at which it is due. */
bool stream_decode_open_tick(struct decoding *d, int64_t jitter);
/* Ends the tick, if one is open: every expected thread that no record named is where it was. */
bool stream_decode_close_tick(struct decoding *d);
/* So many ticks on time in which nothing changes. */
bool stream_decode_repeat(struct decoding *d, uint64_t count);
/* Gives what has not been given of the ticks that were closed, whatever ended the block. */
bool stream_decode_end(struct decoding *d);
uint64_t stream_decode_time_ns(const struct stream_reader *reader);

/* A record of the tick names this thread. NULL: the file is broken, since at most one record does. */
struct reader_thread *stream_decode_name_thread(struct decoding *d, uint64_t number);
/* The named thread, whose run has been given, has no sample in this tick, and is expected in the next one or not. */
void stream_decode_expect_thread(struct decoding *d, uint32_t number);
void stream_decode_dismiss_thread(struct decoding *d, uint32_t number);
/* Its sample: `keep` frames of its last stack and so many of reader->frames. */
bool stream_decode_give_sample(struct decoding *d, uint32_t number, uint32_t keep, uint32_t pushed);

/* Gives the samples of a thread's ticks up to the last one that was closed, before something of the thread changes. */
bool stream_decode_give_run(struct decoding *d, uint32_t number);
/* The same of all threads. */
bool stream_decode_give_runs(struct decoding *d);
/* No thread could be read in this tick. */
bool stream_decode_fail_tick(struct decoding *d);

#endif
