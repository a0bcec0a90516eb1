/* SPDX-License-Identifier: MIT */
/* The asyncio tasks of a dump as trees: below a task are the tasks that it awaits. A task that several tasks await is
 * below the one that was made first. */
#ifndef PYREEL_RECORD_DUMP_TASK_TREE_H
#define PYREEL_RECORD_DUMP_TASK_TREE_H

#include "record/dump/dumped.h"

/* A task, by the index of its row, and how many tasks are above it. */
struct task_node {
    size_t row;
    uint32_t depth;
};

/* The tasks of a dump, each behind the task that awaits it; dumped->count - dumped->threads of them. The caller frees
 * the array with free(). */
struct task_node *task_tree(const struct dumped *dumped);

#endif
