/* SPDX-License-Identifier: MIT */
/* Threads → their stacks, and how those changed since last time. One system call reads several threads, each by the
 * plan of its snapshot, and the state of the interpreters. There are two ways to a stack:
 *
 * Still. The threads stand still while they are read: stopped, or since we stand on their processor (exact.h). The
 * stack is what the current frame and the links above it say (walk.h). What is not in the copy is read on the spot: any
 * number of calls show one moment. Nothing is doubted, and nothing is tried again until it looks good.
 *
 * Live. The threads run while we read. A thread's copy is accepted as a sample when
 *   - it is of this thread and of its chunks (snapshot.h),
 *   - its frames can have been one stack at one moment (live/find.h),
 *   - each frame's instruction lies in its code object. The code object was known before the call and is the same
 *     object after it, so it was that object at the time (code.h). From 3.14 on, the interpreter's count of freed code
 *     objects shows this for all frames at once. The call reads the count behind the frames; while no code object is
 *     being freed, up to a microsecond before them,
 *   - each frame is known to call the next one, or neither changed while they were copied twice (live/callgraph.h),
 *   - the call was quick: a call that was interrupted may have pieces of very different moments.
 * Else the thread is read again at once, up to ATTEMPTS times; that costs microseconds and nearly always succeeds. What
 * fails for good is this thread's sample alone, and it is counted with its cause.
 *
 * A thread that has not moved is not read at all. In CPython with a global lock, a thread's stack changes only while
 * it holds the lock, and the lock counts how often it goes to another thread (struct gil): a thread that neither had it
 * nor has it is as it was, if at most one other took it meanwhile. */
#ifndef PYREEL_RECORD_UNWIND_UNWIND_H
#define PYREEL_RECORD_UNWIND_UNWIND_H

#include "formats/model/event.h"
#include "record/python/exc_state.h"
#include "record/python/target.h"
#include "record/unwind/live/callgraph.h"
#include "record/unwind/walk.h"

/* One sample of a thread. */
struct unwound {
    uint64_t previous_thread, next_thread; /* its neighbours in the interpreter's list */
    uint64_t pointer;                      /* its thread pointer, see layout->thread_id */
    uint32_t native_id;                    /* as the process itself calls the thread; 0 while it is starting */
    enum failure cause;
    enum attachment attachment; /* THREAD_DETACHED where that is not kept */
    uint32_t status;            /* of enum status: STATUS_GIL_WAIT, STATUS_EXCEPTION; 0 unless unwinder->statuses */
};

enum unwind_state {
    UNWIND_WANTED,    /* not read yet */
    UNWIND_DONE,      /* walk->links is its stack */
    UNWIND_FAILED,    /* the thread could not be read; the cause says why; its neighbours are known */
    UNWIND_ELSEWHERE, /* there is no thread of this interpreter here any more */
};

/* A thread to read. */
struct wanted {
    struct walk *walk;
    uint64_t thread;
    size_t interpreter; /* its place in target->interpreters */
    struct unwound unwound;
    enum unwind_state state;
    uint32_t attempts;
    struct gil before; /* the interpreter's lock before the call */
};

/* What was done so far. */
struct unwind_counters {
    uint64_t full, partial, missed;    /* samples that were as last time, partly, not at all */
    uint64_t unmoved;                  /* of the full ones: known without reading the thread */
    uint64_t frames_known, frames_new; /* taken from the last sample; found in the copy */
    uint64_t reads, right;             /* threads read by their plan; so many of them accepted at once */
    uint64_t code_known;               /* frames whose code object was known */
    uint64_t stale;                    /* code objects found to be others than they were */
    uint64_t torn, learned, no_code, no_memory, slow, unsure; /* why threads were read again */
    uint64_t instructions, instructions_unknown; /* of frames: named; not the ones that are known to be there */
};

/* Two pieces of memory that are read first and last of all in a call, by which the caller tells whether the threads
 * stood still in between. `= {0}`: none. */
#define WITNESS_PIECES 2
#define WITNESS_ROOM   40 /* bytes of both */
struct witness {
    struct piece pieces[WITNESS_PIECES]; /* set by the caller, without `into` */
    size_t count;
    unsigned char first[WITNESS_ROOM], last[WITNESS_ROOM]; /* as the first call had them, and the last one */
    bool came;                                             /* there was a call */
    bool gone;                                             /* the first call did not bring it, and was the last one */
    bool at_last;                                          /* the last call asks for it at its end */
    uint64_t reads; /* remote->calls behind the one that brought `last`; 0: the last call did not bring it */
};

/* Room for what is read, used for all threads. */
struct unwinder {
    struct target *target;
    struct codes *codes;
    struct walker walker;
    struct callgraph callgraph;
    struct witness witness;
    bool retry_later; /* set when a thread that is to stand still can't be read: at another moment it can; the caller
                    clears it */
    bool still;       /* the threads stand still while they are read: may be set before each call */
    bool statuses;    /* are wanted; false at first */
    struct handlers handlers;
    struct batch batch;
    struct link *fresh; /* the frames that are not from the last sample, root first */
    size_t fresh_room;
    uint32_t fresh_count;
    struct doubts doubts; /* of this copy */
    struct code **unsure; /* code objects whose identity has to be confirmed */
    size_t unsure_room, unsure_count;
    uint64_t pace_ns;     /* what a piece of a call takes lately; 0: not known */
    uint64_t generation;  /* of the code objects of the thread's interpreter, after its copy was made; 0: not known */
    uint64_t generations; /* those of all interpreters, added up */
    uint64_t calm;        /* calls since that changed */
    uint32_t tick;        /* counts ticks */
    uint64_t sample;      /* counts samples; marks what was seen in this one */
    struct unwind_counters counters;
};

/* `target` must be open, and it and `codes` live as long as the unwinder. `anew`: takes nothing from earlier samples.
 */
void unwinder_open(struct unwinder *unwinder, struct target *target, struct codes *codes, bool anew);
void unwinder_close(struct unwinder *unwinder);

/* Takes the stacks of these threads, and the state of the interpreters, also if there are none. `now_ns` is the clock's
 * time, which need not be asked for again. *same: the list of
 * interpreters and their newest threads are as they are known. False when the process ended or may not be read, or when
 * the witness is gone. */
bool unwind_threads(struct unwinder *unwinder, struct wanted *wanted, size_t count, uint64_t now_ns, bool *same);

/* Whether the thread's stack is still that of its last sample, as far as the state of its interpreter tells that was
 * read last. */
bool unwind_unmoved(struct unwinder *unwinder, struct walk *walk, const struct interpreter *interpreter,
                    uint64_t thread);

#endif
