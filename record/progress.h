/* SPDX-License-Identifier: MIT */
/* What pyreel-record shows while it works: a status line on a terminal, and a summary at the end. */
#ifndef PYREEL_RECORD_PROGRESS_H
#define PYREEL_RECORD_PROGRESS_H

#include "formats/model/event.h"
#include "record/cgroup/quota.h"
#include "record/unwind/halt.h"

struct progress {
    bool shown;      /* the status line is wanted: standard error is a terminal, and not --quiet */
    bool quiet;      /* nothing is printed */
    bool told_full;  /* it was told that no more functions can be told apart */
    bool drawn;      /* the status line is on the terminal now */
    uint64_t due_ns; /* when the line is drawn next (monotonic) */
};

/* The state of the recording so far. */
struct progress_totals {
    uint64_t elapsed_ns;
    uint64_t ticks, samples, missed, failed; /* missed: ticks; failed: samples */
    uint64_t missed_ns;                      /* total length of the intervals of the missed ticks */
    uint64_t ticked_ns;         /* the time in which ticks were due; with several processes the sum of their lives */
    uint64_t exact;             /* samples that are one proven moment */
    bool native;                /* C functions were wanted, ... */
    uint64_t outside;           /* ... of all samples but so many, of threads that ran no Python, ... */
    uint64_t c_samples;         /* ... and so many samples have them, ... */
    uint64_t c_late, c_refused; /* ... as threads stopped too late, or could not be stopped */
    uint64_t left_out;          /* see budget_left_out() */
    uint64_t taken_ns;          /* time that ticks took from the program */
    double limit;        /* the part of the program's time that ticks may take; 0: the program is never touched */
    double asked_hz;     /* the rate that the user asked for, ... */
    double reached_hz;   /* ... and the one at which a process was looked at, on average (formats/model/exactness.h) */
    bool blocking;       /* the program is stopped while it is read */
    const char *cause;   /* why ticks were missed, for the user; used when progress_missed() is not 0 */
    const char *refusal; /* why samples were not one moment, for the user; NULL: not known */
    uint64_t bytes;      /* size of the recording so far */
    bool full;           /* new functions and lines have no room, see DEFINITIONS_LIMIT */
    uint64_t cut;        /* ticks of processes with more interpreters than are read */
    uint64_t before_ns;  /* CPU time that Pythons used before their first look */
    uint64_t no_room;    /* how often a function or a line had no room */
    uint64_t threads;    /* number of threads seen so far */
    uint64_t paused_ns;  /* for how long the recorder paused, or a signal had stopped it */
    bool paused;         /* it pauses now */
    enum halt_kind halt; /* how the program stands still now, ... */
    uint64_t halted_ns[HALT_KINDS]; /* ... and for how long it stood so; for the summary, as the next two */
    struct quota_hit quota;         /* of the program's cgroup */
    uint64_t suspended_ns;          /* for how long the machine was suspended */
    bool follows;                   /* child processes are recorded, too */
    int killed_by;                  /* the signal that ended the command; 0: none did */
    bool runs_on;                   /* the command has not ended */
    bool selects;                   /* the mode or --threads keeps a part of the samples */
    uint64_t processes;             /* number of processes that ran Python so far */
    bool refused;                   /* a process that could not be read was told */
    uint64_t passed;                /* processes that ended before the first look at them */
};

/* The part of the time that was missed; 0: too little to be mentioned. */
double progress_missed(const struct progress_totals *totals);

/* Decides whether the status line is shown. */
void progress_start(struct progress *progress, bool quiet);

/* Whether progress_update() is due. Ask before the totals are made: that takes longer with each process. */
static inline bool progress_is_due(const struct progress *progress, uint64_t elapsed_ns)
{
    return elapsed_ns >= progress->due_ns;
}

/* Draws the status line again. Tells once when functions have no room any more. */
void progress_update(struct progress *progress, const struct progress_totals *totals);

/* Removes the status line, so that other text can follow. */
void progress_clear(struct progress *progress);

/* Prints what was recorded, how often, at what cost, and what is missing: one line, and one for each thing that a
 * reader of the recording has to know. `verbose`: all of it. */
void progress_summary(const struct progress_totals *totals, const char *path, enum end_reason reason, bool verbose);

/* Says that no Python was found in the command, so that there is no recording. */
void progress_nothing(const struct progress_totals *totals, enum end_reason reason);

/* Writes a size like "12.3 MB" into `room`, which has 32 bytes. Returns `room`. */
const char *progress_size_text(char *room, uint64_t bytes);

#endif
