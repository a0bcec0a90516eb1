/* SPDX-License-Identifier: MIT */
/* Stops all threads of a process for a moment and lets them run again.
 *
 * Each freeze seizes all threads with ptrace, and releases them at its end. Between two freezes nobody traces the
 * process: signals, debuggers and its parent do not notice the recorder. If the recorder dies during a freeze, the
 * kernel releases the threads. A process that a signal had stopped before the freeze stays stopped. A signal that
 * arrives during the freeze is passed on.
 *
 * A thread that was asked to stop runs no more code of its program before it stops. So a thread that waits deep in the
 * kernel (state D) counts as stopped: it stops when it returns from the kernel, and freeze_settle() then releases it.
 *
 * A freeze takes longer with more threads. The caller reads in `lasted_ns` how long the last freeze took, and spaces
 * the ticks so that the program has more time than the freezes take. */
#ifndef PYREEL_RECORD_EXACT_FREEZE_H
#define PYREEL_RECORD_EXACT_FREEZE_H

#include "formats/base/fault.h"

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum hold {
    HOLD_NONE,  /* the thread is listed, and not seized */
    HOLD_ASKED, /* the thread is seized and asked to stop */
    HOLD_STOPPED,
};

struct frozen_thread {
    pid_t tid;
    enum hold hold;
    bool late;  /* the thread waited deep in the kernel, or was dead, at the last look */
    int signal; /* the signal that the thread was about to get when it stopped; 0: none. Passed on at the release */
};

struct freeze {
    /* set by the caller */
    uint64_t patience_ns; /* how long the threads may take to stop; 0: a default */

    pid_t pid;     /* 0: not open */
    bool child;    /* the process is a child of the recorder: command_wait() reaps it */
    DIR *tasks;    /* /proc/PID/task */
    bool timed;    /* `timer` exists */
    timer_t timer; /* interrupts the wait for a thread that does not stop */
    struct frozen_thread *threads;
    size_t count, room;
    uint64_t began_ns, lasted_ns; /* start (monotonic) and duration of the last freeze */
    bool stopped;                 /* during the last freeze, a signal had stopped the process */
    char refusal[128];            /* why a thread could not be seized, for the user; empty: no reason */
    uint64_t partial_count;       /* freezes that left a thread running */
    uint64_t stopped_count;       /* freezes of a process that a signal had stopped */
};

/* Opens a running process, and freezes it once as a test. May be called again for the same process. False with the
 * reason when the process cannot be frozen. */
bool freeze_open(struct freeze *freeze, pid_t pid, struct fault *why);

/* Stops all threads. False when a thread may still run; `partial_count` counts these freezes. The caller calls
 * freeze_end() in both cases. */
bool freeze_begin(struct freeze *freeze);

/* Releases all threads that have stopped. */
void freeze_end(struct freeze *freeze);

/* Releases the threads that stopped only after the end of their freeze. Returns whether such threads are left. A thread
 * that is left will stop, and stands still until the next call. */
bool freeze_settle(struct freeze *freeze);

/* Prints on standard error in how many of the `ticks` a freeze was incomplete, or a signal had stopped the process. */
void freeze_report(const struct freeze *freeze, uint64_t ticks);

/* Frees everything. Safe on a zeroed or closed struct. The kernel releases threads that have not settled when the
 * recorder ends. */
void freeze_close(struct freeze *freeze);

#endif
