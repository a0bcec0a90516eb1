/* SPDX-License-Identifier: MIT */
/* Groups: whose samples they are. A group is a thread, or an asyncio task that has samples of its own (--async all).
 * Without ids, names have no numbers, and equal names of equal processes are one group, so that the workers of a pool
 * are one group and two runs can be compared:
 *
 *     process        thread                task
 *     app.py         MainThread
 *     app.py         ThreadPoolExecutor              8 threads
 *     app.py         MainThread            fetch     an entry of a task, under the thread of its event loop */
#ifndef PYREEL_FORMATS_CALLS_GROUPS_H
#define PYREEL_FORMATS_CALLS_GROUPS_H

#include "formats/base/bytes.h"
#include "formats/intern/intern.h"
#include "formats/model/aggregate.h"

struct groups_style {
    bool ids;  /* each thread is a group of its own */
    bool one;  /* all samples are one group */
    bool runs; /* the recordings are runs of one program: their names do not tell groups apart */
};

/* Texts belong to the groups. */
struct group {
    struct text process; /* title of the program; with several recordings also the name of the recording */
    struct text thread;  /* empty: the thread of a task is not known, or all samples are one group */
    struct text task;    /* empty: no entry of a task */
    uint32_t pid, tid;   /* of the first thread */
    size_t threads;      /* number of threads, or of entries of tasks, that have samples */
    bool main;           /* has a main thread */
    uint64_t sums[SUMS]; /* of all samples, before any are left out by --focus */
    uint64_t waits_ns;   /* the part of the wall-clock time in which the threads waited (frames/waiting.h) */
};

/* `= {0}` is empty. */
struct groups {
    struct group *rows;
    size_t count, room;
    uint32_t *by_thread; /* by thread of the tables: index in `rows` + 1; 0: the thread has no samples */
    bool processes;      /* there are several processes */
    struct intern keys;
    struct intern texts;
};

/* Finds the groups of all rows of a sorted aggregate. The rows of the aggregate have the groups of waiting_group(), or
 * none, and then `waits_ns` stays 0. */
void groups_find(struct groups *groups, const struct tables *tables, const struct aggregate *aggregate,
                 const struct groups_style *style);

void groups_free(struct groups *groups);

#endif
