/* SPDX-License-Identifier: MIT */
/* Part of asyncio.c: where the module _asyncio keeps tasks before CPython 3.14 (asyncio_module.h).
 *
 *     all tasks:   set ─▶ weak references ─▶ tasks       thread ─▶ its running event loop ◀─ task
 *     that run:    dict: event loop ─▶ task
 *
 * A tick reads the tables of the sets, and what names the loop of each thread, together with its other words
 * (asyncio_plan.c), and the words of the weak references together with the tasks. So a tick in which no task has come
 * needs no further system call. A task belongs to the thread that runs its loop. */
#ifndef PYREEL_RECORD_ASYNCIO_TASK_SETS_H
#define PYREEL_RECORD_ASYNCIO_TASK_SETS_H

#include "record/asyncio/task_memory.h"
#include "record/names/dict.h"

struct asyncio;
struct tasks;

/* The content of a slot of a set at the last look. */
struct set_slot {
    uint64_t key, task; /* 0: not known */
};

struct task_set {
    uint64_t address;               /* 0: there is none */
    bool weak;                      /* has weak references to tasks, not tasks */
    uint64_t table, slots;          /* where its slots were, and how many, when the words were planned; 0: not known */
    size_t head_range, table_range; /* indexes of ranges */
    struct set_slot *known;
    size_t known_room, known_count;
};

/* The event loop that a thread runs. Before CPython 3.13 the thread's dict tells. */
struct thread_loop {
    uint64_t dict, version; /* the dict, and the number that each change of it replaces; 0: not known */
    uint64_t loop;          /* 0: none */
    size_t range;           /* index of the range with the dict's members; valid while `dict` is that of the plan */
};

/* `= {0}`, then task_sets_open(). */
struct task_sets {
    struct dict_reader reader;
    struct task_set sets[2];
    struct thread_loop *loops; /* by index in thread_list->members */
    size_t loops_room;
    bool moved; /* an object is not where it was when the words were planned */
};

/* For asyncio->tasks.module. */
void task_sets_open(struct task_sets *sets, const struct asyncio *asyncio);
void task_sets_close(struct task_sets *sets);

/* Adds what the sets need to the words of a tick, behind all others. asyncio->owners are planned. */
void task_sets_plan(struct asyncio *asyncio);

/* Calls `take` for each task of the sets. Not every task is alive. False when a set cannot be read. */
bool task_sets_each(struct asyncio *asyncio, void (*take)(struct asyncio *asyncio, uint64_t task, uint64_t listed_at));

/* Finds out which event loop each thread runs. Call this before task_sets_owner(). */
void task_sets_find_loops(struct asyncio *asyncio);

/* The thread that runs this event loop: its index in thread_list->members + 1; 0: none does. */
uint32_t task_sets_owner(const struct asyncio *asyncio, uint64_t loop);

/* Reads the tasks that run now, each in another event loop: at most `most`. *count: how many. False when they cannot be
 * read. */
bool task_sets_current(struct tasks *tasks, uint64_t *current, size_t most, size_t *count);

#endif
