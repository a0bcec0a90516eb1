/* SPDX-License-Identifier: MIT */
/* Bytes → several recordings for a converter's own main: two bytes for the size of each, and so many bytes. As in
 * stream.c, one that does not begin with a magic is the payload of an EVENTS block behind a good header; its first byte
 * tells when it began and how often it sampled. */
#ifndef PYREEL_TESTS_FUZZ_INPUTS_H
#define PYREEL_TESTS_FUZZ_INPUTS_H

#include "convert/source.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define INPUTS_MOST 4

/* A file in memory with the recording. What a header says besides times is in `like`. */
static inline int put_input(const uint8_t *bytes, size_t size, const struct recording *like)
{
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (size == 0 || source_kind_of((struct text){ (const char *)bytes, size })) {
        require(write(fd, bytes, size) == (ssize_t)size);
        return fd;
    }
    struct recording recording = *like;
    recording.start_unix_ns = 1000000000000 + (bytes[0] & 15) * 1000000;
    recording.interval_ns = (bytes[0] >> 4) * 1000000 + 1000000;
    recording.time_unit_ns = 1000;
    require(write_made_up(fd, &recording, bytes + 1, size - 1));
    return fd;
}

/* Takes the recordings apart. Returns how many they are. If `like` has a series, they are its parts 1, 2 + gap, 3 + gap
 * and so on. */
static inline size_t put_parts(const uint8_t *bytes, size_t size, int *fds, const struct recording *like, uint32_t gap)
{
    struct recording part = *like;
    size_t count = 0;
    while (count < INPUTS_MOST && size >= 2) {
        const size_t claimed = bytes[0] | (size_t)bytes[1] << 8;
        const size_t taken = claimed < size - 2 ? claimed : size - 2;
        if (like->series)
            part.part = 1 + (uint32_t)count + (count > 0 ? gap : 0);
        fds[count++] = put_input(bytes + 2, taken, &part);
        bytes += 2 + taken;
        size -= 2 + taken;
    }
    return count;
}

/* The same for recordings that have nothing to do with each other. */
static inline size_t put_inputs(const uint8_t *bytes, size_t size, int *fds)
{
    const struct recording one_file = { .format_version = STREAM_VERSION };
    return put_parts(bytes, size, fds, &one_file, 0);
}

/* Calls `convert` with the arguments, and the names of `count` recordings behind them; then closes the recordings.
 * `argv` has room for the names and a NULL. Nothing happens when there is no recording. */
static inline void with_inputs(void (*convert)(int argc, char **argv), int argc, char **argv, const int *fds,
                               size_t count)
{
    char paths[INPUTS_MOST][32];
    for (size_t i = 0; i < count; i++) {
        snprintf(paths[i], sizeof(paths[i]), "/proc/self/fd/%d", fds[i]);
        argv[argc++] = paths[i];
    }
    if (count > 0)
        convert(argc, argv);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
}

#endif
