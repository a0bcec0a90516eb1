/* SPDX-License-Identifier: MIT */
/* Deaths of recorded processes, which a signal killed: a flight recorder writes what it has, so that the last seconds
 * before a worker's crash stay while the server lives on.
 *
 * SIGINT, SIGTERM and SIGHUP end a process that somebody asked to end, and are no such death. Neither is an exit
 * status: many programs use it as a result. A death waits a little, so that one file has those that come together, and
 * the end of the program if that follows. A death that comes within the time of the flight recorder after a file of
 * deaths waits until that time is over: what was before the death is still kept then. */
#ifndef PYREEL_RECORD_FILE_DEATHS_H
#define PYREEL_RECORD_FILE_DEATHS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DEATHS_WAIT_NS   500000000u
#define DEATHS_TEXT_ROOM 100

/* `= {0}` has no deaths. */
struct deaths {
    pid_t pid;           /* of the first death that is in no file, ... */
    int wait_status;     /* ... with this status */
    uint32_t count;      /* deaths that are in no file */
    uint64_t due_ns;     /* when they are to be written (monotonic); only with `count` */
    uint64_t written_ns; /* when deaths were the reason of a file (monotonic); 0: never */
};

/* Whether a process that ended with this status was killed. `wait_status` is as waitpid() gives it; -1: not known, and
 * then the process was not. */
bool deaths_is_one(int wait_status);

/* Notes the end of a recorded process; does nothing when that is no death. `span_ns`: the time of the flight recorder.
 */
void deaths_note(struct deaths *deaths, pid_t pid, int wait_status, uint64_t now_ns, uint64_t span_ns);

/* Whether there are deaths that are to be written now. */
bool deaths_are_due(const struct deaths *deaths, uint64_t now_ns);

/* Writes "process 4243 was killed by SIGSEGV" or "3 processes were killed, first 4243 by SIGSEGV" into `room`, which
 * has DEATHS_TEXT_ROOM bytes. Returns `room`, which is empty when there are no deaths. */
const char *deaths_text(char *room, const struct deaths *deaths);

/* Forgets the deaths, because a file has them now. */
void deaths_forget(struct deaths *deaths);

#endif
