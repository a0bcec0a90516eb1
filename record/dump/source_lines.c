/* SPDX-License-Identifier: MIT */
#include "record/dump/source_lines.h"

#include "formats/base/alloc.h"
#include "formats/sources/source_text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXTS_MOST ((size_t)64 << 20) /* bytes of all texts */

struct source_file {
    uint32_t name; /* the string that names the file */
    struct bytes text;
    size_t *line_ends; /* offsets */
    size_t lines, lines_room;
};

/* ---- what may be opened ---- */

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

/* Takes the rights of the user of the process. A user who is not root may take no other rights, and needs none. False:
 * they cannot be taken. */
static bool take_rights(const struct place *place, struct rights *ours)
{
    const struct rights theirs = { .user = place->user, .group = place->group };
    *ours = (struct rights){ .user = geteuid(), .group = getegid() };
    if (ours->user != 0)
        return true;
    ours->groups_count = getgroups((int)countof(ours->groups), ours->groups);
    return ours->groups_count >= 0 && (theirs.user == 0 || set_rights(&theirs));
}

/* ---- files ---- */

static void source_file_find_lines(struct source_file *file)
{
    for (size_t at = 0; at < file->text.size;) {
        const unsigned char *end = memchr(file->text.at + at, '\n', file->text.size - at);
        const size_t line_end = end ? (size_t)(end - file->text.at) : file->text.size;
        file->line_ends = alloc_grow(file->line_ends, &file->lines_room, file->lines + 1, sizeof(*file->line_ends));
        file->line_ends[file->lines++] = line_end;
        at = line_end + 1;
    }
}

static void source_file_read(struct source_lines *lines, struct source_file *file)
{
    char path[PATH_MAX];
    const struct text name = tables_string(&lines->dumped->tables, file->name);
    const struct place *place = &lines->dumped->place;
    const struct source_facts facts = { .end_unix_ns = place->began_ns };
    struct rights ours;
    const struct text root = place->root;
    if (!place->known || !place->ours || name.size == 0 || root.size + name.size >= sizeof(path) ||
        name.bytes[0] != '/' || memchr(name.bytes, '\0', name.size) || lines->bytes > TEXTS_MOST)
        return;
    snprintf(path, sizeof(path), "%.*s%.*s", (int)root.size, root.bytes ? root.bytes : "", (int)name.size, name.bytes);
    if (take_rights(place, &ours))
        source_text_read(path, &facts, &file->text);
    if (ours.user == 0)
        set_rights(&ours);
    lines->bytes += file->text.size;
    source_file_find_lines(file);
}

static struct source_file *source_lines_file(struct source_lines *lines, uint32_t name)
{
    if (lines->of_string[name])
        return &lines->files[lines->of_string[name] - 1];
    lines->files = alloc_grow(lines->files, &lines->room, lines->count + 1, sizeof(*lines->files));
    struct source_file *file = &lines->files[lines->count++];
    file->name = name;
    lines->of_string[name] = (uint32_t)lines->count;
    source_file_read(lines, file);
    return file;
}

static bool char_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

struct text source_lines_find(struct source_lines *lines, const struct frame *frame)
{
    const struct function *function = &lines->dumped->tables.functions[frame->function];
    if (function->file == 0 || frame->line == 0)
        return (struct text){ 0 };
    const struct source_file *file = source_lines_file(lines, function->file);
    if (frame->line > file->lines)
        return (struct text){ 0 };
    const size_t start = frame->line > 1 ? file->line_ends[frame->line - 2] + 1 : 0;
    const size_t end = file->line_ends[frame->line - 1];
    struct text line = { (const char *)file->text.at + start, end - start };
    for (; line.size > 0 && char_is_blank(line.bytes[0]); line.size--)
        line.bytes++;
    while (line.size > 0 && char_is_blank(line.bytes[line.size - 1]))
        line.size--;
    return line;
}

void source_lines_open(struct source_lines *lines, const struct dumped *dumped)
{
    *lines = (struct source_lines){ .dumped = dumped };
    lines->of_string = alloc_zeroed(dumped->tables.strings_count + 1, sizeof(*lines->of_string));
}

void source_lines_close(struct source_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        bytes_free(&lines->files[i].text);
        free(lines->files[i].line_ends);
    }
    free(lines->files);
    free(lines->of_string);
    *lines = (struct source_lines){ 0 };
}
