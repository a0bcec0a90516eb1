/* SPDX-License-Identifier: MIT */
/* Part of unwind.c, used only when instructions are recorded: which instruction each frame stands at.
 *
 * The interpreter replaces instructions by forms of them while it runs, so the opcode is read from memory right after
 * the copy of the stack, with one more system call for all frames that were found in the copy: their code objects are
 * confirmed only after it, so the opcodes are theirs. An opcode is believed when it is a form of the instruction that
 * was there when the code object was read; else the frame is shown without one.
 *
 * Of the frames that are taken from the last sample a few are looked at again in each, in turn: a caller that stands at
 * the same call for long may execute it again, in another form. */
#ifndef PYREEL_RECORD_UNWIND_FRAME_OPCODES_H
#define PYREEL_RECORD_UNWIND_FRAME_OPCODES_H

#include "record/unwind/unwind.h"

/* Fills in the opcodes of the links that the walker found. False when one of the last sample is another by now: then
 * nothing is taken from that sample any more. */
bool frame_opcodes_read(struct unwinder *unwinder, struct walk *walk, const struct interpreter *interpreter);

/* Puts those links in order and names them. */
void frame_opcodes_gather(struct unwinder *unwinder);

#endif
