/* SPDX-License-Identifier: MIT */
/* The payloads of a stream's HEADER and END blocks: lists of numbered fields, each a row that the writer and the
 * reader share (schemas/stream.md section 3). */
#ifndef PYREEL_FORMATS_STREAM_STREAM_FIELDS_H
#define PYREEL_FORMATS_STREAM_STREAM_FIELDS_H

#include "formats/base/bytes.h"
#include "formats/model/event.h"

/* Appends the fields of a recording. */
void stream_fields_put_recording(struct bytes *to, const struct recording *recording);
/* Appends the fields of an end; its time is written in units of `unit_ns`. */
void stream_fields_put_end(struct bytes *to, const struct end *end, uint64_t unit_ns);

/* Appends a field that holds a number. */
void stream_fields_put_number(struct bytes *to, uint32_t number, uint64_t value);

/* Fill a zeroed recording or end; a field that is missing, or unknown here, is passed over. Texts point into what the
 * cursor reads. False when the payload is broken. */
bool stream_fields_take_recording(struct cursor from, struct recording *recording);
bool stream_fields_take_end(struct cursor from, struct end *end, uint64_t unit_ns);

#endif
