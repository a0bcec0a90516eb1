/* SPDX-License-Identifier: MIT */
/* The way of events from the sampler into files. A recording may go on from one stream to the next: each stream is
 * complete by itself, with a header, definitions, an end and sums. Between two ticks, the outlet
 *
 *     lets the source emit what it keeps back, and its counters   -> ... END "it goes on in the next file"
 *     opens the next file, and describes it                       -> HEADER part 2
 *     lets the source emit everything anew that lives             -> PROCESS, THREAD, ...
 *
 * The source counts times from its own start. The outlet gives each stream times since the start of that stream, which
 * is a multiple of the interval behind the start of the first one, so that readers can join the streams exactly. The
 * source counts its work since its own start, too; each stream gets the part of the counters that is its own. */
#ifndef PYREEL_RECORD_FILE_OUTLET_H
#define PYREEL_RECORD_FILE_OUTLET_H

#include "formats/model/counters.h"
#include "formats/stream/stream_write.h"
#include "record/file/deaths.h"
#include "record/file/file_numbers.h"
#include "record/file/flight.h"
#include "record/file/recording_file.h"
#include "record/file/triggers.h"

/* Who emits the events. */
struct outlet_source {
    void *self;
    /* Emits what is kept back, and the counters, before the stream ends. False when the sink refused. */
    bool (*flush)(void *self, struct fault *why);
    /* Emits all that lives anew, behind the header of another stream. */
    void (*restart)(void *self);
};

/* When the recording goes on in another file. All zero: never. */
struct rotation {
    uint64_t bytes;   /* before the file gets larger than this */
    uint64_t time_ns; /* when the file is as old as this */
    uint32_t keep;    /* most files that stay; 0: all */
};

/* Set by the caller: the first group. Then outlet_open_file(), outlet_begin(). */
struct outlet {
    struct stream_writer *writer;
    struct recording_file *file;
    struct outlet_source source;
    struct rotation rotation;
    struct flight flight;     /* .span_ns 0: no flight recorder */
    struct triggers triggers; /* when the flight recorder writes what it has */
    struct deaths deaths;     /* it writes then, too */
    enum stream_codec codec;
    uint64_t size_limit; /* of a recording that is one file; 0: none */

    struct file_numbers numbers;
    struct recording recording; /* description of the first stream */
    uint64_t start_ns;          /* start of the first stream (monotonic), ... */
    uint64_t shift_ns;          /* ... and how much later the present one started */
    uint32_t part;              /* number of the present stream, from 1 */
    uint64_t retry_ns;          /* when to try again after a file that could not be created (monotonic); 0: no wait */
    struct counters before;     /* the source's counters at the end of the previous stream, ... */
    struct counters latest;     /* ... and those that it has emitted last */
    uint64_t bytes_before;      /* size of the streams before the present one */
    char *first_path;           /* of the first file, ... */
    char *previous_path;        /* ... and of the file before the present one; NULL: none */
    int segment_fd;             /* of a flight recorder: the present segment; -1: none */
    uint64_t fired_ns;          /* when a condition made the flight recorder write (monotonic); 0: never */
    bool wants_incident;        /* somebody wants an incident, and the one before is being written */
    char *cause;                /* why the incident is written that is being written */
    uint32_t incidents;         /* number of incidents that were written */
    struct fault notice;        /* something to tell the user while the recording goes on; the caller clears it */
};

/* Whether the recording may become several streams. */
static inline bool outlet_in_parts(const struct outlet *outlet)
{
    return outlet->rotation.bytes || outlet->rotation.time_ns || outlet->flight.span_ns;
}

/* Opens the first file, see recording_file_open(). */
bool outlet_open_file(struct outlet *outlet, const char *path, bool force, pid_t pid, struct text command,
                      struct fault *why);

/* Begins the first stream. The texts of `recording` must live as long as the outlet. False with the reason. */
bool outlet_begin(struct outlet *outlet, const struct recording *recording, struct fault *why);

/* The sink of the source. */
struct sink outlet_sink(struct outlet *outlet);

/* Call this after each tick, while no look is appointed: goes on in the next file or segment when that is due, and
 * writes an incident when a condition became true or a process was killed. Takes some nanoseconds when nothing is due,
 * and a few milliseconds else. False with the reason when the recording cannot go on. */
bool outlet_turn(struct outlet *outlet, uint64_t now_ns, struct fault *why);

/* Makes a flight recorder write what it has into a file of its own. `cause` is for the user: "SIGUSR1". While an
 * earlier incident is being written, this one waits. False with the reason when the recording cannot go on. */
bool outlet_incident(struct outlet *outlet, uint64_t now_ns, const char *cause, struct fault *why);

/* Whether an incident is being written, or waits. */
bool outlet_is_writing(const struct outlet *outlet);

/* Tells a flight recorder how a recorded process has ended, behind the process's last event. When the process was
 * killed, outlet_turn() writes an incident soon. */
void outlet_process_ended(struct outlet *outlet, uint64_t now_ns, pid_t pid, int wait_status);

/* Ends the last stream; `end` has the time since the start of the source. False with the reason. */
bool outlet_end(struct outlet *outlet, const struct end *end, struct fault *why);

/* Closes the last file, and removes it when nothing could be written into it. False with the reason when the file does
 * not have all that was written. */
bool outlet_close_file(struct outlet *outlet, struct fault *why);

/* Bytes written so far, in all files. */
uint64_t outlet_bytes(const struct outlet *outlet);

/* The names of the files for the summary: "a.pyreel", "a-0001.pyreel to a-0003.pyreel". Call this before
 * outlet_close_file(). The caller frees it. */
char *outlet_paths(const struct outlet *outlet);

/* Frees everything but the writer and the file. */
void outlet_close(struct outlet *outlet);

#endif
