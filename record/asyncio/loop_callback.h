/* SPDX-License-Identifier: MIT */
/* Since when the event loop of a thread runs one callback. Looks that find the same turn of the loop and the same index
 * in it (loop_turn.h) prove that; so does a thread that has not moved since it was looked at.
 *
 *     looks                 1      2      3      4          look 1: another callback
 *     callback     ...... ─┤ the first of its turn ├─       look 2: unknown objects; 3: their values are those of a
 *                          ^ end_time                       turn that began before look 2, so it is one callback,
 *                                                           and as the first of its turn it began with the turn
 *
 * The clock of a loop may be made up, as tests do. So a turn must have begun after the look that found the turn before,
 * and not after the look that found this one; else nothing is believed of it. A look between that found none may come
 * later than the time of the turn, if the loop lost its processor when it had asked for the time. */
#ifndef PYREEL_RECORD_ASYNCIO_LOOP_CALLBACK_H
#define PYREEL_RECORD_ASYNCIO_LOOP_CALLBACK_H

#include "record/unwind/loop_turn.h"

/* Of a thread state. `= {0}`: there was no look. Times are monotonic. */
struct loop_callback {
    struct loop_turn found; /* by the last look */
    uint64_t looked_ns;     /* the last look */
    uint64_t turn;          /* the object of the time of the last turn that was found, ... */
    uint64_t turned_ns;     /* ... by the last look that found a turn */
    uint64_t before_ns;     /* the last look that found a turn before this one; 0: there was none */
    uint64_t first_ns;      /* the first look that saw the callback */
    bool doubted;           /* the time of its turn is not that of the clock */
    uint64_t since_ns;      /* one callback runs at least since then; 0: not known */
};

/* Takes what a look at this time found. `over_ns`: a time at which the look was over; of a look that was one moment,
 * that moment. */
void loop_callback_take(struct loop_callback *callback, const struct loop_turn *found, uint64_t now_ns,
                        uint64_t over_ns);

#endif
