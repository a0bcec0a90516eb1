/* SPDX-License-Identifier: MIT */
/* The difference of two recordings, BASE and NEW, stack by stack: the time of a stack in NEW minus its time in BASE,
 * multiplied by a factor. Times of functions follow, because they are sums of the times of stacks:
 *
 *     stack         BASE     NEW     difference, factor 1
 *     main > parse  400 ms   400 ms  0
 *     main > sort   200 ms   600 ms  400 ms: slower
 *     main > log     50 ms     0 ms  -50 ms: faster */
#ifndef PYREEL_FORMATS_GECKO_DIFF_DIFFERENCES_H
#define PYREEL_FORMATS_GECKO_DIFF_DIFFERENCES_H

#include "formats/intern/intern.h"
#include "formats/model/tables.h"

enum side { SIDE_BASE, SIDE_NEW, SIDES };

struct difference {
    uint32_t code; /* gecko_leaves.h */
    uint64_t ns[SIDES];
    int64_t more_ns; /* how much more NEW has */
    uint32_t place;  /* in the order of the tree of stacks */
};

/* `= {0}` is empty. */
struct differences {
    struct intern_pairs numbers; /* (code, 0) -> index in `rows` + 1 */
    struct difference *rows;
    size_t count, room;
};

/* Adds the time of a sample with this code. */
void differences_add(struct differences *differences, enum side side, uint32_t code, uint64_t ns);

/* Computes the differences with a factor for BASE, drops the rows whose difference is 0, and sorts the others: first
 * the slower stacks, then the faster ones, both in the order of the tree, each stack right behind its caller. */
void differences_settle(struct differences *differences, const struct tables *tables, double factor);

void differences_free(struct differences *differences);

#endif
