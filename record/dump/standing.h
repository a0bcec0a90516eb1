/* SPDX-License-Identifier: MIT */
/* How a process stands with the kernel: whether it runs, sleeps, is stopped, or has ended and waits for its parent to
 * notice. A stopped process shows the same stacks for ever, and an ended one has no memory: people who look at it want
 * to know. */
#ifndef PYREEL_RECORD_DUMP_STANDING_H
#define PYREEL_RECORD_DUMP_STANDING_H

#include "formats/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct standing {
    char state;    /* as in /proc/PID/status, of the main thread: R, S, D, T, t, Z, X, I; 0: there is no such process */
    pid_t parent;  /* 0: not known, or outside our pid namespace */
    pid_t tracer;  /* the process that traces it, such as a debugger; 0: none */
    char name[32]; /* the kernel's name of the process; not trusted */
};

/* Asks the kernel. */
struct standing standing_of(pid_t pid);

/* Whether the process stands still because a signal or a tracer stopped it. */
static inline bool standing_is_stopped(const struct standing *standing)
{
    return standing->state == 'T' || standing->state == 't';
}

/* Whether the process has ended, and only its number is left. */
static inline bool standing_is_ended(const struct standing *standing)
{
    return standing->state == 'Z' || standing->state == 'X';
}

/* What must be known of a process before a file is opened that it names. A process can change all of it, or end, and
 * another process gets its number. So whoever looks at a process asks before and after the look, and believes only what
 * stayed the same. */
struct place {
    bool known;
    bool ours;  /* the process is in our mount namespace */
    uid_t user; /* the user and the group with whose rights its main thread opens files */
    gid_t group;
    struct text root;  /* the root folder, which chroot changes, without a slash at the end; owned */
    uint64_t start_ns; /* when the process began, on the clock of boot time */
    uint64_t began_ns; /* the same since 1970, to the second */
};

/* Asks the kernel. */
struct place place_of(pid_t pid);

/* Whether it is the same process in the same place. False when either is not known. */
bool place_same(const struct place *a, const struct place *b);

void place_free(struct place *place);

#endif
