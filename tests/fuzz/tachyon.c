/* SPDX-License-Identifier: MIT */
/* The bytes of a Tachyon file → reader → tables, as the converters do it. So that a fuzzer need not find out how the
 * parts hang together, input that does not begin with the magic is taken for samples, as they are, behind a good header
 * and in front of good tables; its first byte tells how many they are. */
#include "formats/base/alloc.h"
#include "formats/model/tables.h"
#include "formats/tachyon/tachyon_read.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EVENTS_LIMIT 200000

struct playing {
    struct tables tables;
    uint64_t events;
    uint64_t last_ns; /* time goes on */
};

/* What every output relies on. */
static void check_run(struct playing *playing, const struct run *run)
{
    const struct tables *tables = &playing->tables;
    require(run->stack < tables->stacks_count || run->stack == 0);
    require(run->time_ns >= playing->last_ns);
    playing->last_ns = run->time_ns;
    uint32_t depth = 0;
    for (uint32_t stack = run->stack; stack; stack = tables->stacks[stack].caller, depth++) {
        require(tables->stacks[stack].caller < stack);
        require(tables->stacks[stack].frame < tables->frames_count);
    }
    require(depth == tables->threads[run->thread].depth);
}

/* The tables never have a word to say: the reader lets nothing pass that breaks a rule. */
static bool take(void *self, struct event *event, struct fault *why)
{
    struct playing *playing = self;
    if (++playing->events > EVENTS_LIMIT)
        return fault(why, "enough");
    require(tables_take(&playing->tables, event, why));
    if (event->kind == EVENT_RUN)
        check_run(playing, &event->run);
    return true;
}

/* A file with these samples, three frames and four strings. */
static int put_samples(const uint8_t *bytes, size_t size, uint64_t samples)
{
    static const unsigned char tables[] = "\4a.py\1f\1~\4<GC>\0\1\2\0\0\2\377\0\1\4\0\1\0\50\2\3\1\0\1\0\377";
    const size_t strings_size = 14, tables_size = sizeof(tables) - 1;
    const struct tachyon_header header = { .python = { 3, 15, 2 },
                                           .interval_us = 1000,
                                           .samples = samples,
                                           .threads = 1000,
                                           .strings_at = TACHYON_HEADER + size,
                                           .frames_at = TACHYON_HEADER + size + strings_size,
                                           .strings = 4,
                                           .frames = 3 };
    struct bytes file = { 0 };
    tachyon_header_put(&file, &header);
    put_bytes(&file, bytes, size);
    put_bytes(&file, tables, tables_size);
    tachyon_header_put_footer(&file, &header, file.size + TACHYON_FOOTER);
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(write(fd, file.at, file.size) == (ssize_t)file.size);
    bytes_free(&file);
    return fd;
}

static void play(int fd, struct fault *why)
{
    struct playing *playing = alloc_zeroed(1, sizeof(*playing));
    struct tachyon_reader *reader = alloc_zeroed(1, sizeof(*reader));
    const struct sink sink = { .take = take, .self = playing };
    if (tachyon_reader_open(reader, fd, (struct text){ 0 }, &sink, why))
        while (tachyon_read_some(reader, &sink, why) == SOURCE_MORE)
            ;
    require(why->text[0] || playing->tables.samples == reader->samples.count);
    close(fd);
    tachyon_reader_close(reader);
    tables_free(&playing->tables);
    free(reader);
    free(playing);
}

FUZZ_TARGET(tachyon)
{
    struct fault why = { 0 };
    if (tachyon_header_recognised(bytes, size)) {
        const int fd = memfd_create("fuzz", MFD_CLOEXEC);
        require(write(fd, bytes, size) == (ssize_t)size);
        play(fd, &why);
    } else if (size > 0) {
        play(put_samples(bytes + 1, size - 1, bytes[0]), &why);
    }
    return 0;
}
