/* SPDX-License-Identifier: MIT */
/* Which descendant of a process runs Python. Who names a shell, a bundle's loader, `timeout` or `sudo` means the Python
 * below it. */
#ifndef PYREEL_RECORD_TREE_PYTHON_KIN_H
#define PYREEL_RECORD_TREE_PYTHON_KIN_H

#include "formats/base/fault.h"

#include <stddef.h>
#include <sys/types.h>

#define PYTHON_KIN_MOST 1024 /* descendants that are looked at, the nearest first */

/* `= {0}` is nobody. */
struct python_kin {
    pid_t pid;     /* the nearest descendant that runs Python, one that can be read if there is one; 0: there is none */
    bool child;    /* it is a child of the process */
    bool readable; /* it seems to be a CPython that can be read */
    size_t others; /* descendants that are so, too */
};

/* Looks at the descendants of a process, as /proc has them now. */
struct python_kin python_kin_of(pid_t pid);

/* The words for what the user can do: "use ONE PID, or -f to WHOLE the whole tree". */
struct python_kin_words {
    const char *one, *whole;
};

/* Adds to `why`, which says why a process cannot be read, which descendant runs Python. `is_python`: the process runs a
 * Python itself. Nothing is added when no descendant does. */
void python_kin_explain(pid_t pid, bool is_python, const struct python_kin_words *words, struct fault *why);

#endif
