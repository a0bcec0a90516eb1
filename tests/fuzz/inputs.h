/* SPDX-License-Identifier: MIT */
/* Bytes → several recordings for a converter's own main: two bytes for the size of each, and so many bytes. As in
 * stream.c, one that does not begin with a magic is the payload of an EVENTS block behind a good header; its first byte
 * tells when it began and how often it sampled. */
#ifndef PYREEL_TESTS_FUZZ_INPUTS_H
#define PYREEL_TESTS_FUZZ_INPUTS_H

#include "convert/source.h"
#include "tests/fuzz/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define INPUTS_MOST 4

static inline void require(bool held)
{
    if (!held)
        abort();
}

/* A file in memory with the recording. */
static inline int put_input(const uint8_t *bytes, size_t size)
{
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (size == 0 || source_kind_of((struct text){ (const char *)bytes, size })) {
        require(write(fd, bytes, size) == (ssize_t)size);
        return fd;
    }
    const struct recording recording = { .format_version = 1,
                                         .start_unix_ns = 1000000000000 + (bytes[0] & 15) * 1000000,
                                         .interval_ns = (bytes[0] >> 4) * 1000000 + 1000000,
                                         .time_unit_ns = 1000 };
    require(write_made_up(fd, &recording, bytes + 1, size - 1));
    return fd;
}

/* Takes the recordings apart. Returns how many they are. */
static inline size_t put_inputs(const uint8_t *bytes, size_t size, int *fds)
{
    size_t count = 0;
    while (count < INPUTS_MOST && size >= 2) {
        const size_t claimed = bytes[0] | (size_t)bytes[1] << 8;
        const size_t part = claimed < size - 2 ? claimed : size - 2;
        fds[count++] = put_input(bytes + 2, part);
        bytes += 2 + part;
        size -= 2 + part;
    }
    return count;
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
