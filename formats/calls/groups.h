/* SPDX-License-Identifier: MIT */
/* Groups: whose samples they are. A group is a thread, or an asyncio task that has samples of its own (--async all),
 * or, for whoever asks so, a task that a thread ran. Without ids, names have no numbers, and equal names of equal
 * processes are one group, so that the workers of a pool are one group and two runs can be compared:
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
#include "formats/model/task_owner.h"

/* Threads of a group that are named by their numbers, and the share of all CPU time that makes a thread worth it. */
#define GROUP_BUSY  4
#define GROUP_WORKS 0.02

struct groups_style {
    bool ids;       /* each thread is a group of its own */
    bool one;       /* all samples are one group */
    bool runs;      /* the recordings are runs of one program: their names do not tell groups apart, nor what a title
                     * says of the moment */
    bool processes; /* the numbers of processes tell groups apart, and their titles do not */
    bool tasks;     /* names of tasks have no numbers, either */
    size_t most;    /* so many groups; the threads of all others are one more, <others>; 0: without a limit */
};

/* Texts belong to the groups and stay where they are, but `process` with `style.processes` until groups_retitled(). */
struct group {
    struct text process; /* title of the program; with several recordings also the name of the recording */
    struct text thread;  /* empty: the thread of a task is not known, or all samples are one group */
    struct text label;   /* the same with the number of the thread, where each thread is a group: worker (4243) */
    struct text task;    /* empty: no task */
    uint32_t number;     /* of the first thread's process; 0: many processes, of <others> */
    uint32_t pid, tid;   /* of the first thread */
    size_t
        threads; /* number of threads that have samples, without <not sampled>; with a task, of its entries and runs */
    bool main;   /* has a main thread */
    uint64_t sums[SUMS];       /* by groups_find(): of all samples, before any are left out by --focus */
    uint32_t busy[GROUP_BUSY]; /* numbers in the tables of the threads with the most CPU time, ... */
    size_t busy_count;         /* ... and how many have GROUP_WORKS of all; there may be more than GROUP_BUSY */
    uint64_t waits_ns;         /* the part of the wall-clock time in which the threads waited (frames/waiting.h) */
};

/* `= {0}` with `style` set is empty. */
struct groups {
    struct groups_style style;
    struct group *rows;
    size_t count, room;
    uint32_t *by_thread; /* by thread of the tables: index in `rows` + 1; 0: the thread has no samples */
    size_t by_thread_room;
    struct intern_pairs runs; /* (thread, task that it ran) -> index in `by_run` + 1 */
    uint32_t *by_run;         /* index in `rows` + 1; 0: not found again since groups_renamed() */
    size_t by_run_room;
    bool processes; /* there are several processes */
    struct task_owners owners;
    struct intern keys;
    struct intern texts;
    struct text *titles; /* with `style.processes`: the name of each process, by its number; empty: not asked for yet */
    size_t titles_room;
    struct bytes scratch;
};

/* Finds the groups of all rows of a sorted aggregate. The rows of the aggregate have the groups of waiting_group(), or
 * none, and then `waits_ns` stays 0. */
void groups_find(struct groups *groups, const struct tables *tables, const struct aggregate *aggregate,
                 const struct groups_style *style);

/* The group of a sample, its index in `rows`, of tables that may grow from call to call. `task` is the task that the
 * thread ran; with 0, or a thread that is an entry of a task, the group is that of the thread. */
uint32_t groups_of(struct groups *groups, const struct tables *tables, uint32_t thread, uint32_t task);

/* A thread has another name: later samples belong to the group of this name, and threads are counted anew. */
void groups_renamed(struct groups *groups);

/* Processes have other titles: where their numbers tell groups apart, the groups get the titles. */
void groups_retitled(struct groups *groups, const struct tables *tables);

/* Appends the numbers by which a person tells the threads of a group apart that use the processor: "pid 4242, 4243", or
 * "tid 4244, 4245 and 6 more" where all are of one process. Nothing unless there are two. For groups_find(). */
void groups_put_busy(struct bytes *to, const struct tables *tables, const struct group *group);

void groups_free(struct groups *groups);

#endif
