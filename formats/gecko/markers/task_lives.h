/* SPDX-License-Identifier: MIT */
/* The lives of asyncio tasks, as far as looks saw them. A recording of all tasks has an entry for each task, from the
 * task's first to its last moment. A recording of running tasks sees a task only while it runs: its life then goes from
 * the first to the last look. */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_TASK_LIVES_H
#define PYREEL_FORMATS_GECKO_MARKERS_TASK_LIVES_H

#include "formats/gecko/markers/look.h"

struct task_life {
    uint64_t start_ns, end_ns; /* end_ns 0: no look yet */
    uint64_t run_ns;
    uint32_t steps;     /* series of looks that found the task running */
    uint32_t thread;    /* on whose line the task ran or lived last */
    uint32_t stack;     /* of the first look */
    uint32_t coroutine; /* function; 0: not known */
    uint32_t above;     /* function: the task frame of the task that waits for this one; 0: not known */
};

/* `= {0}` is empty. */
struct task_lives {
    struct task_life *lives; /* by task */
    size_t room;
};

/* What a look says of a task. */
enum task_doing {
    TASK_RUNS,
    TASK_BEGINS, /* it runs, and the look before found something else */
    TASK_WAITS,  /* or nobody knows */
};

/* Takes a look at a thread that runs a task, or at the entry of a task. */
void task_lives_take(struct task_lives *lives, const struct look *look, const struct tables *tables,
                     enum task_doing doing);

/* Notes the end of an entry's life. */
void task_lives_end(struct task_lives *lives, uint32_t task, uint64_t ns);

/* Adds the lives of all tasks to the store. */
void task_lives_settle(const struct task_lives *lives, struct marker_store *store);

/* Frees everything. */
void task_lives_free(struct task_lives *lives);

#endif
