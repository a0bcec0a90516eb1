/* SPDX-License-Identifier: MIT */
/* What a recording of one process says of the others: which child processes run Python and are not recorded. The first
 * is told when it is found, and the end has the number.
 *
 * The hint watches the tree of the process (tree.h) in a way that changes nothing for the processes (no subreaper):
 * that takes two system calls, at most a hundred times a second, and more while children come and go. A child that has
 * lived for 20 ms without calling execve() is looked at (runs_python.h), and again after a second: of two processes of
 * one program, only the second may run Python, as with the loader of a bundle. A look may read the list of the child's
 * mapped files, so a call of hint_look() looks at 16 children at most, and the others wait for the next call. Children
 * that live shorter are not counted.
 *
 * A child whose parent ended before the next look is a child of nobody that is known: a daemon forks twice. When the
 * program has ended, such children are sought among all processes: those that were forked and did not call execve()
 * have the random bytes that the kernel gave the program. */
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
    bool existing;       /* the process was there before the recording */
    uint64_t due_ns;     /* when the tree is looked at next (monotonic) */
    uint64_t settled_ns; /* when the next child is to be looked at; UINT64_MAX: none is */
    struct hint_child {
        pid_t pid;
        uint64_t due_ns; /* when the child is looked at; UINT64_MAX: it was */
        bool seen;       /* it was looked at once since it came or called execve() */
        bool counted;
    } *children; /* those that live */
    size_t children_count, children_room;
    uint64_t count; /* of children that ran Python */
    pid_t named[HINT_NAMED];
    bool told;                /* the first was told */
    uint64_t random_at;       /* address of the program's random bytes, see struct runtime; 0: not known */
    unsigned char random[16]; /* these bytes */
};

/* Begins. A process that cannot be watched gives no hint. `existing`: the process may have children already. */
void hint_open(struct hint *hint, pid_t root, bool existing);

/* Notes that the process runs Python, and the random bytes of its program. */
void hint_note_program(struct hint *hint, uint64_t random_at, const unsigned char random[16]);

/* When hint_look() should be called at the latest (monotonic). */
static inline uint64_t hint_due_ns(const struct hint *hint)
{
    if (!hint->tree.open)
        return UINT64_MAX;
    return hint->settled_ns > hint->due_ns ? hint->settled_ns : hint->due_ns;
}

/* Looks at the tree, if that is due. Call this often. `now_ns` is the monotonic clock. */
void hint_look(struct hint *hint, uint64_t now_ns);

/* When the program has ended: waits for 40 ms at most until each child has been looked at, and seeks children that no
 * look saw come. */
void hint_end(struct hint *hint);

/* Writes of the first child that was found: "process 12 (python3.12), which the program has started, runs Python and is
 * not recorded: -f records it, too". Returns false when none was found, or it was written before. */
bool hint_write_first(struct hint *hint, char *text, size_t room);

/* Writes the hint as a sentence without a full stop: "3 child processes that run Python were not recorded (pids 12, 13,
 * 14); -f records them too". Returns false when there is nothing to say that hint_write_first() has not said. */
bool hint_write(const struct hint *hint, char *text, size_t room);

/* Ends, and frees everything but what hint_write() needs. Safe on a zeroed or closed hint. */
void hint_close(struct hint *hint);

#endif
