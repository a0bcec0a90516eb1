/* SPDX-License-Identifier: MIT */
/* The sums over a recording, kept while the recording is written, and read from a whole file. The writer gives each
 * payload to the reader's own code and to the tables, as a converter would read the payload: so the sums are those that
 * a reader comes to, digit by digit. A payload has runs, not samples, so the work grows with what changes.
 *
 *     record -> stream_write -> payload -> block_write
 *                                 |
 *                                 +-> stream_read_events -> tables_take       these two are the reader's
 *
 * Memory grows with threads, tasks and distinct stacks, not with samples. Beyond the limits in stream_sums.c the sums
 * are given up: the recording then has no summary. */
#ifndef PYREEL_FORMATS_STREAM_STREAM_SUMS_H
#define PYREEL_FORMATS_STREAM_STREAM_SUMS_H

#include "formats/model/tables.h"
#include "formats/stream/stream_read.h"

/* `= {0}`: no sums are kept. */
struct stream_sums {
    bool kept; /* the sums are those of all payloads so far */
    struct stream_reader reader;
    struct tables tables;
    uint32_t *ended; /* threads that ended in the payload */
    size_t ended_room;
    uint32_t ended_count;
};

/* Begins with the payload of a HEADER block. */
void stream_sums_begin(struct stream_sums *sums, const struct bytes *header);

/* Adds the payload of an EVENTS block that is in the file. Does nothing when no sums are kept. */
void stream_sums_add(struct stream_sums *sums, const struct bytes *events);

/* Gives the sums up and frees their memory. Safe on zeroed sums. */
void stream_sums_drop(struct stream_sums *sums);

/* Reads the sums of a whole recording from its SUMMARY block, without decoding the samples. The file is read from its
 * first byte to its last, and each block is checked by its checksum, so damage is found as ever; but no EVENTS block is
 * decoded. The summary also has a checksum over the headers of all blocks before it: the blocks are those that the
 * summary sums up.
 *
 * Fills `tables`, which have the recording only, and sets the reader's account of the file and its end. The reader has
 * read the HEADER block only. False when this is no regular file, the file has no summary, or anything is wrong with
 * the file: then `tables` and the reader are as before. */
bool stream_sums_read(struct stream_reader *reader, struct tables *tables);

/* Whether the summary that the reader has read has the sums of `tables`. True when there is no summary, or none by the
 * rules of this program. */
bool stream_sums_agree(const struct stream_reader *reader, const struct tables *tables);

#endif
