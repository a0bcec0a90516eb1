/* SPDX-License-Identifier: MIT */
/* Which Python a process runs, as far as the names of its program and of its libraries tell. No memory of the process
 * is read. So a Python is known, too, that has no runtime which can be read. A program that has Python built in under
 * another name is not recognised. */
#ifndef PYREEL_RECORD_PROCESS_PYTHON_FILES_H
#define PYREEL_RECORD_PROCESS_PYTHON_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PYTHON_FILES_OLDEST 11 /* the oldest CPython 3.x that is read, as LAYOUT_FIRST says */

/* `= {0}` says nothing. */
struct python_files {
    size_t files;      /* programs and libraries that are mapped; 0: there are none, or they may not be looked at */
    bool cpython;      /* one of them has the name of a CPython, or of a module of one, of any version */
    unsigned minor;    /* of CPython 3.minor; 0: the names do not tell */
    bool narrow;       /* the program is a 32-bit program */
    const char *other; /* "PyPy", "GraalPy", "Python 2"; NULL: none of them */
};

/* Looks at the files of a process. */
struct python_files python_files_of(pid_t pid);

/* Whether the CPython that the files show is one that is read. False when they show none. */
static inline bool python_files_readable(const struct python_files *files)
{
    return files->cpython && !files->narrow && (files->minor == 0 || files->minor >= PYTHON_FILES_OLDEST);
}

#define PYTHON_FILES_NAME 64

/* Writes the name of a process for a message: that of the file of its program, which of a Python mostly has the
 * version. Where that is not known, the kernel's name. The process chose it, so it is written as it may be shown
 * (utf8.h). Returns `room`. */
const char *python_files_name(pid_t pid, char room[PYTHON_FILES_NAME]);

/* The minor version that the name of a file tells, if the file is a CPython or a module of one; 0: it tells none. The
 * folders of its path tell nothing: /opt/python3.9/app/libfoo.so may be of any Python. */
unsigned python_files_minor(const char *path);

/* Whether a path names a program or library of CPython: .../python3.11, .../libpython3.11.so.1.0. */
bool python_files_is_cpython(const char *path);

#endif
