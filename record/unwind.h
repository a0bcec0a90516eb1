/* SPDX-License-Identifier: MIT */
/* A thread → its stack, and how it changed since last time. The thread runs while we read: the walk from leaf to root
 * happens in a snapshot (see snapshot.h), which is accepted when
 *   - each frame on the way is the same before and after the moment at which the leaf was read,
 *   - the chunks read are the thread's chunks, and the walk ends where every stack ends,
 *   - each frame's code object was known before the snapshot and has the same identity after it, so it was that one at
 *     the time (see code.h), and the frame's instruction lies in it.
 * Else it is taken again at once, up to ATTEMPTS times; a retry costs microseconds and nearly always succeeds. What
 * fails for good is this thread's sample alone, and it is counted with its cause. */
#ifndef PYREEL_RECORD_UNWIND_H
#define PYREEL_RECORD_UNWIND_H

#include "record/code.h"
#include "record/snapshot.h"
#include "record/target.h"

#define DEPTH_LIMIT 20000 /* frames of a stack */

/* What is remembered of a thread from sample to sample. `= {0}` is a thread not seen yet. */
struct walk {
    struct plan plan;
    uint32_t *stack; /* frames of the last sample that was used, root first */
    size_t stack_room;
    uint32_t depth;
};

/* One sample of a thread. */
struct unwound {
    uint64_t previous_thread, next_thread; /* its neighbours in the interpreter's list */
    uint32_t native_id;                    /* as the process itself calls the thread; 0 while it is starting */
    const uint32_t *frames;                /* the stack, root first; valid until the next thread is unwound */
    uint32_t depth;                        /* frames in all */
    uint32_t keep;                         /* so many of them, nearest the root, are as walk->stack has them */
    enum failure cause;
};

enum unwind_state {
    UNWOUND,
    UNWIND_FAILED,    /* the thread could not be read; the cause says why; its neighbours are known */
    UNWIND_ELSEWHERE, /* there is no thread of this interpreter here any more */
    UNWIND_GONE,      /* the process ended or may not be read */
};

struct raw_frame {
    uint64_t code, instruction; /* addresses */
};

/* Room for one sample, used for all threads. */
struct unwinder {
    struct target *target;
    struct codes *codes;
    struct snapshot snapshot;
    struct raw_frame *raw; /* leaf first */
    size_t raw_room;
    uint32_t raw_count;
    struct code **unsure; /* code objects whose identity has to be confirmed */
    size_t unsure_room, unsure_count;
    uint32_t *frames; /* the new stack, root first */
    size_t frames_room;
    uint64_t sample; /* counts samples; marks what was seen in this one */
    uint64_t retries;
};

/* `target` must be open, and it and `codes` live as long as the unwinder. */
void unwinder_open(struct unwinder *unwinder, struct target *target, struct codes *codes);
void unwinder_close(struct unwinder *unwinder);

/* Takes the stack of the thread whose state is at `thread`, of the interpreter at `interpreter`. */
enum unwind_state unwind_thread(struct unwinder *unwinder, struct walk *walk, uint64_t interpreter, uint64_t thread,
                                struct unwound *unwound);

/* Reads only the thread's neighbours and native id. */
enum unwind_state unwind_glance(struct unwinder *unwinder, uint64_t interpreter, uint64_t thread,
                                struct unwound *unwound);

/* The sample was used: from now on, changes are told against it. */
void walk_follow(struct walk *walk, const struct unwound *unwound);
void walk_free(struct walk *walk);

#endif
