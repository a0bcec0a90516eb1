/* SPDX-License-Identifier: MIT */
/* The words of the binary format of Tachyon, the sampling profiler that comes with CPython 3.15 (profiling.sampling):
 * what its reader and its writer here share. The source is CPython's InternalDocs/profiling_binary_format.md and files
 * that 3.15.2 has written.
 *
 *     header       64 bytes: where the tables begin, how many samples, how it was recorded; written last
 *     samples      records, as they are or in zstd frames
 *     strings      size and bytes of each; its number is its place, from 0
 *     frames       file, function, position, opcode of each; its number is its place, from 0
 *     statistics   how long, how often, what was missed; may be missing
 *     footer       32 bytes: how many strings and frames, the size of the file
 *
 * Numbers of fixed size are in the byte order of the machine that wrote the file, which the magic tells; others are
 * coded as in schemas/stream.md. There is no checksum. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_H
#define PYREEL_FORMATS_TACHYON_TACHYON_H

#include "formats/base/bytes.h"
#include "formats/base/fault.h"

#define TACHYON_MAGIC      0x54414348u /* "TACH" */
#define TACHYON_MAGIC_SIZE 4
#define TACHYON_VERSION    1
#define TACHYON_HEADER     64 /* sizes */
#define TACHYON_FOOTER     32
#define TACHYON_STATISTICS 56
#define TACHYON_DEPTH      256 /* frames of a stack: its readers take no more */
#define TACHYON_NO_OPCODE  255
#define TACHYON_NO_PLACE   (-1) /* a line or column that is not known */
#define TACHYON_NO_FILE    "~"  /* of a frame that has none */

enum tachyon_codec { TACHYON_PLAIN, TACHYON_ZSTD };

/* A record: the thread's number (64 bits), its interpreter (32 bits), the kind (a byte). REPEAT: a count, then so often
 * time and status. Else time, status and the stack: all of it; how much of the one before is kept from the root and
 * what is pushed; how much is popped and what is pushed. A time is what has passed since the thread's sample before, in
 * microseconds. Frames are told from the leaf. */
enum tachyon_record { TACHYON_REPEAT, TACHYON_FULL, TACHYON_SUFFIX, TACHYON_POP_PUSH };

/* The status byte is as in `enum status` (which has its numbers), and this: the main thread of its interpreter. */
#define TACHYON_MAIN_THREAD (1u << 5)

/* What the header says, and the counts of the footer. */
struct tachyon_header {
    bool big; /* the byte order */
    uint8_t python[3];
    uint64_t start_us; /* on a clock that begins anywhere */
    uint64_t interval_us;
    uint64_t samples;
    uint32_t threads;
    uint64_t strings_at, frames_at; /* in the file */
    enum tachyon_codec codec;
    struct text mode;    /* empty when it is not told */
    struct text capture; /* of which threads: "all", "main"; empty when it is not told */
    uint32_t strings, frames;
};

/* What the profiler measured of its own work. */
struct tachyon_statistics {
    bool known, failed_known, missed_known;
    double duration_s, rate_hz, failed_percent, missed_percent;
};

/* Whether these are the first bytes of such a file, be it finished or not: one that was not begins with zeros. */
bool tachyon_header_recognised(const void *bytes, size_t size);

/* Takes the header and the footer (TACHYON_HEADER and TACHYON_FOOTER bytes) of a file of this size, and judges them.
 * False with the reason. */
bool tachyon_header_take(struct tachyon_header *header, const unsigned char *bytes, const unsigned char *footer,
                         uint64_t size, struct fault *why);

/* Takes what stands between the frames and the footer: statistics or nothing. False when it is something else. */
bool tachyon_header_take_statistics(struct tachyon_statistics *statistics, const unsigned char *bytes, size_t size,
                                    bool big);

/* The other way, in the byte order of this machine. */
void tachyon_header_put(struct bytes *to, const struct tachyon_header *header);
void tachyon_header_put_statistics(struct bytes *to, const struct tachyon_statistics *statistics);
void tachyon_header_put_footer(struct bytes *to, const struct tachyon_header *header, uint64_t size);

/* Numbers of fixed size in a byte order. */
uint32_t tachyon_take_u32(struct cursor *from, bool big);
uint64_t tachyon_take_u64(struct cursor *from, bool big);
void tachyon_put_u64(struct bytes *to, uint64_t value);

#endif
