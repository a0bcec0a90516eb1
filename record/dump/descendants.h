/* SPDX-License-Identifier: MIT */
/* The descendants of a process, as /proc has them now. A process whose parent has ended belongs to another process
 * since then, and is not found. */
#ifndef PYREEL_RECORD_DUMP_DESCENDANTS_H
#define PYREEL_RECORD_DUMP_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

#define DESCENDANTS_LIMIT 65536 /* the most processes that are looked at */

/* A process and its parent. */
struct descendant {
    pid_t pid, parent;
};

/* The process itself, then its descendants: each behind its parent, in the order of their numbers. The caller frees the
 * array with free(). */
struct descendant *descendants_of(pid_t pid, size_t *count);

#endif
