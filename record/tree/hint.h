/* SPDX-License-Identifier: MIT */
/* What a recording of one process says of the others: how many child processes that run Python were not recorded.
 *
 * The hint watches the tree of the process (tree.h) in a way that changes nothing for the processes (no subreaper), and
 * costs next to nothing: two system calls, at most a hundred times a second. A child that has lived for 20 ms without
 * calling execve() is looked at once (runs_python.h). Children that live shorter are not counted. */
#ifndef PYREEL_RECORD_TREE_HINT_H
#define PYREEL_RECORD_TREE_HINT_H

#include "record/tree/runs_python.h"
#include "record/tree/tree.h"

#define HINT_NAMED 8 /* processes that the hint names */

/* `= {0}` is closed, and counts nothing. */
struct hint {
    struct tree tree;
    struct programs programs;
    pid_t root;
    uint64_t due_ns; /* when the tree is looked at next (monotonic) */
    struct hint_child {
        pid_t pid;
        uint64_t due_ns; /* when the child is looked at; UINT64_MAX: it was */
        bool counted;
    } * children; /* those that live */
    size_t children_count, children_room;
    uint64_t count; /* of children that ran Python */
    pid_t named[HINT_NAMED];
};

/* Begins. A process that cannot be watched gives no hint. `existing`: the process may have children already. */
void hint_open(struct hint *hint, pid_t root, bool existing);

/* Looks at the tree, if that is due. Call this often. `now_ns` is the monotonic clock. */
void hint_look(struct hint *hint, uint64_t now_ns);

/* Writes the hint as a sentence without a full stop: "3 child processes that run Python were not recorded (pids 12, 13,
 * 14); -f records them too". Returns false when there is nothing to say. */
bool hint_write(const struct hint *hint, char *text, size_t room);

/* Ends, and frees everything but what hint_write() needs. Safe on a zeroed or closed hint. */
void hint_close(struct hint *hint);

#endif
