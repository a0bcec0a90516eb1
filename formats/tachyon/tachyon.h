/* SPDX-License-Identifier: MIT */
/* Constants and types of the binary format of Tachyon, the sampling profiler of CPython 3.15 (profiling.sampling),
 * which the reader and the writer here share. The sources are CPython's InternalDocs/profiling_binary_format.md and
 * files that 3.15.2 has written.
 *
 *     header       64 bytes: offsets of the tables, number of samples, how it was recorded; written last
 *     samples      records, plain or in zstd frames
 *     strings      size and bytes of each; a string's index counts from 0
 *     frames       file, function, position, opcode of each; a frame's index counts from 0
 *     statistics   duration, rate, missed ticks; optional
 *     footer       32 bytes: numbers of strings and frames, size of the file
 *
 * Numbers of fixed size are in the byte order of the machine that wrote the file, which the magic shows. Other numbers
 * are coded as in schemas/stream.md. There is no checksum. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_H
#define PYREEL_FORMATS_TACHYON_TACHYON_H

#include "formats/base/bytes.h"
#include "formats/base/fault.h"

#define TACHYON_MAGIC       0x54414348u /* "TACH" */
#define TACHYON_MAGIC_SIZE  4
#define TACHYON_VERSION     1
#define TACHYON_HEADER      64 /* sizes in bytes */
#define TACHYON_FOOTER      32
#define TACHYON_STATISTICS  56
#define TACHYON_DEPTH       256 /* frames of a stack: Tachyon's readers accept no more */
#define TACHYON_NO_OPCODE   255
#define TACHYON_NO_POSITION (-1) /* value of an unknown line or column */
#define TACHYON_NO_FILE     "~"  /* name of an unknown file */

enum tachyon_codec { TACHYON_PLAIN, TACHYON_ZSTD };

/* The kinds of records. A record begins with the thread's number (64 bits), its interpreter (32 bits) and the kind (a
 * byte). REPEAT: a count, then `count` times a time and a status. The others: a time, a status, then the stack. FULL
 * has the whole stack. SUFFIX has how many frames stay from the root, and the pushed frames. POP_PUSH has how many
 * frames are popped from the leaf, and the pushed frames. A time is the time since the thread's previous sample, in
 * microseconds. Frames are written from the leaf. */
enum tachyon_record { TACHYON_REPEAT, TACHYON_FULL, TACHYON_SUFFIX, TACHYON_POP_PUSH };

/* The status byte has the bits of `enum status` (which has Tachyon's numbers), and this bit: the thread is the main
 * thread of its interpreter. */
#define TACHYON_STATUS      0x1Fu /* the bits of its status that mean the same in enum status */
#define TACHYON_MAIN_THREAD (1u << 5)

/* The contents of the header, and the counts of the footer. */
struct tachyon_header {
    bool big; /* big-endian */
    uint8_t python[3];
    uint64_t start_us; /* on a clock with an arbitrary start */
    uint64_t interval_us;
    uint64_t samples;
    uint32_t threads;
    uint64_t strings_at, frames_at; /* offsets in the file */
    enum tachyon_codec codec;
    struct text mode;    /* empty: unknown */
    struct text capture; /* recorded threads: "all", "main"; empty: unknown */
    uint32_t strings, frames;
};

/* The measurements that Tachyon made of its own work. */
struct tachyon_statistics {
    bool known, failed_known, missed_known;
    double duration_s, rate_hz, failed_percent, missed_percent;
};

/* Whether these are the first bytes of a Tachyon file. An unfinished file begins with zeros and is recognised, too. */
bool tachyon_header_recognised(const void *bytes, size_t size);

/* Parses and checks the header and the footer (TACHYON_HEADER and TACHYON_FOOTER bytes) of a file of `size` bytes.
 * Returns false with the reason. */
bool tachyon_header_take(struct tachyon_header *header, const unsigned char *bytes, const unsigned char *footer,
                         uint64_t size, struct fault *why);

/* Parses the bytes between the frames and the footer: statistics, or nothing. False for anything else. */
bool tachyon_header_take_statistics(struct tachyon_statistics *statistics, const unsigned char *bytes, size_t size,
                                    bool big);

/* Write the header, the statistics and the footer, in the byte order of this machine. */
void tachyon_header_put(struct bytes *to, const struct tachyon_header *header);
void tachyon_header_put_statistics(struct bytes *to, const struct tachyon_statistics *statistics);
void tachyon_header_put_footer(struct bytes *to, const struct tachyon_header *header, uint64_t size);

/* Take and put numbers of fixed size. `big` is the byte order; put uses the order of this machine. */
uint32_t tachyon_take_u32(struct cursor *from, bool big);
uint64_t tachyon_take_u64(struct cursor *from, bool big);
void tachyon_put_u64(struct bytes *to, uint64_t value);

#endif
