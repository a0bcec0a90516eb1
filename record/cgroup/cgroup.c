/* SPDX-License-Identifier: MIT */
#include "record/cgroup/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- files ---- */

bool cgroup_read(int file, char *room, size_t size)
{
    const ssize_t got = file >= 0 ? pread(file, room, size - 1, 0) : -1;
    room[got > 0 ? got : 0] = '\0';
    return got > 0;
}

int cgroup_open(const struct cgroup *cgroup, const char *name)
{
    char path[PATH_MAX + 32];
    if (snprintf(path, sizeof(path), "%s/%s", cgroup->folder, name) >= (int)sizeof(path))
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool cgroup_read_file(const struct cgroup *cgroup, const char *name, char *room, size_t size)
{
    const int file = cgroup_open(cgroup, name);
    const bool good = cgroup_read(file, room, size);
    if (file >= 0)
        close(file);
    return good;
}

/* ---- finding ---- */

/* Whether a list with commas has the word. */
static bool list_has(const char *list, const char *word)
{
    const size_t size = strlen(word);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, size) == 0 && (at[size] == ',' || at[size] == '\0'))
            return true;
    return false;
}

/* Finds the path of a process's cgroup: "0::/a/b" in version 2, "4:cpu,cpuacct:/a/b" in version 1. */
static bool cgroup_path(const char *root, pid_t pid, const char *controller, char path[PATH_MAX])
{
    char file_path[PATH_MAX], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(file_path, sizeof(file_path), "%s/proc/%d/cgroup", root, (int)pid);
    FILE *file = fopen(file_path, "re");
    while (file && !found && getline(&line, &room, file) > 0) {
        char *list = strchr(line, ':'), *own = list ? strchr(list + 1, ':') : NULL;
        if (!own)
            continue;
        *own++ = '\0';
        own[strcspn(own, "\n")] = '\0';
        found = (controller ? list_has(list + 1, controller) : list[1] == '\0') &&
                snprintf(path, PATH_MAX, "%s", own) < PATH_MAX;
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Finds where the hierarchy is mounted, and which of its cgroups is there. A line of mountinfo:
 *
 *     32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu */
static bool cgroup_mount(const char *root, const char *controller, char shown[PATH_MAX], char place[PATH_MAX])
{
    char file_path[PATH_MAX], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(file_path, sizeof(file_path), "%s/proc/self/mountinfo", root);
    FILE *file = fopen(file_path, "re");
    while (file && !found && getline(&line, &room, file) > 0) {
        char type[32] = "", options[512] = "";
        const char *rest = strstr(line, " - ");
        if (strlen(line) >= PATH_MAX || !rest || sscanf(rest, " - %31s %*s %511s", type, options) < 1 ||
            sscanf(line, "%*s %*s %*s %s %s", shown, place) != 2)
            continue;
        found = controller ? strcmp(type, "cgroup") == 0 && list_has(options, controller)
                           : strcmp(type, "cgroup2") == 0;
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

bool cgroup_find(struct cgroup *cgroup, const char *root, pid_t pid, const char *controller)
{
    char path[PATH_MAX], shown[PATH_MAX], place[PATH_MAX];
    if (!cgroup_path(root, pid, controller, path) || !cgroup_mount(root, controller, shown, place))
        return false;
    const size_t above = strcmp(shown, "/") == 0 ? 0 : strlen(shown);
    if (strncmp(path, shown, above) != 0 || (path[above] != '/' && path[above] != '\0') || strstr(path, "/.."))
        return false;
    const int size = snprintf(cgroup->folder, sizeof(cgroup->folder), "%s%s%s", root, place, path + above);
    cgroup->top = strlen(root) + strlen(place);
    if (size >= (int)sizeof(cgroup->folder))
        return false;
    if (cgroup->folder[size - 1] == '/')
        cgroup->folder[size - 1] = '\0';
    return true;
}

bool cgroup_rise(struct cgroup *cgroup)
{
    char *slash = strrchr(cgroup->folder, '/');
    if (!slash || slash < cgroup->folder + cgroup->top)
        return false;
    *slash = '\0';
    return true;
}
