/* SPDX-License-Identifier: MIT */
/* The labels of pprof samples.
 *
 *     thread "MainThread", thread_id 4313, pid 4313, interpreter 0
 *                                        each sample
 *     recording "shard-2.pyreel"         when there are several recordings
 *     task "Task-7", task_id 7           a sample in an asyncio task; the id is the recording's number of the task
 *     trace_id "4bf92f3577b34da6a3ce929d0e0e4736", span_id "00f067aa0ba902b7"
 *                                        a sample on a span of OpenTelemetry
 *     status "idle"                      what the thread did, see pprof_status.h
 *     opcode "LOAD_ATTR_SLOT", opcode_base "LOAD_ATTR"
 *                                        where the leaf's instruction is known
 *
 * Only the wanted labels are made. Equal sets of labels have one number, so the samples of two threads are the same
 * where no wanted label tells the threads apart. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_LABELS_H
#define PYREEL_FORMATS_PPROF_PPROF_LABELS_H

#include "formats/intern/intern.h"
#include "formats/model/task_owner.h"
#include "formats/pprof/pprof_label_names.h"
#include "formats/pprof/pprof_tables.h"

/* What the labels of a sample say. */
struct pprof_said {
    uint32_t thread, task;
    struct span_ids span;
    uint32_t status;            /* number in pprof_status.h; 0: no label */
    uint32_t instruction, base; /* strings of the tables; 0: no label */
};

/* `= {0}` is empty. Set `wanted` before the first call. */
struct pprof_labels {
    unsigned wanted;     /* a set of labels */
    struct intern sets;  /* labels with their values */
    struct intern texts; /* values that are texts */
    struct task_owners owners;
    struct pprof_said latest;
    uint32_t latest_number; /* 0: there is no latest one */
};

/* The number of the labels of a sample, from 1. */
uint32_t pprof_labels_number(struct pprof_labels *labels, const struct tables *tables, const struct pprof_said *said);

/* The number of the labels with this number without those in which samples of one thread may differ. */
uint32_t pprof_labels_of_thread(struct pprof_labels *labels, uint32_t number);

/* Makes the labels with this number in `made`, which has room for PPROF_LABELS labels. Returns how many there are. */
size_t pprof_labels_make(const struct pprof_labels *labels, uint32_t number, struct pprof_tables *refers,
                         Perftools__Profiles__Label *made);

/* Frees the sets of labels. */
void pprof_labels_free(struct pprof_labels *labels);

#endif
