/* SPDX-License-Identifier: MIT */
/* The notes of a stream: definitions and rare events (schemas/stream.md section 4). The writing and the reading of each
 * kind stand side by side. */
#ifndef PYREEL_FORMATS_STREAM_STREAM_NOTES_H
#define PYREEL_FORMATS_STREAM_STREAM_NOTES_H

#include "formats/base/bytes.h"
#include "formats/codec/stream_format.h"
#include "formats/model/event.h"

/* The kind of note for an event of this kind; 0: the event is no note. */
enum stream_note stream_notes_of(enum event_kind kind);

/* Appends the fields of the event's note. Times become multiples of `unit_ns`. */
void stream_notes_put_fields(struct bytes *to, const struct event *event, uint64_t unit_ns);

enum note_taken { NOTE_TAKEN, NOTE_UNKNOWN, NOTE_BROKEN };

/* Fills an event from the fields of a note. Texts point into the bytes under the cursor. */
enum note_taken stream_notes_take(struct cursor fields, uint64_t note, uint64_t unit_ns, struct event *event);

#endif
