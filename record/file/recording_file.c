/* SPDX-License-Identifier: MIT */
#include "record/file/recording_file.h"

#include "formats/base/alloc.h"
#include "formats/base/replaced.h"
#include "formats/model/program_name.h"
#include "formats/stream/block_read.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING        ".pyreel"
#define DEFAULTS_MOST 10000 /* names of recordings that are tried without -o */

static char *default_path(pid_t pid, struct text command)
{
    char *name = program_name(command);
    char *path = NULL;
    if (asprintf(&path, "%s-%d" ENDING, name, (int)pid) < 0)
        path = alloc_copy("recording.pyreel", 16);
    free(name);
    return path;
}

bool recording_file_is_for_terminal(const char *path)
{
    return path && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO);
}

static bool is_recording(struct text head)
{
    return block_read_recognised(head.bytes, head.size);
}

/* Whether an existing file, which is open as `seen`, may be replaced by the recording. */
static bool recording_file_may_replace(const struct recording_file *file, int seen, bool force, struct fault *why)
{
    char opened[64]; /* the file that is open, whatever its path names by now */
    snprintf(opened, sizeof(opened), "/proc/self/fd/%d", seen);
    const struct replaced replaced = {
        .path = file->path, .opened = opened, .what = "a recording", .recognises = is_recording, .force = force
    };
    return replaced_is_allowed(&replaced, why);
}

/* Locks the file, because two recorders would destroy each other's blocks. False when another recorder has the lock.
 * File systems without locks are accepted. */
static bool lock(const struct recording_file *file, struct fault *why)
{
    struct stat there;
    if (fstat(file->fd, &there) != 0 || !S_ISREG(there.st_mode) || flock(file->fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    return errno != EWOULDBLOCK ||
           fault(why, "cannot write %s: another pyreel-record is writing to it; name another file", file->path);
}

static bool open_new(struct recording_file *file)
{
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL | O_NOFOLLOW, 0666);
    file->created = file->fd >= 0;
    return file->created;
}

/* Opens a read-only file of ours, and leaves the file read-only. Returns -1, with errno, on failure. */
static int open_read_only(int seen, const char *path, const struct stat *there)
{
    char found[64]; /* the same file, whatever its path names by now */
    snprintf(found, sizeof(found), "/proc/self/fd/%d", seen);
    if (chmod(found, there->st_mode | S_IWUSR) != 0)
        return -1;
    const int fd = replaced_open_seen(seen, path, O_WRONLY);
    const int cause = errno;
    chmod(found, there->st_mode);
    errno = cause;
    return fd;
}

/* Judges the file that is open as `seen`, and opens the file for writing. */
static bool open_seen(struct recording_file *file, int seen, bool force, struct fault *why)
{
    struct stat there;
    if (fstat(seen, &there) != 0)
        return fault(why, "cannot write %s: %s", file->path, strerror(errno));
    if (S_ISLNK(there.st_mode))
        return fault(
            why, "cannot write %s: it is a symbolic link, in a folder that everyone can write to; name another file",
            file->path);
    if (!recording_file_may_replace(file, seen, force, why))
        return false;
    if (S_ISSOCK(there.st_mode))
        return fault(why, "cannot write %s: it is a socket; name another file", file->path);
    file->fd = replaced_open_seen(seen, file->path, O_WRONLY);
    if (file->fd < 0 && errno == EACCES)
        file->fd = open_read_only(seen, file->path, &there);
    return file->fd >= 0 || fault(why, "cannot write %s: %s", file->path, strerror(errno));
}

/* Opens what is at the path. In a shared folder, follows no link; elsewhere, a link may lead to a file that does not
 * exist yet. */
static bool open_there(struct recording_file *file, bool force, struct fault *why)
{
    const bool shared = replaced_is_shared(file->path);
    const int seen = open(file->path, O_PATH | O_CLOEXEC | (shared ? O_NOFOLLOW : 0));
    if (seen < 0 && errno == ENOENT && !shared)
        file->fd = open(file->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (seen < 0)
        return file->fd >= 0 || fault(why, "cannot write %s: %s", file->path, strerror(errno));
    const bool good = open_seen(file, seen, force, why);
    close(seen);
    return good;
}

static bool open_named(struct recording_file *file, bool force, struct fault *why)
{
    if (open_new(file))
        return lock(file, why);
    if (errno == EEXIST)
        return open_there(file, force, why) && lock(file, why);
    return fault(why, "cannot create %s: %s", file->path, strerror(errno));
}

/* Whether the open file is a regular file with a name. Standard output may be a file that was removed. */
static bool file_has_name(int fd)
{
    struct stat there;
    return fstat(fd, &there) == 0 && S_ISREG(there.st_mode) && there.st_nlink > 0;
}

static bool open_asked(struct recording_file *file, const char *path, bool force, struct fault *why)
{
    file->path = alloc_copy(path, strlen(path));
    return strcmp(path, "-") == 0 || open_named(file, force, why);
}

/* NAME-PID.pyreel, or else NAME-PID-2.pyreel, ...: a file that nobody asked for keeps no command from running. In
 * containers, numbers of processes are few. */
static bool open_default(struct recording_file *file, pid_t pid, struct text command, struct fault *why)
{
    char *plain = recording_file_path(NULL, pid, command);
    file->path = alloc_copy(plain, strlen(plain));
    bool good = open_new(file);
    for (int number = 2; !good && errno == EEXIST && number <= DEFAULTS_MOST; number++) {
        free(file->path);
        if (asprintf(&file->path, "%.*s-%d%s", (int)(strlen(plain) - strlen(ENDING)), plain, number, ENDING) < 0)
            file->path = alloc_copy(plain, strlen(plain));
        good = open_new(file);
    }
    free(plain);
    return good ? lock(file, why)
                : fault(why, "cannot create %s: %s; name a file with -o", file->path, strerror(errno));
}

bool recording_file_open(struct recording_file *file, const char *path, bool force, pid_t pid, struct text command,
                         struct fault *why)
{
    *file = (struct recording_file){ .fd = STDOUT_FILENO };
    const bool good = path ? open_asked(file, path, force, why) : open_default(file, pid, command, why);
    file->named = file->created || (good && file_has_name(file->fd));
    if (good)
        return true;
    if (file->fd >= 0)
        close(file->fd);
    free(file->path);
    *file = (struct recording_file){ .fd = -1 };
    return false;
}

char *recording_file_path(const char *path, pid_t pid, struct text command)
{
    return path ? alloc_copy(path, strlen(path)) : default_path(pid, command);
}

bool recording_file_create(struct recording_file *file, const char *path, struct fault *why)
{
    struct recording_file created = { .path = alloc_copy(path, strlen(path)), .fd = -1 };
    if (open_new(&created) && lock(&created, why)) {
        created.named = true;
        *file = created;
        return true;
    }
    const int cause = errno;
    if (created.fd < 0)
        fault(why, "cannot create %s: %s", path, strerror(cause));
    else
        close(created.fd);
    free(created.path);
    errno = cause;
    return false;
}

bool recording_file_begin(struct recording_file *file, struct fault *why)
{
    struct stat there;
    if (file->created || file->fd == STDOUT_FILENO || fstat(file->fd, &there) != 0 || !S_ISREG(there.st_mode))
        return true;
    return ftruncate(file->fd, 0) == 0 || fault(why, "cannot write %s: %s", file->path, strerror(errno));
}

bool recording_file_removed(const struct recording_file *file, struct fault *why)
{
    struct stat there;
    if (!file->named || fstat(file->fd, &there) != 0 || there.st_nlink > 0)
        return false;
    return !fault(why, "%s was removed while it was being written: the recording is lost", file->path);
}

/* Whether the path still leads to the file: somebody may have put another file there. */
static bool is_in_place(const struct recording_file *file)
{
    struct stat ours, there;
    return fstat(file->fd, &ours) == 0 && lstat(file->path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

bool recording_file_is_in_foreign_folder(const struct recording_file *file)
{
    struct stat folder;
    char *path = alloc_copy(file->path, strlen(file->path));
    const bool foreign = file->created && stat(dirname(path), &folder) == 0 && folder.st_uid != geteuid();
    free(path);
    return foreign;
}

void recording_file_discard(struct recording_file *file)
{
    struct fault unused = { 0 };
    if (file->path && file->created && is_in_place(file))
        unlink(file->path);
    recording_file_close(file, &unused);
}

bool recording_file_close(struct recording_file *file, struct fault *why)
{
    bool good = !file->path || !recording_file_removed(file, why);
    if (file->path && file->fd != STDOUT_FILENO && close(file->fd) != 0)
        good = fault(why, "cannot write %s: %s", file->path, strerror(errno));
    free(file->path);
    *file = (struct recording_file){ .fd = -1 };
    return good;
}
