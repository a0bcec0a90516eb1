/* SPDX-License-Identifier: MIT */
/* Gaps: times without a sample of any thread of a process, because ticks were missed, or no thread could be read. A gap
 * goes from the process's last tick with samples to its next one. Missed and failed ticks must explain at least half of
 * that time: a mode, or a choice of threads, leaves out samples, too. */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_GAPS_H
#define PYREEL_FORMATS_GECKO_MARKERS_GAPS_H

#include "formats/gecko/markers/look.h"

#define GAP_LEAST_NS        10000000
#define GAP_LEAST_INTERVALS 3

struct gap_process {
    uint64_t last_ns;                /* the latest tick with samples; 0: none */
    uint64_t missed, failed;         /* ticks of all processes until then, and of this one */
    uint64_t own_missed, own_failed; /* ticks of this process so far, if it has its own ticks */
    uint32_t thread;                 /* the main thread; 0: not known */
};

/* `= {0}` is empty. */
struct gaps {
    uint64_t missed, failed; /* ticks of all processes so far */
    struct gap_process *processes;
    size_t room;
};

/* Takes the definition of a thread: gaps are on the line of the process's main thread. */
void gaps_take_thread(struct gaps *gaps, const struct thread *thread);

/* Take missed ticks, and ticks in which no thread could be read, of a process; 0: of all. */
void gaps_take_missed(struct gaps *gaps, uint32_t process, uint64_t ticks);
void gaps_take_failed(struct gaps *gaps, uint32_t process);

/* Takes a look at a thread of a process. */
void gaps_take(struct gaps *gaps, const struct look *look, const struct tables *tables, struct marker_store *store);

/* Frees everything. */
void gaps_free(struct gaps *gaps);

#endif
