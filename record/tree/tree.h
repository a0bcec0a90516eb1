/* SPDX-License-Identifier: MIT */
/* The processes of a tree: a process, the root, and all that descend from it, as they come, exec and end.
 *
 *     tree_open(&tree, root, ours, &why);
 *     tree_watch_existing(&tree);                      with --pid
 *     for (;;) {
 *         ... ppoll() on tree_fd(), until tree_due_ns() at the latest
 *         tree_look(&tree, clock_now_ns());
 *         while (tree_next(&tree, &event))
 *             ...
 *     }
 *
 * The events of a process are TREE_CAME, then any number of TREE_EXECED, then TREE_ENDED. A parent comes before its
 * children. The root comes first. Only processes are events, threads are not. */
#ifndef PYREEL_RECORD_TREE_TREE_H
#define PYREEL_RECORD_TREE_TREE_H

#include "formats/base/fault.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum tree_change {
    TREE_CAME,   /* the process has memory of its own: a child of vfork() comes when it has called execve() */
    TREE_EXECED, /* the process may run another program now */
    TREE_ENDED,  /* the process has ended; a zombie has, too */
};

struct tree_event {
    enum tree_change change;
    pid_t pid;
    pid_t parent;    /* 0: not known, since the parent ended before the process was seen. Of the root: its parent */
    int pidfd;       /* TREE_CAME: the taker closes this descriptor; else, and when there is none: -1 */
    int wait_status; /* TREE_ENDED: as waitpid() gives; -1: not known */
};

struct tree;

/* Begins with the root alone. `ours`: pyreel-record started the root as its child. Then the recorder becomes the
 * subreaper of the root's descendants, and reaps those whose parents have ended; the root itself is never reaped here.
 * Returns false with the reason when the root cannot be watched. */
bool tree_open(struct tree *tree, pid_t root, bool ours, struct fault *why);

/* Adds the descendants that the root has already. */
void tree_watch_existing(struct tree *tree);

/* A descriptor that becomes readable when tree_look() has something to see. Not everything makes the descriptor
 * readable: see tree_due_ns(). */
int tree_fd(const struct tree *tree);

/* When tree_look() should be called at the latest (monotonic), although tree_fd() is not readable. */
uint64_t tree_due_ns(const struct tree *tree);

/* Asks the kernel what has changed. Returns at once, without a system call, when the last call was less than a
 * millisecond ago. `now_ns` is the monotonic clock. */
void tree_look(struct tree *tree, uint64_t now_ns);

/* Takes the next event. False: there is none. */
bool tree_next(struct tree *tree, struct tree_event *event);

/* Whether any process of the tree lives. */
bool tree_has_left(const struct tree *tree);

/* Stops watching, and frees everything. Safe on a zeroed or closed tree. */
void tree_close(struct tree *tree);

#endif
