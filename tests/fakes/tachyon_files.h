/* SPDX-License-Identifier: MIT */
/* Tachyon files for tests, put together byte by byte as the format's description tells, in either byte order: what is
 * tested has no part in it. A file is made from its samples' records and its tables; each field of the header and of
 * the footer can be made wrong. */
#ifndef PYREEL_TESTS_FAKES_TACHYON_FILES_H
#define PYREEL_TESTS_FAKES_TACHYON_FILES_H

#include "formats/tachyon/tachyon.h"
#include "tests/fakes/story.h"

struct tachyon_file {
    bool big;
    uint32_t version, threads, codec, config, strings, frames;
    uint64_t start_us, interval_us, samples;
    int64_t strings_at, frames_at, size; /* added to what is right */
    uint8_t python[3];
    size_t cut; /* bytes that are missing at the end of the records, in a file that is else in order */
    struct bytes records, string_table, frame_table, statistics;
};

/* An empty one of CPython 3.15.2, which is right. */
struct tachyon_file tachyon_file(void);

/* Fixed numbers, in the file's byte order. */
void file_put_u32(const struct tachyon_file *file, struct bytes *to, uint32_t value);
void file_put_u64(const struct tachyon_file *file, struct bytes *to, uint64_t value);
void file_put_double(const struct tachyon_file *file, struct bytes *to, double value);

/* Adds a string, a frame. */
void file_string(struct tachyon_file *file, const char *string);
void file_frame(struct tachyon_file *file, uint32_t name_of_file, uint32_t name, int line, int end_line_step,
                int column, int end_column_step, uint8_t opcode);
/* Begins a record: thread, interpreter, kind. */
void file_record(struct tachyon_file *file, uint64_t tid, uint32_t interpreter, uint8_t kind);
/* Adds time and status. */
void file_moment(struct tachyon_file *file, uint64_t step_us, uint8_t status);
/* Adds bytes which are numbers below 128. */
void file_small(struct tachyon_file *file, size_t count, const uint8_t *numbers);
#define FILE_SMALL(file, ...) file_small((file), sizeof((uint8_t[]){ __VA_ARGS__ }), (uint8_t[]){ __VA_ARGS__ })
/* Adds the statistics. */
void file_statistics(struct tachyon_file *file, double duration_s, double rate_hz, double failed, double missed);

/* The bytes of the file; frees what it is made of. */
struct bytes file_made(struct tachyon_file *file);

/* Reads a file; false with the reason when it is refused. */
bool tachyon_give(struct bytes bytes, const struct sink *to, struct fault *why);
/* The same, into a journal. */
bool tachyon_told(struct bytes bytes, struct journal *journal, struct fault *why);

#endif
