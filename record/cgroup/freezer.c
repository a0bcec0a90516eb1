/* SPDX-License-Identifier: MIT */
#include "record/cgroup/freezer.h"

#include "record/cgroup/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLACE_ROOM 4096 /* bytes of /proc/PID/cgroup that are looked at */

static int open_in(const char *root, pid_t pid, const char *controller, const char *name)
{
    struct cgroup cgroup;
    return cgroup_find(&cgroup, root, pid, controller) ? cgroup_open(&cgroup, name) : -1;
}

/* Reads where the process is: a line for each hierarchy. */
static uint64_t place_mark(const char *root, pid_t pid)
{
    char path[PATH_MAX], text[PLACE_ROOM];
    uint64_t mark = 0;
    snprintf(path, sizeof(path), "%s/proc/%d/cgroup", root, (int)pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    cgroup_read(file, text, sizeof(text));
    if (file >= 0)
        close(file);
    for (const char *at = text; *at; at++)
        mark = mark * 31 + (unsigned char)*at;
    return mark;
}

void freezer_open(struct freezer *freezer, const char *root, pid_t pid)
{
    *freezer = (struct freezer){ .opened = true,
                                 .pid = pid,
                                 .place = place_mark(root, pid),
                                 .events = open_in(root, pid, NULL, "cgroup.events"),
                                 .state = open_in(root, pid, "freezer", "freezer.state") };
}

void freezer_follow(struct freezer *freezer, const char *root)
{
    const pid_t pid = freezer->pid;
    if (!freezer->opened || freezer->place == place_mark(root, pid))
        return;
    freezer_close(freezer);
    freezer_open(freezer, root, pid);
}

bool freezer_is_frozen(const struct freezer *freezer)
{
    char text[256];
    if (!freezer->opened)
        return false;
    return (cgroup_read(freezer->events, text, sizeof(text)) && strstr(text, "frozen 1")) ||
           (cgroup_read(freezer->state, text, sizeof(text)) && strncmp(text, "FROZEN", 6) == 0);
}

void freezer_close(struct freezer *freezer)
{
    if (freezer->opened && freezer->events >= 0)
        close(freezer->events);
    if (freezer->opened && freezer->state >= 0)
        close(freezer->state);
    *freezer = (struct freezer){ 0 };
}
