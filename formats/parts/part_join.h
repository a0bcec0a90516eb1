/* SPDX-License-Identifier: MIT */
/* Joins the parts of one recording. A recorder that goes on from one file to the next numbers everything anew in each
 * file, so that each is complete by itself (schemas/stream.md, "Parts"). The join takes the events of the parts, one
 * part after the other, and gives the events of one recording:
 *
 *     part 1    thread 1 (serial 1), frames 1 to 90, samples    ->    thread 1, frames 1 to 90, samples,
 *     part 2    thread 1 (serial 1), frames 1 to 40, samples    ->    frames 91 to 93, samples
 *
 * A process, thread or task with a serial that an earlier part has is the same one, and is not given again. Equal
 * strings, functions and frames are one. Times count from the start of the first part; the monotonic clock says exactly
 * how much later another part began. The first sample of a thread in a part follows the last one in the part before
 * without a break (sample.fresh is false).
 *
 * The events are not trusted: a number that is not defined becomes 0, which tables refuse. The events must have no runs
 * (sample.count is 1), and none that merge or filter. */
#ifndef PYREEL_FORMATS_PARTS_PART_JOIN_H
#define PYREEL_FORMATS_PARTS_PART_JOIN_H

#include "formats/intern/intern.h"
#include "formats/model/counters.h"
#include "formats/model/sink.h"

/* By number. In `numbers`: a number of the part → number of the recording; 0: not defined. */
struct part_numbers {
    uint32_t *rows;
    size_t room;
    uint32_t last; /* in `numbers`: highest defined number of the part */
};

enum part_kind { PART_PROCESS, PART_THREAD, PART_TASK, PART_STRING, PART_FUNCTION, PART_FRAME, PART_KINDS };

/* A thread of the recording. */
struct part_thread {
    uint32_t process;
    uint64_t looked_ns; /* the latest look; 0: none, or the mode left the thread out since */
    uint32_t part;      /* the latest part that has a sample of the thread, as a count of parts from 1 */
    bool goes_on;       /* there was a look in the last tick of its process before this part */
};

/* Set `to`; the rest starts as zeros. */
struct part_join {
    struct sink to;
    uint32_t parts;   /* number of parts so far */
    int64_t shift_ns; /* start of the part minus start of the recording */
    uint64_t start_monotonic_ns, start_unix_ns;
    struct intern strings, functions, frames; /* of the recording: index = number, the bytes are the definition */
    uint32_t last[PART_TASK + 1];             /* highest numbers of processes, threads and tasks of the recording */
    struct intern_pairs serials;              /* (kind, serial) → number of the recording */
    struct part_numbers defined_in[PART_TASK + 1]; /* by number of the recording: the latest part that defines it */
    struct part_numbers numbers[PART_KINDS];       /* of the present part */
    uint32_t skipped;                              /* numbers of the present part that are not defined */
    bool refused;                                  /* the part contradicts itself: the latest event was not given */
    struct serial pending[SERIAL_KINDS];           /* serials of the definitions that follow */
    struct part_thread *threads;                   /* by number of the recording */
    size_t threads_room;
    uint64_t *ticks_ns; /* by number of a process of the recording: its latest tick; [0]: tick of all processes */
    size_t ticks_room;
    uint64_t *titles; /* by number of a process of the recording: the hash of its title */
    size_t titles_room;
    uint64_t last_ns;        /* the latest tick or look, ... */
    uint64_t least_ns;       /* ... and the latest one of the parts before: no look of this part is earlier */
    uint32_t *frame_numbers; /* pushed frames of the sample that is being given */
    size_t frame_numbers_room;
    struct counters counters; /* sums over the parts before */
    struct counters of_part;  /* of the part that is being read */
    struct end end;           /* the latest END; totals are sums over the parts */
    bool ended;               /* the part that is being read has an END */
};

/* Starts the next part, whose EVENT_RECORDING follows. `gap`: parts between the previous part and this one are missing,
 * or the previous part has no end. */
void part_join_next(struct part_join *join, bool gap);

/* Takes an event of the part. False with the reason when `to` refused, or when the event contradicts others of the
 * part: then join->refused is set, for the caller to clear. */
bool part_join_take(struct part_join *join, struct event *event, struct fault *why);

/* Ends the recording: gives EVENT_END if the last part had an END. */
bool part_join_finish(struct part_join *join, struct fault *why);

void part_join_free(struct part_join *join);

#endif
