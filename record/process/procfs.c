/* SPDX-License-Identifier: MIT */
#include "record/process/procfs.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FILE_LIMIT ((size_t)1 << 20) /* bytes; the small files of /proc are smaller */

static FILE *open_proc(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

static struct text read_proc(pid_t pid, const char *name)
{
    struct bytes bytes = { 0 };
    FILE *file = open_proc(pid, name);
    char part[4096];
    for (size_t got = 1; file && got > 0 && bytes.size < FILE_LIMIT;) {
        got = fread(part, 1, sizeof(part), file);
        put_bytes(&bytes, part, got);
    }
    if (file)
        fclose(file);
    return (struct text){ (const char *)bytes.at, bytes.size };
}

static struct text clean_and_free(struct text raw)
{
    const struct text cleaned = utf8_clean(raw);
    text_free(raw);
    return cleaned;
}

/* ---- mapped files ---- */

void procfs_images_add(struct images *images, struct image image)
{
    images->rows = alloc_grow(images->rows, &images->room, images->count + 1, sizeof(*images->rows));
    images->rows[images->count++] = image;
}

/* Adds the mapping that a line of /proc/PID/maps describes if it is the head of a file. */
static void add_mapping(struct images *images, const char *line, const struct stat *program)
{
    uint64_t start, offset, inode;
    unsigned device_major, device_minor;
    char read_flag;
    int path_at = 0;
    const int got = sscanf(line, "%" SCNx64 "-%*x %c%*3s %" SCNx64 " %x:%x %" SCNu64 " %n", &start, &read_flag, &offset,
                           &device_major, &device_minor, &inode, &path_at);
    if (got < 6 || offset != 0 || inode == 0 || read_flag != 'r')
        return;
    const char *path = path_at ? line + path_at : "";
    const uint64_t device = makedev(device_major, device_minor);
    procfs_images_add(images, (struct image){ .address = start,
                                              .inode = inode,
                                              .program = program->st_ino == inode && program->st_dev == device,
                                              .path = alloc_copy(path, strcspn(path, "\n")) });
}

static int rank(const struct image *image)
{
    if (image->program)
        return 0;
    return strstr(image->path, "python") ? 1 : 2;
}

static int compare_images(const void *a, const void *b)
{
    const struct image *first = a, *second = b;
    const int by_rank = rank(first) - rank(second);
    if (by_rank != 0)
        return by_rank;
    return first->address < second->address ? -1 : first->address > second->address;
}

void procfs_images_sort(struct images *images)
{
    if (images->count > 0)
        qsort(images->rows, images->count, sizeof(*images->rows), compare_images);
}

bool procfs_images(pid_t pid, struct images *images)
{
    *images = (struct images){ 0 };
    FILE *maps = open_proc(pid, "maps");
    if (!maps)
        return false;
    char path[64];
    struct stat program = { 0 };
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (stat(path, &program) != 0)
        program = (struct stat){ 0 };
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, maps) > 0)
        add_mapping(images, line, &program);
    free(line);
    fclose(maps);
    procfs_images_sort(images);
    return true;
}

void procfs_images_free(struct images *images)
{
    for (size_t i = 0; i < images->count; i++)
        free(images->rows[i].path);
    free(images->rows);
    *images = (struct images){ 0 };
}

/* Opens a file; returns -1 if it is not the one that is mapped. */
static int open_mapped(const char *path, const struct image *image)
{
    struct stat file;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_ino == image->inode)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The program has a link of its own, /proc/PID/exe. The path of a library begins at the process's root folder; after a
 * chroot, it may begin at the recorder's root folder. */
int procfs_open_image(pid_t pid, const struct image *image)
{
    char path[4200];
    if (image->program)
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    else
        snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, image->path);
    const int fd = open_mapped(path, image);
    return fd >= 0 || image->program ? fd : open_mapped(image->path, image);
}

/* ---- texts ---- */

static struct text read_link(pid_t pid, const char *name)
{
    char path[64], target[4096];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    const ssize_t size = readlink(path, target, sizeof(target));
    return size > 0 ? utf8_clean((struct text){ target, (size_t)size }) : (struct text){ 0 };
}

struct text procfs_executable(pid_t pid)
{
    return read_link(pid, "exe");
}

struct text procfs_folder(pid_t pid)
{
    return read_link(pid, "cwd");
}

struct text procfs_thread_name(pid_t pid, pid_t tid)
{
    char name[64];
    snprintf(name, sizeof(name), "task/%d/comm", (int)tid);
    struct text comm = read_proc(pid, name);
    if (comm.size > 0 && comm.bytes[comm.size - 1] == '\n')
        comm.size--;
    return clean_and_free(comm);
}

static bool plain_argument(const char *argument)
{
    if (*argument == '\0')
        return false;
    for (const char *c = argument; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_-./=:,+@%", *c))
            return false;
    return true;
}

static void put_quoted(struct bytes *to, const char *argument)
{
    if (plain_argument(argument)) {
        put_bytes(to, argument, strlen(argument));
        return;
    }
    put_bytes(to, "'", 1);
    for (const char *c = argument; *c; c++)
        put_bytes(to, *c == '\'' ? "'\\''" : c, *c == '\'' ? 4 : 1);
    put_bytes(to, "'", 1);
}

struct text procfs_quote_arguments(struct text arguments)
{
    struct bytes quoted = { 0 };
    char *copy = alloc_copy(arguments.bytes, arguments.size);
    for (size_t at = 0; at < arguments.size; at += strlen(copy + at) + 1) {
        if (at > 0)
            put_bytes(&quoted, " ", 1);
        put_quoted(&quoted, copy + at);
    }
    free(copy);
    return clean_and_free((struct text){ (const char *)quoted.at, quoted.size });
}

struct text procfs_quote_command(char **arguments)
{
    struct bytes joined = { 0 };
    for (char **argument = arguments; *argument; argument++)
        put_bytes(&joined, *argument, strlen(*argument) + 1);
    const struct text quoted = procfs_quote_arguments((struct text){ (const char *)joined.at, joined.size });
    bytes_free(&joined);
    return quoted;
}

struct text procfs_command(pid_t pid)
{
    const struct text arguments = read_proc(pid, "cmdline");
    const struct text command = procfs_quote_arguments(arguments);
    text_free(arguments);
    return command;
}

/* ---- numbers ---- */

bool procfs_number(const char *path, const char *name, int base, uint64_t *number)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    const size_t size = strlen(name);
    while (file && !found && getline(&line, &room, file) > 0) {
        found = strncmp(line, name, size) == 0 && line[size] == ':';
        if (found)
            *number = strtoull(line + size + 1, NULL, base);
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Reads the beginning of a file of the process as a string. Returns the string's length. */
static size_t read_small(pid_t pid, const char *name, char *into, size_t room)
{
    FILE *file = open_proc(pid, name);
    const size_t size = file ? fread(into, 1, room - 1, file) : 0;
    if (file)
        fclose(file);
    into[size] = '\0';
    return size;
}

/* /proc/PID/stat is "PID (NAME) STATE ..."; the number of threads is the 20th field, and NAME may have any characters.
 * A thread that is about to sleep has the state "sleeping" already while it still has a processor. Its file wchan, the
 * kernel function in which it sleeps, is "0" until it has none. */
bool procfs_sleeps_alone(pid_t pid)
{
    char stat[1024], wchan[128];
    char state = 0;
    long threads = 0;
    read_small(pid, "stat", stat, sizeof(stat));
    const char *rest = strrchr(stat, ')');
    if (!rest ||
        sscanf(rest, ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld", &state, &threads) != 2)
        return false;
    return threads == 1 && (state == 'S' || state == 'D') && read_small(pid, "wchan", wchan, sizeof(wchan)) > 0 &&
           strcmp(wchan, "0") != 0;
}

/* The last number of the NSpid line, which is the number in the innermost namespace. */
static pid_t ns_number(const char *status_path)
{
    FILE *status = fopen(status_path, "re");
    char *line = NULL;
    size_t room = 0;
    pid_t number = 0;
    while (status && getline(&line, &room, status) > 0) {
        if (strncmp(line, "NSpid:", 6) != 0)
            continue;
        const char *last = line + strcspn(line, "\n");
        while (last > line && !isspace((unsigned char)last[-1]))
            last--;
        number = (pid_t)strtol(last, NULL, 10);
    }
    free(line);
    if (status)
        fclose(status);
    return number;
}

pid_t procfs_ns_pid(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return ns_number(path);
}

bool procfs_same_pids(pid_t pid)
{
    const struct text ours = read_link(getpid(), "ns/pid"), theirs = read_link(pid, "ns/pid");
    const bool same = text_equal(ours, theirs);
    text_free(ours);
    text_free(theirs);
    return same;
}

void procfs_map_threads(pid_t pid, struct intern_pairs *threads)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        char status[sizeof(path) + sizeof(task->d_name) + 16];
        if (!isdigit((unsigned char)task->d_name[0]))
            continue;
        snprintf(status, sizeof(status), "%s/%s/status", path, task->d_name);
        const uint32_t ns_tid = (uint32_t)ns_number(status);
        if (ns_tid && !intern_pairs_find(threads, ns_tid, 0))
            intern_pairs_add(threads, ns_tid, 0, (uint32_t)strtoul(task->d_name, NULL, 10));
    }
    if (tasks)
        closedir(tasks);
}

bool procfs_user(pid_t pid, uid_t *user)
{
    char path[64];
    struct stat there;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (stat(path, &there) != 0)
        return false;
    *user = there.st_uid;
    return true;
}

/* The processor is field 39 of the thread's stat; the name in parentheses is field 2. */
bool procfs_processor(pid_t pid, uint32_t tid, uint32_t *processor)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/task/%" PRIu32 "/stat", (int)pid, tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file >= 0 ? read(file, text, sizeof(text) - 1) : -1;
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = '\0';
    const char *field = strrchr(text, ')');
    for (int number = 2; field && number < 39; number++)
        field = strchr(field + 1, ' ');
    return field && sscanf(field, " %" SCNu32, processor) == 1;
}
