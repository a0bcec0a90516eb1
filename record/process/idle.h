/* SPDX-License-Identifier: MIT */
/* Finds whether a process has slept since the last look. The kernel's "note" of a thread
 * (/proc/PID/task/TID/schedstat) says how long and how often the thread had a processor. The kernel updates the note
 * when the thread gets a processor and when it gives the processor back. So a thread that was asleep, and whose note
 * has not changed, has done nothing since. Only a thread that runs can start another one. So when all threads of a
 * process were asleep at one moment, and no note has changed, the process has done nothing since that moment. Reading
 * the notes costs less than reading the process's memory.
 *
 *     listed   note 1  asleep  note 2  asleep  │ count of threads   note 1  note 2   later: note 2  note 1
 *                                              │ from here to the second reading of the first note, none has run
 *
 * A process with more than IDLE_THREADS threads is never idle. */
#ifndef PYREEL_RECORD_PROCESS_IDLE_H
#define PYREEL_RECORD_PROCESS_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IDLE_THREADS   16 /* the most threads of a process that can be idle */
#define IDLE_NOTE_ROOM 64 /* bytes; a note has at most 63 */

struct idle_thread {
    pid_t tid;
    int note;                  /* the open file */
    char seen[IDLE_NOTE_ROOM]; /* the note while the process slept */
    size_t seen_size;
};

/* `= {0}` is closed. */
struct idle {
    pid_t pid;
    struct idle_thread *threads; /* the thread that ran last comes first: it is likely the next one that runs */
    size_t count, room;
    bool asleep;        /* the process was seen asleep, and has not run since as far as known */
    uint32_t due, wait; /* looks until idle_learn() asks again whether the process sleeps; that number, doubled each
                           time that the process does not sleep */
};

/* Begins with a process. Opens no file yet. */
void idle_open(struct idle *idle, pid_t pid);
void idle_close(struct idle *idle);

/* Whether the process has done nothing since idle_learn() saw it asleep. Takes one system call for each thread; mostly
 * only one when the process has run, and none if idle_learn() did not see it asleep. */
bool idle_still(struct idle *idle);

/* Whether idle_learn() saw the process asleep, and no later idle_still() returned false. */
bool idle_knows(const struct idle *idle);

/* Forgets that the process was asleep: the next look must read its memory. */
void idle_forget(struct idle *idle);

/* Call this before a look at a process that seems to do nothing. Now and then asks whether the process sleeps. Returns
 * false when it did not ask. */
bool idle_learn(struct idle *idle);

#endif
