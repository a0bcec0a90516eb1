/* SPDX-License-Identifier: MIT */
/* Tells the frames of a block's stacks by who called them (schemas/stream.md, "Grouped payloads"). A program that comes
 * to a place mostly goes on from there as it did before, so a frame is mostly one of those that its caller called last,
 * and a small number says which. One that was never called from there is mostly new, and then its number is the one
 * behind that of its caller.
 *
 * Whoever writes and whoever reads follow the same stacks, so nothing is lost if these are nonsense: frames are then
 * guessed badly, and told as they are. */
#ifndef PYREEL_FORMATS_CALLEES_H
#define PYREEL_FORMATS_CALLEES_H

#include "formats/bytes.h"

#define CALLEES_RECENT  4    /* that are remembered of a caller */
#define CALLEES_CALLERS 1024 /* by the low bits of their numbers */
#define CALLEES_THREADS 64   /* by the low bits of theirs */
#define CALLEES_DEPTH   4096 /* frames of a stack that are remembered: those nearest the root */

struct callees_stack {
    uint32_t *frames;
    size_t room;
    uint64_t depth; /* may be more than are remembered */
};

struct callees {
    uint32_t recent[CALLEES_CALLERS][CALLEES_RECENT]; /* latest first; 0: none */
    struct callees_stack stacks[CALLEES_THREADS];
    struct callees_stack *stack; /* of the thread that is being told of */
};

/* A block begins: no stack is known. */
void callees_begin(struct callees *callees);

/* A thread's stack changes: so many frames of it stay, or so many go. What is told next is pushed. */
void callees_keep(struct callees *callees, uint64_t thread, uint64_t keep);
void callees_pop(struct callees *callees, uint64_t thread, uint64_t pop);

/* Pushes a frame, 1 to UINT32_MAX, and gives what stands for it, at least 1. */
uint64_t callees_tell(struct callees *callees, uint32_t frame);

/* Pushes the frame for which `told` stands and gives it; 0 and nothing pushed when it stands for none. */
uint32_t callees_take(struct callees *callees, uint64_t told);

/* Pushes frames, each the one that stands `distance` before it. */
void callees_repeat(struct callees *callees, uint64_t distance, uint64_t length);

void callees_free(struct callees *callees);

#endif
