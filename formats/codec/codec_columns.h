/* SPDX-License-Identifier: MIT */
/* The columns of a grouped payload (schemas/stream.md, "Grouped payloads"). Part of formats/codec/codec_group.h: only
 * codec_columns.c, codec_group.c and codec_ungroup.c include this header. */
#ifndef PYREEL_FORMATS_CODEC_CODEC_COLUMNS_H
#define PYREEL_FORMATS_CODEC_CODEC_COLUMNS_H

#include "formats/codec/codec_group.h"
#include "formats/codec/stream_format.h"

/* The columns in the order of the file: columns that compress alike are neighbours. */
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

/* How a field of a note is coded in its column. */
enum field_coding {
    AS_IT_IS,
    DIFFERENCE,    /* difference to the same field of the last note of this kind */
    DIFFERENCE_OF, /* difference to the same field of the last note whose first field has the same low bits */
};

/* The fields of a note that have columns: the first `fields` fields. */
struct note_columns {
    unsigned char fields;
    struct {
        unsigned char column;
        unsigned char coding;
    } field[GROUP_FIELDS];
};

#define GROUP_NOTES (NOTE_THREAD_TASK + 1) /* kinds of notes with columns; notes of higher kinds are plain bytes */

extern const struct note_columns note_columns[GROUP_NOTES];

/* The column for the argument of a record's tag, by the record's kind. The argument of a note's tag is a part of the
 * shape. */
extern const unsigned char argument_columns[8];

#endif
