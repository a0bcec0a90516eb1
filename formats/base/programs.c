/* SPDX-License-Identifier: MIT */
#include "formats/base/programs.h"

#include "formats/base/alloc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const rooms[] = { "pyreel", "record", "convert" }; /* the folders of programs in a build folder */

char *programs_own_folder(void)
{
    char path[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
    if (size <= 0 || size == sizeof(path))
        return NULL;
    path[size] = '\0';
    char *const slash = strrchr(path, '/');
    return slash ? alloc_copy(path, (size_t)(slash - path)) : NULL;
}

char *programs_find_in(const char *folder, size_t size, const char *program)
{
    const size_t room = size + strlen(program) + 2;
    char *const path = alloc_zeroed(room, 1);
    struct stat status;
    snprintf(path, room, "%.*s/%s", (int)size, folder, program);
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static bool is_room(const char *name)
{
    for (size_t i = 0; i < countof(rooms); i++)
        if (strcmp(rooms[i], name) == 0)
            return true;
    return false;
}

/* Finds a program beside the one that asks, or in another room of a build folder. */
static char *find_near(const char *folder, const char *program)
{
    char *found = programs_find_in(folder, strlen(folder), program);
    const char *const slash = strrchr(folder, '/');
    for (size_t i = 0; !found && slash && is_room(slash + 1) && i < countof(rooms); i++) {
        char *const room = alloc_zeroed(strlen(folder) + strlen(rooms[i]) + 1, 1);
        const int size = sprintf(room, "%.*s/%s", (int)(slash - folder), folder, rooms[i]);
        found = programs_find_in(room, (size_t)size, program);
        free(room);
    }
    return found;
}

bool programs_next_folder(const char **list, const char **folder, size_t *size)
{
    if (!*list)
        return false;
    *folder = *list;
    *size = strcspn(*list, ":");
    *list = (*list)[*size] ? *list + *size + 1 : NULL;
    if (*size == 0) {
        *folder = ".";
        *size = 1;
    }
    return true;
}

char *programs_find(const char *program)
{
    char *const own = programs_own_folder();
    char *found = own ? find_near(own, program) : NULL;
    free(own);
    const char *list = getenv("PATH"), *folder;
    for (size_t size; !found && programs_next_folder(&list, &folder, &size);)
        found = programs_find_in(folder, size, program);
    return found;
}
