/* SPDX-License-Identifier: MIT */
/* Finds the stack of a thread that moves, in a copy of the thread's memory.
 *
 * The copy of the data stack shows one moment (snapshot.h), but nothing in the copy says which frame was the leaf at
 * that moment. The thread's current frame was read a little earlier: it may have returned since, or may have called
 * others. So the current frame is only where the search begins. Each frame shows by itself whether it is alive: when
 * CPython leaves a frame for another one, it notes in the frame where the frame's stack of values ends (frame_stack in
 * layout.h):
 *
 *     enum life     3.11 to 3.13                                       3.14 and later
 *     RUNNING       the note is -1: the interpreter or C runs in it    (looks like CALLING)
 *     CALLING       it stands at an instruction that can call          it is not DEAD
 *     PAUSED        otherwise: it has returned, or a tracer runs       -
 *     DEAD          -                                                  the note is at the bottom of the stack of
 *                                                                      values, or the frame has no code object
 *
 * The search goes from the current frame to the root. Rules:
 *   - A dead frame is not on the stack. The stack begins with the frame's caller.
 *   - A caller is not RUNNING unless it called through C. Otherwise the caller itself would be the leaf.
 *   - A plain frame lies where its caller's frame ends. A generator's frame belongs to an object on the caller's stack
 *     of values. If that is not so, the frame has returned and the caller has called another function.
 *   - Every stack ends in the thread's base frame (3.15), an entry shim (3.12 to 3.14), or a frame without a caller
 *     that is not a suspended generator (3.11).
 *
 * Then the search goes from the leaf that was found towards the frames that it has called since the current frame was
 * noted. A frame that C code entered lies behind the frame that called the C code. It has a flag that says so (3.11),
 * or an entry shim links the two. Up to 3.13 such a frame is believed only if it is RUNNING: the remains of frames that
 * an exception left may look like any other life.
 *
 * Before 3.13 a C frame on the C stack holds the address of the current frame. The thread state points to a new C frame
 * a moment before the current frame is written into it. In this moment the C frame contains arbitrary memory, and a
 * thread that loses its processor stays in this moment for long. So "no current frame" is believed only if the data
 * stack is empty. Otherwise the search begins at the frames of the last sample. The result is believed if the data
 * stack ends with the leaf, or with one more frame that has not begun. In 3.11 neither holds while a thread whose
 * outermost function has returned drops its variables: then the thread is not sampled.
 *
 * When the current frame has returned and its memory leads nowhere, the search begins at a frame of the last sample.
 * From 3.14 on it begins at the last frame beyond that one on the data stack that has not returned.
 *
 * Generators' frames are copied before or after the data stack. So their neighbours on the data stack are copied both
 * before and after them, and must not have changed in between. callgraph.h deals with a generator that is driven from
 * different lines in turn. */
#ifndef PYREEL_RECORD_UNWIND_LIVE_FIND_H
#define PYREEL_RECORD_UNWIND_LIVE_FIND_H

#include "record/unwind/walk.h"

/* Finds the stack in a copy that snapshot_check() accepted. ATTEMPT_ACCEPTED: the stack is walker->joined links of
 * walk->links, then walker->up backwards, then walker->down. Other results: read the thread again. */
enum attempt find_stack(struct walker *walker, struct walk *walk);

#endif
