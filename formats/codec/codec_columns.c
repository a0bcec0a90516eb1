/* SPDX-License-Identifier: MIT */
#include "formats/codec/codec_columns.h"

const struct note_columns note_columns[GROUP_NOTES] = {
    [NOTE_STRING] = { 1, { { COLUMN_NOTE, DIFFERENCE } } },
    [NOTE_FUNCTION] = { 4,
                        { { COLUMN_NOTE, DIFFERENCE },
                          { COLUMN_NOTE, DIFFERENCE },
                          { COLUMN_NOTE, DIFFERENCE },
                          { COLUMN_NOTE, AS_IT_IS } } },
    [NOTE_FRAME] = { 6,
                     { { COLUMN_NOTE, DIFFERENCE },
                       { COLUMN_FRAME_FUNCTION, DIFFERENCE },
                       { COLUMN_FRAME_LINE, DIFFERENCE },
                       { COLUMN_FRAME_END_LINE, AS_IT_IS },
                       { COLUMN_FRAME_COLUMN, AS_IT_IS },
                       { COLUMN_FRAME_END_COLUMN, AS_IT_IS } } },
    [NOTE_THREAD] = { 6,
                      { { COLUMN_NOTE, DIFFERENCE },
                        { COLUMN_NOTE, AS_IT_IS },
                        { COLUMN_NOTE, DIFFERENCE },
                        { COLUMN_NOTE, AS_IT_IS },
                        { COLUMN_NOTE, AS_IT_IS },
                        { COLUMN_NOTE, DIFFERENCE } } },
    [NOTE_THREAD_END] = { 2, { { COLUMN_NOTE, DIFFERENCE }, { COLUMN_NOTE, DIFFERENCE } } },
    [NOTE_MISSED] = { 1, { { COLUMN_MISSED, AS_IT_IS } } },
    [NOTE_STATUS] = { 3,
                      { { COLUMN_STATUS_THREAD, AS_IT_IS },
                        { COLUMN_STATUS_BITS, AS_IT_IS },
                        { COLUMN_STATUS_CPU, DIFFERENCE_OF } } },
    [NOTE_LEFT_OUT] = { 4,
                        { { COLUMN_NOTE, AS_IT_IS },
                          { COLUMN_NOTE, AS_IT_IS },
                          { COLUMN_NOTE, DIFFERENCE },
                          { COLUMN_NOTE, DIFFERENCE_OF } } },
    [NOTE_TASK] = { 3, { { COLUMN_NOTE, DIFFERENCE }, { COLUMN_NOTE, AS_IT_IS }, { COLUMN_NOTE, DIFFERENCE } } },
    [NOTE_THREAD_TASK] = { 2, { { COLUMN_NOTE, AS_IT_IS }, { COLUMN_NOTE, AS_IT_IS } } },
};

const unsigned char argument_columns[8] = {
    [RECORD_TICK] = COLUMN_JITTER,     [RECORD_REPEAT] = COLUMN_REPEAT, [RECORD_SUFFIX] = COLUMN_THREAD,
    [RECORD_POP_PUSH] = COLUMN_THREAD, [RECORD_ABSENT] = COLUMN_THREAD, [RECORD_FAILED] = COLUMN_THREAD,
};
