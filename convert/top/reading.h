/* SPDX-License-Identifier: MIT */
/* Reads a recording into the model, in a thread of its own, for as long as the recording goes on. The model is read
 * under the lock. */
#ifndef PYREEL_CONVERT_TOP_READING_H
#define PYREEL_CONVERT_TOP_READING_H

#include "convert/source.h"
#include "convert/top/following.h"
#include "convert/top/model.h"

struct reading {
    struct model model; /* under the lock */
    pthread_mutex_t lock;
    int fd;
    struct feed *feed;             /* where the bytes come from; NULL: from a pipe of somebody else */
    const struct part_list *known; /* parts of the recording that the user has named; NULL: none */
    struct following following;
    struct source source;
    bool refused; /* the tables refused an event */
    pthread_t thread;
    bool running;
    atomic_bool opened;        /* the description of the recording was read */
    atomic_bool ended;         /* nothing more will come; the fields below are valid */
    atomic_bool failed;        /* the recording could not be read, for the reason in `why` */
    atomic_uint_fast64_t news; /* changes when the model has changed */
    struct fault why;
    struct source_report report;
};

/* Starts to read from `fd`. `reading` is zeroed but for the model's options and the known parts. False with the reason.
 */
bool reading_start(struct reading *reading, int fd, struct feed *feed, struct fault *why);

/* Waits for the end of the thread. The bytes must have ended. */
void reading_join(struct reading *reading);

#endif
