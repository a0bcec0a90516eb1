/* SPDX-License-Identifier: MIT */
/* The payloads of HEADER and END blocks: lists of numbered fields. Writer and reader share one table of fields
 * (schemas/stream.md section 3). */
#ifndef PYREEL_FORMATS_STREAM_STREAM_FIELDS_H
#define PYREEL_FORMATS_STREAM_STREAM_FIELDS_H

#include "formats/base/bytes.h"
#include "formats/model/event.h"

/* Appends the fields of a recording. */
void stream_fields_put_recording(struct bytes *to, const struct recording *recording);
/* Appends the fields of an end; its time becomes a multiple of `unit_ns`. */
void stream_fields_put_end(struct bytes *to, const struct end *end, uint64_t unit_ns);

/* Appends a field that holds a number. */
void stream_fields_put_number(struct bytes *to, uint32_t number, uint64_t value);

/* Fill a zeroed recording or end. A missing or unknown field is skipped. Texts point into the bytes under the cursor.
 * False when the payload is broken. */
bool stream_fields_take_recording(struct cursor from, struct recording *recording);
bool stream_fields_take_end(struct cursor from, struct end *end, uint64_t unit_ns);

#endif
