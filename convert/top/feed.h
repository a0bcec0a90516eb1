/* SPDX-License-Identifier: MIT */
/* Follows a file that grows: a thread reads the file and gives its bytes to a pipe, from which any reader of recordings
 * reads. At the end of the file, the thread looks again after a while, until it is told that the recording has ended.
 * A file that is no stream, and so never grows, ends at its end. */
#ifndef PYREEL_CONVERT_TOP_FEED_H
#define PYREEL_CONVERT_TOP_FEED_H

#include "formats/base/fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

struct feed {
    const char *path;
    bool awaited;      /* a recorder is about to make or replace the file, ... */
    struct stat there; /* ... and this was there before; st_ino 0: nothing was */
    int file;          /* -1: not open yet */
    int from, to;      /* the pipe */
    bool running;
    pthread_t thread;
    atomic_bool stop;      /* set by others: nothing more will come than what is in the file now */
    atomic_bool abandon;   /* set by feed_stop() */
    atomic_bool at_end;    /* the file has nothing more for now ... */
    atomic_bool unwritten; /* ... and no pyreel-record has it locked */
};

/* Starts to follow the open regular file, which the feed owns from now on. `path` lives as long as the feed. feed->from
 * has the bytes. False with the reason. */
bool feed_open(struct feed *feed, const char *path, int file, struct fault *why);

/* Notes what is at the path before a recorder starts. */
void feed_prepare(struct feed *feed, const char *path);

/* Starts to follow the file that a recorder makes since feed_prepare(). False with the reason. */
bool feed_await(struct feed *feed, struct fault *why);

/* Goes on with another open file, which the feed owns from now on, once who reads has come to the end. Returns a file
 * descriptor with the bytes, which the caller closes; -1: none. */
int feed_next(struct feed *feed, int file);

/* Whether a pyreel-record has the file locked. */
bool feed_is_written(const char *path);

/* Makes the thread end soon, so that who reads comes to the end. */
void feed_stop(struct feed *feed);

/* Ends the thread, and closes everything, once nobody reads any more. */
void feed_close(struct feed *feed);

#endif
