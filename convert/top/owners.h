/* SPDX-License-Identifier: MIT */
/* Owners: whose samples they are. An owner is a process, the name of a thread in it, and the name of the task that the
 * thread ran, where tasks are recorded. As in pyreel-report, names have no numbers, so the threads of a pool are one
 * owner; with ids, each thread is one.
 *
 *     process       thread                task      threads    runs
 *     app.py 4242   MainThread                      1          1
 *     app.py 4242   ThreadPoolExecutor              8          8
 *     app.py 4242   MainThread            fetch     0          17
 *
 * A hostile program may have names without end: beyond OWNERS_MOST, all others are one owner. */
#ifndef PYREEL_CONVERT_TOP_OWNERS_H
#define PYREEL_CONVERT_TOP_OWNERS_H

#include "formats/base/bytes.h"
#include "formats/intern/intern.h"
#include "formats/model/tables.h"

#define OWNERS_MOST 20000

/* Texts belong to the owners and stay where they are. */
struct owner {
    uint32_t process; /* number; 0: many, for the owner of all others */
    uint32_t pid;
    struct text program; /* title of the program */
    struct text thread;  /* empty: the thread of a task is not known */
    struct text task;    /* empty: no task */
    uint32_t threads; /* how many have had samples. A thread counts at the first owner of its name, so sums are right */
    uint32_t runs;    /* pairs of a thread and a task that have had samples */
};

/* `= {0}` is empty. */
struct owners {
    bool ids;            /* each thread is an owner */
    struct owner *rows;  /* by number; row 0 is unused */
    size_t count, room;  /* row 0 counts */
    struct intern keys;  /* numbers are those of owners */
    struct intern homes; /* processes with names of threads, ... */
    uint32_t *of_home;   /* ... and the first owner of each, by number */
    size_t of_home_room;
    bool *counted; /* by thread: it counts at an owner */
    size_t counted_room;
    struct intern texts;
    struct intern_pairs pairs; /* (thread, task of the sample) -> index in `of_pair` + 1 */
    uint32_t *of_pair;         /* owner; 0: not looked up since the name of the thread changed */
    size_t of_pair_room;
    struct bytes scratch;
};

/* The owner of a sample of this thread that ran this task (0: none). The tables have both. */
uint32_t owners_find(struct owners *owners, const struct tables *tables, uint32_t thread, uint32_t task);

/* A thread has another name: later samples belong to the owner of this name. */
void owners_renamed(struct owners *owners);

/* Frees the memory. */
void owners_free(struct owners *owners);

#endif
