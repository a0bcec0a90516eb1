/* SPDX-License-Identifier: MIT */
#include "tests/fakes/tachyon_files.h"

#include "formats/tachyon/tachyon_read.h"
#include "tests/fakes/testing.h"

#include <string.h>
#include <unistd.h>
#include <zstd.h>

struct tachyon_file tachyon_file(void)
{
    return (struct tachyon_file){
        .version = 1, .threads = 1, .start_us = 5000000, .interval_us = 1000, .python = { 3, 15, 2 }
    };
}

static void put_ordered(struct bytes *to, uint64_t value, unsigned size, bool big)
{
    for (unsigned i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)(value >> 8 * (big ? size - 1 - i : i));
        put_bytes(to, &byte, 1);
    }
}

void file_put_u32(const struct tachyon_file *file, struct bytes *to, uint32_t value)
{
    put_ordered(to, value, 4, file->big);
}

void file_put_u64(const struct tachyon_file *file, struct bytes *to, uint64_t value)
{
    put_ordered(to, value, 8, file->big);
}

void file_put_double(const struct tachyon_file *file, struct bytes *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    put_ordered(to, bits, 8, file->big);
}

void file_string(struct tachyon_file *file, const char *string)
{
    put_number(&file->string_table, strlen(string));
    put_bytes(&file->string_table, string, strlen(string));
    file->strings++;
}

void file_frame(struct tachyon_file *file, uint32_t name_of_file, uint32_t name, int line, int end_line_step,
                int column, int end_column_step, uint8_t opcode)
{
    put_number(&file->frame_table, name_of_file);
    put_number(&file->frame_table, name);
    put_signed(&file->frame_table, line);
    put_signed(&file->frame_table, end_line_step);
    put_signed(&file->frame_table, column);
    put_signed(&file->frame_table, end_column_step);
    put_bytes(&file->frame_table, &opcode, 1);
    file->frames++;
}

void file_record(struct tachyon_file *file, uint64_t tid, uint32_t interpreter, uint8_t kind)
{
    file_put_u64(file, &file->records, tid);
    file_put_u32(file, &file->records, interpreter);
    put_bytes(&file->records, &kind, 1);
}

void file_moment(struct tachyon_file *file, uint64_t step_us, uint8_t status)
{
    put_number(&file->records, step_us);
    put_bytes(&file->records, &status, 1);
    file->samples++;
}

void file_small(struct tachyon_file *file, size_t count, const uint8_t *numbers)
{
    put_bytes(&file->records, numbers, count);
}

void file_statistics(struct tachyon_file *file, double duration_s, double rate_hz, double failed, double missed)
{
    struct bytes *to = &file->statistics;
    file_put_double(file, to, duration_s);
    file_put_double(file, to, rate_hz);
    file_put_double(file, to, failed);
    file_put_double(file, to, missed);
    file_put_u32(file, to, 3);
    file_put_u32(file, to, 0);
    put_bytes(to, "TACHSTAT", 8);
    file_put_u32(file, to, 1);
    file_put_u32(file, to, 56);
}

/* In one zstd frame, as Tachyon has them. */
static void pack(struct bytes *records)
{
    const size_t most = ZSTD_compressBound(records->size);
    struct bytes packed = { .at = alloc_zeroed(most, 1), .room = most };
    packed.size = ZSTD_compress(packed.at, most, records->at, records->size, 5);
    assert_false(ZSTD_isError(packed.size));
    bytes_free(records);
    *records = packed;
}

struct bytes file_made(struct tachyon_file *file)
{
    struct bytes made = { 0 };
    if (file->codec == TACHYON_ZSTD)
        pack(&file->records);
    file->records.size -= file->cut;
    const uint64_t strings_at = 64 + file->records.size, frames_at = strings_at + file->string_table.size;
    file_put_u32(file, &made, 0x54414348);
    file_put_u32(file, &made, file->version);
    put_bytes(&made, file->python, 3);
    put_bytes(&made, "", 1);
    file_put_u64(file, &made, file->start_us);
    file_put_u64(file, &made, file->interval_us);
    file_put_u64(file, &made, file->samples);
    file_put_u32(file, &made, file->threads);
    file_put_u64(file, &made, strings_at + (uint64_t)file->strings_at);
    file_put_u64(file, &made, frames_at + (uint64_t)file->frames_at);
    file_put_u32(file, &made, file->codec);
    file_put_u32(file, &made, file->config);
    put_bytes(&made, file->records.at, file->records.size);
    put_bytes(&made, file->string_table.at, file->string_table.size);
    put_bytes(&made, file->frame_table.at, file->frame_table.size);
    put_bytes(&made, file->statistics.at, file->statistics.size);
    file_put_u32(file, &made, file->strings);
    file_put_u32(file, &made, file->frames);
    file_put_u64(file, &made, made.size + 24 + (uint64_t)file->size);
    put_bytes(&made, (char[16]){ 0 }, 16);
    bytes_free(&file->records);
    bytes_free(&file->string_table);
    bytes_free(&file->frame_table);
    bytes_free(&file->statistics);
    return made;
}

bool tachyon_told(struct bytes bytes, struct journal *journal, struct fault *why)
{
    const struct sink sink = journal_sink(journal);
    return tachyon_give(bytes, &sink, why);
}

bool tachyon_give(struct bytes bytes, const struct sink *to, struct fault *why)
{
    const int fd = memory_file(bytes.at, bytes.size);
    struct tachyon_reader reader = { 0 };
    enum source_state state = SOURCE_STOPPED;
    if (tachyon_reader_open(&reader, fd, (struct text){ 0 }, to, why))
        while ((state = tachyon_read_some(&reader, to, why)) == SOURCE_MORE)
            ;
    tachyon_reader_close(&reader);
    close(fd);
    assert_true(state == SOURCE_ENDED || why->text[0]);
    return state == SOURCE_ENDED;
}
