/* SPDX-License-Identifier: MIT */
/* Pythons that cannot be read although their memory may be: those that are no CPython, 32-bit ones, those that are too
 * old to have a runtime, and those whose runtime has no symbol. The files of the process tell which Python it is. */
#ifndef PYREEL_RECORD_WATCH_UNREADABLE_H
#define PYREEL_RECORD_WATCH_UNREADABLE_H

#include "formats/base/fault.h"

#include <sys/types.h>

/* Whether the files of a process are those of a Python that is never read, whatever its memory has. Of a CPython, says
 * in `why` what it is; of another Python, unreadable_explain() does. */
bool unreadable_by_files(pid_t pid, struct fault *why);

/* Whether a process in whose memory no runtime was found has the files of a CPython. Says so in `why`. */
bool unreadable_without_runtime(pid_t pid, struct fault *why);

/* Says what a process runs in the place of a CPython that can be read, as far as its files tell. Always returns false.
 */
bool unreadable_explain(pid_t pid, struct fault *why);

#endif
