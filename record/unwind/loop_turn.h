/* SPDX-License-Identifier: MIT */
/* Reads the variables of BaseEventLoop._run_once, which tell the callback that the asyncio event loop of a thread runs.
 * The loop calls this function once for each turn:
 *
 *     end_time = ...                    the time of this turn, by the monotonic clock: no other turn has it
 *     for i in range(ntodo):
 *         handle = ...
 *         handle._run()                 the i-th callback of the turn, or step of a task
 *
 * So looks that find the same time and the same index find one callback, which ran all the time between them. The
 * variables are empty until the first callback of a turn is due, as while the loop waits for events.
 *
 * The variables lie in the frame, which each look reads anyway. Their values are objects elsewhere. They are read by
 * the system call of the next look, where the look before has found them: when that look finds the same objects, it has
 * their values, and when it finds others, the callback is another one, and the values of the old ones mean nothing. So
 * a look needs no further system call, and a process without such a loop nothing at all. What the first of two looks
 * saw is known by the time, which tells whether it was the same turn, and by the objects: within a turn, an int up to
 * 256 is always the same object, and all handles of a turn exist when the turn begins, so they are different ones.
 *
 * A loop in C, as uvloop is, has no such function. */
#ifndef PYREEL_RECORD_UNWIND_LOOP_TURN_H
#define PYREEL_RECORD_UNWIND_LOOP_TURN_H

#include "record/process/remote.h"

enum { TURN_TIME, TURN_INDEX, TURN_HANDLE, TURN_OBJECTS };

/* The turn that the last look at a thread found. `= {0}`: none. */
struct loop_turn {
    uint32_t link;   /* index + 1 of the function's frame in walk->links, the innermost one; 0: the stack has none */
    uint32_t reads;  /* looks that read the thread. While it stays, the thread has not moved */
    bool known;      /* the function and its variables could be read, or it is not on the stack */
    bool has_values; /* the next two are those of the objects */
    uint64_t began_ns;
    uint32_t index;
    uint64_t objects[TURN_OBJECTS]; /* addresses; 0: no callback runs */
    size_t piece;                   /* index + 1 in the batch, of the pieces for `planned`; 0: they are in none */
    uint64_t planned[3];            /* the number in the float; the number of digits of the int, and the first digit */
};

struct layout;
struct walk;
struct walker;

/* Adds the values of the objects that the last look found to a batch. */
void loop_turn_plan(struct loop_turn *turn, const struct layout *layout, struct batch *batch);

/* Takes what a look shows, whose links are in the walk and whose copy is not accepted yet; the call read `good` pieces
 * of the batch. `joined`: so many links are those of the look before. */
void loop_turn_take(struct walk *walk, const struct walker *walker, uint32_t joined, size_t good);

#endif
