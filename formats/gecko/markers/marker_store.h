/* SPDX-License-Identifier: MIT */
/* Markers: intervals on a thread's line of which the viewer tells more than a stack. A recording may have millions of
 * them, and a person looks at some dozens. So the store keeps the heaviest markers of each kind, in bounded memory, and
 * counts the others:
 *
 *     found       |||||||||||||||||||||||||||||||||||||||||||       each kind, as events come
 *     kept        the heaviest MARKERS_LIMIT of each kind           marker_store_add()
 *     written     all kinds share what the profile has room for     marker_store_settle()
 *
 * Kinds share by need: a kind with few markers keeps all of them, and kinds with many get equal parts of the rest. */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_MARKER_STORE_H
#define PYREEL_FORMATS_GECKO_MARKERS_MARKER_STORE_H

#include "formats/model/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MARKERS_LIMIT 20000 /* of a profile; the viewer's chart and table stay fast */

enum marker_kind {
    MARKER_GIL_WAIT, /* a thread waited for its interpreter's lock */
    MARKER_GC,       /* a garbage collection */
    MARKER_EXCEPTION,
    MARKER_GAP,     /* no thread of a process was looked at */
    MARKER_BLOCKED, /* one step of a task, or one callback, kept an event loop busy */
    MARKER_TASK,    /* the life of an asyncio task */
    MARKER_THREAD,  /* the life of a thread that shares its line with others */
    MARKER_PROCESS, /* the moment at which a process of a tree ended, or became another program */
    MARKER_TITLE,   /* the time for which a process had a title that it gave itself */
    MARKER_SPAN,    /* looks at a thread that worked on one span of OpenTelemetry */
    MARKER_KINDS
};

struct marker {
    enum marker_kind kind;
    uint32_t thread; /* on whose line the marker is */
    uint64_t start_ns, end_ns;
    uint64_t weight;      /* heavier markers are kept */
    uint64_t amount_ns;   /* MARKER_EXCEPTION: the time of looks with an exception; MARKER_TASK: the time it ran;
                           * MARKER_THREAD: its CPU time */
    uint32_t stack;       /* of the look with which the marker begins */
    uint32_t subject;     /* MARKER_TASK, MARKER_BLOCKED: the task; MARKER_GIL_WAIT: the thread that held the lock;
                           * MARKER_PROCESS, MARKER_TITLE: the process */
    uint32_t function;    /* MARKER_GIL_WAIT: what that thread did; MARKER_BLOCKED: the callback; MARKER_GC: what began
                           * the collection; MARKER_TASK: the coroutine */
    uint32_t other;       /* MARKER_TASK: the function of the task frame of the task that waits for this one;
                           * MARKER_PROCESS: the process that it became by an exec; 0: none that the recording has;
                           * MARKER_TITLE: index of the life + 1 */
    uint32_t count;       /* MARKER_TASK: steps; MARKER_GAP: ticks that were missed; MARKER_GC: generation + 1 */
    uint32_t failed;      /* MARKER_GAP: ticks in which the recorder could read no thread */
    struct span_ids span; /* MARKER_SPAN */
    uint32_t row; /* MARKER_TASK: which row of its name (task_rows.h), from 0; filled after the store is settled */
};

/* What is not in the profile. */
struct markers_left_out {
    uint64_t count, longest_ns;
};

/* The markers of a kind: a heap, the lightest marker first. */
struct marker_heap {
    struct marker *markers;
    size_t count, room;
    struct markers_left_out left_out;
};

/* `= {0}` is empty. */
struct marker_store {
    struct marker_heap heaps[MARKER_KINDS];
    struct marker *settled; /* all kinds, by thread and start; NULL before marker_store_settle() */
    size_t settled_count;
};

/* What a profile has room for. */
struct marker_budget {
    uint64_t bytes;                     /* of all markers */
    uint32_t each_bytes[MARKER_KINDS];  /* of one marker, as it is written */
    uint64_t least_bytes[MARKER_KINDS]; /* a kind gets these bytes in any case: a small profile may have more markers */
};

/* Adds a marker, and leaves out the lightest one of its kind when there are MARKERS_LIMIT. */
void marker_store_add(struct marker_store *store, const struct marker *marker);

/* Counts a marker that is below the minimum of its kind. */
void marker_store_leave_out(struct marker_store *store, enum marker_kind kind, uint64_t ns);

/* Decides which markers are written. Call it once, after the last marker. */
void marker_store_settle(struct marker_store *store, const struct marker_budget *budget);

/* The settled markers of a thread, in the order of their starts, and of those that begin together of one kind the
 * longest first; *count is their number. */
const struct marker *marker_store_of(const struct marker_store *store, uint32_t thread, size_t *count);

/* The number of settled markers of a kind. */
size_t marker_store_count(const struct marker_store *store, enum marker_kind kind);

/* Frees everything. */
void marker_store_free(struct marker_store *store);

#endif
