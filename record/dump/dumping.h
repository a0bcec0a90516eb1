/* SPDX-License-Identifier: MIT */
/* What a dump of a process needs of the recorder: one watched process, and everything that it shares with others in a
 * recording. */
#ifndef PYREEL_RECORD_DUMP_DUMPING_H
#define PYREEL_RECORD_DUMP_DUMPING_H

#include "record/dump/dump_options.h"
#include "record/dump/dumped.h"
#include "record/watch/watched_look.h"
#include "record/watch/watched_search.h"

struct dumping {
    struct dumped *dumped;
    struct watch_options options;
    struct emitter emitter;
    struct synthetic_frames synthetic;
    struct watched watched;
    const struct core_file *core; /* NULL: the process lives */
    uint64_t c_stacks;            /* stacks of the last look that have C functions */
    struct cpu_process ran;       /* tells whether anything of the process ran during a look */
};

/* Prepares a dump. `pid` is 0 when no process lives. *dumping must stay where it is. */
void dumping_open(struct dumping *dumping, struct dumped *dumped, pid_t pid, const struct dump_options *options);

/* Adds to the rows what only the memory of the threads says. */
void dumping_add_idents(struct dumping *dumping);

/* Says in `why` that the process has asyncio tasks that are not shown, if so. The dump is good all the same. */
void dumping_tell_tasks(const struct dumping *dumping, struct fault *why);

/* Frees everything but what was dumped. */
void dumping_close(struct dumping *dumping);

#endif
