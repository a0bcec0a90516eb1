/* SPDX-License-Identifier: MIT */
#include "pyreel/places.h"

#include "formats/base/alloc.h"
#include "formats/base/programs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool place_is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

char *places_find_page(const char *page)
{
    static const char *const endings[] = { ".1", ".1.gz" };
    char *const own = programs_own_folder();
    char *found = NULL;
    for (size_t i = 0; own && !found && i < countof(endings); i++) {
        const size_t size = strlen(own) + strlen(page) + 64;
        found = alloc_zeroed(size, 1);
        snprintf(found, size, "%s/../share/man/man1/%s%s", own, page, endings[i]);
        if (place_is_file(found))
            break;
        free(found);
        found = NULL;
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
        char *const path = programs_find_in(folder, strlen(folder), entry->d_name);
        if (path)
            snprintf(others->names[others->count++], VERB_SIZE, "%s", verb);
        free(path);
    }
    closedir(entries);
}

void places_find_others(struct other_verbs *others)
{
    *others = (struct other_verbs){ 0 };
    char *const own = programs_own_folder();
    if (own)
        look_into(others, own);
    free(own);
    const char *list = getenv("PATH"), *folder;
    for (size_t size; programs_next_folder(&list, &folder, &size);) {
        char *const copy = alloc_copy(folder, size);
        look_into(others, copy);
        free(copy);
    }
    qsort(others->names, others->count, sizeof(others->names[0]), verb_compare_names);
}
