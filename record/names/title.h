/* SPDX-License-Identifier: MIT */
/* What a process calls itself: its command line, or the title that it has written over it, now and whenever it changes.
 * Workers of servers set their title after their start, and again with each thing that they do. A look takes three
 * system calls, about once a second, and only if the process ran since the last look. */
#ifndef PYREEL_RECORD_NAMES_TITLE_H
#define PYREEL_RECORD_NAMES_TITLE_H

#include "formats/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* `= {0}` is closed. */
struct title {
    pid_t pid;
    struct text text; /* as procfs_command() has it; empty: none so far */
    bool bare;        /* without arguments: program_name_bare() of that */
    uint64_t mark;    /* procfs_command_mark() of this text */
    uint64_t cpu_ns;  /* CPU time of the process at the latest look */
    uint64_t due_ns;  /* the next look (monotonic) ... */
    uint64_t wait_ns; /* ... and the time from the look before to it */
};

/* Takes the first look. `bare`: arguments may hold secrets. The first looks follow soon: a worker that was just forked
 * is about to set its title. */
void title_open(struct title *title, pid_t pid, bool bare, uint64_t now_ns);

/* Looks again if that is due, and if the process ran: its CPU time is not what it was; METER_UNKNOWN: it may have run.
 * True: the text is another one now. A process that has ended, or has erased its title, keeps its text. */
bool title_changed(struct title *title, uint64_t now_ns, uint64_t cpu_ns);

void title_close(struct title *title);

#endif
