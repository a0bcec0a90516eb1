/* SPDX-License-Identifier: MIT */
/* Sends requests to a receiver of OpenTelemetry's protocol (OTLP over HTTP), one after the other, from a thread of its
 * own: the recording is read on, whatever the receiver does.
 *
 *     converter ── sender_file(), sender_add() ──▶ requests that wait ── POST ──▶ receiver
 *                                                   2xx: done; some profiles may be refused, which is counted
 *                                                   429, 502, 503, 504, no answer: sent again later
 *                                                   any other answer: refused, counted, and never sent again
 *
 * A request that got an answer is not sent again, but for those four. A request whose answer was lost on its way comes
 * twice: the protocol has no way to tell. Requests that wait are files of a folder (--spool), which outlive the
 * program, or memory. When they exceed the limit, the oldest are lost, and counted; where the recording is a file, its
 * reading waits first. */
#ifndef PYREEL_CONVERT_OTLP_SENDER_H
#define PYREEL_CONVERT_OTLP_SENDER_H

#include "formats/base/fault.h"
#include "formats/base/output.h"

#include <stdint.h>

struct sender_wishes {
    const char *to;    /* the base URL, to which OTLP_PATH is added; NULL: as the environment says */
    const char *spool; /* a folder; NULL: memory */
    uint64_t most;     /* bytes of requests that wait */
    bool patient;      /* the recording waits, too: it is a file, and nobody writes into a pipe that we read */
    bool quiet;        /* warnings alone are printed */
};

/* What has happened so far. */
struct sender_counts {
    uint64_t sent, bytes; /* requests that the receiver took, and their bytes as they were sent */
    uint64_t again;       /* how often a request was sent again */
    uint64_t refused;     /* requests that the receiver refused for good */
    uint64_t profiles;    /* profiles that the receiver refused of requests that it took */
    uint64_t lost;        /* requests that were lost because too many waited, or since the program ended */
    uint64_t left;        /* requests that are left in the folder for a later run */
    uint64_t longest_ns;  /* the longest time from a request's end to its answer */
};

struct sender;

/* Whether the environment names a receiver (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT). */
bool sender_in_environment(void);

/* Starts the thread. The wishes must live as long. NULL with the reason. Also takes up what an earlier run left in the
 * folder. */
struct sender *sender_open(const struct sender_wishes *wishes, struct fault *why);

/* Starts the output of the next request, which the caller fills. False with the reason. */
bool sender_file(struct sender *sender, struct output *output, struct fault *why);

/* Completes that output, and lets the request wait. With `patient`, waits for room as long as the receiver takes one
 * request in 10 seconds. False with the reason. */
bool sender_add(struct sender *sender, struct output *output, struct fault *why);

/* Sends for 10 seconds more, with `patient` until the receiver has taken nothing for 10 seconds, ends the thread, and
 * frees all. Fills in the counts. Returns whether all was taken. */
bool sender_close(struct sender *sender, struct sender_counts *counts);

#endif
