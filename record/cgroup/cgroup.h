/* SPDX-License-Identifier: MIT */
/* Where the files of a process's cgroup are. There are two versions of cgroups, and a machine may have both: version 2
 * has one hierarchy for all controllers, version 1 one for each. A container mostly sees its own cgroup as the root,
 * and no cgroup beyond. */
#ifndef PYREEL_RECORD_CGROUP_CGROUP_H
#define PYREEL_RECORD_CGROUP_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The folder of a cgroup. */
struct cgroup {
    char folder[PATH_MAX];
    size_t top; /* length of the part that is the topmost cgroup which can be seen */
};

/* Finds the cgroup of a process in the hierarchy of a controller of version 1 ("cpu", "freezer"), or with NULL in that
 * of version 2. `root` is "", or in tests a folder that has the files. False when there is none, or it cannot be seen.
 */
bool cgroup_find(struct cgroup *cgroup, const char *root, pid_t pid, const char *controller);

/* Becomes the cgroup above. False when it is the topmost one. */
bool cgroup_rise(struct cgroup *cgroup);

/* Opens a file of the cgroup; -1: there is none. */
int cgroup_open(const struct cgroup *cgroup, const char *name);

/* Reads the beginning of an open file as a string. False when there is nothing, as in a file that is -1. */
bool cgroup_read(int file, char *room, size_t size);

/* Reads the beginning of a file of the cgroup as cgroup_read() does. Opens the file, and closes it. */
bool cgroup_read_file(const struct cgroup *cgroup, const char *name, char *room, size_t size);

#endif
