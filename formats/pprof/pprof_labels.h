/* SPDX-License-Identifier: MIT */
/* What the labels of a pprof sample say: who was sampled, and where.
 *
 *     thread "MainThread", thread_id 4313, pid 4313, interpreter 0
 *                                        each sample
 *     recording "shard-2.pyreel"         when there are several
 *     task "Task-7", task_id 7           one in an asyncio task; the id is the recording's own number for it
 *     opcode "LOAD_ATTR_SLOT", opcode_base "LOAD_ATTR"
 *                                        where the leaf's instruction is wanted and known
 *
 * Samples that agree in all of it have one number. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_LABELS_H
#define PYREEL_FORMATS_PPROF_PPROF_LABELS_H

#include "formats/intern/intern.h"
#include "formats/model/task_owner.h"
#include "formats/pprof/pprof_tables.h"

#define PPROF_LABELS 9 /* that a sample has at most */

struct pprof_said {
    uint32_t thread, task;
    uint32_t instruction, base; /* strings of the tables; 0: not said */
};

/* `= {0}` is empty. */
struct pprof_labels {
    struct intern numbers;
    struct pprof_said *rows; /* by number - 1 */
    size_t room;
    struct task_owners owners;
};

/* The number of what is said, from 1. */
uint32_t pprof_labels_number(struct pprof_labels *labels, const struct pprof_said *said);

/* Makes the labels of a number in `made`, which has room for PPROF_LABELS. Returns how many there are. */
size_t pprof_labels_make(struct pprof_labels *labels, uint32_t number, struct pprof_tables *refers,
                         Perftools__Profiles__Label *made);

void pprof_labels_free(struct pprof_labels *labels);

#endif
