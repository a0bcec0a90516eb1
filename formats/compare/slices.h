/* SPDX-License-Identifier: MIT */
/* Sums by time: the time of a run is cut into slices of one length, and each row (a thread, task and stack) has a sum
 * for each slice in which it has samples.
 *
 *     slice        0       1       2       3
 *     row 1       50 ms   48 ms    -      51 ms      three sums
 *     row 2        -       2 ms   50 ms    -         two sums
 *
 * The length of a run is not known while it is read. So slices begin short, and whenever there are too many slices, or
 * too many sums, each two neighbours become one slice. So a run that lasts long enough has SLICES_MOST / 2 to
 * SLICES_MOST slices, and memory grows with distinct stacks, not with samples. `= {0}` is empty. */
#ifndef PYREEL_FORMATS_COMPARE_SLICES_H
#define PYREEL_FORMATS_COMPARE_SLICES_H

#include "formats/model/aggregate.h"

#define SLICES_MOST  256
#define SLICES_LEAST 80         /* fewer slices than these are not merged because of a crowd of sums ... */
#define SLICES_CROWD (1u << 20) /* ... which these are */
#define SLICE_SUMS   (SUM_CPU_NS + 1)

struct slice_sum {
    uint32_t row;
    uint32_t slice;
    float sums[SLICE_SUMS]; /* by enum aggregate_sum; an estimate of noise needs no more digits */
};

struct slices {
    struct slice_sum *rows; /* the sums of one row stand in the order of their slices */
    size_t count, room;
    uint32_t *latest; /* by row: its latest sum, index + 1; 0: none */
    size_t latest_room;
    uint64_t width_ns; /* of a slice */
    uint32_t used;     /* one more than the last slice with a sum */
};

/* Adds a sample of a row. Times of one row do not go back; a time that does counts for the latest slice. */
void slices_add(struct slices *slices, uint32_t row, uint64_t time_ns, const uint64_t *sums);

/* Sorts the sums by slice. Nothing can be added afterwards. */
void slices_sort(struct slices *slices);

void slices_free(struct slices *slices);

#endif
