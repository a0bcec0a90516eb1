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
 * New processes are noticed in the first of these ways that the machine has:
 *
 *   connector    the kernel tells each fork, execve and exit (connector.h): nothing is missed, and nothing is asked
 *   pid cursor   one read says whether any process was made, and which numbers are new (pid_cursor.h). A pidfd and what
 *                the kernel says of it tell whose child each is. An execve shows in the place of the program in memory,
 *                asked at growing distances (1 to 32 ms), of processes that used processor time only
 *   walk         the lists of children of all members, or all of /proc (kin.h). Also after events were lost. A walk in
 *                the place of the cursor takes 2 to 4 times the processor time of the recorder (24 processes, or 100
 *                threads, while threads come and go), and sees a process 20 ms late in place of 1 ms
 *
 * Ends come by pidfds. perf_event_open() would tell the same without privileges, but each fork of the program would
 * have to copy an event for each processor of the machine. A look at a quiet tree takes one system call with the
 * connector, two with the cursor; a process that comes and stays takes about 15. After a look that asked much, the tree
 * rests, so that looks take a tenth of a processor at most. Looks are a millisecond apart while processes come, 8 ms in
 * quiet times.
 *
 * In the place of one root and what descends from it, a tree may have every process of the machine that can be seen
 * (TREE_EVERYBODY), but the recorder itself and threads of the kernel.
 *
 * The events of a process are TREE_CAME, then any number of TREE_EXECED, then TREE_ENDED. A parent comes before its
 * children, mostly. The root comes first. Only processes are events, threads are not. */
#ifndef PYREEL_RECORD_TREE_TREE_H
#define PYREEL_RECORD_TREE_TREE_H

#include "formats/base/fault.h"
#include "record/tree/last_cpu.h"
#include "record/tree/members.h"
#include "record/tree/pid_cursor.h"

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
    uint64_t cpu_ns; /* TREE_ENDED: what the process used; 0: not known */
    bool existed;    /* TREE_CAME: tree_watch_existing() found the process */
};

/* Ways that the tree goes without, for tests. */
enum tree_without {
    TREE_WITHOUT_CONNECTOR = 1 << 0,
    TREE_WITHOUT_CURSOR = 1 << 1,
    TREE_WITHOUT_PIDFDS = 1 << 2,
    TREE_WITHOUT_INFO = 1 << 3,  /* what a pidfd says of its process */
    TREE_WITHOUT_LISTS = 1 << 4, /* /proc/PID/task/TID/children */
    TREE_WITHOUT_CPU = 1 << 5,   /* the CPU time of processes that ended */
};

#define TREE_EVERYBODY 0 /* in the place of a root */

#define TREE_MOST 4096 /* processes of a tree that live at the same time; more are left out */

/* What the tree did. */
struct tree_counters {
    uint64_t looks;    /* calls of tree_look() that asked the kernel */
    uint64_t numbers;  /* numbers whose process was looked at */
    uint64_t checks;   /* checks for execve() that read /proc */
    uint64_t walks;    /* searches for children in /proc */
    uint64_t came;     /* processes that came */
    uint64_t passed;   /* processes that came and ended between two looks, which are no events */
    uint64_t left_out; /* processes that were left out, because the tree or the recorder had no room */
    uint64_t lost;     /* how often the kernel had more events than room for them */
};

/* `= {0}` is closed. */
struct tree {
    unsigned without; /* enum tree_without; set before tree_open() */
    struct tree_counters counters;

    /* of tree.c */
    pid_t root;
    bool open, ours;
    int epoll, connector; /* connector: -1: the cursor is used */
    int pidfds_most;      /* pidfds have smaller numbers */
    struct pid_cursor cursor;
    struct members members;
    struct last_cpu last_cpu;
    pid_t *fresh; /* members that have not come, parents first */
    size_t fresh_count, fresh_room;
    struct tree_event *events;
    size_t events_count, events_room, events_taken;
    struct tree_late {
        pid_t number;
        unsigned tries;
        uint64_t due_ns;
    } * late; /* numbers that were given and had no process when they were looked at */
    size_t late_count, late_room;
    uint64_t looked_ns, next_ns, changed_ns, walked_ns, reaped_ns, checks_due_ns;
    uint64_t calls; /* system calls of the last look beyond a few, about */
    bool astray;    /* processes may have come that were not seen: a walk is due */
    bool moved;     /* processes were made since the last walk */
    bool ends;      /* processes ended since the last reaping */
    bool has_lists; /* the kernel lists children */
    bool young;     /* some members are in their first moments */
};

/* Begins with the root alone, or with TREE_EVERYBODY with nobody. `ours`: pyreel-record started the root as its child.
 * Then the recorder becomes the subreaper of the root's descendants, and reaps those whose parents have ended; the root
 * itself is never reaped here. Returns false with the reason when the root cannot be watched. */
bool tree_open(struct tree *tree, pid_t root, bool ours, struct fault *why);

/* Adds the descendants that the root has already, or everybody. Call this before the first tree_look(). */
void tree_watch_existing(struct tree *tree);

/* A descriptor that becomes readable when tree_look() has something to see. Not everything makes the descriptor
 * readable: see tree_due_ns(). */
int tree_fd(const struct tree *tree);

/* When tree_look() should be called at the latest (monotonic), although tree_fd() is not readable. */
uint64_t tree_due_ns(const struct tree *tree);

/* Sleeps until `wake_ns`, until tree_due_ns(), until tree_fd() is readable, or until the next signal. For the first
 * millisecond after a look, what others do on the machine does not end the sleep. `fd`, if it is not negative, ends the
 * sleep when it is readable, too; returns whether it did. */
bool tree_sleep_until(const struct tree *tree, uint64_t wake_ns, int fd);

/* Asks the kernel what has changed. Returns at once, without a system call, when the last look was less than a
 * millisecond ago, or when events of the last look were not taken. `now_ns` is the monotonic clock. */
void tree_look(struct tree *tree, uint64_t now_ns);

/* Takes the next event. False: there is none. */
bool tree_next(struct tree *tree, struct tree_event *event);

/* Reaps orphans. tree_look() does so, too: call this while the command runs on and nobody looks at the tree. */
void tree_reap(struct tree *tree);

/* Whether any process of the tree lives. */
bool tree_has_left(const struct tree *tree);

/* Stops watching, and frees everything. Safe on a zeroed or closed tree. */
void tree_close(struct tree *tree);

#endif
