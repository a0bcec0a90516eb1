/* SPDX-License-Identifier: MIT */
#include "convert/newest.h"

#include "convert/parts.h"
#include "formats/base/alloc.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ENDING   ".pyreel"
#define LOOKS_AT 10000 /* files of a folder that are looked at, at most */

static void newest_add(struct newest *newest, const char *name)
{
    newest->paths = alloc_grow(newest->paths, &newest->room, newest->count + 1, sizeof(*newest->paths));
    newest->paths[newest->count++] = alloc_copy(name, strlen(name));
}

static bool newest_is_recording(const struct dirent *entry, struct stat *there)
{
    return text_ends(text_of(entry->d_name), TEXT(ENDING)) && entry->d_name[0] != '.' &&
           stat(entry->d_name, there) == 0 && S_ISREG(there->st_mode);
}

/* Whether a file was written after another one; of two at the same time, the one whose name comes later. */
static bool is_newer(const struct stat *a, const char *a_name, const struct stat *b, const char *b_name)
{
    if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
        return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
    if (a->st_mtim.tv_nsec != b->st_mtim.tv_nsec)
        return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
    return strcmp(a_name, b_name) > 0;
}

static void newest_find_file(struct newest *newest, DIR *folder)
{
    struct stat best = { 0 }, there;
    int left = LOOKS_AT;
    for (const struct dirent *entry; left-- > 0 && (entry = readdir(folder));) {
        if (!newest_is_recording(entry, &there) ||
            (newest->count > 0 && !is_newer(&there, entry->d_name, &best, newest->paths[0])))
            continue;
        newest_free(newest);
        newest_add(newest, entry->d_name);
        best = there;
    }
}

/* Adds the other files of the same recording. */
static void newest_add_parts(struct newest *newest, DIR *folder)
{
    const struct part_header first = parts_read_header(newest->paths[0]);
    struct stat there;
    int left = first.part ? LOOKS_AT : 0;
    rewinddir(folder);
    for (const struct dirent *entry; left-- > 0 && (entry = readdir(folder));) {
        if (!newest_is_recording(entry, &there) || strcmp(entry->d_name, newest->paths[0]) == 0)
            continue;
        const struct part_header other = parts_read_header(entry->d_name);
        if (parts_are_of_one(&first, &other))
            newest_add(newest, entry->d_name);
        text_free(other.host);
    }
    text_free(first.host);
}

void newest_find(struct newest *newest)
{
    DIR *folder = opendir(".");
    if (!folder)
        return;
    newest_find_file(newest, folder);
    if (newest->count > 0)
        newest_add_parts(newest, folder);
    closedir(folder);
}

void newest_free(struct newest *newest)
{
    for (size_t i = 0; i < newest->count; i++)
        free(newest->paths[i]);
    free(newest->paths);
    *newest = (struct newest){ 0 };
}
