/* SPDX-License-Identifier: MIT */
/* How a process stands with the kernel: whether it runs, sleeps, is stopped, or has ended and waits for its parent to
 * notice. A stopped process shows the same stacks for ever, and an ended one has no memory: people who look at it want
 * to know. */
#ifndef PYREEL_RECORD_DUMP_STANDING_H
#define PYREEL_RECORD_DUMP_STANDING_H

#include <stdbool.h>
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

#endif
