/* SPDX-License-Identifier: MIT */
/* One Python process held open: the way into its memory, where its runtime keeps things, and its interpreters. */
#ifndef PYREEL_RECORD_TARGET_H
#define PYREEL_RECORD_TARGET_H

#include "record/runtime.h"

struct interpreter {
    uint64_t address;
    uint64_t id;
    uint64_t threads_head; /* newest thread state */
};

struct target {
    pid_t pid;
    pid_t ns_pid;   /* what the process calls itself: its main thread's native id */
    bool same_pids; /* it lives in our pid namespace: its numbers are ours */
    struct remote remote;
    struct runtime runtime;
    struct interpreter *interpreters; /* newest first */
    size_t interpreters_count, interpreters_room;
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

/* Whether it still is the program that was opened: neither ended nor replaced by execve. */
bool target_same_program(const struct target *target);

/* Safe on a zeroed or closed one. */
void target_close(struct target *target);

#endif
