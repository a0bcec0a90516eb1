/* SPDX-License-Identifier: MIT */
/* Which calls a program has been seen to make: from this place (a frame: function, line and columns, with --opcodes the
 * instruction) to that line of the function it called (a number that definitions_line() gives).
 *
 * Two frames that lie side by side are copied some tens of nanoseconds apart, and the busiest programs return and call
 * again in that time: a copy may show a caller at one call and the frame of its next. So a call that is new to us is
 * only believed when more copies show it, one right behind the other, and neither frame changed from one to the next;
 * after it was seen so a few times, in different ticks, it is known, and they are spared. A call that the program never
 * makes is hardly seen so: it would have to come by with each copy, just as its frames are copied.
 *
 * What the program calls from one place is mostly one function. A call of another is most likely a place that the
 * caller has just come to, with what it called before still below it: such a call has to show in several copies in a
 * row.
 *
 * Far from the leaf, where a copy takes longer, a recursion may have returned and another one begun between the two
 * frames, and again between those of the second copy. There, too, several copies in a row have to show the call.
 *
 * A line of a function that the caller is known to call is believed when single copies have shown it often. What a copy
 * that was torn shows, two calls of one function mixed, is a few in a hundred thousand. Functions of a tenth of a
 * microsecond are never seen in two copies, and are missing: a tick that is one moment (exact.h) has them. */
#ifndef PYREEL_RECORD_UNWIND_LIVE_CALLGRAPH_H
#define PYREEL_RECORD_UNWIND_LIVE_CALLGRAPH_H

#include "formats/intern/intern.h"

/* How often a call was seen. */
struct edge {
    uint32_t seen_last, shown_last; /* in this tick: it counts once in each */
    uint32_t shown_since;           /* shown by copies that were made once, since this tick, ... */
    uint8_t shown;                  /* ... so often */
    uint8_t seen;                   /* for sure */
};

/* A call that a copy shows. */
struct made_call {
    uint32_t caller;   /* frame */
    uint32_t callee;   /* line */
    uint32_t function; /* the callee's */
};

/* `= {0}` knows none. */
struct callgraph {
    struct intern_pairs pairs; /* (frame, line), (frame, line | CALLGRAPH_DRIVEN), (frame, function it
                           calls | CALLGRAPH_FUNCTION) → place in what follows + 1 */
    struct edge *edges;
    size_t room;
    struct intern_pairs functions; /* (frame, function that it is known to call), and (frame, 0) where there is one:
                               functions count from 1 */
};

#define CALLGRAPH_FUNCTION (UINT32_C(1) << 31)
#define CALLGRAPH_DRIVEN   (UINT32_C(1) << 30) /* a line of a generator below others that the caller drives */

/* Whether it is known that the caller at this place has the callee at that line. */
bool callgraph_known(const struct callgraph *callgraph, uint32_t caller, uint32_t callee);
/* Whether all that is known of the caller's place is that it calls other functions. */
bool callgraph_odd(const struct callgraph *callgraph, const struct made_call *call);
/* It was seen for sure in this tick. */
void callgraph_see(struct callgraph *callgraph, const struct made_call *call, uint32_t tick);
/* The same of CALLGRAPH_DRIVEN. */
void callgraph_see_driven(struct callgraph *callgraph, uint32_t driver, uint32_t callee, uint32_t tick);
/* A copy that was made once, and has both frames in one chunk, shows it. */
void callgraph_show(struct callgraph *callgraph, const struct made_call *call, uint32_t tick);
void callgraph_free(struct callgraph *callgraph);

#endif
