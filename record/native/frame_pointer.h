/* SPDX-License-Identifier: MIT */
/* Finds the frame pointer of a thread that sleeps. The kernel tells where such a thread is and where its stack ends,
 * but not its other registers. Functions give most of them back from the stack; where the function that called the
 * system has its frame end told by rbp, nobody does:
 *
 *     sp                       R: where rbp points
 *     │ locals of f ...        │ outer rbp │ return address │ ... frame of the caller
 *
 * So R is looked for: a word that leads, by all rules, to the loop of the interpreter whose place is known to the byte,
 * and that has a return address behind a call of f. An old word that f has not overwritten may look like that. So a
 * direct call of f is believed if it is the only one; a call by a pointer if it is the only one, and no call is direct;
 * in all other cases the frame pointer stays unknown. */
#ifndef PYREEL_RECORD_NATIVE_FRAME_POINTER_H
#define PYREEL_RECORD_NATIVE_FRAME_POINTER_H

#include "record/native/c_stack.h"

/* Whether the end of a frame is not known only because the frame pointer is not. */
bool frame_pointer_lacks(const struct code_place *code, const struct c_registers *registers);

/* Finds the frame pointer of the frame at `registers` and sets it there. `entry`: an address in the frame of the loop
 * that follows; `end`: the end of that frame. */
bool frame_pointer_find(struct code_map *map, const struct c_copy *copy, uint64_t entry, uint64_t end,
                        struct c_registers *registers);

#endif
