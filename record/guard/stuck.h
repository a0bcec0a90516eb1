/* SPDX-License-Identifier: MIT */
/* Ends a program of ours when the memory of the process that it reads does not answer. A page of the process may lie on
 * a file system whose server is dead, or whose server is the process itself and plays dead (FUSE). A thread that reads
 * such a page sleeps in the kernel, where only SIGKILL or the end of our program reaches it. So a thread of its own
 * looks once a second whether another thread is stuck. What was written so far is good; the rest is lost. */
#ifndef PYREEL_RECORD_GUARD_STUCK_H
#define PYREEL_RECORD_GUARD_STUCK_H

#include <stdbool.h>

struct stuck_options {
    const char *message;            /* what the user is told at the end, with a line feed */
    int exit_code;                  /* of our program */
    unsigned patience;              /* seconds that a call may take in which the thread does not run once */
    bool all_paths;                 /* our program opens no output by its path: each path is of the process */
    bool (*is_asked_to_stop)(void); /* whether a signal has asked our program to end, so that the watch waits for less
                                     * long; NULL: signals end our program by themselves */
};

/* Starts the thread. Call after whatever a command would inherit. */
void stuck_watch(const struct stuck_options *options);

/* Whether a thread of ours waits in the kernel for the process, and not even a signal wakes the thread. What concerns
 * the output does not count: the output may be on a slow disk. `tid`: the number of the thread, as text. `all_paths`:
 * as in struct stuck_options. */
bool stuck_waits_for_process(const char *tid, bool all_paths);

#endif
