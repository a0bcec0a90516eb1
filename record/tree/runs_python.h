/* SPDX-License-Identifier: MIT */
/* Guesses whether a process runs Python, without reading its memory: from the name of its program, and from the
 * libraries that it has mapped. A program that has Python built in under another name is not recognised. The guess is
 * the same for all processes of a program, so it is made once: after that, a process costs one system call. */
#ifndef PYREEL_RECORD_TREE_RUNS_PYTHON_H
#define PYREEL_RECORD_TREE_RUNS_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROGRAMS_MOST 64 /* programs that are remembered: the last ones */

/* `= {0}` is empty. */
struct programs {
    struct program {
        dev_t device;
        ino_t file;
        bool python;
    } rows[PROGRAMS_MOST];
    size_t count, next;
};

/* Whether the process seems to run Python. False when there is no such process, or it may not be looked at. */
bool runs_python(struct programs *programs, pid_t pid);

/* Notes that the program of this process is Python, whatever its name. */
void runs_python_note(struct programs *programs, pid_t pid);

/* Whether a path names a program or library of CPython: .../python3.11, .../libpython3.11.so.1.0. */
bool runs_python_by_path(const char *path);

#endif
