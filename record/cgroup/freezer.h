/* SPDX-License-Identifier: MIT */
/* Whether a process is frozen: nothing of its cgroup runs, as in a container that is paused. Version 2 of cgroups says
 * so in cgroup.events, version 1 in freezer.state; both count a cgroup above that is frozen. */
#ifndef PYREEL_RECORD_CGROUP_FREEZER_H
#define PYREEL_RECORD_CGROUP_FREEZER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* `= {0}` is closed: its process is never frozen. */
struct freezer {
    bool opened;
    pid_t pid;
    uint64_t place;    /* hash of the names of its cgroups */
    int events, state; /* -1: the process has no cgroup of this version that can be frozen */
};

/* Opens the files of the cgroup that the process has now. Cannot fail. `root` is "", or in tests a folder. */
void freezer_open(struct freezer *freezer, const char *root, pid_t pid);

/* Opens the files anew if the process was moved to another cgroup. Takes three system calls if not. */
void freezer_follow(struct freezer *freezer, const char *root);

/* Takes a system call for each version of cgroups. */
bool freezer_is_frozen(const struct freezer *freezer);

void freezer_close(struct freezer *freezer);

#endif
