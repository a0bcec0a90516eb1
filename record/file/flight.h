/* SPDX-License-Identifier: MIT */
/* The memory of a flight recorder: the last seconds of a recording. Each segment is a stream that is complete by
 * itself, as the file of a rotation is, in a file without a name (memfd). So the memory has encoded blocks, which are
 * some 20 bytes a sample, and the oldest seconds go away as a whole:
 *
 *     --flight-recorder 60:   [ 15 s ][ 15 s ][ 15 s ][ 15 s ][ the present segment ... ]
 *
 * An incident is written by a thread of its own, while the recording goes on: it joins the segments (part_join.h) into
 * one ordinary recording in one file. One file, because an incident is looked at by people, who attach it to a report.
 */
#ifndef PYREEL_RECORD_FILE_FLIGHT_H
#define PYREEL_RECORD_FILE_FLIGHT_H

#include "formats/codec/stream_format.h"
#include "record/file/recording_file.h"

#include <pthread.h>
#include <stdatomic.h>

#define FLIGHT_BYTES         ((uint64_t)64 << 20) /* most bytes of all segments */
#define FLIGHT_BYTES_TEXT    "64 MiB"
#define FLIGHT_SEGMENTS      4 /* of the time that is kept */
#define FLIGHT_SEGMENT_BYTES (FLIGHT_BYTES / (FLIGHT_SEGMENTS + 1))

struct segment {
    int fd;
    uint64_t bytes;
    uint64_t end_ns; /* since the start of the first stream */
};

/* The task of the thread that writes an incident, and its result. The thread alone touches the members, except for
 * `done`, from flight_write() until `done` is set. Then they are the caller's. */
struct incident {
    int fds[FLIGHT_SEGMENTS * 4];
    size_t count;
    struct recording_file file;
    enum stream_codec codec;
    bool good;
    struct fault why;
    uint64_t bytes, samples, length_ns;
    atomic_bool done;
};

/* Set `span_ns`; the rest starts as zeros. */
struct flight {
    uint64_t span_ns; /* how much is kept */
    struct segment segments[FLIGHT_SEGMENTS * 4];
    size_t count;
    bool short_of_room; /* segments went away before they were old enough */
    bool writing;       /* an incident is being written */
    pthread_t writer;
    struct incident incident;
};

/* Opens the file of a segment. Returns -1 with the reason on failure. */
int flight_open_segment(struct flight *flight, struct fault *why);

/* Keeps a segment that is complete, and takes over `fd`. Forgets segments that are too old, or that have no room. */
void flight_keep(struct flight *flight, int fd, uint64_t bytes, uint64_t end_ns);

/* Starts to write all segments into the file, which the flight recorder owns from now on. */
void flight_write(struct flight *flight, const struct recording_file *file, enum stream_codec codec);

/* Whether the incident that was being written is complete; then flight->incident has the result, and the caller frees
 * its path by recording_file_close(). Waits for that if `wait` is set. False when nothing was being written. */
bool flight_written(struct flight *flight, bool wait);

/* Frees the segments. */
void flight_close(struct flight *flight);

#endif
