/* SPDX-License-Identifier: MIT */
/* The payload of a SUMMARY block: what pyreel-info shows of a whole recording, as notes. Definitions are the notes of
 * EVENTS blocks, and the sums have notes of their own: schemas/stream.md, "Summary". */
#ifndef PYREEL_FORMATS_STREAM_STREAM_SUMMARY_H
#define PYREEL_FORMATS_STREAM_STREAM_SUMMARY_H

#include "formats/base/bytes.h"
#include "formats/model/tables.h"

/* The rules by which this program sums up. A summary by other rules is not used, because reading the samples would give
 * other sums. Add one when model/wall.h, or anything else that a sum depends on, changes. */
#define SUMMARY_RULES 1

/* What a summary says of its recording besides the sums. */
struct stream_summary {
    uint64_t unit_ns;
    uint32_t recording_id;
    uint32_t headers; /* CRC-32 of the headers of all blocks before the SUMMARY block */
};

/* Whether the tables have no more processes, threads and tasks than a summary may have. */
bool stream_summary_fits(const struct tables *tables);

/* Appends the payload. `tables` have taken all events of the recording but EVENT_END, and sum up states. */
void stream_summary_put(struct bytes *to, const struct stream_summary *summary, const struct tables *tables);

/* Fills `tables`, which are zeros, with the sums, and summary->recording_id and summary->headers; summary->unit_ns is
 * set. The payload is not trusted. False when the payload breaks a rule, or was made by other rules. The caller frees
 * the tables in both cases. */
bool stream_summary_take(struct cursor payload, struct stream_summary *summary, struct tables *tables);

#endif
