/* SPDX-License-Identifier: MIT */
#include "record/cgroup/freezer.h"

#include "record/cgroup/cgroup.h"

#include <string.h>
#include <unistd.h>

static int open_in(const char *root, pid_t pid, const char *controller, const char *name)
{
    struct cgroup cgroup;
    return cgroup_find(&cgroup, root, pid, controller) ? cgroup_open(&cgroup, name) : -1;
}

void freezer_open(struct freezer *freezer, const char *root, pid_t pid)
{
    *freezer = (struct freezer){ .opened = true,
                                 .events = open_in(root, pid, NULL, "cgroup.events"),
                                 .state = open_in(root, pid, "freezer", "freezer.state") };
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
