/* SPDX-License-Identifier: MIT */
/* A halt: a time in which a process stands stopped, by a signal (SIGSTOP, ^Z) or by a debugger. A thread that was
 * stopped while it held the interpreter's lock still has the lock, but does not work.
 *
 * The kernel says in the state of the main thread whether the process stands stopped. Asking takes one system call. A
 * halt is as long as the time between the first and the last look that found the process stopped. */
#ifndef PYREEL_RECORD_UNWIND_HALT_H
#define PYREEL_RECORD_UNWIND_HALT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* `= {0}` is closed: halt_look() does not ask the kernel then, and knows what halt_note() was told. */
struct halt {
    bool opened;
    int state;          /* /proc/PID/task/PID/stat; -1: cannot be read */
    bool stands;        /* the last look found the process stopped */
    uint64_t looked_ns; /* when the last look was made (monotonic) */
    uint64_t total_ns;  /* length of all halts so far */
};

/* Opens the state of a process. The total goes on. Cannot fail: a state that cannot be read is never a halt. */
void halt_open(struct halt *halt, pid_t pid);

/* Closes the state, and keeps the total. */
void halt_close(struct halt *halt);

/* Whether the process stands stopped. Asks the kernel once for each `now_ns`. */
bool halt_look(struct halt *halt, uint64_t now_ns);

/* Notes what is known otherwise of the process at this moment. */
void halt_note(struct halt *halt, bool stands, uint64_t now_ns);

#endif
