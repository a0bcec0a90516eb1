/* SPDX-License-Identifier: MIT */
/* With -o x.html and the like, pyreel-record makes another output of the recording when the recording is complete. A
 * converter does the work. pyreel-record may not start programs once its guard stands (record/guard/guard.h), so the
 * process that becomes the converter starts before, and waits:
 *
 *     pyreel-record ──fork──▶ a process that waits ── "go" ──▶ pyreel-flame -o x.html x.pyreel
 *          └─ records x.pyreel, completes x.pyreel ───┘
 *
 * When pyreel-record ends without "go", the process ends, too. */
#ifndef PYREEL_RECORD_LAUNCH_AFTERWARDS_H
#define PYREEL_RECORD_LAUNCH_AFTERWARDS_H

#include "formats/base/fault.h"

#include <stdbool.h>
#include <sys/types.h>

/* An output that a converter makes of a recording. */
struct product {
    const char *ending;  /* of the output's name */
    const char *program; /* the converter */
    const char *shown;   /* for people: what shows the output */
};

/* Returns the product that an output of this name is; NULL: the output is a recording. */
const struct product *product_of(const char *output);

/* The recording from which the product is made, which stays beside the product: x.html -> x.pyreel. Owned. */
char *product_recording(const struct product *product, const char *output);

/* The process that waits. `= {0}` is none. */
struct afterwards {
    pid_t pid; /* 0: there is none */
    int gate;
};

/* Starts the process that will make `output` of `recording`. False with the reason: the converter is not there, or no
 * process can be started. Both paths must live until then. */
bool afterwards_begin(struct afterwards *afterwards, const struct product *product, const char *output,
                      const char *recording, bool force, struct fault *why);

/* Lets the process make the output, and waits for its end. Whether the output is made: the converter says why not. */
bool afterwards_make(struct afterwards *afterwards);

/* Lets the process end, if there is one. */
void afterwards_cancel(struct afterwards *afterwards);

#endif
