/* SPDX-License-Identifier: MIT */
/* The words of schemas/stream.md: constants that the stream's writer and reader share. They
 * stand in this room because codecs need the kinds of records, and rooms see one way. */
#ifndef PYREEL_FORMATS_CODEC_STREAM_FORMAT_H
#define PYREEL_FORMATS_CODEC_STREAM_FORMAT_H

#include <stdint.h>

#define STREAM_VERSION        4 /* the highest that we know */
#define STREAM_MAGIC          "\x89pyreel\n"
#define STREAM_MAGIC_SIZE     8
#define STREAM_SYNC           "\xF5prB"
#define STREAM_BLOCK_HEADER   24
#define STREAM_CODEC_AT       5 /* offsets in a block header */
#define STREAM_STORED_SIZE_AT 12
#define STREAM_CHECKSUM_AT    20
#define STREAM_BLOCK_LIMIT    (64 << 20)                /* bytes of a block's payload, stored or plain */
#define STREAM_FRAMES_LIMIT   (64 << 20)                /* frames that its records name, repeated ones too */
#define STREAM_STANDS_MOST    ((UINT64_C(1) << 42) - 1) /* nanoseconds that a sample may stand for */

enum stream_block { BLOCK_HEADER = 1, BLOCK_EVENTS, BLOCK_END };

enum stream_codec { CODEC_PLAIN, CODEC_ZSTD, CODEC_GROUPED, CODEC_PREDICTED };

/* The version that a file has at least to have such blocks. */
#define STREAM_VERSION_OF(codec) ((codec) == CODEC_PREDICTED ? 3u : (codec) == CODEC_GROUPED ? 2u : 1u)

/* And that it has at least when its samples may stand for other than an interval. */
#define STREAM_VERSION_WEIGHTED 4u

enum stream_record {
    RECORD_TICK = 1,
    RECORD_REPEAT,
    RECORD_SUFFIX,
    RECORD_POP_PUSH,
    RECORD_ABSENT,
    RECORD_FAILED,
    RECORD_NOTE,
};

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
    NOTE_RUNS,
    NOTE_MARK,
    NOTE_STANDS,
};

/* Fields of a header and an end by which blocks are read: what they may be, and whose they are. */
enum { HEADER_VERSION = 1, HEADER_MARK = 17, END_MARK = 8 };

#endif
