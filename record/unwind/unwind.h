/* SPDX-License-Identifier: MIT */
/* Reads the stacks of threads, and finds how each stack differs from the thread's last one. One system call reads
 * several threads, each by the plan of its snapshot, and the state of the interpreters.
 *
 * There is one way to read. The stack is what the current frame and the links from it say (walk.h). Memory that the
 * copy lacks is read at once, and a plan that was wrong is corrected and read again: of threads that stand still, any
 * number of calls show one moment. Whether they stood still is proved by who made them stand (exact.h, freeze.h).
 * Nothing is repeated to get a better result, and nothing is searched: what the memory of a thread that moved shows is
 * the result, or a failed sample with its cause.
 *
 * Each code object that was remembered is still the same one (code.h): the call reads its identity (code_proofs.h), or,
 * from 3.14 on, the interpreter's count of freed code objects.
 *
 * A thread that has not moved is not read at all. In a CPython with a global lock, a thread's stack changes only while
 * the thread holds the lock, and the lock counts how often it goes to another thread (struct gil). So a thread that was
 * not the holder at the last sample, and is not the holder now, has not moved if the lock changed hands at most once.
 */
#ifndef PYREEL_RECORD_UNWIND_UNWIND_H
#define PYREEL_RECORD_UNWIND_UNWIND_H

#include "formats/model/event.h"
#include "record/python/exc_state.h"
#include "record/python/target.h"
#include "record/unwind/code_proofs.h"
#include "record/unwind/walk.h"

/* What was read of a thread, besides its stack. */
struct unwound {
    uint64_t previous_thread, next_thread; /* addresses of the thread's neighbours in the interpreter's list */
    uint64_t pointer;                      /* the thread pointer, see layout->thread_id */
    uint32_t native_id;                    /* the process's own number for the thread; 0 while it is starting */
    enum failure cause;                    /* of UNWIND_FAILED */
    enum attachment attachment;            /* THREAD_DETACHED where CPython does not keep it */
    uint32_t status; /* bits of enum status: STATUS_GIL_WAIT, STATUS_EXCEPTION; 0 unless unwinder->statuses */
};

enum unwind_state {
    UNWIND_WANTED,    /* not read yet */
    UNWIND_DONE,      /* walk->links is the stack */
    UNWIND_FAILED,    /* the stack could not be read: unwound.cause; the thread's neighbours are known */
    UNWIND_ELSEWHERE, /* the address no longer has a thread of this interpreter */
};

/* A thread to read. The caller sets the first three members and leaves the others zero. */
struct wanted {
    struct walk *walk;
    uint64_t thread;    /* address of the thread's state */
    size_t interpreter; /* index in target->interpreters */
    struct unwound unwound;
    enum unwind_state state;
    uint32_t attempts; /* how often the thread was read: more than once when the plan was wrong */
    struct gil before; /* the interpreter's lock before the call */
};

/* Counters for --stats. */
struct unwind_counters {
    uint64_t full, partial, missed; /* samples whose links were all, partly or not at all taken from the last sample */
    uint64_t unmoved;               /* of `full`: samples for which the thread was not read */
    uint64_t frames_known, frames_new; /* frames taken from the last sample; frames found in the copy */
    uint64_t reads, right;             /* attempts to read a thread; threads whose first attempt was accepted */
    uint64_t code_known;               /* frames whose code object was known */
    uint64_t stale;                    /* times that a known code object had been replaced by another */
    uint64_t learned;                  /* times that a plan was wrong, and a thread was read again */
    uint64_t instructions, instructions_unknown; /* new frames whose opcode could be read; could not be read */
};

/* Up to two pieces of memory that are read first and last of all. They show the caller whether the threads stood still
 * in between. `= {0}`: none. */
#define WITNESS_PIECES 2
#define WITNESS_ROOM   (LAYOUT_GIL_MAX + 8) /* bytes of all pieces */
struct witness {
    struct piece pieces[WITNESS_PIECES]; /* set by the caller, without `into` */
    size_t count;
    unsigned char first[WITNESS_ROOM], last[WITNESS_ROOM]; /* the bytes in the first call, and in the last one */
    bool came;                                             /* a call has read the witness */
    bool gone;      /* the last call could not read the witness, and no call followed */
    bool at_last;   /* the last batch has the witness at its end */
    uint64_t reads; /* remote->calls right after the call that read `last`; 0: the last call did not read `last` */
};

/* Working memory, used for all threads of a target. */
struct unwinder {
    struct target *target;
    struct codes *codes;
    struct walker walker;
    struct witness witness;
    /* One more piece of memory, which is read with the threads because the caller wants it of the same moment; size 0:
     * none. Where it cannot be read, it is dropped (size 0), and the threads are read without it. */
    struct piece also;
    bool also_came;                      /* it was read in this look. The caller clears it */
    const struct thread_variable *spans; /* set by the caller: leads to the span of each thread; NULL: nothing does */
    bool retry_later; /* set when a thread could not be read at this moment; at another moment it can. The caller clears
                         it */
    bool statuses;    /* set by the caller: fill in unwound.status */
    struct handlers handlers;
    struct batch *batch; /* one for all unwinders: only one of them reads at a time */
    struct link *fresh;  /* the stack's frames that are not taken from the last sample, root first */
    size_t fresh_room;
    uint32_t fresh_count;
    struct code_proofs *proofs; /* one for all unwinders */
    struct code **unsure;       /* code objects whose identity has to be confirmed */
    size_t unsure_room, unsure_count;
    uint64_t generation; /* code generation + 1 of the thread's interpreter, read with the copy; 0: not known */
    uint32_t more_reads; /* of each thread of this call: see snapshot_begin() */
    uint64_t sample;     /* number of samples; `asked_in` of a code object refers to it */
    struct unwind_counters counters;
};

/* Prepares an unwinder. `target` must be open; it and `codes` stay the caller's and must outlive the unwinder. `anew`:
 * never take links from earlier samples. */
void unwinder_open(struct unwinder *unwinder, struct target *target, struct codes *codes, bool anew);
/* Frees the unwinder's memory. */
void unwinder_close(struct unwinder *unwinder);

/* Reads the stacks of `count` threads and the state of the interpreters; `count` may be 0. `now_ns` is the current time
 * of the clock, to save asking for the time again. *same: the list of interpreters and the head of each thread list are
 * the known ones. Returns false when the process ended or may not be read, or when the witness is gone. */
bool unwind_threads(struct unwinder *unwinder, struct wanted *wanted, size_t count, uint64_t now_ns, bool *same);

/* Whether the thread's stack is still that of its last sample, judged by the state of its interpreter that was read
 * last. */
bool unwind_unmoved(struct unwinder *unwinder, struct walk *walk, const struct interpreter *interpreter,
                    uint64_t thread);

#endif
