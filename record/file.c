/* SPDX-License-Identifier: MIT */
#include "record/file.h"

#include "formats/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Options of python3 that take the next argument as their value. */
static bool takes_value(const char *option)
{
    return strcmp(option, "-X") == 0 || strcmp(option, "-W") == 0;
}

/* What a Python runs: the script, or the module behind -m; NULL when it runs neither. */
static const char *python_program(const char *arguments, const char *end)
{
    const char *at = arguments + strlen(arguments) + 1;
    while (at < end && *at == '-') {
        const bool module = strcmp(at, "-m") == 0;
        if (strcmp(at, "-c") == 0 || strcmp(at, "-") == 0)
            return NULL;
        const bool skip = takes_value(at);
        at += strlen(at) + 1;
        if (module)
            break;
        if (skip && at < end)
            at += strlen(at) + 1;
    }
    return at < end && *at ? at : NULL;
}

/* NAME of the default file name: letters that every file system takes. */
static char *program_name(struct text arguments)
{
    char *copy = alloc_copy(arguments.bytes, arguments.size);
    const char *name = arguments.size ? base_name(copy) : "python";
    if (strncmp(name, "python", 6) == 0 && arguments.size) {
        const char *program = python_program(copy, copy + arguments.size);
        name = program ? base_name(program) : name;
    }
    size_t size = strlen(name);
    if (size > 3 && strcmp(name + size - 3, ".py") == 0)
        size -= 3;
    char *result = alloc_copy(name, size < 100 ? size : 100);
    for (char *c = result; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._+", *c))
            *c = '_';
    free(copy);
    return result;
}

static char *default_path(pid_t pid, struct text arguments)
{
    char *name = program_name(arguments);
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

bool recording_file_open(struct recording_file *file, const char *path, pid_t pid, struct text arguments,
                         struct fault *why)
{
    *file = (struct recording_file){ .fd = STDOUT_FILENO };
    file->path = path ? alloc_copy(path, strlen(path)) : default_path(pid, arguments);
    if (strcmp(file->path, "-") == 0)
        return true;
    const int how = path ? O_TRUNC : O_EXCL | O_NOFOLLOW;
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666);
    if (file->fd >= 0)
        return true;
    fault(why, "cannot create %s: %s%s", file->path, strerror(errno), errno == EEXIST ? "; name another with -o" : "");
    free(file->path);
    file->path = NULL;
    return false;
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
