/* SPDX-License-Identifier: MIT */
#include "record/file.h"

#include "formats/alloc.h"
#include "formats/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *default_path(pid_t pid, struct text command)
{
    char *name = program_name(command);
    char *path = NULL;
    if (asprintf(&path, "%s-%d.pyreel", name, (int)pid) < 0)
        path = alloc_copy("recording.pyreel", 16);
    free(name);
    return path;
}

bool recording_is_for_terminal(const char *path)
{
    return path && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO);
}

bool recording_file_open(struct recording_file *file, const char *path, pid_t pid, struct text command,
                         struct fault *why)
{
    *file = (struct recording_file){ .fd = STDOUT_FILENO };
    file->path = path ? alloc_copy(path, strlen(path)) : default_path(pid, command);
    if (strcmp(file->path, "-") == 0)
        return true;
    const int how = O_WRONLY | O_CREAT | O_CLOEXEC;
    file->fd = open(file->path, how | O_EXCL | O_NOFOLLOW, 0666);
    file->created = file->fd >= 0;
    if (!file->created && errno == EEXIST && path)
        file->fd = open(file->path, how, 0666);
    if (file->fd >= 0)
        return true;
    fault(why, "cannot create %s: %s%s", file->path, strerror(errno), path ? "" : "; name a file with -o");
    free(file->path);
    file->path = NULL;
    return false;
}

bool recording_file_begin(struct recording_file *file, struct fault *why)
{
    struct stat kind;
    if (file->created || fstat(file->fd, &kind) != 0 || !S_ISREG(kind.st_mode) || file->fd == STDOUT_FILENO)
        return true;
    return ftruncate(file->fd, 0) == 0 || fault(why, "cannot write %s: %s", file->path, strerror(errno));
}

void recording_file_discard(struct recording_file *file)
{
    struct fault unused = { 0 };
    if (file->path && file->created)
        unlink(file->path);
    recording_file_close(file, &unused);
}

bool recording_file_close(struct recording_file *file, struct fault *why)
{
    bool good = true;
    if (file->path && file->fd != STDOUT_FILENO && close(file->fd) != 0)
        good = fault(why, "cannot write %s: %s", file->path, strerror(errno));
    free(file->path);
    *file = (struct recording_file){ .fd = -1 };
    return good;
}
