/* SPDX-License-Identifier: MIT */
/* The names of the labels that a sample of a pprof profile may have. pprof_labels.h has their values. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_LABEL_NAMES_H
#define PYREEL_FORMATS_PPROF_PPROF_LABEL_NAMES_H

#include <stdbool.h>

/* Labels, in the order in which a sample has them. */
enum pprof_label {
    LABEL_THREAD,
    LABEL_THREAD_ID,
    LABEL_PID,
    LABEL_INTERPRETER,
    LABEL_RECORDING,
    LABEL_TASK,
    LABEL_TASK_ID,
    LABEL_TRACE_ID,
    LABEL_SPAN_ID,
    LABEL_STATUS,
    LABEL_OPCODE,
    LABEL_OPCODE_BASE,
    PPROF_LABELS
};

/* Sets of labels have a bit for each label. */
#define LABELS_OF_THREADS      ((1u << LABEL_TASK) - 1) /* those that all samples of a thread have */
#define LABELS_OF_INSTRUCTIONS (1u << LABEL_OPCODE | 1u << LABEL_OPCODE_BASE)
#define LABELS_OF_SPANS        (1u << LABEL_TRACE_ID | 1u << LABEL_SPAN_ID)
#define LABELS_USUAL           (LABELS_OF_THREADS | 1u << LABEL_TASK | 1u << LABEL_TASK_ID | LABELS_OF_SPANS)

struct pprof_label_row {
    const char *name;
    bool is_text; /* the value is a text; otherwise a number */
};
extern const struct pprof_label_row pprof_label_rows[PPROF_LABELS];

/* Reads names of labels with commas between them, such as "thread,task". False when a name is not that of a label. */
bool pprof_label_names_parse(const char *list, unsigned *labels);

#endif
