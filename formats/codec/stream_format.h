/* SPDX-License-Identifier: MIT */
/* Constants of schemas/stream.md that the stream's writer and reader share. They are in this room because the codecs
 * need the kinds of records, and formats/codec may not include formats/stream. */
#ifndef PYREEL_FORMATS_CODEC_STREAM_FORMAT_H
#define PYREEL_FORMATS_CODEC_STREAM_FORMAT_H

#include <stdint.h>

#define STREAM_VERSION        1
#define STREAM_MAGIC          "\x89pyreel\n"
#define STREAM_MAGIC_SIZE     8
#define STREAM_SYNC           "\xF5prB"
#define STREAM_BLOCK_HEADER   24
#define STREAM_CODEC_AT       5 /* offset in a block header */
#define STREAM_STORED_SIZE_AT 12
#define STREAM_CHECKSUM_AT    20
#define STREAM_BLOCK_LIMIT    (64 << 20) /* bytes of a block's payload, both stored and plain */
#define STREAM_FRAMES_LIMIT   (64 << 20) /* frames that the records of a block may name, with repetitions */
#define STREAM_STANDS_MOST    ((UINT64_C(1) << 42) - 1) /* longest time in nanoseconds that a sample may stand for */

enum stream_block { BLOCK_HEADER = 1, BLOCK_EVENTS, BLOCK_END };

enum stream_codec { CODEC_PLAIN, CODEC_GROUPED };

enum stream_record {
    RECORD_TICK = 1,
    RECORD_REPEAT,
    RECORD_SUFFIX,
    RECORD_POP_PUSH,
    RECORD_ABSENT,
    RECORD_FAILED,
    RECORD_NOTE,
};

/* Where the document has another name for a note, the comment has it. */
enum stream_note {
    NOTE_STRING = 1,
    NOTE_FUNCTION,
    NOTE_FRAME,
    NOTE_PROCESS,
    NOTE_PROCESS_END,
    NOTE_THREAD,
    NOTE_THREAD_NAME,
    NOTE_THREAD_END,
    NOTE_MISSED,
    NOTE_COUNTER,
    NOTE_STATUS,
    NOTE_LEFT_OUT,
    NOTE_TASK,
    NOTE_THREAD_TASK,
    NOTE_RECORDING_ID,
    NOTE_STANDS,
    NOTE_MEASURE = 20,
    NOTE_THREAD_COLLECTION = 22,
    NOTE_TASK_WAITER,
    NOTE_TICK_PROCESS,
    NOTE_SERIAL = 28,
    NOTE_PROCESS_TITLE,
    NOTE_THREAD_CALLBACK,
    NOTE_MODULE,
    NOTE_THREAD_TRACE_HIGH,
    NOTE_THREAD_TRACE_LOW,
    NOTE_THREAD_SPAN,
    NOTE_PROCESS_ATTRIBUTES,
};

/* Fields of HEADER and END blocks that readers and writers of blocks need: the version and the recording id. */
enum { HEADER_VERSION = 1, HEADER_RECORDING_ID = 17, END_RECORDING_ID = 8 };

#endif
