/* SPDX-License-Identifier: MIT */
/* Writes the records of a block: schemas/stream.md, section 4. */
#ifndef PYREEL_FORMATS_STREAM_STREAM_RECORDS_H
#define PYREEL_FORMATS_STREAM_STREAM_RECORDS_H

#include "formats/base/bytes.h"
#include "formats/codec/stream_format.h"

/* Appends the tag of a record: its kind and its argument. */
void stream_records_put_tag(struct bytes *to, enum stream_record kind, uint64_t argument);

/* Appends a note whose fields are numbers. */
void stream_records_put_numbers_note(struct bytes *to, enum stream_note note, const uint64_t *numbers, size_t count);

/* Appends the number of frames, then the frames, root first. Where a recursion repeats a few frames many times, they
 * are written once, with a repetition behind them. */
void stream_records_put_frames(struct bytes *to, const uint32_t *frames, uint32_t count);

#endif
