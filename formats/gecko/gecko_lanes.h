/* SPDX-License-Identifier: MIT */
/* Lanes: which threads share a line of the timeline, one after the other (gecko_lines.h has a picture). */
#ifndef PYREEL_FORMATS_GECKO_GECKO_LANES_H
#define PYREEL_FORMATS_GECKO_GECKO_LANES_H

#include "formats/base/text.h"

#include <stdint.h>

#define LANE_THREADS_LEAST 5 /* so many short-lived threads with one name share lanes; fewer have a line each */
#define LANE_LIFE_MOST     4 /* a thread is short-lived if its life is at most this fraction of the recording: 1/4 */

#define LANES_SEARCHED 1000 /* lanes in which a free place is searched: nobody reads more */

/* A thread that may share a lane. Times have any unit. */
struct lane_thread {
    uint32_t process;
    uint64_t interpreter;
    struct text name;      /* with its numbers: Thread-3 (work) */
    uint64_t first, last;  /* times of the first and of the last sample */
    bool alone;            /* never shares a lane */
    size_t lane;           /* filled by lanes_assign(): the index of the first thread of the lane */
    uint32_t place, lanes; /* filled: the lane's number among the lanes of these threads, from 1, and the number of
                            * these lanes; 0 of 0: the thread is alone on its line */
};

/* Assigns lanes to threads, which are in the order of their beginnings. Takes the first lane that is free, so the
 * result has as few lanes as threads that live at the same time, up to LANES_SEARCHED. `duration` is the length of the
 * recording. */
void lanes_assign(struct lane_thread *threads, size_t count, uint64_t duration);

#endif
