/* SPDX-License-Identifier: MIT */
/* The labels of pprof samples: thread, recording, task, instruction.
 *
 *     thread "MainThread", thread_id 4313, pid 4313, interpreter 0
 *                                        each sample
 *     recording "shard-2.pyreel"         when there are several recordings
 *     task "Task-7", task_id 7           a sample in an asyncio task; the id is the recording's number of the task
 *     opcode "LOAD_ATTR_SLOT", opcode_base "LOAD_ATTR"
 *                                        where the leaf's instruction is wanted and known
 *
 * Equal sets of labels have one number. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_LABELS_H
#define PYREEL_FORMATS_PPROF_PPROF_LABELS_H

#include "formats/intern/intern.h"
#include "formats/model/task_owner.h"
#include "formats/pprof/pprof_tables.h"

#define PPROF_LABELS 9 /* labels of a sample, at most */

struct pprof_said {
    uint32_t thread, task;
    uint32_t instruction, base; /* strings of the tables; 0: no label */
};

/* `= {0}` is empty. */
struct pprof_labels {
    struct intern numbers;
    struct pprof_said *rows; /* by number - 1 */
    size_t room;
    struct task_owners owners;
};

/* The number of a set of labels, from 1. */
uint32_t pprof_labels_number(struct pprof_labels *labels, const struct pprof_said *said);

/* Makes the labels with this number in `made`, which has room for PPROF_LABELS labels. Returns how many there are. */
size_t pprof_labels_make(struct pprof_labels *labels, uint32_t number, struct pprof_tables *refers,
                         Perftools__Profiles__Label *made);

/* Frees the sets of labels. */
void pprof_labels_free(struct pprof_labels *labels);

#endif
