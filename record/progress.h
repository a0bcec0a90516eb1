/* SPDX-License-Identifier: MIT */
/* What pyreel-record shows of its work: a line that is kept up to date on a terminal, and a summary at the end. */
#ifndef PYREEL_RECORD_PROGRESS_H
#define PYREEL_RECORD_PROGRESS_H

#include "formats/model/event.h"

struct progress {
    bool shown; /* standard error is a terminal and we are not to be quiet */
    bool drawn; /* a line stands there now */
    uint64_t due_ns;
};

struct figures {
    uint64_t elapsed_ns;
    uint64_t ticks, samples, missed, failed;
    uint64_t missed_ns; /* the intervals of the missed ticks */
    uint64_t exact;     /* samples that were one proven moment */
    uint64_t left_out;  /* ticks that were asked for and left out */
    uint64_t taken_ns;  /* from the program */
    double limit;       /* the part of its time that may be taken; 0: the program is never touched */
    double asked_hz;
    bool blocking;
    bool punctual;       /* we have real time */
    const char *refusal; /* why samples were not one moment, in words; NULL: not known */
    uint64_t bytes;      /* written so far */
    uint64_t threads;
};

void progress_start(struct progress *progress, bool quiet);

/* Draws the line anew when it is time to. */
void progress_update(struct progress *progress, const struct figures *figures);

/* Takes the line away, so that other text can follow. */
void progress_clear(struct progress *progress);

/* Says what was recorded, and what ended it. */
void progress_summary(const struct figures *figures, const char *path, enum end_reason reason);

/* "12.3 MB" in `room`, which has 32 bytes. */
const char *progress_size_text(char *room, uint64_t bytes);

#endif
