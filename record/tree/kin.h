/* SPDX-License-Identifier: MIT */
/* Looks for children of processes in /proc, where other ways do not suffice: for processes that are there already, and
 * after events were lost. /proc/PID/task/TID/children lists the children that a thread made. A kernel built without
 * these lists (CONFIG_PROC_CHILDREN) is asked for the parent of each process of the machine. */
#ifndef PYREEL_RECORD_TREE_KIN_H
#define PYREEL_RECORD_TREE_KIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kin {
    struct kin_row {
        pid_t pid, parent;
        uint64_t start; /* facts.start; 0: not asked */
    } * rows;
    size_t count, room;
};

#define KIN_MOST 65536 /* processes that are taken; more are left out */

/* Whether the kernel lists children. */
bool kin_listed(void);

/* Adds a process; not when there are KIN_MOST. */
void kin_add(struct kin *kin, struct kin_row row);

/* Adds the children of a process. Needs kin_listed(). */
void kin_add_children(struct kin *kin, pid_t pid);

/* Adds all processes of the machine that can be seen, in the order of their starts: parents first, unless a process was
 * given another parent. Threads of the kernel are left out. */
void kin_add_all(struct kin *kin);

/* Frees the rows. */
void kin_free(struct kin *kin);

#endif
