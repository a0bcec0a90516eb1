/* SPDX-License-Identifier: MIT */
#include "record/tree/runs_python.h"

#include "record/process/procfs.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool name_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool runs_python_by_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (name_begins(name, "libpython"))
        return true;
    if (!name_begins(name, "python") && !name_begins(name, "Python"))
        return false;
    name += strlen("python");
    name += strspn(name, "0123456789.");
    name += strspn(name, "tdmu"); /* free-threaded and debug builds, as in python3.15t */
    return *name == '\0' || strcmp(name, " (deleted)") == 0;
}

static bool program_of(pid_t pid, struct stat *file)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat(path, file) == 0;
}

/* Looks at the name of the program, and at the names of all mapped libraries. */
static bool process_guess(pid_t pid)
{
    char link[64], path[4096];
    struct images images;
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    const ssize_t size = readlink(link, path, sizeof(path) - 1);
    path[size > 0 ? size : 0] = '\0';
    if (runs_python_by_path(path))
        return true;
    if (!procfs_images(pid, &images))
        return false;
    bool python = false;
    for (size_t i = 0; i < images.count && !python; i++)
        python = runs_python_by_path(images.rows[i].path);
    procfs_images_free(&images);
    return python;
}

static void programs_note(struct programs *programs, const struct stat *file, bool python)
{
    programs->rows[programs->next] = (struct program){ file->st_dev, file->st_ino, python };
    programs->next = (programs->next + 1) % PROGRAMS_MOST;
    programs->count += programs->count < PROGRAMS_MOST;
}

static const struct program *programs_find(const struct programs *programs, const struct stat *file)
{
    for (size_t i = 0; i < programs->count; i++)
        if (programs->rows[i].device == file->st_dev && programs->rows[i].file == file->st_ino)
            return &programs->rows[i];
    return NULL;
}

bool runs_python(struct programs *programs, pid_t pid)
{
    struct stat file;
    if (!program_of(pid, &file))
        return false;
    const struct program *known = programs_find(programs, &file);
    if (known)
        return known->python;
    const bool python = process_guess(pid);
    programs_note(programs, &file, python);
    return python;
}

void runs_python_note(struct programs *programs, pid_t pid)
{
    struct stat file;
    if (program_of(pid, &file) && !programs_find(programs, &file))
        programs_note(programs, &file, true);
}
