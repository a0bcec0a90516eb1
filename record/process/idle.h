/* SPDX-License-Identifier: MIT */
/* Finds whether a process has slept since the last look. The kernel's "note" of a thread (/proc/PID/schedstat) says how
 * long and how often the thread had a processor. The kernel updates the note when the thread gets a processor and when
 * it gives the processor back. So a process with a single thread that was asleep, and whose note has not changed, has
 * done nothing since. Reading the note costs less than reading the process's memory. */
#ifndef PYREEL_RECORD_PROCESS_IDLE_H
#define PYREEL_RECORD_PROCESS_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct idle {
    int note;           /* the open file; -1: it does not exist */
    char seen[96];      /* the note while the process slept */
    size_t seen_size;   /* 0: the process was not seen asleep */
    uint32_t due, wait; /* looks until idle_learn() asks again whether the process sleeps; that number, doubled each
                           time that the process does not sleep */
};

/* Opens the note. Cannot fail: without a note, the process is never idle. `= {0}` is not valid. */
void idle_open(struct idle *idle, pid_t pid);
void idle_close(struct idle *idle);

/* Whether the process has done nothing since idle_learn() saw it asleep. Takes one system call; none if idle_learn()
 * did not see it asleep. */
bool idle_still(struct idle *idle);

/* Whether idle_learn() saw the process asleep, and no later idle_still() returned false. */
bool idle_knows(const struct idle *idle);

/* Forgets that the process was asleep: the next look must read its memory. */
void idle_forget(struct idle *idle);

/* Call this before a look at a process that seems to do nothing. Now and then asks whether the process sleeps. Returns
 * false when it did not ask. */
bool idle_learn(struct idle *idle, pid_t pid);

#endif
