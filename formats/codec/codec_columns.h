/* SPDX-License-Identifier: MIT */
/* Which numbers stand together in a grouped payload (schemas/stream.md, "Grouped payloads"). Part of
 * formats/codec/codec_group.h: for who splits a payload and for who joins it, and nobody else. */
#ifndef PYREEL_FORMATS_CODEC_CODEC_COLUMNS_H
#define PYREEL_FORMATS_CODEC_CODEC_COLUMNS_H

#include "formats/codec/codec_group.h"
#include "formats/codec/stream_format.h"

/* In the order of the file: what compresses alike is close together. */
enum column {
    COLUMN_SHAPE,
    COLUMN_JITTER,
    COLUMN_REPEAT,
    COLUMN_THREAD,
    COLUMN_KEEP,
    COLUMN_POP,
    COLUMN_COUNT,
    COLUMN_FRAME,
    COLUMN_DISTANCE,
    COLUMN_LEFT,
    COLUMN_CAUSE,
    COLUMN_STATUS_THREAD,
    COLUMN_STATUS_BITS,
    COLUMN_STATUS_CPU,
    COLUMN_MISSED,
    COLUMN_BEHIND,
    COLUMN_NOTE,
    COLUMN_FRAME_FUNCTION,
    COLUMN_FRAME_LINE,
    COLUMN_FRAME_END_LINE,
    COLUMN_FRAME_COLUMN,
    COLUMN_FRAME_END_COLUMN,
    COLUMN_BYTES,
    COLUMNS,
};

_Static_assert((int)COLUMNS == GROUP_COLUMNS, "room for each");

/* How a field of a note stands in its column. */
enum told {
    AS_IT_IS,
    DIFFERENCE,    /* to the same field of the last note of this kind */
    DIFFERENCE_OF, /* to that of the last one whose first field had the same low bits */
};

/* Fields of a note that have columns of their own: its first ones. */
struct note_columns {
    unsigned char fields;
    struct {
        unsigned char column;
        unsigned char told;
    } field[GROUP_FIELDS];
};

#define GROUP_NOTES (NOTE_RUNS + 1) /* by their kinds; those of higher kinds are only bytes */

extern const struct note_columns note_columns[GROUP_NOTES];

/* What the argument of a record's tag stands in, by the record's kind; a note's is a part of its shape. */
extern const unsigned char argument_columns[8];

#endif
