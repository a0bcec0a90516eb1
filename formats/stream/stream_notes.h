/* SPDX-License-Identifier: MIT */
/* The notes of a stream: definitions and rare events (schemas/stream.md section 4). The writing and the reading of each
 * kind stand side by side. */
#ifndef PYREEL_FORMATS_STREAM_STREAM_NOTES_H
#define PYREEL_FORMATS_STREAM_STREAM_NOTES_H

#include "formats/base/bytes.h"
#include "formats/codec/stream_format.h"
#include "formats/intern/name.h"
#include "formats/model/event.h"

/* The kind of note for an event of this kind; 0: the event is no note. */
enum stream_note stream_notes_of(enum event_kind kind);

/* Appends the fields of the event's note. Times become multiples of `unit_ns`. */
void stream_notes_put_fields(struct bytes *to, const struct event *event, uint64_t unit_ns);

enum note_taken { NOTE_TAKEN, NOTE_UNKNOWN, NOTE_BROKEN };

/* Fills an event from the fields of a note. Texts point into the bytes under the cursor. */
enum note_taken stream_notes_take(struct cursor fields, uint64_t note, uint64_t unit_ns, struct event *event);

/* ---- measures ---- */

/* The latest MEASURE of a process, as the block has it so far, kept the same way by writer and reader. `= {0}`: no
 * block has one. An amount is 0 when it is unknown or the block has no MEASURE of the process yet, else the amount + 1:
 * memory in pages of MEASURE_PAGE bytes, CPU times in units. */
struct stream_measured {
    uint64_t block;
    uint64_t resident, cpu, recorder_cpu;
};

#define MEASURE_PAGE 4096u

/* Appends the fields of a MEASURE note: the amounts are differences to `last`, the time is that since `tick_units`, the
 * time of the latest tick. Updates `last`. */
void stream_notes_put_measure(struct bytes *to, const struct measure *measure, uint64_t tick_units, uint64_t unit_ns,
                              struct stream_measured *last, uint64_t block);

/* Fills a measure, whose process is set, from the fields behind the process. False when a field is missing or
 * impossible. */
bool stream_notes_take_measure(struct cursor fields, uint64_t tick_units, uint64_t unit_ns,
                               struct stream_measured *last, uint64_t block, struct measure *measure);

#define STREAM_CUT_TEXTS 8 /* the most texts of an event */

/* Room for the texts of one event. */
struct stream_cut {
    char texts[STREAM_CUT_TEXTS][TEXT_LIMIT];
};

/* Cuts the texts of an event that was read from a file, see formats/intern/name.h. The recorder cuts names, too, so
 * only files of others have longer ones. The texts are valid as long as `room` is used for no other event. */
void stream_notes_cut(struct event *event, struct stream_cut *room);

#endif
