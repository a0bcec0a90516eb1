/* SPDX-License-Identifier: MIT */
/* Stops all threads of a process for a moment and lets them run again.
 *
 * Each thread is seized with ptrace and let go again in every freeze, so that between two of them the process is
 * nobody's: signals, debuggers and its parent see nothing of us. The kernel ends a freeze by itself when we die,
 * whatever of. A process that a signal had stopped stays stopped, and a signal that comes meanwhile is passed on.
 *
 * A thread that was asked to stop can't run any code of its program before it has. So one that waits deep in the
 * kernel (state D), and will stop once it comes out of there, is as good as stopped: it is let go when it does, see
 * freeze_settle().
 *
 * To stop and let go costs more the more threads there are, and on a slow machine. How long a freeze lasted is noted,
 * so that the caller can leave the program more time than it takes. */
#ifndef PYREEL_RECORD_EXACT_FREEZE_H
#define PYREEL_RECORD_EXACT_FREEZE_H

#include "formats/base/fault.h"

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum hold {
    HOLD_NONE,  /* only known to be there */
    HOLD_ASKED, /* seized and asked to stop */
    HOLD_STOPPED,
};

struct frozen_thread {
    pid_t tid;
    enum hold hold;
    bool late;  /* it waited deep in the kernel when it was last looked at */
    int signal; /* that it was about to get when it stopped; 0: none */
};

struct freeze {
    /* set by the caller */
    uint64_t patience_ns; /* how long threads may take to stop; 0: as long as most do */

    pid_t pid;     /* 0: not open */
    bool child;    /* of ours: its end is for others to wait for */
    DIR *tasks;    /* /proc/PID/task */
    bool timed;    /* there is a timer */
    timer_t timer; /* ends waits for a thread that does not stop */
    struct frozen_thread *threads;
    size_t count, room;
    uint64_t began_ns, lasted_ns;          /* of the last freeze */
    bool stopped;                          /* by a signal, when it was last frozen */
    char refusal[128];                     /* why a thread could not be stopped, in words */
    uint64_t partial_count, stopped_count; /* freezes that left a thread running, and of a process that was stopped */
};

/* Takes a process that runs, and freezes it once to see whether that works. It may be open for the process already.
 * False when it can't be frozen, with the reason. */
bool freeze_open(struct freeze *freeze, pid_t pid, struct fault *why);

/* Stops all threads. False when one of them may run on, which is counted; freeze_end() is due in any case. */
bool freeze_begin(struct freeze *freeze);
void freeze_end(struct freeze *freeze);

/* Lets go of threads that had not stopped before the end of a freeze, and have now. Whether there are any left: they
 * stop soon and then wait for this to be called again. */
bool freeze_settle(struct freeze *freeze);

/* Says on standard error what there was to the freezes of so many ticks: the recording is less, or other, than meant.
 */
void freeze_report(const struct freeze *freeze, uint64_t ticks);

/* Safe on a zeroed or closed one. A thread that has not settled is let go when our process ends. */
void freeze_close(struct freeze *freeze);

#endif
