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

/* Undoes what the kernel does to blanks and the like in a path: "\040" is a blank. */
static void undo_escapes(char *path)
{
    char *to = path;
    for (const char *at = path; *at; to++) {
        unsigned character;
        if (sscanf(at, "\\%3o", &character) != 1) {
            *to = *at++;
            continue;
        }
        *to = (char)character;
        at += strlen("\\040");
    }
    *to = '\0';
}

/* Takes a line of mountinfo: whether the hierarchy is mounted there; if so, at which place, and which of its cgroups is
 * shown:
 *
 *     32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu */
static bool take_mount(const char *line, const char *controller, char shown[PATH_MAX], char place[PATH_MAX])
{
    char type[32] = "", options[512] = "";
    const char *rest = strstr(line, " - ");
    if (strlen(line) >= PATH_MAX || !rest || sscanf(rest, " - %31s %*s %511s", type, options) < 1 ||
        sscanf(line, "%*s %*s %*s %s %s", shown, place) != 2)
        return false;
    undo_escapes(shown);
    undo_escapes(place);
    return controller ? strcmp(type, "cgroup") == 0 && list_has(options, controller) : strcmp(type, "cgroup2") == 0;
}

/* Whether the cgroup of this path can be seen in a mount. */
static bool place_cgroup(struct cgroup *cgroup, const char *root, const char *path, const char *shown,
                         const char *place)
{
    const size_t above = strcmp(shown, "/") == 0 ? 0 : strlen(shown);
    if (strncmp(path, shown, above) != 0 || (path[above] != '/' && path[above] != '\0') ||
        strlen(root) + strlen(place) + strlen(path + above) >= sizeof(cgroup->folder))
        return false;
    const int size = snprintf(cgroup->folder, sizeof(cgroup->folder), "%s%s%s", root, place, path + above);
    cgroup->top = strlen(root) + strlen(place);
    if (cgroup->folder[size - 1] == '/')
        cgroup->folder[size - 1] = '\0';
    return true;
}

/* A hierarchy may be mounted at several places, and a place may be hidden or show a part only. A cgroup that was
 * removed is in no place. */
bool cgroup_find(struct cgroup *cgroup, const char *root, pid_t pid, const char *controller)
{
    char path[PATH_MAX], shown[PATH_MAX], place[PATH_MAX], file_path[PATH_MAX], *line = NULL;
    size_t room = 0;
    bool found = false, there = false;
    if (!cgroup_path(root, pid, controller, path) || strstr(path, "/.."))
        return false;
    snprintf(file_path, sizeof(file_path), "%s/proc/self/mountinfo", root);
    FILE *file = fopen(file_path, "re");
    while (file && !there && getline(&line, &room, file) > 0)
        if (take_mount(line, controller, shown, place) && place_cgroup(cgroup, root, path, shown, place)) {
            found = true;
            there = access(cgroup->folder, F_OK) == 0;
        }
    free(line);
    if (file)
        fclose(file);
    return found;
}

bool cgroup_rise(struct cgroup *cgroup)
{
    char *slash = strrchr(cgroup->folder, '/');
    if (!slash || slash < cgroup->folder + cgroup->top)
        return false;
    *slash = '\0';
    return true;
}
