/* SPDX-License-Identifier: MIT */
/* Groups the payload of an EVENTS block into columns of similar numbers, which compress better: the jitters of all
 * ticks, then the threads of all records, and so on (schemas/stream.md, "Grouped payloads"). The payload's records need
 * not make sense. Ungrouping gives the same bytes again. */
#ifndef PYREEL_FORMATS_CODEC_CODEC_GROUP_H
#define PYREEL_FORMATS_CODEC_CODEC_GROUP_H

#include "formats/codec/call_mtf.h"

#define GROUP_COLUMNS 23 /* number of columns in schemas/stream.md */
#define GROUP_THREADS 64 /* threads whose last CPU time is remembered, by the low bits of the thread's number */
#define GROUP_FIELDS  6  /* fields of a note that have columns, at most */

/* Scratch memory, reused for each block. `= {0}` is empty. */
struct grouping {
    struct bytes columns[GROUP_COLUMNS];
    struct call_mtf call_mtf;
};

/* The largest grouped payload: a record of one byte becomes two numbers, and the sizes of the columns come first. */
#define GROUP_MOST(size) (2 * (size) + 256)

/* Appends the grouped payload to `to`. Returns false and appends nothing when ungrouping would not give the same bytes,
 * or when the result is larger than GROUP_MOST. */
bool codec_group_payload(struct grouping *grouping, const struct bytes *payload, struct bytes *to);

/* Frees the scratch memory. */
void codec_group_free(struct grouping *grouping);

#endif
