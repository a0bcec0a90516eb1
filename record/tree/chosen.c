/* SPDX-License-Identifier: MIT */
#include "record/tree/chosen.h"

#include "formats/base/alloc.h"
#include "formats/base/arguments.h"
#include "record/process/procfs.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST    (1u << 20) /* bytes of a file of expressions */
#define CGROUP_MOST  16384      /* bytes of /proc/PID/cgroup: a line for each hierarchy of version 1 */
#define COMMAND_MOST 4096 /* bytes of a command line that are looked at: a.*b takes their square, minutes for 1 MiB */

static const char cgroup_folder[] = "/sys/fs/cgroup";

/* ---- users ---- */

/* Only /etc/passwd is asked: static programs have no other sources of names. */
static bool find_user(const char *name, uid_t *user, struct fault *why)
{
    uint64_t number;
    bool found = false;
    if (arguments_parse_count(name, 0, UINT32_MAX - 1, &number)) {
        *user = (uid_t)number;
        return true;
    }
    FILE *file = fopen("/etc/passwd", "re");
    for (const struct passwd *row; file && !found && (row = fgetpwent(file));) {
        found = strcmp(row->pw_name, name) == 0;
        *user = found ? row->pw_uid : *user;
    }
    if (file)
        fclose(file);
    return found || fault(why, "--user %s: /etc/passwd has no such user; a number works, too: id -u %s", name, name);
}

/* ---- expressions ---- */

static void free_expressions(regex_t *expressions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        regfree(&expressions[i]);
    free(expressions);
}

struct expressions {
    regex_t *rows;
    size_t count, room;
};

static bool add_expression(struct expressions *to, const char *text, struct fault *why)
{
    to->rows = alloc_grow(to->rows, &to->room, to->count + 1, sizeof(*to->rows));
    const int problem = regcomp(&to->rows[to->count], text, REG_EXTENDED | REG_NOSUB);
    if (problem) {
        char reason[100];
        regerror(problem, &to->rows[to->count], reason, sizeof(reason));
        return fault(why, "--match %s: %s", text, reason);
    }
    to->count++;
    return true;
}

/* Empty lines, and those that begin with #, are none. */
static bool add_file(struct expressions *to, const char *path, struct fault *why)
{
    char *line = NULL;
    size_t room = 0, bytes = 0;
    bool good = true;
    FILE *file = fopen(path, "re");
    if (!file)
        return fault(why, "--match @%s: cannot read the file: %s", path, strerror(errno));
    for (ssize_t size; good && (size = getline(&line, &room, file)) > 0;) {
        line[size - (line[size - 1] == '\n')] = '\0';
        bytes += (size_t)size;
        if (bytes > FILE_MOST)
            good = fault(why, "--match @%s: the file has more than a megabyte", path);
        else if (line[0] && line[0] != '#')
            good = add_expression(to, line, why);
    }
    free(line);
    fclose(file);
    return good && (to->count > 0 || fault(why, "--match @%s: the file has no expression", path));
}

bool chosen_has_file(const struct chosen *chosen)
{
    return chosen->words.match && chosen->words.match[0] == '@';
}

bool chosen_reload(struct chosen *chosen, struct fault *why)
{
    struct expressions fresh = { 0 };
    const char *match = chosen->words.match;
    if (!match)
        return true;
    if (chosen_has_file(chosen) ? !add_file(&fresh, match + 1, why) : !add_expression(&fresh, match, why)) {
        free_expressions(fresh.rows, fresh.count);
        return false;
    }
    free_expressions(chosen->expressions, chosen->count);
    chosen->expressions = fresh.rows;
    chosen->count = fresh.count;
    return true;
}

/* ---- the door ---- */

bool chosen_open(struct chosen *chosen, const struct chosen_words *words, struct fault *why)
{
    *chosen = (struct chosen){ .words = *words };
    return (!words->user || find_user(words->user, &chosen->user, why)) && chosen_reload(chosen, why);
}

static bool fits_command(const struct chosen *chosen, pid_t pid)
{
    const struct text command = procfs_command(pid);
    char *line = alloc_copy(command.bytes, command.size < COMMAND_MOST ? command.size : COMMAND_MOST);
    bool fits = false;
    for (size_t i = 0; !fits && i < chosen->count; i++)
        fits = regexec(&chosen->expressions[i], line, 0, NULL, 0) == 0;
    free(line);
    text_free(command);
    return fits;
}

/* A line is NUMBER:CONTROLLERS:PATH. */
bool chosen_names_cgroup(const char *text, const char *path)
{
    if (strncmp(path, cgroup_folder, sizeof(cgroup_folder) - 1) == 0)
        path += sizeof(cgroup_folder) - 1;
    size_t size = strlen(path);
    while (size > 0 && path[size - 1] == '/')
        size--;
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *controllers = strchr(line, ':'), *name = controllers ? strchr(controllers + 1, ':') : NULL;
        if (name && strncmp(name + 1, path, size) == 0 && strchr("/\n", name[1 + size]))
            return true;
    }
    return false;
}

static bool fits_cgroup(const struct chosen *chosen, pid_t pid)
{
    char path[64], text[CGROUP_MOST];
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    FILE *file = fopen(path, "re");
    const size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = '\0';
    return chosen_names_cgroup(text, chosen->words.cgroup);
}

/* The folder of a process that gave up being root belongs to root. */
static bool fits_user(const struct chosen *chosen, pid_t pid)
{
    char path[64];
    uint64_t user;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return procfs_number(path, "Uid", 10, &user) && user == chosen->user;
}

bool chosen_fits(const struct chosen *chosen, pid_t pid)
{
    if (chosen->words.user && !fits_user(chosen, pid))
        return false;
    if (chosen->words.cgroup && !fits_cgroup(chosen, pid))
        return false;
    return !chosen->words.match || fits_command(chosen, pid);
}

void chosen_close(struct chosen *chosen)
{
    free_expressions(chosen->expressions, chosen->count);
    *chosen = (struct chosen){ 0 };
}
