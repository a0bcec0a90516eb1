/* SPDX-License-Identifier: MIT */
#include "record/dump/source_lines.h"

#include "formats/base/alloc.h"
#include "formats/sources/source_text.h"
#include "record/process/clock.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TEXTS_MOST ((size_t)64 << 20) /* bytes of all texts */

struct source_file {
    uint32_t name; /* the string that names the file */
    struct bytes text;
    size_t *line_ends; /* offsets */
    size_t lines, lines_room;
};

/* ---- what may be opened ---- */

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

/* When the process began, in seconds since 1970, to the second: its folder in /proc does not say. Field 22 of its stat
 * counts ticks since the machine started; the name in parentheses is field 2. */
static uint64_t began_unix_ns(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    const size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = '\0';
    const char *field = strrchr(text, ')');
    for (int number = 2; field && number < 22; number++)
        field = strchr(field + 1, ' ');
    struct timespec up;
    if (!field || clock_gettime(CLOCK_BOOTTIME, &up) != 0)
        return 0;
    const uint64_t ticks = strtoull(field, NULL, 10), second = (uint64_t)sysconf(_SC_CLK_TCK);
    const uint64_t up_ns = (uint64_t)up.tv_sec * 1000000000u + (uint64_t)up.tv_nsec;
    const uint64_t began_ns = ticks / second * 1000000000u + ticks % second * (1000000000u / second);
    return clock_unix_ns() - up_ns + began_ns;
}

/* The rights with which a file is opened. The kernel has a user, a group and further groups for each thread. */
struct rights {
    uid_t user;
    gid_t group;
    gid_t groups[64];
    int groups_count;
};

static bool set_rights(const struct rights *rights)
{
    const long set = syscall(SYS_setgroups, rights->groups_count, rights->groups);
    setfsgid(rights->group);
    setfsuid(rights->user);
    return set == 0 && (gid_t)setfsgid(rights->group) == rights->group && (uid_t)setfsuid(rights->user) == rights->user;
}

/* The user and the group of a process, or of the one that left a core file. */
static bool owner_of(const struct dumped *dumped, uid_t *user, gid_t *group)
{
    char path[64];
    struct stat process;
    *user = dumped->user;
    *group = (gid_t)-2; /* nobody's: the user's own group is not known */
    if (dumped->core)
        return true;
    snprintf(path, sizeof(path), "/proc/%d", (int)dumped->pid);
    if (stat(path, &process) != 0)
        return false;
    *user = process.st_uid;
    *group = process.st_gid;
    return true;
}

/* Takes the rights of the user of the process. A user who is not root may take no other rights, and needs none. False:
 * they are not known, or cannot be taken. */
static bool take_rights(const struct dumped *dumped, struct rights *ours)
{
    struct rights theirs = { 0 };
    *ours = (struct rights){ .user = geteuid(), .group = getegid() };
    if (ours->user != 0)
        return true;
    ours->groups_count = getgroups((int)countof(ours->groups), ours->groups);
    if (ours->groups_count < 0 || !owner_of(dumped, &theirs.user, &theirs.group))
        return false;
    return theirs.user == 0 || set_rights(&theirs);
}

/* ---- files ---- */

static void find_lines(struct source_file *file)
{
    for (size_t at = 0; at < file->text.size;) {
        const unsigned char *end = memchr(file->text.at + at, '\n', file->text.size - at);
        const size_t line_end = end ? (size_t)(end - file->text.at) : file->text.size;
        file->line_ends = alloc_grow(file->line_ends, &file->lines_room, file->lines + 1, sizeof(*file->line_ends));
        file->line_ends[file->lines++] = line_end;
        at = line_end + 1;
    }
}

static void read_file(struct source_lines *lines, struct source_file *file)
{
    char path[PATH_MAX];
    const struct text name = tables_string(&lines->dumped->tables, file->name);
    const struct source_facts facts = { .end_unix_ns = lines->began_unix_ns };
    struct rights ours;
    const struct text root = lines->root;
    if (!lines->readable || name.size == 0 || root.size + name.size >= sizeof(path) || name.bytes[0] != '/' ||
        memchr(name.bytes, '\0', name.size) || lines->bytes > TEXTS_MOST)
        return;
    snprintf(path, sizeof(path), "%.*s%.*s", (int)root.size, root.bytes ? root.bytes : "", (int)name.size, name.bytes);
    if (take_rights(lines->dumped, &ours))
        source_text_read(path, &facts, &file->text);
    if (ours.user == 0)
        set_rights(&ours);
    lines->bytes += file->text.size;
    find_lines(file);
}

static struct source_file *file_of(struct source_lines *lines, uint32_t name)
{
    if (lines->of_string[name])
        return &lines->files[lines->of_string[name] - 1];
    lines->files = alloc_grow(lines->files, &lines->room, lines->count + 1, sizeof(*lines->files));
    struct source_file *file = &lines->files[lines->count++];
    file->name = name;
    lines->of_string[name] = (uint32_t)lines->count;
    read_file(lines, file);
    return file;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

struct text source_lines_find(struct source_lines *lines, const struct frame *frame)
{
    const struct function *function = &lines->dumped->tables.functions[frame->function];
    if (function->file == 0 || frame->line == 0)
        return (struct text){ 0 };
    const struct source_file *file = file_of(lines, function->file);
    if (frame->line > file->lines)
        return (struct text){ 0 };
    const size_t start = frame->line > 1 ? file->line_ends[frame->line - 2] + 1 : 0;
    const size_t end = file->line_ends[frame->line - 1];
    struct text line = { (const char *)file->text.at + start, end - start };
    for (; line.size > 0 && is_blank(line.bytes[0]); line.size--)
        line.bytes++;
    while (line.size > 0 && is_blank(line.bytes[line.size - 1]))
        line.size--;
    return line;
}

void source_lines_open(struct source_lines *lines, const struct dumped *dumped)
{
    *lines = (struct source_lines){ .dumped = dumped };
    lines->of_string = alloc_zeroed(dumped->tables.strings_count + 1, sizeof(*lines->of_string));
    lines->readable = dumped->core ? !dumped->foreign : same_mounts(dumped->pid);
    if (!dumped->core)
        lines->root = root_of(dumped->pid);
    lines->began_unix_ns = dumped->core ? dumped->unix_ns : began_unix_ns(dumped->pid);
}

void source_lines_close(struct source_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        bytes_free(&lines->files[i].text);
        free(lines->files[i].line_ends);
    }
    free(lines->files);
    free(lines->of_string);
    text_free(lines->root);
    *lines = (struct source_lines){ 0 };
}
