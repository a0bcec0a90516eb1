/* SPDX-License-Identifier: MIT */
#include "record/process/python_files.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "record/process/procfs.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MINOR_DIGITS 3

static bool name_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *python_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool python_files_is_cpython(const char *path)
{
    const char *name = python_file_name(path);
    if (name_begins(name, "libpython"))
        return true;
    if (!name_begins(name, "python") && !name_begins(name, "Python"))
        return false;
    name += strlen("python");
    name += strspn(name, "0123456789.");
    name += strspn(name, "tdmu"); /* free-threaded and debug builds, as in python3.15t */
    return *name == '\0' || strcmp(name, " (deleted)") == 0;
}

/* The other Python whose program or library has this path. */
static const char *other_python(const char *path)
{
    static const struct {
        const char *begin, *name;
    } rows[] = {
        { "pypy", "PyPy" },           { "libpypy", "PyPy" },     { "graalpy", "GraalPy" },
        { "libpythonvm", "GraalPy" }, { "python2", "Python 2" }, { "libpython2", "Python 2" },
    };
    for (size_t i = 0; i < countof(rows); i++)
        if (name_begins(python_file_name(path), rows[i].begin))
            return rows[i].name;
    return NULL;
}

unsigned python_files_minor(const char *text)
{
    const char *at = strstr(text, "python3.");
    char digits[MINOR_DIGITS + 1] = "";
    for (size_t i = 0; at && i < MINOR_DIGITS && isdigit((unsigned char)at[8 + i]); i++)
        digits[i] = at[8 + i];
    return (unsigned)strtoul(digits, NULL, 10);
}

static void take_path(struct python_files *found, const char *path)
{
    const char *other = other_python(path);
    found->other = found->other ? found->other : other;
    if (other || !python_files_is_cpython(path))
        return;
    found->cpython = true;
    found->minor = found->minor ? found->minor : python_files_minor(python_file_name(path));
}

/* A program may be named `python` only. Its modules lie in folders that have the version. */
static void take_folders(struct python_files *found, const struct images *images)
{
    for (size_t i = 0; i < images->count && found->minor == 0; i++)
        found->minor = python_files_minor(images->rows[i].path);
}

static bool program_is_narrow(pid_t pid)
{
    char path[64];
    unsigned char ident[EI_NIDENT];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    const int file = procfs_open_regular(path);
    const ssize_t size = file >= 0 ? read(file, ident, sizeof(ident)) : -1;
    if (file >= 0)
        close(file);
    return size == (ssize_t)sizeof(ident) && memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
}

struct python_files python_files_of(pid_t pid)
{
    struct python_files found = { 0 };
    struct images images;
    const struct text program = procfs_executable(pid);
    char *path = alloc_copy(program.bytes, program.size);
    take_path(&found, path);
    if (procfs_images(pid, &images)) {
        found.files = images.count;
        for (size_t i = 0; i < images.count; i++)
            take_path(&found, images.rows[i].path);
        if (found.cpython)
            take_folders(&found, &images);
        procfs_images_free(&images);
    }
    found.narrow = program_is_narrow(pid);
    free(path);
    text_free(program);
    return found;
}

const char *python_files_name(pid_t pid, char room[PYTHON_FILES_NAME])
{
    const struct text path = procfs_executable(pid), kernels = procfs_thread_name(pid, pid);
    const char *slash = path.size ? memrchr(path.bytes, '/', path.size) : NULL;
    const struct text name = slash ? (struct text){ slash + 1, path.size - (size_t)(slash + 1 - path.bytes) } : kernels;
    char *string = alloc_copy(name.size ? name.bytes : "", name.size);
    utf8_show_string(room, PYTHON_FILES_NAME, string);
    free(string);
    text_free(path);
    text_free(kernels);
    return room;
}
