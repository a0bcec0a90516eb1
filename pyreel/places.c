/* SPDX-License-Identifier: MIT */
#include "pyreel/places.h"

#include "formats/base/alloc.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char own_room[] = "pyreel";                    /* the folder of pyreel in a build folder, ... */
static const char *const rooms[] = { "record", "convert" }; /* ... and the folders of the other programs */

char *places_own_folder(void)
{
    char path[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
    if (size <= 0 || size == sizeof(path))
        return NULL;
    path[size] = '\0';
    char *const slash = strrchr(path, '/');
    return slash ? alloc_copy(path, (size_t)(slash - path)) : NULL;
}

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool place_is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Makes a path of a folder and what follows it. The path is owned. */
static char *join(const char *folder, size_t folder_size, const char *between, const char *name)
{
    const size_t size = folder_size + strlen(between) + strlen(name) + 2;
    char *const path = alloc_zeroed(size, 1);
    snprintf(path, size, "%.*s%s/%s", (int)folder_size, folder, between, name);
    return path;
}

/* Returns the path when `is_it` is true of it, else NULL. */
static char *checked(char *path, bool (*is_it)(const char *path))
{
    if (is_it(path))
        return path;
    free(path);
    return NULL;
}

static char *place_find_in(const char *folder, size_t size, const char *between, const char *program)
{
    return checked(join(folder, size, between, program), is_program);
}

/* Finds a program beside pyreel, or in another room of a build folder. */
static char *find_near(const char *folder, const char *program)
{
    char *found = place_find_in(folder, strlen(folder), "", program);
    const char *const slash = strrchr(folder, '/');
    if (!slash || strcmp(slash + 1, own_room) != 0)
        return found;
    for (size_t i = 0; !found && i < countof(rooms); i++)
        found = place_find_in(folder, (size_t)(slash + 1 - folder), rooms[i], program);
    return found;
}

/* Takes the next folder of PATH, and moves *list behind the colon. An empty folder is the current one. */
static bool take_folder(const char **list, const char **folder, size_t *size)
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

char *places_find(const char *program)
{
    char *const own = places_own_folder();
    char *found = own ? find_near(own, program) : NULL;
    free(own);
    const char *list = getenv("PATH"), *folder;
    for (size_t size; !found && take_folder(&list, &folder, &size);)
        found = place_find_in(folder, size, "", program);
    return found;
}

char *places_find_page(const char *page)
{
    static const char *const endings[] = { ".1", ".1.gz" };
    char *const own = places_own_folder();
    char *found = NULL;
    for (size_t i = 0; own && !found && i < countof(endings); i++) {
        char file[VERB_SIZE + 32];
        snprintf(file, sizeof(file), "%s%s", page, endings[i]);
        found = checked(join(own, strlen(own), "/../share/man/man1", file), place_is_file);
    }
    free(own);
    return found;
}

/* ---- verbs of others ---- */

static int verb_compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool verb_is_known(const struct other_verbs *others, const char *verb)
{
    for (size_t i = 0; i < others->count; i++)
        if (strcmp(others->names[i], verb) == 0)
            return true;
    return verb_is_ours(verb);
}

static void look_into(struct other_verbs *others, const char *folder)
{
    DIR *const entries = opendir(folder);
    if (!entries)
        return;
    for (struct dirent *entry; (entry = readdir(entries)) && others->count < PLACES_OTHERS_MOST;) {
        const char *const verb = entry->d_name + strlen(VERB_PREFIX);
        if (strncmp(entry->d_name, VERB_PREFIX, strlen(VERB_PREFIX)) != 0 || !verb_is_possible(verb) ||
            verb_is_known(others, verb))
            continue;
        char *const path = place_find_in(folder, strlen(folder), "", entry->d_name);
        if (path)
            snprintf(others->names[others->count++], VERB_SIZE, "%s", verb);
        free(path);
    }
    closedir(entries);
}

void places_find_others(struct other_verbs *others)
{
    *others = (struct other_verbs){ 0 };
    char *const own = places_own_folder();
    if (own)
        look_into(others, own);
    free(own);
    const char *list = getenv("PATH"), *folder;
    for (size_t size; take_folder(&list, &folder, &size);) {
        char *const copy = alloc_copy(folder, size);
        look_into(others, copy);
        free(copy);
    }
    qsort(others->names, others->count, sizeof(others->names[0]), verb_compare_names);
}
