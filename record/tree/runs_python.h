/* SPDX-License-Identifier: MIT */
/* Guesses whether a process runs a CPython that can be read, without reading its memory: from its files
 * (python_files.h). The guess is the same for all processes of a program, so it is made once: after that, a process
 * costs one system call. */
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

/* Whether the process seems to run such a CPython. False when there is no such process, or it may not be looked at. */
bool runs_python(struct programs *programs, pid_t pid);

/* The same of a process that has run for a while. What was guessed of another process of its program does not count,
 * and nothing is remembered: the loader of a bundle runs the program of the Python that it starts. */
bool runs_python_by_now(pid_t pid);

/* The same of a process whose files may not be looked at, from the name of its program on the command line. */
bool runs_python_by_name(pid_t pid);

/* Notes that the program of this process is Python, whatever its name. */
void runs_python_note(struct programs *programs, pid_t pid);

#endif
