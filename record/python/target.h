/* SPDX-License-Identifier: MIT */
/* One Python process held open: the way into its memory, where its runtime keeps things, and its interpreters. */
#ifndef PYREEL_RECORD_PYTHON_TARGET_H
#define PYREEL_RECORD_PYTHON_TARGET_H

#include "record/python/runtime.h"

/* The lock that the threads of an interpreter, or of several, take in turn. While a thread does not hold it, its stack
 * does not change. */
struct gil {
    uint64_t holder;   /* the thread that has it, or had it last */
    uint64_t switches; /* how often it went to another thread than it had before */
    bool locked;       /* somebody has it */
    bool known;        /* false: not read yet, or not kept where we look */
    bool shared;       /* by several interpreters */
};

struct interpreter {
    uint64_t address;
    uint64_t id;
    uint64_t threads_head; /* newest thread state */
    uint64_t generation;   /* of its code objects and copies of bytecode, + 1; 0: not kept */
    uint64_t gil_at;       /* where its lock is; 0: not asked yet */
    struct gil gil;
    bool collecting;                             /* garbage */
    uint64_t gc_frame;                           /* address of the frame that started it; 0: not known */
    unsigned char bytes[LAYOUT_INTERPRETER_MAX]; /* as last read */
    unsigned char copies_generation[4];          /* the same, where it is kept: far from the rest */
};

#define TARGET_TIMES 3 /* that its pieces are in a call at most */

struct target {
    pid_t pid;
    pid_t ns_pid;   /* what the process calls itself: its main thread's native id */
    bool same_pids; /* it lives in our pid namespace: its numbers are ours */
    struct remote remote;
    struct runtime runtime;
    struct interpreter *interpreters; /* newest first */
    size_t interpreters_count, interpreters_room;
    unsigned char gil_bytes[LAYOUT_GIL_SIZE]; /* of the one that all interpreters share, in 3.11 */
    size_t first[TARGET_TIMES];               /* where its pieces are in a call */
    size_t times;
};

enum target_state {
    TARGET_READY,
    TARGET_NOT_YET,     /* no CPython in it, or one that is still starting: ask again */
    TARGET_UNSUPPORTED, /* a CPython that we can't read; the reason says which */
    TARGET_DENIED,      /* we may not read it */
    TARGET_GONE,        /* there is no such process */
};

/* Takes hold of a process if it can be sampled now. Only TARGET_READY leaves it open. */
enum target_state target_open(struct target *target, pid_t pid, struct fault *why);

/* Reads the list of interpreters, with one system call when it is the same as last time. */
enum remote_state target_read_interpreters(struct target *target);

/* Adds the pieces that show the state of the interpreters to a call. Those of threads are to come before, or it is to
 * be added again behind them: what is learned is then no older than they. False when the call has no room left. */
bool target_plan(struct target *target, struct batch *batch);
/* Adds them once more, for threads' pieces that had to come after. */
bool target_plan_again(struct target *target, struct batch *batch);

/* After the call, of which the first `good` pieces came: whether they came, too. */
bool target_came(const struct target *target, size_t good);
/* Whether they were read after all pieces before this one. */
bool target_came_after(const struct target *target, size_t piece, size_t good);

/* Takes in the state of the interpreters, which came. False when it is not the list that is known: read it anew. */
bool target_check(struct target *target);

/* The state of a lock from its LAYOUT_GIL_SIZE bytes, which are at an interpreter's gil_at. */
struct gil target_gil(const unsigned char *bytes);

/* The newest interpreter. Reads no more than a word, and only if the target still is the program that was opened: else
 * it is false. */
bool target_head(const struct target *target, uint64_t *head);

/* Whether it still is the program that was opened: neither ended nor replaced by execve. */
bool target_same_program(const struct target *target);

/* Safe on a zeroed or closed one. */
void target_close(struct target *target);

#endif
