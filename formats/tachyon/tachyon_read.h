/* SPDX-License-Identifier: MIT */
/* Reads a Tachyon file as events, as formats/stream/stream_read.h reads a stream, so outputs need not know the
 * difference. The file is not trusted. It has no checksums and its names are at its end. So it is read and checked
 * completely before the first sample is emitted, and a file with any error is refused.
 *
 * All samples with the same time are one tick. The format does not contain the date, the host, the command and the
 * names of threads, so these stay unknown. The reader derives the rest:
 * - a process has the number of its main thread, as on Linux; 0 when no sample shows the main thread;
 * - a sample on a processor gets the time since the thread's previous sample as its CPU time, at most two intervals. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_READ_H
#define PYREEL_FORMATS_TACHYON_TACHYON_READ_H

#include "formats/model/source_kind.h"
#include "formats/tachyon/tachyon_samples.h"

/* The state of a thread while its samples are emitted. */
struct tachyon_line {
    struct spool_reader samples, states;
    struct spool_sample next;  /* the next sample to emit */
    struct spool_sample state; /* the next change of status */
    uint64_t at;               /* number of emitted samples */
    uint8_t status;            /* status of the next sample */
    uint64_t tick;             /* the reader's tick of the previous sample, from 1 */
    uint64_t last_us;          /* time of the previous sample; below: its stack */
    uint32_t stack;
};

struct tachyon_reader {
    int fd;
    bool copied; /* `fd` is a temporary copy of a pipe's contents */
    uint64_t size;
    struct tachyon_header header;
    struct tachyon_statistics statistics;
    struct tachyon_tables tables;
    struct tachyon_samples samples;
    uint32_t pid;
    struct tachyon_line *lines; /* by thread, from 0 */
    uint32_t *queue;            /* threads with samples left: a heap, the earliest sample first */
    uint32_t queued;
    bool in_tick;
    uint64_t tick_us, ticks;
    uint32_t frames[TACHYON_DEPTH];
};

/* Starts reading `fd`, which stays the caller's; `head` has the bytes that the caller has read from it already. Emits
 * EVENT_RECORDING and all definitions, but no samples. Returns false with the reason when the file is not a whole
 * Tachyon file. */
bool tachyon_reader_open(struct tachyon_reader *reader, int fd, struct text head, const struct sink *to,
                         struct fault *why);

/* Emits some more samples and, at the end, EVENT_END without a reason. SOURCE_STOPPED with the reason in `why` when the
 * file cannot be read or the sink refused an event. */
enum source_state tachyon_read_some(struct tachyon_reader *reader, const struct sink *to, struct fault *why);

/* Frees the reader's memory. Safe on a zeroed reader. */
void tachyon_reader_close(struct tachyon_reader *reader);

extern const struct source_kind tachyon_read_kind;

#endif
