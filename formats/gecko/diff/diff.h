/* SPDX-License-Identifier: MIT */
/* The comparison of two recordings, BASE and NEW. The comparison is the first line of the profile. It has one sample
 * for each stack whose time differs, and the sample's weight is the difference: above 0 when NEW is slower, below 0
 * when NEW is faster. So the call tree and the flame graph of the line show differences. The times of these samples
 * only say their order: the slower stacks are on the left of the line, the faster ones on the right, each as wide as
 * its share of all differences. So a selected range shows one of both, and its stack chart is a flame graph.
 *
 * By time, a second of BASE counts as much as a second of NEW. By work, BASE is scaled to the work of NEW: the time of
 * the samples that are neither idle nor wait for the lock. So a program with more idle threads is not scaled. */
#ifndef PYREEL_FORMATS_GECKO_DIFF_DIFF_H
#define PYREEL_FORMATS_GECKO_DIFF_DIFF_H

#include "formats/gecko/diff/differences.h"
#include "formats/gecko/gecko.h"
#include "formats/gecko/gecko_lines.h"

#include <jansson.h>

/* One of the two recordings. */
struct diff_side {
    char *name;              /* NULL: the recording was not read to its end */
    uint32_t processes;      /* number of processes of the profile up to this recording, entry 0 counts */
    uint32_t python_version; /* PY_VERSION_HEX; 0: unknown */
    char *host;              /* empty: unknown */
    bool whole;              /* a run from its start to its end */
    uint64_t samples;
    double all_ns, work_ns; /* a damaged recording may claim any times, and their sum has no end */
    bool cpu_known;
};

/* `= {0}` is ready. */
struct diff {
    struct diff_side sides[SIDES];
    size_t read; /* recordings that were read to their ends */
    struct differences differences;
    double factor; /* of BASE; that of NEW is 1 */
    bool by_work;
    double slower_ns, faster_ns;
    char *title; /* "new compared with old" */
};

/* Takes a recording that was read to its end: first BASE, then NEW. `name`: as in gecko_take_recording(). */
void diff_take_recording(struct gecko *gecko, const struct tables *recording, struct text name);

/* Computes the differences. Call it before the lines are made. False with the reason when the recordings cannot be
 * compared. */
bool diff_settle(struct gecko *gecko, struct fault *why);

/* Whether a process is of BASE or of NEW. */
enum side diff_side_of(const struct diff *diff, uint32_t process);

/* Writes the line of the comparison: a thread of the profile. */
void diff_emit_line(struct gecko *gecko, const struct gecko_line *line);

/* The section of Profile Info. */
json_t *diff_section(const struct gecko *gecko);

void diff_free(struct diff *diff);

#endif
