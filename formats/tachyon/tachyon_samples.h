/* SPDX-License-Identifier: MIT */
/* The samples of a Tachyon file, read once and put aside by thread. In the file they stand as its recorder happened to
 * write them: what repeats is held back, so samples of a thread may come long after later ones of others. Put aside,
 * they can be told tick by tick, and what the file says of itself is checked before anything is told.
 *
 * Stacks are folded into a tree as in formats/model/tables.h, so memory grows with distinct stacks; times, stacks and
 * statuses go to a spool. Frames that are hidden have no place in the tree. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_SAMPLES_H
#define PYREEL_FORMATS_TACHYON_TACHYON_SAMPLES_H

#include "formats/base/spool.h"
#include "formats/intern/stack_index.h"
#include "formats/tachyon/tachyon_tables.h"

struct tachyon_thread {
    uint64_t tid;
    uint32_t interpreter;
    bool main;         /* of its interpreter, in some sample */
    uint64_t first_us; /* of its first and last samples, since the start */
    uint64_t last_us;
    uint32_t *stacks; /* the stack down to each depth, hidden frames counted: stacks[0] is 0 */
    size_t stacks_room;
    uint32_t depth;
    struct spool_column samples; /* time in microseconds, stack */
    struct spool_column states;  /* sample from 0, its status byte; where it changes */
};

struct tachyon_samples {
    struct tachyon_thread *threads; /* in the order of first sight */
    size_t threads_room;
    uint32_t threads_count;
    struct stack *stacks; /* by number; entry 0 is none. NULL while there is none */
    size_t stacks_room;
    uint32_t stacks_count; /* but that one */
    struct id_index stack_index;
    uint32_t *depths; /* by number, also of none */
    size_t depths_room;
    struct spool spool;
    uint64_t count;       /* of samples put aside */
    uint64_t plain_bytes; /* of the records */
};

/* Reads all samples of the file. False with the reason. `samples` is zeroed. */
bool tachyon_samples_read(struct tachyon_samples *samples, int fd, const struct tachyon_header *header,
                          const struct tachyon_tables *tables, struct fault *why);

void tachyon_samples_free(struct tachyon_samples *samples);

#endif
