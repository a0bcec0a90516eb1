/* SPDX-License-Identifier: MIT */
#include "record/file/flight.h"

#include "formats/base/alloc.h"
#include "formats/parts/part_join.h"
#include "formats/stream/stream_read.h"
#include "formats/stream/stream_write.h"
#include "record/process/own_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define HEAD_SIZE 4096
#define NICE      10 /* of the thread that writes: the program and the recorder come first */

/* ---- segments ---- */

int flight_open_segment(struct flight *flight, struct fault *why)
{
    (void)flight;
    const int fd = memfd_create("pyreel-flight", MFD_CLOEXEC);
    if (fd < 0)
        fault(why, "cannot keep the recording in memory: %s", strerror(errno));
    return fd;
}

static void forget_oldest(struct flight *flight)
{
    close(flight->segments[0].fd);
    memmove(flight->segments, flight->segments + 1, --flight->count * sizeof(*flight->segments));
}

static uint64_t flight_bytes(const struct flight *flight)
{
    uint64_t bytes = FLIGHT_SEGMENT_BYTES; /* room for the present segment */
    for (size_t i = 0; i < flight->count; i++)
        bytes += flight->segments[i].bytes;
    return bytes;
}

void flight_keep(struct flight *flight, int fd, uint64_t bytes, uint64_t end_ns)
{
    const size_t most = sizeof(flight->segments) / sizeof(flight->segments[0]);
    while (flight->count > 0 && flight->segments[0].end_ns + flight->span_ns < end_ns)
        forget_oldest(flight);
    if (flight->count == most) {
        forget_oldest(flight);
        flight->short_of_room = true;
    }
    flight->segments[flight->count++] = (struct segment){ fd, bytes, end_ns };
    while (flight->count > 1 && flight_bytes(flight) > FLIGHT_BYTES) {
        forget_oldest(flight);
        flight->short_of_room = true;
    }
}

/* ---- an incident ---- */

/* From the join to the file. */
struct copying {
    struct stream_writer writer;
    struct part_join join;
    struct incident *incident;
    struct event *ends; /* of threads, in the order in which they came: see flight_take_joined() */
    size_t ends_count, ends_room;
};

static bool write_ends(struct copying *copying, struct fault *why)
{
    bool good = true;
    for (size_t i = 0; i < copying->ends_count; i++)
        good = good && stream_write(&copying->writer, &copying->ends[i], why);
    copying->ends_count = 0;
    return good;
}

/* A reader may give the end of a thread before the thread's last sample, and the writer wants the end behind it. */
static bool flight_take_joined(void *self, struct event *event, struct fault *why)
{
    struct copying *copying = self;
    struct incident *incident = copying->incident;
    incident->samples += event->kind == EVENT_SAMPLE;
    if (event->kind == EVENT_THREAD_END) {
        copying->ends = alloc_grow(copying->ends, &copying->ends_room, copying->ends_count + 1, sizeof(*copying->ends));
        copying->ends[copying->ends_count++] = *event;
        return true;
    }
    if (event->kind == EVENT_TICK)
        return stream_write(&copying->writer, event, why) && write_ends(copying, why);
    if (event->kind == EVENT_END) {
        if (!write_ends(copying, why))
            return false;
        incident->length_ns = event->end.time_ns;
        if (event->end.reason == END_CONTINUED)
            event->end.reason = END_EXCERPT;
    }
    return stream_write(&copying->writer, event, why);
}

static bool take_event_of_part(void *self, struct event *event, struct fault *why)
{
    return part_join_take(self, event, why);
}

/* Reads a segment. `fd` is at its begin. */
static bool copy_segment(struct copying *copying, int fd, struct fault *why)
{
    struct stream_reader reader = { 0 };
    const struct sink sink = { .take = take_event_of_part, .self = &copying->join };
    part_join_next(&copying->join, false);
    bool good = lseek(fd, 0, SEEK_SET) == 0 && stream_reader_open(&reader, fd, (struct text){ 0 }, &sink, why);
    enum source_state state = SOURCE_MORE;
    while (good && state == SOURCE_MORE)
        state = stream_read_block(&reader, &sink, why);
    stream_reader_close(&reader);
    return good && state == SOURCE_ENDED;
}

static bool copying_run(struct copying *copying, struct fault *why)
{
    struct incident *incident = copying->incident;
    bool good = true;
    for (size_t i = 0; i < incident->count && good; i++)
        good = copy_segment(copying, incident->fds[i], why);
    return good && part_join_finish(&copying->join, why);
}

/* The thread that writes an incident. */
static void *write_incident(void *self)
{
    struct incident *incident = self;
    struct copying copying = { .incident = incident };
    const struct sched_param usual = { 0 };
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual);
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    stream_writer_open(&copying.writer, incident->file.fd, incident->codec);
    copying.join.to = (struct sink){ .take = flight_take_joined, .self = &copying };
    incident->good = copying_run(&copying, &incident->why);
    incident->bytes = copying.writer.blocks.written;
    part_join_free(&copying.join);
    stream_writer_close(&copying.writer);
    free(copying.ends);
    for (size_t i = 0; i < incident->count; i++)
        close(incident->fds[i]);
    atomic_store(&incident->done, true);
    return NULL;
}

void flight_write(struct flight *flight, const struct recording_file *file, enum stream_codec codec)
{
    struct incident *incident = &flight->incident;
    *incident = (struct incident){ .file = *file, .codec = codec };
    for (size_t i = 0; i < flight->count; i++) {
        const int fd = fcntl(flight->segments[i].fd, F_DUPFD_CLOEXEC, 0); /* the segment may be forgotten meanwhile */
        if (fd >= 0)
            incident->fds[incident->count++] = fd;
    }
    flight->writing = own_thread_start(&flight->writer, NULL, NULL, write_incident, &flight->incident);
    if (!flight->writing)
        write_incident(incident);
}

bool flight_written(struct flight *flight, bool wait)
{
    struct incident *incident = &flight->incident;
    if (!incident->file.path || (!wait && !atomic_load(&incident->done)))
        return false;
    if (flight->writing)
        pthread_join(flight->writer, NULL);
    flight->writing = false;
    return true;
}

void flight_close(struct flight *flight)
{
    struct fault unused = { 0 };
    if (flight_written(flight, true))
        recording_file_close(&flight->incident.file, &unused);
    while (flight->count > 0)
        forget_oldest(flight);
}
