/* SPDX-License-Identifier: MIT */
/* Rearranges the payload of an EVENTS block so that it compresses better, and back: what is alike stands together, the
 * jitters of all ticks, then the threads of all records, and so on (schemas/stream.md, "Grouped payloads"). Whether the
 * records make sense does not matter, and nothing is lost: what comes back is the same byte for byte. */
#ifndef PYREEL_FORMATS_CODEC_CODEC_GROUP_H
#define PYREEL_FORMATS_CODEC_CODEC_GROUP_H

#include "formats/codec/call_mtf.h"

#define GROUP_COLUMNS 23 /* rows of columns in the document */
#define GROUP_THREADS 64 /* threads whose CPU time is remembered, by the low bits of their numbers */
#define GROUP_FIELDS  6  /* of a note that are not only bytes, at most */

/* Room that is used again for each block. `= {0}` is empty. */
struct grouping {
    struct bytes columns[GROUP_COLUMNS];
    struct call_mtf call_mtf;
};

/* What a grouped payload may take: a record of a byte is split in two, and the columns have their sizes. */
#define GROUP_MOST(size) (2 * (size) + 256)

/* Appends the grouped payload. False, and nothing appended, when it has something in it that would not come back as it
 * was, or would take more than GROUP_MOST. */
bool codec_group_payload(struct grouping *grouping, const struct bytes *payload, struct bytes *to);

/* In codec_ungroup.c. Appends the payload that was grouped, of `size` bytes. Nothing in `grouped` is trusted. False
 * when it is not the grouping of so many bytes; what was appended is then of no use. */
bool codec_ungroup_payload(struct grouping *grouping, const void *grouped, size_t grouped_size, size_t size,
                           struct bytes *to);

void codec_group_free(struct grouping *grouping);

#endif
