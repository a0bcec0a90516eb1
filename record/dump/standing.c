/* SPDX-License-Identifier: MIT */
#include "record/dump/standing.h"

#include "record/process/clock.h"
#include "record/process/procfs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Takes a line of /proc/PID/status. */
static void standing_take_line(struct standing *standing, const char *line)
{
    long number;
    if (strncmp(line, "Name:\t", 6) == 0)
        snprintf(standing->name, sizeof(standing->name), "%.*s", (int)strcspn(line + 6, "\n"), line + 6);
    else if (strncmp(line, "State:\t", 7) == 0)
        standing->state = line[7];
    else if (sscanf(line, "PPid: %ld", &number) == 1)
        standing->parent = (pid_t)number;
    else if (sscanf(line, "TracerPid: %ld", &number) == 1)
        standing->tracer = (pid_t)number;
}

struct standing standing_of(pid_t pid)
{
    struct standing standing = { 0 };
    char path[64], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0)
        standing_take_line(&standing, line);
    free(line);
    if (file)
        fclose(file);
    return standing;
}

/* ---- the place ---- */

static bool same_mounts(pid_t pid)
{
    char path[64];
    struct stat theirs, ours;
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
    return stat(path, &theirs) == 0 && stat("/proc/self/ns/mnt", &ours) == 0 && theirs.st_dev == ours.st_dev &&
           theirs.st_ino == ours.st_ino;
}

/* The root folder of a process, which chroot changes. */
static struct text root_of(pid_t pid)
{
    char path[64], root[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
    ssize_t size = readlink(path, root, sizeof(root));
    while (size > 0 && root[size - 1] == '/')
        size--;
    return text_copy((struct text){ root, size > 0 ? (size_t)size : 0 });
}

/* Makes nanoseconds since 1970 of nanoseconds on the clock of boot time. 0: not known. */
static uint64_t unix_ns(uint64_t boot_ns)
{
    struct timespec up;
    if (clock_gettime(CLOCK_BOOTTIME, &up) != 0)
        return 0;
    const uint64_t up_ns = (uint64_t)up.tv_sec * 1000000000u + (uint64_t)up.tv_nsec;
    return clock_unix_ns() - up_ns + boot_ns;
}

/* Reads the last of the four numbers in a line of /proc/PID/status: that which counts for files. */
static bool take_last(const char *line, const char *name, unsigned *number)
{
    return strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%*u %*u %*u %u", number) == 1;
}

static bool read_rights(pid_t pid, uid_t *user, gid_t *group)
{
    char path[64], *line = NULL;
    size_t room = 0;
    bool has_user = false, has_group = false;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0) {
        has_user |= take_last(line, "Uid:", user);
        has_group |= take_last(line, "Gid:", group);
    }
    free(line);
    if (file)
        fclose(file);
    return has_user && has_group;
}

struct place place_of(pid_t pid)
{
    struct place place = { .ours = same_mounts(pid), .root = root_of(pid) };
    const bool started = procfs_started(pid, &place.start_ns);
    place.began_ns = unix_ns(place.start_ns);
    place.known = read_rights(pid, &place.user, &place.group) && started && place.began_ns;
    return place;
}

bool place_same(const struct place *a, const struct place *b)
{
    return a->known && b->known && a->start_ns == b->start_ns && a->ours == b->ours && a->user == b->user &&
           a->group == b->group && text_equal(a->root, b->root);
}

void place_free(struct place *place)
{
    text_free(place->root);
    *place = (struct place){ 0 };
}
