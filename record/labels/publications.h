/* SPDX-License-Identifier: MIT */
/* A process publishes in its memory, for readers outside: labels (labels.h), what OpenTelemetry's process context
 * says of it (process_context.h), and the spans of its threads. The first two lie in private mappings with a name of
 * their own, which one reading of /proc/PID/maps finds; a variable of each thread leads to its span. All may come at
 * any time. */
#ifndef PYREEL_RECORD_LABELS_PUBLICATIONS_H
#define PYREEL_RECORD_LABELS_PUBLICATIONS_H

#include "record/elf/thread_variable.h"
#include "record/labels/labels.h"
#include "record/labels/process_context.h"

/* The publications of one process. `= {0}` has found none. The caller sets labels.remote, by which all are read: it is
 * the caller's and must live as long. */
struct publications {
    struct labels labels;
    struct process_context context;
    struct thread_variable spans; /* leads to the records of span_piece.h */
    uint64_t pages;               /* size of the process's memory at the last search; 0: the next one is due */
    uint64_t due_ns;              /* before this time there is no search (monotonic) */
};

/* A publication that publications_search() has found, or found changed: bits. */
enum published { PUBLISHED_LABELS = 1 << 0, PUBLISHED_CONTEXT = 1 << 1, PUBLISHED_SPANS = 1 << 2 };

/* Searches the process for what is not known yet, unless its memory has the size (`pages`; 0: not known) of the last
 * search. A search reads the list of mappings, and takes a 64th of a processor at most. Reads a known context again if
 * the process has changed it, with one system call. Returns what is new: bits of enum published. */
unsigned publications_search(struct publications *publications, uint64_t pages, uint64_t now_ns);

/* Forgets all, and frees everything. */
void publications_close(struct publications *publications);

#endif
