/* SPDX-License-Identifier: MIT */
/* Dumps a living process. A look that proves one moment of the process (exact.h) is made up to some times; when none is
 * proven, the last one counts, and the dump says so. With `freezes`, all threads are stopped for the look. */
#ifndef PYREEL_RECORD_DUMP_DUMP_LIVE_H
#define PYREEL_RECORD_DUMP_DUMP_LIVE_H

#include "record/dump/dump_options.h"
#include "record/dump/dumped.h"

enum dump_result {
    DUMP_DONE,
    DUMP_NOT_PYTHON, /* no CPython runs in the process, with the reason */
    DUMP_GONE,       /* the process has ended, with the reason */
    DUMP_FAILED,     /* with the reason */
};

/* Fills in *dumped, which is `= {0}`. `give_up_ns`: until when (monotonic) the process may take to become a CPython.
 * The caller frees *dumped, whatever the result. */
enum dump_result dump_live(struct dumped *dumped, pid_t pid, const struct dump_options *options, uint64_t give_up_ns,
                           struct fault *why);

#endif
