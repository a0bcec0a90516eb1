/* SPDX-License-Identifier: MIT */
/* Reads the samples of a Tachyon file once and stores them by thread. The file has the samples in the order of writing:
 * Tachyon holds repeated samples back, so a thread's samples may come long after later samples of other threads. Stored
 * by thread, they can be emitted tick by tick, and the file's counts are checked before anything is emitted.
 *
 * Stacks are folded into a tree as in formats/model/tables.h, so memory grows with distinct stacks. Times, stacks and
 * statuses go to a spool. Hidden frames are not in the tree. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_SAMPLES_H
#define PYREEL_FORMATS_TACHYON_TACHYON_SAMPLES_H

#include "formats/intern/stack_index.h"
#include "formats/scratch/spool.h"
#include "formats/tachyon/tachyon_tables.h"

struct tachyon_thread {
    uint64_t tid;
    uint32_t interpreter;
    bool main;         /* main thread of its interpreter, in some sample */
    uint64_t first_us; /* times of its first and last samples, since the start */
    uint64_t last_us;
    uint32_t *stacks; /* number of the stack down to each depth, hidden frames counted; stacks[0] is 0 */
    size_t stacks_room;
    uint32_t depth;
    struct spool_column samples; /* time in microseconds, stack */
    struct spool_column states;  /* index of a sample from 0, its status byte; one row for each change of status */
};

struct tachyon_samples {
    struct tachyon_thread *threads; /* in the order of first sight */
    size_t threads_room;
    uint32_t threads_count;
    struct stack *stacks; /* by number; entry 0 stands for no stack. NULL while empty */
    size_t stacks_room;
    uint32_t stacks_count; /* without entry 0 */
    struct id_index stack_index;
    uint32_t *depths; /* by number of the stack, including entry 0 */
    size_t depths_room;
    struct spool spool;
    uint64_t count;       /* number of stored samples */
    uint64_t plain_bytes; /* uncompressed size of the records */
};

/* Reads all samples of the file. False with the reason. `samples` is zeroed. */
bool tachyon_samples_read(struct tachyon_samples *samples, int fd, const struct tachyon_header *header,
                          const struct tachyon_tables *tables, struct fault *why);

/* Frees the threads, the stacks and the spool. */
void tachyon_samples_free(struct tachyon_samples *samples);

#endif
