/* SPDX-License-Identifier: MIT */
#include "formats/base/replaced.h"

#include "formats/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- sticky folders ---- */

/* Stats the folder of a path. True when every user may write in the folder and only a file's owner may remove the file.
 */
static bool find_shared(const char *path, struct stat *folder)
{
    char *copy = alloc_copy(path, strlen(path));
    const bool shared = stat(dirname(copy), folder) == 0 && folder->st_mode & S_ISVTX && folder->st_mode & S_IWOTH;
    free(copy);
    return shared;
}

bool replaced_is_shared(const char *path)
{
    struct stat folder;
    return find_shared(path, &folder);
}

bool replaced_is_strange_link(const char *path)
{
    struct stat folder, link;
    return lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && find_shared(path, &folder) && link.st_uid != geteuid() &&
           link.st_uid != folder.st_uid;
}

bool replaced_is_strange_pipe(const char *path, const struct stat *there)
{
    struct stat folder = { 0 }, link;
    if (S_ISREG(there->st_mode) || S_ISDIR(there->st_mode))
        return false;
    find_shared(path, &folder);
    const bool strange = there->st_uid != geteuid() && there->st_uid != 0;
    const bool led = lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && link.st_uid != geteuid() && link.st_uid != 0;
    return folder.st_mode & S_IWOTH && (strange || led);
}

int replaced_open_seen(int seen, const char *path, int flags)
{
    char found[64];
    snprintf(found, sizeof(found), "/proc/self/fd/%d", seen);
    const int fd = open(found, flags | O_CLOEXEC | O_NOCTTY);
    return fd < 0 && errno == ENOENT ? open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : fd;
}

/* ---- the file that is there ---- */

/* The number of first bytes read into `head`, unpacked if the file is a gzip file; 0 when the file cannot be read. */
static size_t replaced_read_head(const char *path, char *head)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    gzFile file = fd >= 0 ? gzdopen(fd, "rb") : NULL; /* reads other files as they are */
    if (!file && fd >= 0)
        close(fd);
    const int size = file ? gzread(file, head, (unsigned)REPLACED_HEAD) : 0;
    if (file)
        gzclose_r(file);
    return size > 0 ? (size_t)size : 0;
}

static bool is_recognised(const struct replaced *file, const char *path)
{
    char *head = alloc_zeroed(REPLACED_HEAD, 1);
    const size_t size = replaced_read_head(path, head);
    const bool recognised = size > 0 && file->recognises((struct text){ head, size });
    free(head);
    return recognised;
}

/* Whether nobody may write the file, or we may not. Root may write each file, so the mode counts as well. */
static bool is_read_only(const char *path, const struct stat *there)
{
    return !(there->st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) ||
           (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 && errno == EACCES);
}

bool replaced_is_allowed(const struct replaced *file, struct fault *why)
{
    const char *path = file->opened ? file->opened : file->path;
    struct stat there;
    if (stat(path, &there) != 0)
        return true;
    if (replaced_is_shared(file->path) && there.st_uid != geteuid())
        return fault(why,
                     "cannot write %s: another user owns it, in a folder that everyone can write to; name another file",
                     file->path);
    if (replaced_is_strange_pipe(file->path, &there))
        return fault(why,
                     "cannot write %s: it is no file but a pipe, device or socket that another user put into a folder "
                     "that everyone can write to; name another file",
                     file->path);
    if (!S_ISREG(there.st_mode) || file->force)
        return true;
    if (is_read_only(path, &there))
        return fault(why, "cannot write %s: it is read-only; name another file, or replace it with --force",
                     file->path);
    return there.st_size == 0 || is_recognised(file, path) ||
           fault(why, "cannot write %s: it exists and is not %s; name another file, or replace it with --force",
                 file->path, file->what);
}
