/* SPDX-License-Identifier: MIT */
/* A copy of a thread's memory → its stack. The copy of the data stack is one moment (see snapshot.h), but nothing says
 * which frame was the leaf then: the thread's current frame was read a little earlier and may have returned since, or
 * called others. So it is only where the search begins. Which frames are alive can be seen in the frames themselves,
 * because CPython keeps note of where a frame's stack of values ends when it leaves the frame:
 *
 *                3.11 to 3.13                                       3.14 and later
 *     RUNNING    the note is -1: the interpreter or C is in it      (not told apart from CALLING)
 *     CALLING    it stands at an instruction that can call          it is not DEAD
 *     PAUSED     else: it has returned, or a tracer looks at it     -
 *     DEAD       -                                                  the note is at its bottom, or it has no code
 *
 * and because a frame that another one called lies right behind it. From the current frame towards the root:
 *   - a dead frame is none: the stack begins above it;
 *   - above a frame there is none that runs, unless the frame was entered from C: it would be the leaf;
 *   - a frame lies where its caller ends, or, for a generator's frame, is that of an object on the caller's stack of
 *     values; if not, the frame has returned and the caller has called another;
 *   - every stack ends in the thread's base frame (3.15), an entry shim (3.12 to 3.14) or a frame without a
 *     caller that is no suspended generator's (3.11).
 * Then, from the leaf that was found, on to the frames that it called after the current frame was read. A frame that
 * was entered from C lies behind the one that C was called from, and says that it was (3.11), or there was a mark
 * between the two before. Up to 3.13 only a frame that runs is believed there: what an exception left may look like any
 * other.
 *
 * Before 3.13 the C stack holds the address of the current frame. The thread writes that address a moment after it
 * points to its place; until then anything may stand there, and a thread that loses its processor just then stays so.
 * So "no frame" is believed only where the data stack is empty. Otherwise the search begins at the frames of the last
 * sample, and the stack is believed if the data stack ends with it, or with one frame behind it that has not begun. In
 * 3.11 a thread whose outermost function has returned, and which takes long to drop its variables, has neither: it is
 * not read meanwhile.
 *
 * When the current frame has returned and what is there by now leads nowhere, the search begins at the last sample's,
 * from 3.14 on at the last frame behind it on the data stack that has not returned.
 *
 * Generators' frames lie elsewhere and are read after the data stack or before it. Their neighbours on it are read on
 * both sides of them and must not have been replaced meanwhile. That a generator which is driven by turns from
 * different lines is not shown below the other line is for callgraph.h. */
#ifndef PYREEL_RECORD_UNWIND_LIVE_FIND_H
#define PYREEL_RECORD_UNWIND_LIVE_FIND_H

#include "record/unwind/walk.h"

/* Finds the stack in a copy that snapshot_check() accepted. ATTEMPT_ACCEPTED: walker->joined frames of walk->links,
 * then `up` backwards, then `down`. */
enum attempt find_stack(struct walker *walker, struct walk *walk);

#endif
