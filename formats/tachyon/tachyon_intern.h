/* SPDX-License-Identifier: MIT */
/* The string and frame tables of a Tachyon file that is being written: what its samples name, and nothing else. A frame
 * gets its place when it is first named, a string when the tables are made.
 *
 * An opcode is a number, and which instruction has it differs by version. Replaying takes its own version's numbers,
 * whatever was recorded, so an instruction has the number of TACHYON_REPLAY_MINOR, if that version has the name. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_INTERN_H
#define PYREEL_FORMATS_TACHYON_TACHYON_INTERN_H

#include "formats/intern/intern.h"
#include "formats/model/tables.h"
#include "formats/tachyon/tachyon.h"

/* Frames that no recording has: they stand for frames of a stack that is too deep for the format, and for a thread that
 * has none, which replaying would pass over. */
enum tachyon_mark { TACHYON_LEFT_OUT, TACHYON_NO_FRAMES, TACHYON_MARKS };
#define TACHYON_LEFT_OUT_NAME "<frames left out>"

struct tachyon_intern {
    uint32_t *places; /* by frame of the recording: its place + 1 */
    size_t places_room;
    uint32_t marks[TACHYON_MARKS]; /* their places + 1 */
    uint32_t *named;               /* by place: the frame, or the mark beyond UINT32_MAX - TACHYON_MARKS */
    size_t named_room;
    uint32_t frames_count;
    bool opcodes; /* there are some */

    struct intern texts; /* strings of the file: place + 1 */
    uint32_t strings_count;
    struct bytes strings, frames; /* the tables as they are written */
};

/* The place of a frame, or of a mark, in the file. */
uint32_t tachyon_intern_place(struct tachyon_intern *names, uint32_t frame);
uint32_t tachyon_intern_mark(struct tachyon_intern *names, enum tachyon_mark mark);

/* Makes both tables; no place can be given after it. */
void tachyon_intern_finish(struct tachyon_intern *names, const struct tables *tables);

/* The version of Python for the header: of the one that was recorded, or of that whose opcodes were written. */
void tachyon_intern_version(const struct tachyon_intern *names, const struct tables *tables, uint8_t python[3]);

void tachyon_intern_free(struct tachyon_intern *names);

#endif
