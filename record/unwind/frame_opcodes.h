/* SPDX-License-Identifier: MIT */
/* Part of unwind.c, used only with --opcodes: finds the opcode at which each frame stands.
 *
 * The interpreter specialises instructions while it runs: it replaces an instruction by another form of the same base.
 * So the opcodes are read right after the copy of the stack, with one more system call for all new frames. The code
 * objects are confirmed after that call, so the opcodes belong to them. An opcode is believed if it is a form of the
 * instruction that the code object had when it was read first. Otherwise the frame has no opcode.
 *
 * A caller that stands at one call for long may execute the call again in another form. So in each sample, the opcodes
 * of a few frames that are taken from the last sample are read again, in turn. */
#ifndef PYREEL_RECORD_UNWIND_FRAME_OPCODES_H
#define PYREEL_RECORD_UNWIND_FRAME_OPCODES_H

#include "record/unwind/unwind.h"

/* Fills in the opcodes of the links that the walker found. Returns false when a link of the last sample has another
 * opcode now; then no link of that sample is taken any more, and the thread has to be read again. */
bool frame_opcodes_read(struct unwinder *unwinder, struct walk *walk, const struct interpreter *interpreter);

/* Puts the links that the walker found into unwinder->fresh, root first, with their definitions. */
void frame_opcodes_gather(struct unwinder *unwinder);

#endif
