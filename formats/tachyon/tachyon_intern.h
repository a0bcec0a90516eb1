/* SPDX-License-Identifier: MIT */
/* The string and frame tables of a Tachyon file that is being written. They contain only what the samples name. A frame
 * gets its index at first use, a string when the tables are made.
 *
 * An opcode is a number that means another instruction in another version of Python. The replayer uses its own
 * version's opcodes, whatever was recorded. So instructions are written as opcodes of TACHYON_REPLAY_MINOR, if that
 * version has an instruction of this name. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_INTERN_H
#define PYREEL_FORMATS_TACHYON_TACHYON_INTERN_H

#include "formats/intern/intern.h"
#include "formats/model/tables.h"
#include "formats/tachyon/tachyon.h"

/* Synthetic frames: one stands for frames left out of a stack that is too deep for the format, one for a thread without
 * frames, which the replayer would skip. */
enum tachyon_synthetic { TACHYON_LEFT_OUT, TACHYON_NO_FRAMES, TACHYON_SYNTHETICS };
#define TACHYON_LEFT_OUT_NAME "<frames left out>"

struct tachyon_intern {
    uint32_t *indexes; /* by frame of the recording: index in the file + 1 */
    size_t indexes_room;
    uint32_t synthetics[TACHYON_SYNTHETICS]; /* by synthetic frame: index in the file + 1 */
    uint32_t *named; /* by index in the file: the frame, or NAMED_SYNTHETIC() of a synthetic frame */
    size_t named_room;
    uint32_t frames_count;
    bool opcodes; /* some frame has an opcode */

    struct intern texts; /* strings of the file: index + 1 */
    uint32_t strings_count;
    struct bytes strings, frames; /* the tables as bytes of the file */
};

/* The index in the file of a frame, or of a synthetic frame. */
uint32_t tachyon_intern_frame(struct tachyon_intern *names, uint32_t frame);
uint32_t tachyon_intern_synthetic(struct tachyon_intern *names, enum tachyon_synthetic synthetic);

/* Makes both tables. After this call no frame can get an index. */
void tachyon_intern_finish(struct tachyon_intern *names, const struct tables *tables);

/* The version of Python for the header: the recorded version, or 3.15 when opcodes of 3.15 were written for another
 * version. */
void tachyon_intern_version(const struct tachyon_intern *names, const struct tables *tables, uint8_t python[3]);

/* Frees the tables. */
void tachyon_intern_free(struct tachyon_intern *names);

#endif
