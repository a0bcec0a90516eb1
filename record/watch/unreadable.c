/* SPDX-License-Identifier: MIT */
#include "record/watch/unreadable.h"

#include "record/process/python_files.h"
#include "record/python/layout.h"

#include <stdio.h>

/* Names a CPython: "CPython 3.12", or without the version when it is not known. */
static const char *cpython_text(const struct python_files *files, char room[32])
{
    snprintf(room, 32, files->minor ? "CPython 3.%u" : "CPython", files->minor);
    return room;
}

static bool fault_old(const struct python_files *files, struct fault *why)
{
    char name[32];
    return fault(why, "it seems to run %s, and this version of pyreel reads CPython " LAYOUT_SUPPORTED,
                 cpython_text(files, name));
}

static bool fault_narrow(const struct python_files *files, struct fault *why)
{
    char name[32];
    return fault(
        why, "it seems to run a 32-bit %s, and this version of pyreel reads 64-bit builds of CPython " LAYOUT_SUPPORTED,
        cpython_text(files, name));
}

bool unreadable_by_files(pid_t pid, struct fault *why)
{
    const struct python_files files = python_files_of(pid);
    if (files.other)
        return true;
    if (!files.cpython || python_files_readable(&files))
        return false;
    return !(files.narrow ? fault_narrow(&files, why) : fault_old(&files, why));
}

bool unreadable_without_runtime(pid_t pid, struct fault *why)
{
    const struct python_files files = python_files_of(pid);
    char name[32];
    return python_files_readable(&files) &&
           !fault(
               why,
               "it seems to run %s, but in none of the %zu programs and libraries in its memory was the state of one "
               "found (the symbol _PyRuntime or the section .PyRuntime): they may be stripped",
               cpython_text(&files, name), files.files);
}

bool unreadable_explain(pid_t pid, struct fault *why)
{
    const struct python_files files = python_files_of(pid);
    if (files.files == 0)
        return fault(why, "no CPython interpreter was found in process %d: it has no program in its memory", (int)pid);
    if (files.other)
        return fault(why,
                     "no CPython interpreter was found in process %d: it runs %s; this version of pyreel reads "
                     "CPython " LAYOUT_SUPPORTED,
                     (int)pid, files.other);
    return fault(why,
                 "no CPython interpreter was found in process %d: its memory may be read, and none of the %zu programs "
                 "and libraries in it is one, or has the symbols of one; this version of pyreel reads "
                 "CPython " LAYOUT_SUPPORTED,
                 (int)pid, files.files);
}
