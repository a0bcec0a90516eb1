/* SPDX-License-Identifier: MIT */
/* A curve over time: a series of buckets of one width. When a series would have too many buckets, each two become one,
 * and the width doubles. So memory and file have a limit, however long the recording is. */
#ifndef PYREEL_FORMATS_GECKO_COLUMNS_SERIES_H
#define PYREEL_FORMATS_GECKO_COLUMNS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value for each bucket. Set `limit` and `width_ns`; `= {0}` is empty otherwise. */
struct series {
    uint64_t from_ns;  /* begin of the first bucket */
    uint64_t until_ns; /* latest time that was added */
    uint64_t width_ns;
    double *values; /* SERIES_NOTHING: no level in this bucket */
    size_t count, room;
    size_t limit;
    size_t latest; /* the bucket that was found last: mostly the next one, too */
    bool levels;   /* a value is the highest level in its bucket; otherwise the sum of what was added */
};

#define SERIES_NOTHING (-1.) /* no level is below 0 */

/* Begins an empty series at this time; otherwise the first call of a function below is the beginning. What is added
 * before the beginning counts in the first bucket. Does nothing when the series has begun. */
void series_begin(struct series *series, uint64_t from_ns);

/* Adds a whole amount that was spread evenly over this time. Each bucket gets a whole part, so the sums do not depend
 * on the order in which amounts come. */
void series_add(struct series *series, uint64_t from_ns, uint64_t until_ns, double amount);

/* Notes a level at a time. For series of levels. */
void series_note(struct series *series, uint64_t time_ns, double level);

/* Joins a last bucket that is shorter than half of the others with the one before, so that no two buckets end at one
 * time. Call it once, when all is added. */
void series_settle(struct series *series);

/* The beginning of a bucket. */
uint64_t series_begin_of(const struct series *series, size_t bucket);

/* The end of a bucket; of the last one, the latest time that was added. */
uint64_t series_end(const struct series *series, size_t bucket);

void series_free(struct series *series);

#endif
