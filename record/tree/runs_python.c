/* SPDX-License-Identifier: MIT */
#include "record/tree/runs_python.h"

#include "record/process/procfs.h"
#include "record/process/python_files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool program_of(pid_t pid, struct stat *file)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat(path, file) == 0;
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
    const struct python_files files = python_files_of(pid);
    programs_note(programs, &file, python_files_readable(&files));
    return python_files_readable(&files);
}

bool runs_python_by_now(pid_t pid)
{
    const struct python_files files = python_files_of(pid);
    return python_files_readable(&files);
}

bool runs_python_by_name(pid_t pid)
{
    const struct text command = procfs_command(pid);
    const char *blank = command.size ? memchr(command.bytes, ' ', command.size) : NULL;
    const struct text word = { command.bytes, blank ? (size_t)(blank - command.bytes) : command.size };
    const char *slash = word.size ? memrchr(word.bytes, '/', word.size) : NULL;
    const size_t folder = slash ? (size_t)(slash + 1 - word.bytes) : 0;
    const bool named = text_begins((struct text){ word.bytes + folder, word.size - folder }, TEXT("python"));
    text_free(command);
    return named;
}

void runs_python_note(struct programs *programs, pid_t pid)
{
    struct stat file;
    if (program_of(pid, &file) && !programs_find(programs, &file))
        programs_note(programs, &file, true);
}
