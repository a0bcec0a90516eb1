/* SPDX-License-Identifier: MIT */
/* Notes of a stream: what is said once (schemas/stream.md section 4), each kind's writing and reading side by side. */
#ifndef PYREEL_FORMATS_STREAM_STREAM_NOTES_H
#define PYREEL_FORMATS_STREAM_STREAM_NOTES_H

#include "formats/base/bytes.h"
#include "formats/codec/stream_format.h"
#include "formats/model/event.h"

/* The note that tells an event of this kind; 0 when it is not told by a note. */
enum stream_note stream_notes_of(enum event_kind kind);

/* Appends the fields of the note that tells this event. Times are written in units of `unit_ns`. */
void stream_notes_put_fields(struct bytes *to, const struct event *event, uint64_t unit_ns);

enum note_taken { NOTE_TAKEN, NOTE_UNKNOWN, NOTE_BROKEN };

/* Fills an event from the fields of a note; texts point into what the cursor reads. */
enum note_taken stream_notes_take(struct cursor fields, uint64_t note, uint64_t unit_ns, struct event *event);

#endif
