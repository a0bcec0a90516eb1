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

/* Whether a program or library is called `stem` with a version and what builds add: python3.15t, pypy3.10-c,
 * libpython3.11d.so.1.0. */
static bool has_stem(const char *name, const char *stem)
{
    if (!name_begins(name, stem))
        return false;
    name += strlen(stem);
    name += strspn(name, "0123456789.");
    if (name[-1] == '.')
        name--;
    name += strspn(name, "tdmu"); /* free-threaded and debug builds */
    name += name_begins(name, "-dbg") ? 4 : name_begins(name, "-c") ? 2 : 0;
    if (name_begins(name, ".so"))
        name += 3 + strspn(name + 3, "0123456789.");
    return *name == '\0' || strcmp(name, " (deleted)") == 0;
}

bool python_files_is_cpython(const char *path)
{
    const char *name = python_file_name(path);
    return has_stem(name, "libpython") || has_stem(name, "python") || has_stem(name, "Python");
}

/* The other Python whose program or library has this path. */
static const char *other_python(const char *path)
{
    static const struct {
        const char *stem, *name;
    } rows[] = {
        { "pypy", "PyPy" },           { "libpypy", "PyPy" },     { "graalpy", "GraalPy" },
        { "libpythonvm", "GraalPy" }, { "python2", "Python 2" }, { "libpython2", "Python 2" },
    };
    for (size_t i = 0; i < countof(rows); i++)
        if (has_stem(python_file_name(path), rows[i].stem))
            return rows[i].name;
    return NULL;
}

/* The text behind "3." in the name of a CPython, python3.9, or behind "3" in the name of a module of one,
 * _csv.cpython-39-x86_64-linux-gnu.so. Empty: the name tells no version. */
static const char *minor_in(const char *path)
{
    const char *name = python_file_name(path);
    const char *module = strstr(name, ".cpython-3"), *version = strstr(name, "ython3.");
    if (module)
        return module + strlen(".cpython-3");
    return version && python_files_is_cpython(path) ? version + strlen("ython3.") : "";
}

unsigned python_files_minor(const char *path)
{
    const char *at = minor_in(path);
    char digits[MINOR_DIGITS + 1] = "";
    for (size_t i = 0; i < MINOR_DIGITS && isdigit((unsigned char)at[i]); i++)
        digits[i] = at[i];
    return (unsigned)strtoul(digits, NULL, 10);
}

static void take_path(struct python_files *found, const char *path)
{
    const char *other = other_python(path);
    const unsigned minor = other ? 0 : python_files_minor(path);
    found->other = found->other ? found->other : other;
    found->cpython |= minor > 0 || (!other && python_files_is_cpython(path));
    found->minor = found->minor ? found->minor : minor;
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
    const pid_t reader = procfs_reader(pid);
    struct python_files found = { 0 };
    struct images images;
    const struct text program = procfs_executable(pid);
    char *path = alloc_copy(program.bytes, program.size);
    take_path(&found, path);
    if (procfs_images(reader, &images)) {
        found.files = images.count;
        for (size_t i = 0; i < images.count; i++)
            take_path(&found, images.rows[i].path);
        procfs_images_free(&images);
    }
    found.narrow = program_is_narrow(reader);
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
