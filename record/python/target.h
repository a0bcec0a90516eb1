/* SPDX-License-Identifier: MIT */
/* An open Python process: its memory, its runtime's layout, and its interpreters. */
#ifndef PYREEL_RECORD_PYTHON_TARGET_H
#define PYREEL_RECORD_PYTHON_TARGET_H

#include "record/python/runtime.h"

/* The state of a global interpreter lock. One interpreter has it, or several share it. A thread's stack changes only
 * while the thread holds the lock. */
struct gil {
    uint64_t holder;   /* address of the thread state that has the lock, or had it last */
    uint64_t switches; /* how often the lock went to another thread */
    bool locked;       /* a thread has the lock */
    bool known;        /* false: not read yet, or the state is not certain */
    bool shared;       /* several interpreters share the lock */
};

struct interpreter {
    uint64_t address;
    uint64_t id;
    uint64_t threads_head; /* address of the newest thread state */
    uint64_t generation;   /* code generation + 1: grows when a code object is freed, or copies of bytecode may change
                              hands; 0: not kept */
    uint64_t gil_at;       /* address of the lock's word last_holder; 0: not known */
    struct gil gil;
    bool collecting;     /* a garbage collection runs */
    uint32_t collection; /* the generation that is collected, plus 1; 0: none is, or it is not known */
    uint64_t gc_frame;   /* address of the frame that started the collection; 0: not known */
    unsigned char bytes[LAYOUT_INTERPRETER_MAX]; /* as last read */
    unsigned char copies_generation[4];          /* a word as last read, which lies far from the rest */
};

/* The most interpreters that are read: their pieces fit into one call, with those of threads. Of more, the newest and
 * the main one are read. */
#define TARGET_INTERPRETERS 256

struct target {
    pid_t pid;
    pid_t ns_pid;   /* the process's own number for itself, which is its main thread's native id */
    bool same_pids; /* the process is in the recorder's pid namespace: its numbers are the recorder's */
    struct remote remote;
    struct runtime runtime;
    struct interpreter *interpreters; /* newest first */
    size_t interpreters_count, interpreters_room;
    bool interpreters_cut; /* there are others, between the last one, which is the main one, and the one before it */
    unsigned char gil_bytes[LAYOUT_GIL_MAX]; /* 3.11: of the lock that all interpreters share */
    size_t first;                            /* index of the interpreters' pieces in the batch, ... */
    bool planned;                            /* ... which had room for them */
};

enum target_state {
    TARGET_READY,
    TARGET_NOT_YET,     /* the process has no CPython, or one that is still starting: try again later */
    TARGET_UNSUPPORTED, /* the CPython's version is not supported; `why` names it */
    TARGET_DENIED,      /* the recorder may not read the process */
    TARGET_GONE,        /* there is no such process */
};

/* Opens a process if it can be sampled now. Only TARGET_READY leaves it open; close it with target_close(). */
enum target_state target_open(struct target *target, pid_t pid, struct fault *why);
/* The same with few system calls, see runtime_find_hinted(). */
enum target_state target_open_hinted(struct target *target, pid_t pid, const struct runtime_hints *hints,
                                     struct fault *why);

/* Opens memory of another kind, in which the process's own number for itself is `ns_pid`. */
enum target_state target_open_memory(struct target *target, const struct memory_kind *kind, void *self, pid_t ns_pid,
                                     struct fault *why);

/* Reads the list of interpreters; takes one or two system calls when the list is the same as last time. */
enum remote_state target_read_interpreters(struct target *target);

/* Whether all interpreters share one lock, so that one thread at a time runs Python. */
bool target_has_one_lock(const struct target *target);

/* Whether the lock of each interpreter was found. An interpreter that is being made has none yet: read the list anew.
 */
bool target_knows_locks(const struct target *target);

/* Adds the interpreters' pieces to a batch, behind the threads' pieces: then the state of the interpreters is not older
 * than the threads' copies. Returns false when the batch has no room. */
bool target_plan(struct target *target, struct batch *batch);

/* After a call that read the first `good` pieces of the batch: whether the call read the interpreters' pieces. */
bool target_came(const struct target *target, size_t good);

/* Updates the interpreters from the pieces that the call read. Returns false when the list of interpreters or the head
 * of a thread list has changed: read the lists anew. */
bool target_check(struct target *target);

/* The number of bytes at an interpreter's gil_at that show the state of its lock, at most LAYOUT_GIL_MAX. */
uint32_t target_gil_size(const struct target *target);
/* The state of the lock of all interpreters, from these bytes. */
struct gil target_gil(const struct target *target, const unsigned char *bytes);

/* Reads the address of the newest interpreter. Returns false when the process ended or runs another program now. */
bool target_head(const struct target *target, uint64_t *head);

/* Whether the process still runs the program that was opened: it has not ended, and no execve replaced the program. */
bool target_same_program(const struct target *target);

/* Closes the process and frees the target's memory. Safe on a zeroed or closed target. */
void target_close(struct target *target);

#endif
