/* SPDX-License-Identifier: MIT */
/* The CPU time of a command's tree that no process of the recording has: of processes that are no Python or ended
 * before their first look, and of the last moments of short ones, whose clocks were gone before they could be read. The
 * kernel tells the CPU time of the whole tree at the command's end. What is missing gets a process of its own in the
 * recording, without a pid and with the name OTHER_PROCESSES. */
#ifndef PYREEL_RECORD_WATCH_OTHER_PROCESSES_H
#define PYREEL_RECORD_WATCH_OTHER_PROCESSES_H

#include "record/watch/sampler.h"

/* Tells the difference between the CPU time of the recorder's children and that of the recording's processes, unless
 * that is small. The children are those for which the recorder or one of them has waited: the command's tree, and its
 * orphans whose ends the recorder takes. Call this once, at the end of a recording with --subprocesses whose command
 * has ended.
 */
void other_processes_tell(struct sampler *sampler, uint64_t time_ns);

#endif
