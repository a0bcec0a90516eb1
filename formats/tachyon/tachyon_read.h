/* SPDX-License-Identifier: MIT */
/* Reads a Tachyon file as events: the same that formats/stream/stream_read.h gives, so that outputs know no difference.
 * Nothing in the file is trusted. It has no checksums and its names stand at its end, so it is read to its end and
 * checked before the first sample is told, and a file with anything wrong in it is refused.
 *
 * A tick is what its recorder looked at at one time: all samples with that time. What the format does not hold stays
 * unknown: the date, the host, the command, names of threads. Of the rest this is worked out:
 * - the process has the number of its main thread, as on Linux; 0 when no sample says which thread that is;
 * - a sample that was on a processor is taken to have used it since the thread's sample before, two intervals at most.
 */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_READ_H
#define PYREEL_FORMATS_TACHYON_TACHYON_READ_H

#include "formats/model/source_kind.h"
#include "formats/tachyon/tachyon_samples.h"

/* A thread's samples on their way out. */
struct tachyon_line {
    struct spool_reader samples, states;
    struct spool_sample next;  /* the sample to be told */
    struct spool_sample state; /* the change of status after it */
    uint64_t at;               /* samples told */
    uint8_t status;            /* of the next one */
    uint64_t last_us;          /* of the one before, and its stack */
    uint32_t stack;
};

struct tachyon_reader {
    int fd;
    bool copied; /* `fd` is a copy of ours: it came through a pipe */
    uint64_t size;
    struct tachyon_header header;
    struct tachyon_statistics statistics;
    struct tachyon_tables tables;
    struct tachyon_samples samples;
    uint32_t pid;
    struct tachyon_line *lines; /* by thread, from 0 */
    uint32_t *queue;            /* threads with samples left: a heap, the earliest first */
    uint32_t queued;
    bool in_tick;
    uint64_t tick_us, ticks;
    uint32_t frames[TACHYON_DEPTH];
};

/* Starts reading `fd`, which stays the caller's and of which `head` was read already, and gives all but the samples:
 * EVENT_RECORDING and all definitions. False with the reason when it is not a whole Tachyon file. */
bool tachyon_reader_open(struct tachyon_reader *reader, int fd, struct text head, const struct sink *to,
                         struct fault *why);

/* Gives some more samples, and in the end EVENT_END, without a reason. SOURCE_STOPPED, with the reason in `why`, when
 * it cannot go on or the sink refused. */
enum source_state tachyon_read_some(struct tachyon_reader *reader, const struct sink *to, struct fault *why);

/* Frees what it holds. Safe on a zeroed reader. */
void tachyon_reader_close(struct tachyon_reader *reader);

extern const struct source_kind tachyon_read_kind;

#endif
