/* SPDX-License-Identifier: MIT */
/* What a thread did when. While samples come, only changes are kept: the moment at which another activity begins, or
 * nothing is known any more. So a thread that does the same for an hour takes a few bytes.
 *
 *     looks     a a a b b . . b        changes   0 a, 3 b, 5 nothing, 7 b, 8 nothing
 *
 * Later the changes become episodes. An episode is the time of one node of the tree of frames; node 0 is a gap.
 * Neighbours differ, and no episode is empty. Times have the profile's unit. */
#ifndef PYREEL_FORMATS_SPEEDSCOPE_SPEEDSCOPE_TIMES_H
#define PYREEL_FORMATS_SPEEDSCOPE_SPEEDSCOPE_TIMES_H

#include "formats/scratch/spool.h"
#include "formats/speedscope/speedscope_frames.h"

/* `= {0}` has no looks. */
struct speedscope_times {
    struct spool_column changes; /* the time and the activity; activity 0: nothing is known */
    uint64_t first;              /* the time of the first change */
    uint64_t until_ns;           /* the end of the latest look's time */
    uint32_t activity;           /* of the latest look */
};

/* Adds the time of a look. `from_ns` is not before the end of the look before. `unit_ns` is always the same. */
void speedscope_times_add(struct speedscope_times *times, struct spool *spool, uint64_t unit_ns, uint64_t from_ns,
                          uint64_t until_ns, uint32_t activity);

/* Ends the adding. */
void speedscope_times_settle(struct speedscope_times *times, struct spool *spool, uint64_t unit_ns);

struct speedscope_episode {
    uint64_t from, until;
    uint32_t node;
};

/* Reads the episodes of a thread. `= {0}` is empty. One reader may read many threads, one after the other. */
struct speedscope_reader {
    const uint32_t *node_of; /* by activity */
    struct spool_reader spool;
    struct spool_sample change;     /* the change that begins the next episode */
    struct speedscope_episode held; /* the episode to which the next change may still add; empty: none */
    bool over;                      /* `change` was the last one */
};

/* Lets the reader begin at the first episode, which begins at `start`, not behind the first look. */
void speedscope_reader_begin(struct speedscope_reader *reader, const struct speedscope_frames *frames,
                             struct spool *spool, const struct speedscope_times *times, uint64_t start);

/* Gives the next episode. False behind the last one, and on failure: the spool has the reason. */
bool speedscope_reader_next(struct speedscope_reader *reader, struct speedscope_episode *episode);

void speedscope_reader_free(struct speedscope_reader *reader);

#endif
