/* SPDX-License-Identifier: MIT */
/* codecs [--rounds N] RECORDING...: writes the blocks of each recording again with each codec, in memory, and prints
 * how large the file becomes and what reading and writing that file take, as ratios to the grouped file. All four files
 * are written and read in turn in each round. Times are processor time, so that a busy machine changes them little. */
#include "formats/base/alloc.h"
#include "formats/base/startup.h"
#include "formats/model/tables.h"
#include "formats/stream/block_write.h"
#include "formats/stream/stream_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CODECS      4
#define ROUNDS_MOST 99
#define ENOUGH_NS   50000000 /* of one measurement: short recordings are read several times */

static const char *const names[CODECS] = { "none", "zstd", "grouped", "predicted" };

struct payload {
    enum stream_block kind;
    struct bytes bytes;
};

struct recording_blocks {
    struct payload *rows;
    size_t count, room;
};

/* What one codec makes of a recording. */
struct outcome {
    int fd;
    uint64_t bytes;
    unsigned predicted;                                                 /* blocks */
    double write[ROUNDS_MOST], blocks[ROUNDS_MOST], whole[ROUNDS_MOST]; /* ns of each round */
};

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "codecs: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static double spent_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Raises the level in a HEADER payload, whose first field pyreel writes first: each codec is then allowed. */
static void raise_level(struct bytes *header)
{
    if (header->size < 3 || header->at[0] != HEADER_LEVEL || header->at[1] != 1)
        die("header", "the level is not the first field");
    header->at[2] = STREAM_LEVELS;
}

static struct recording_blocks load(const char *path)
{
    struct recording_blocks loaded = { 0 };
    struct block_reader reader;
    struct block block;
    struct fault why = { 0 };
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    block_reader_open(&reader, fd);
    if (fd < 0 || !block_read_magic(&reader, &why))
        die(path, fd < 0 ? "cannot be opened" : why.text);
    while (block_read(&reader, &block, &why) == BLOCK_FOUND) {
        loaded.rows = alloc_grow(loaded.rows, &loaded.room, loaded.count + 1, sizeof(*loaded.rows));
        struct payload *row = &loaded.rows[loaded.count++];
        *row = (struct payload){ .kind = block.kind };
        put_bytes(&row->bytes, block.payload.at, cursor_left(&block.payload));
        if (block.kind == BLOCK_HEADER)
            raise_level(&row->bytes);
    }
    if (reader.damage.bytes > 0 || loaded.count == 0)
        die(path, "the recording is damaged");
    block_reader_close(&reader);
    close(fd);
    return loaded;
}

/* ---- what is measured ---- */

static void write_again(struct outcome *outcome, const struct recording_blocks *recording, enum stream_codec codec)
{
    struct block_writer writer;
    struct fault why = { 0 };
    if (ftruncate(outcome->fd, 0) != 0 || lseek(outcome->fd, 0, SEEK_SET) != 0)
        die("memory", "cannot be written");
    outcome->predicted = 0;
    block_writer_open(&writer, outcome->fd, codec, 0);
    for (size_t i = 0; i < recording->count; i++) {
        if (!block_write(&writer, recording->rows[i].kind, &recording->rows[i].bytes, &why))
            die("memory", why.text);
        const size_t magic = i == 0 ? STREAM_MAGIC_SIZE : 0;
        outcome->predicted += writer.stored.at[magic + STREAM_CODEC_AT] == CODEC_PREDICTED;
    }
    outcome->bytes = writer.written;
    block_writer_close(&writer);
}

/* How large the file is with codec 3 in each block in which it is smaller than codec 2: pyreel asks for a third. */
static uint64_t bytes_always_predicted(const struct recording_blocks *recording, int fd)
{
    struct prediction prediction = { 0 };
    struct block_writer writer;
    struct fault why = { 0 };
    uint64_t bytes = 0;
    block_writer_open(&writer, fd, CODEC_GROUPED, 0);
    for (size_t i = 0; i < recording->count; i++) {
        const struct payload *row = &recording->rows[i];
        struct bytes predicted = { 0 };
        if (!block_write(&writer, row->kind, &row->bytes, &why))
            die("memory", why.text);
        size_t least = writer.stored.size;
        if (row->kind == BLOCK_EVENTS && codec_predict_payload(&prediction, &row->bytes, &predicted) &&
            STREAM_BLOCK_HEADER + predicted.size < least)
            least = STREAM_BLOCK_HEADER + predicted.size;
        bytes += least;
        bytes_free(&predicted);
    }
    block_writer_close(&writer);
    codec_predict_free(&prediction);
    return bytes;
}

/* Finds the blocks and undoes the codec, no more. */
static void read_blocks(int fd)
{
    struct block_reader reader;
    struct block block;
    struct fault why = { 0 };
    lseek(fd, 0, SEEK_SET);
    block_reader_open(&reader, fd);
    if (!block_read_magic(&reader, &why))
        die("memory", why.text);
    while (block_read(&reader, &block, &why) == BLOCK_FOUND)
        ;
    if (reader.damage.bytes > 0)
        die("memory", reader.damage.first.text);
    block_reader_close(&reader);
}

static bool into_tables(void *self, struct event *event, struct fault *why)
{
    return tables_take(self, event, why);
}

/* All that a converter does before its output: blocks, records, definitions, a tree of stacks. */
static void read_whole(int fd)
{
    struct tables tables = { 0 };
    struct stream_reader reader;
    struct fault why = { 0 };
    const struct sink sink = { .take = into_tables, .self = &tables };
    lseek(fd, 0, SEEK_SET);
    if (!stream_reader_open(&reader, fd, (struct text){ 0 }, &sink, &why))
        die("memory", why.text);
    reader.gives_runs = true;
    while (stream_read_block(&reader, &sink, &why) == SOURCE_MORE)
        ;
    if (why.text[0])
        die("memory", why.text);
    stream_reader_close(&reader);
    tables_free(&tables);
}

static double time_of_writing(struct outcome *outcome, const struct recording_blocks *recording,
                              enum stream_codec codec)
{
    const double began = spent_ns();
    unsigned times = 0;
    do {
        write_again(outcome, recording, codec);
        times++;
    } while (spent_ns() - began < ENOUGH_NS);
    return (spent_ns() - began) / times;
}

static double time_of_reading(void (*reading)(int), int fd)
{
    const double began = spent_ns();
    unsigned times = 0;
    do {
        reading(fd);
        times++;
    } while (spent_ns() - began < ENOUGH_NS);
    return (spent_ns() - began) / times;
}

/* ---- what is printed ---- */

static int by_size(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* The median of what each round gave, as a ratio to what the grouped file gave in the same round. */
static double ratio(const double *times, const double *grouped, unsigned rounds)
{
    double ratios[ROUNDS_MOST];
    for (unsigned i = 0; i < rounds; i++)
        ratios[i] = times[i] / grouped[i];
    qsort(ratios, rounds, sizeof(*ratios), by_size);
    return ratios[rounds / 2];
}

static void measure(const char *path, unsigned rounds)
{
    static struct outcome outcomes[CODECS];
    const struct recording_blocks recording = load(path);
    for (unsigned codec = 0; codec < CODECS; codec++)
        outcomes[codec] = (struct outcome){ .fd = memfd_create("recording", MFD_CLOEXEC) };
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < CODECS; i++) {
            const unsigned codec = round % 2 ? CODECS - 1 - i : i;
            struct outcome *outcome = &outcomes[codec];
            outcome->write[round] = time_of_writing(outcome, &recording, (enum stream_codec)codec);
            outcome->blocks[round] = time_of_reading(read_blocks, outcome->fd);
            outcome->whole[round] = time_of_reading(read_whole, outcome->fd);
        }
    printf("%s: %zu blocks\n", path, recording.count);
    printf("  %-10s %10s %8s %10s %14s %13s %12s\n", "codec", "bytes", "by", "predicted", "reading blocks",
           "reading whole", "writing");
    const struct outcome *grouped = &outcomes[CODEC_GROUPED];
    for (unsigned codec = 0; codec < CODECS; codec++) {
        const struct outcome *o = &outcomes[codec];
        printf("  %-10s %10lu %7.2fx %10u %13.2fx %12.2fx %11.2fx\n", names[codec], (unsigned long)o->bytes,
               (double)o->bytes / (double)grouped->bytes, o->predicted, ratio(o->blocks, grouped->blocks, rounds),
               ratio(o->whole, grouped->whole, rounds), ratio(o->write, grouped->write, rounds));
        close(o->fd);
    }
    const int fd = memfd_create("recording", MFD_CLOEXEC);
    printf("  always: %lu bytes with codec 3 in each block in which codec 3 is the smallest\n",
           (unsigned long)bytes_always_predicted(&recording, fd));
    close(fd);
    printf("  times with codec 3: %.2f ms to read the whole, %.2f ms to write a block on average\n",
           outcomes[CODEC_PREDICTED].whole[0] / 1e6,
           outcomes[CODEC_PREDICTED].write[0] / 1e6 / (double)recording.count);
    for (size_t i = 0; i < recording.count; i++)
        bytes_free(&recording.rows[i].bytes);
    free(recording.rows);
}

int main(int argc, char **argv)
{
    int first = 1;
    unsigned long rounds = 5;
    if (argc > 2 && strcmp(argv[1], "--rounds") == 0) {
        rounds = strtoul(argv[2], NULL, 10);
        first = 3;
    }
    if (first >= argc || rounds < 1 || rounds > ROUNDS_MOST) {
        fprintf(stderr, "usage: codecs [--rounds N] RECORDING...\n");
        return EXIT_MISUSE;
    }
    for (int i = first; i < argc; i++)
        measure(argv[i], (unsigned)rounds);
    return EXIT_SUCCESS;
}
