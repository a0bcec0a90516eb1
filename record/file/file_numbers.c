/* SPDX-License-Identifier: MIT */
#include "record/file/file_numbers.h"

#include "formats/base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING      ".pyreel"
#define NUMBER_MOST 99999999u
#define TRIES       1000 /* numbers that are tried when somebody else makes files with the same stem */

/* ---- names ---- */

static char *file_numbers_path(const struct file_numbers *numbers, uint32_t number)
{
    char *path = NULL;
    if (asprintf(&path, "%s-%04u" ENDING, numbers->stem, number) < 0)
        path = alloc_copy("recording" ENDING, strlen("recording" ENDING));
    return path;
}

/* The number in the name of a file: 12 for "app-0012.pyreel" and the stem "app"; 0: the name is another one. */
static uint32_t file_name_number(const char *name, const char *stem)
{
    const size_t size = strlen(stem);
    char *end;
    if (strncmp(name, stem, size) != 0 || name[size] != '-' || name[size + 1] < '0' || name[size + 1] > '9')
        return 0;
    errno = 0;
    const unsigned long number = strtoul(name + size + 1, &end, 10);
    return errno == 0 && strcmp(end, ENDING) == 0 && number <= NUMBER_MOST ? (uint32_t)number : 0;
}

/* The highest number in the folder; 0: none, or the folder cannot be read. */
static uint32_t highest_number(const char *stem)
{
    const char *slash = strrchr(stem, '/');
    const char *name = slash ? slash + 1 : stem;
    char *folder = slash ? alloc_copy(stem, (size_t)(slash - stem) + 1) : alloc_copy(".", 1);
    DIR *entries = opendir(folder);
    uint32_t highest = 0;
    for (const struct dirent *entry; entries && (entry = readdir(entries));) {
        const uint32_t number = file_name_number(entry->d_name, name);
        highest = number > highest ? number : highest;
    }
    if (entries)
        closedir(entries);
    free(folder);
    return highest;
}

void file_numbers_open(struct file_numbers *numbers, const char *output, uint32_t keep, pid_t pid, struct text command)
{
    char *path = recording_file_path(output, pid, command);
    const size_t size = strlen(path), ending = strlen(ENDING);
    if (size > ending && strcmp(path + size - ending, ENDING) == 0 && path[size - ending - 1] != '/')
        path[size - ending] = '\0';
    *numbers = (struct file_numbers){ .stem = path, .keep = keep };
    numbers->last = highest_number(numbers->stem);
}

/* ---- files ---- */

/* Notes that the file is ours. */
static void note_ours(struct file_numbers *numbers, const struct recording_file *file)
{
    struct stat there;
    if (numbers->keep == 0 || fstat(file->fd, &there) != 0)
        return;
    numbers->ours = alloc_grow(numbers->ours, &numbers->room, numbers->count + 1, sizeof(*numbers->ours));
    numbers->ours[numbers->count++] = (struct numbered){ numbers->last, there.st_dev, there.st_ino };
}

bool file_numbers_next(struct file_numbers *numbers, struct recording_file *file, struct fault *why)
{
    const uint32_t before = numbers->last;
    for (uint32_t tries = 0; tries < TRIES && numbers->last < NUMBER_MOST; tries++) {
        char *path = file_numbers_path(numbers, ++numbers->last);
        struct fault cause = { 0 };
        const bool created = recording_file_create(file, path, &cause);
        const bool is_there = !created && errno == EEXIST;
        free(path);
        if (created) {
            note_ours(numbers, file);
            return true;
        }
        if (is_there)
            continue;
        numbers->last = before; /* the number is free: it is tried again */
        return fault(why, "%s", cause.text);
    }
    return fault(why, "cannot create %s-N" ENDING ": too many files have such names", numbers->stem);
}

static void delete_file(const struct file_numbers *numbers, const struct numbered *file)
{
    struct stat there;
    char *path = file_numbers_path(numbers, file->number);
    if (lstat(path, &there) == 0 && there.st_dev == file->device && there.st_ino == file->inode)
        unlink(path);
    free(path);
}

void file_numbers_tidy(struct file_numbers *numbers)
{
    while (numbers->keep > 0 && numbers->count > numbers->keep) {
        delete_file(numbers, &numbers->ours[0]);
        memmove(numbers->ours, numbers->ours + 1, --numbers->count * sizeof(*numbers->ours));
    }
}

void file_numbers_close(struct file_numbers *numbers)
{
    free(numbers->stem);
    free(numbers->ours);
    *numbers = (struct file_numbers){ 0 };
}
