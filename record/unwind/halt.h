/* SPDX-License-Identifier: MIT */
/* A halt: a time in which a process stands still without having chosen to: a signal stopped it (SIGSTOP, ^Z), a
 * debugger did, or its cgroup is frozen, as in a container that is paused. A thread that was stopped while it held the
 * interpreter's lock still has the lock, but does not work.
 *
 * The kernel says in the state of a thread whether the process is stopped. A frozen process seems to sleep, so
 * its cgroup is asked while it sleeps (freezer.h). Asking takes one to three system calls. A halt is as long as the
 * time between the first and the last look that found the process so. */
#ifndef PYREEL_RECORD_UNWIND_HALT_H
#define PYREEL_RECORD_UNWIND_HALT_H

#include "record/cgroup/freezer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum halt_kind { HALT_NONE, HALT_SIGNAL, HALT_TRACER, HALT_FROZEN, HALT_KINDS };

/* `= {0}` is closed: halt_look() does not ask the kernel then, and knows what halt_note() was told. */
struct halt {
    bool opened;
    pid_t pid;
    pid_t tid;                     /* the first thread or, if that has ended, another one */
    int state;                     /* /proc/PID/task/TID/stat; -1: cannot be read */
    struct freezer freezer;        /* opened when it is needed first */
    uint64_t followed_ns;          /* when it was last asked whether the process has another cgroup */
    enum halt_kind kind;           /* what the last look found */
    uint64_t looked_ns;            /* when the last look was made (monotonic) */
    uint64_t total_ns[HALT_KINDS]; /* length of all halts of each kind so far */
};

/* Opens the state of a process. The total goes on. Cannot fail: a state that cannot be read is never a halt. */
void halt_open(struct halt *halt, pid_t pid);

/* Closes the state, and keeps the total. */
void halt_close(struct halt *halt);

/* Whether the process stands in a halt. Asks the kernel once for each `now_ns`. */
bool halt_look(struct halt *halt, uint64_t now_ns);

/* Notes what is known otherwise of the process at this moment. */
void halt_note(struct halt *halt, enum halt_kind kind, uint64_t now_ns);

#endif
