/* SPDX-License-Identifier: MIT */
/* Whether a whole process has slept since it was last looked at. The kernel notes how often each thread was given a
 * processor and for how long (/proc/PID/schedstat), when it gets one and when it gives it back. A process with a single
 * thread that was asleep, and whose note is the same as then, has done nothing since: reading that costs less than any
 * look into its memory. */
#ifndef PYREEL_RECORD_PROCESS_IDLE_H
#define PYREEL_RECORD_PROCESS_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct idle {
    int note;      /* the open file; -1: there is none */
    char seen[96]; /* the note while it slept */
    size_t seen_size;
    uint32_t due, wait; /* looks until it is asked again whether it sleeps; that grows as long as it does not help */
};

/* `= {0}` is not valid: open it, which can't fail. */
void idle_open(struct idle *idle, pid_t pid);
void idle_close(struct idle *idle);

/* Whether nothing happened in the process since idle_learn() last saw it asleep. One system call, or none when it has
 * not. */
bool idle_still(struct idle *idle);

/* Whether the process was seen asleep, and not otherwise since then. */
bool idle_knows(const struct idle *idle);

/* The last look can't be repeated. */
void idle_forget(struct idle *idle);

/* Call this before a look at a process which seems to do nothing: finds out now and then whether it sleeps. False
 * when it did not ask. */
bool idle_learn(struct idle *idle, pid_t pid);

#endif
