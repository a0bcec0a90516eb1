/* SPDX-License-Identifier: MIT */
/* The calls that a program is known to make. A call leads from a frame (function, line and columns; with --opcodes also
 * the instruction) to a line of the called function (a number that definitions_line() gives).
 *
 * Why calls have to be known: two neighbouring frames are copied some tens of nanoseconds apart. The busiest programs
 * return and call again in that time. So a copy may show the caller at one call together with the callee of its next
 * call:
 *
 *     program:  f line 1 calls g, g returns, f line 2 calls h
 *     copy:     f line 1, then h                                 a call that the program never makes
 *
 * The rules:
 *   - An unknown call is believed only when more copies show it, one right behind the other, and neither frame changed
 *     in between. A call that the program never makes would have to appear in each of these copies.
 *   - A call that was believed in a few different ticks is known, and needs no more copies.
 *   - One location of a caller mostly calls one function. When the location is known to call only other functions, the
 *     caller has probably just arrived there, with an old callee below. So more copies in a row have to show this call.
 *   - Far from the leaf, copying takes longer: a recursion may return and begin again between two frames, in the second
 *     copy as in the first. So there, too, more copies in a row have to show the call.
 *   - When a caller is known to call a function, a call to another line of that function becomes known when single
 *     copies show it often. Torn copies mix the lines of two calls of one function in a few of 100000 copies only.
 *
 * Functions that run for a tenth of a microsecond never appear in two copies, so they are missing. Exact samples
 * (exact.h) have them. */
#ifndef PYREEL_RECORD_UNWIND_LIVE_CALLGRAPH_H
#define PYREEL_RECORD_UNWIND_LIVE_CALLGRAPH_H

#include "formats/intern/intern.h"

/* How often a call was seen. */
struct edge {
    uint32_t seen_last, shown_last; /* the last ticks that `seen` and `shown` counted; each counts a tick once */
    uint32_t shown_since;           /* the tick of the first of these: */
    uint8_t shown;                  /* ticks in which a single copy showed the call */
    uint8_t seen;                   /* ticks in which enough copies in a row showed the call */
};

/* A call that a copy shows. */
struct made_call {
    uint32_t caller;   /* frame */
    uint32_t callee;   /* line */
    uint32_t function; /* the callee's */
};

/* `= {0}` knows no call. Free it with callgraph_free(). */
struct callgraph {
    /* Keys: (frame, line), (frame, line | CALLGRAPH_DRIVEN) and (frame, called function | CALLGRAPH_FUNCTION). Value:
     * the index in `edges` + 1. */
    struct intern_pairs pairs;
    struct edge *edges;
    size_t room;
    /* (frame, function that the frame is known to call), and (frame, 0) for each frame with such a function. Functions
     * count from 1. */
    struct intern_pairs functions;
};

#define CALLGRAPH_FUNCTION (UINT32_C(1) << 31)
/* A line of a generator that the caller drives through other generators: caller ─▶ generator ─▶ this generator. */
#define CALLGRAPH_DRIVEN (UINT32_C(1) << 30)

/* Whether the frame `caller` is known to call the line `callee`. */
bool callgraph_known(const struct callgraph *callgraph, uint32_t caller, uint32_t callee);
/* Whether the caller is known to call other functions, but not this call's function. */
bool callgraph_odd(const struct callgraph *callgraph, const struct made_call *call);
/* Notes that enough copies in a row showed the call in this tick. */
void callgraph_see(struct callgraph *callgraph, const struct made_call *call, uint32_t tick);
/* The same for a generator that `driver` drives through other generators (CALLGRAPH_DRIVEN). */
void callgraph_see_driven(struct callgraph *callgraph, uint32_t driver, uint32_t callee, uint32_t tick);
/* Notes that a single copy showed the call in this tick, with both frames in one chunk. */
void callgraph_show(struct callgraph *callgraph, const struct made_call *call, uint32_t tick);
/* Frees the memory of the callgraph and resets it to `= {0}`. */
void callgraph_free(struct callgraph *callgraph);

#endif
